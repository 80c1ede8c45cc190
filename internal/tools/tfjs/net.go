package tfjs

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
)

// Net builds the graph of a package that ships weights only: each method adds one
// node and returns its name, which further nodes take as their input. Weights are
// named as in the package.
type Net struct{ graph *Graph }

// Padding says how a convolution or a pool treats the border of an image, as in
// TensorFlow.
type Padding string

// The paddings.
const (
	Same  Padding = "SAME"
	Valid Padding = "VALID"
)

// NetInput is the name of a net's input, an image of red, green and blue.
const NetInput = "input"

// LoadNet reads a weights manifest and the weight files in its folder, and starts
// a net whose input has the given height and width.
func LoadNet(manifest string, height, width int64) (*Net, error) {
	text, err := os.ReadFile(manifest) //nolint:gosec // of an installed package
	if err != nil {
		return nil, err
	}
	var groups []weightGroup
	if err := json.Unmarshal(text, &groups); err != nil {
		return nil, fmt.Errorf("%s: %w", manifest, err)
	}
	n := &Net{&Graph{nodes: map[string]node{}, consts: map[string]tensor{}}}
	if err := n.graph.readWeights(manifest, groups); err != nil {
		return nil, err
	}
	for name := range n.graph.consts {
		n.graph.nodes[name] = node{Name: name, Op: "Const"}
	}
	var shape attr
	for _, size := range []int64{1, height, width, 3} {
		shape.Shape.Dim = append(shape.Shape.Dim, dim{size})
	}
	n.add("Placeholder", NetInput, nil, map[string]attr{"shape": shape})
	return n, nil
}

// Graph returns the net as a graph.
func (n *Net) Graph() *Graph { return n.graph }

// Compact returns the net as a graph whose ONNX model holds weights that the package
// stores in bytes as bytes, a quarter of the size.
func (n *Net) Compact() *Graph {
	n.graph.compact = true
	return n.graph
}

// Apply adds an operator that treats every value alike, such as Add, Mul or Relu.
func (n *Net) Apply(op, name string, inputs ...string) string { return n.add(op, name, inputs, nil) }

// Constant adds a constant: one value, or one for each channel.
func (n *Net) Constant(name string, values ...float32) string {
	n.graph.consts[name] = tensor{shape: []int64{int64(len(values))}, floats: values}
	return n.add("Const", name, nil, nil)
}

// Conv adds a convolution. weights are the filter and, optionally, the bias.
func (n *Net) Conv(name, from string, stride int64, padding Padding, weights ...string) string {
	return n.convolution("Conv2D", name, from, stride, padding, weights)
}

// Depthwise adds a convolution of each channel by itself.
func (n *Net) Depthwise(name, from string, stride int64, padding Padding, filter string) string {
	return n.convolution("DepthwiseConv2dNative", name, from, stride, padding, []string{filter})
}

func (n *Net) convolution(op, name, from string, stride int64, padding Padding, weights []string) string {
	return n.add(op, name, append([]string{from}, weights...), map[string]attr{
		"strides": square(stride), "dilations": square(1), "padding": {S: []byte(padding)},
	})
}

// MaxPool adds the maximum over squares of the given side.
func (n *Net) MaxPool(name, from string, side, stride int64, padding Padding) string {
	return n.pool("MaxPool", name, from, side, stride, padding)
}

// MeanPool adds the mean over squares of the given side.
func (n *Net) MeanPool(name, from string, side, stride int64, padding Padding) string {
	return n.pool("AvgPool", name, from, side, stride, padding)
}

func (n *Net) pool(op, name, from string, side, stride int64, padding Padding) string {
	return n.add(op, name, []string{from}, map[string]attr{
		"ksize": square(side), "strides": square(stride), "padding": {S: []byte(padding)},
	})
}

// Append adds rows, columns and channels of zeros after those of an image.
func (n *Net) Append(name, from string, rows, columns, channels int64) string {
	pads := name + "/pads"
	n.graph.consts[pads] = tensor{shape: []int64{4, 2}, ints: []int64{0, 0, 0, rows, 0, columns, 0, channels}}
	return n.add("Pad", name, []string{from, n.add("Const", pads, nil, nil)}, nil)
}

// Mean adds the mean of each channel.
func (n *Net) Mean(name, from string) string {
	axes := name + "/over"
	n.graph.consts[axes] = tensor{shape: []int64{2}, ints: []int64{1, 2}}
	return n.add("Mean", name, []string{from, n.add("Const", axes, nil, nil)}, nil)
}

// Dense adds a product with a matrix. weights are the matrix and, optionally, the
// bias.
func (n *Net) Dense(name, from string, weights ...string) string {
	return n.add("MatMul", name, append([]string{from}, weights...), nil)
}

func (n *Net) add(op, name string, inputs []string, attrs map[string]attr) string {
	n.graph.nodes[name] = node{Name: name, Op: op, Inputs: inputs, Attrs: attrs}
	return name
}

// square is an attribute of an image in two equal directions.
func square(size int64) (a attr) {
	side := json.Number(strconv.FormatInt(size, 10))
	a.List.I = []json.Number{"1", side, side, "1"}
	return a
}
