package tfjs

import (
	"fmt"
	"slices"
	"strings"
)

// Output names a tensor of the graph, and gives its name and shape in the ONNX
// model.
type Output struct {
	Node  string
	Name  string
	Shape []int64
}

// ToONNX writes the part of the graph that the outputs depend on as an ONNX model
// (operator set 18) with one float input called "input", shaped
// [1,3,height,width]. Every image tensor is stored channels first, the fastest
// layout in ONNX Runtime. It is converted back to TensorFlow's channels-last
// order only where an image is reshaped to a list. Output images are channels
// first too.
//
// ONNX Runtime keeps images in blocks of channels for some operators, and converts
// them back and forth for others. Prelu, and Pad and MaxPool where that would
// happen, are therefore written in operators of the first kind.
func (g *Graph) ToONNX(outputs []Output) ([]byte, error) {
	c := &converter{graph: g, image: map[string]bool{}, done: map[string]bool{}}
	for _, o := range outputs {
		if err := c.visit(o.Node); err != nil {
			return nil, err
		}
		c.emit("Identity", o.Name, []string{o.Node})
		c.outputs = append(c.outputs, valueProto(o.Name, o.Shape))
	}
	var graph message
	for _, n := range c.nodes {
		graph.bytes(1, n)
	}
	graph.text(2, "graph")
	for _, t := range c.tensors {
		graph.bytes(5, t)
	}
	for _, in := range c.inputs {
		graph.bytes(11, in)
	}
	for _, out := range c.outputs {
		graph.bytes(12, out)
	}
	return modelProto(graph), nil
}

// converter walks the graph from its outputs, so that unused nodes are never
// written.
type converter struct {
	graph                           *Graph
	nodes, tensors, inputs, outputs []message
	image                           map[string]bool // tensors with four dimensions, kept channels first
	done                            map[string]bool
}

func (c *converter) emit(op, output string, inputs []string, attributes ...attribute) {
	c.nodes = append(c.nodes, nodeProto(op, output, inputs, attributes))
}

func (c *converter) constant(name string, t tensor) string {
	switch {
	case c.done[name]:
		return name
	case c.graph.compact && t.levels != nil:
		c.levels(name, t)
	default:
		c.tensors = append(c.tensors, tensorProto(name, t))
	}
	c.done[name] = true
	return name
}

// levels writes a constant of bytes, and operators that make floats of it. ONNX
// Runtime computes them once, when it loads the model.
func (c *converter) levels(name string, t tensor) {
	c.tensors = append(c.tensors, levelsProto(name+"/levels", t))
	c.emit("Cast", name+"/float", []string{name + "/levels"}, attribute{"to", int64(elemFloat)})
	single := func(part string, v float32) string {
		return c.constant(name+part, tensor{shape: []int64{}, floats: []float32{v}})
	}
	c.emit("Mul", name+"/scaled", []string{name + "/float", single("/step", t.step)})
	c.emit("Add", name, []string{name + "/scaled", single("/low", t.low)})
}

// visit writes the node called name after everything it depends on.
func (c *converter) visit(name string) error {
	if c.done[name] {
		return nil
	}
	c.done[name] = true
	n, ok := c.graph.nodes[name]
	if !ok {
		return fmt.Errorf("no node %s", name)
	}
	if n.Op == "Const" {
		c.done[name] = false // written when its user is written, in the form that the user needs
		return nil
	}
	clipped, low, high := c.clip(n)
	if clipped != "" {
		if err := c.visit(clipped); err != nil {
			return err
		}
		c.image[name] = c.image[clipped]
		c.emit("Clip", name, []string{clipped, c.constant(name+"/low", low), c.constant(name+"/high", high)})
		return nil
	}
	for _, in := range n.Inputs {
		if err := c.visit(in); err != nil {
			return err
		}
	}
	if err := c.write(n); err != nil {
		return fmt.Errorf("node %s (%s): %w", n.Name, n.Op, err)
	}
	return nil
}

// clip recognises Maximum(Minimum(x, high), low) with constant bounds. Written as
// Clip, ONNX Runtime fuses it into the convolution before it.
func (c *converter) clip(n node) (x string, low, high tensor) {
	if n.Op != "Maximum" {
		return "", low, high
	}
	inner := c.graph.nodes[n.Inputs[0]]
	low, lowOK := c.graph.consts[n.Inputs[1]]
	if inner.Op != "Minimum" || !lowOK || len(low.floats) != 1 {
		return "", low, high
	}
	high, highOK := c.graph.consts[inner.Inputs[1]]
	if !highOK || len(high.floats) != 1 {
		return "", low, high
	}
	low.shape, high.shape = []int64{}, []int64{}
	return inner.Inputs[0], low, high
}

// elementwise maps the operators whose meaning does not depend on layout.
var elementwise = map[string]string{
	"Add": "Add", "AddV2": "Add", "Mul": "Mul", "Minimum": "Min", "Maximum": "Max",
	"Relu": "Relu", "Sigmoid": "Sigmoid", "Softmax": "Softmax", "Identity": "Identity",
}

func (c *converter) write(n node) error {
	if op, ok := elementwise[n.Op]; ok {
		c.image[n.Name] = c.image[n.Inputs[0]]
		c.emit(op, n.Name, c.operands(n))
		return nil
	}
	switch n.Op {
	case "Placeholder":
		dims := n.Attrs["shape"].Shape.Dim
		if len(dims) != 4 {
			return fmt.Errorf("want a four-dimensional input")
		}
		c.image[n.Name] = true
		if n.Name != "input" {
			c.emit("Identity", n.Name, []string{"input"})
		}
		c.inputs = append(c.inputs, valueProto("input", []int64{1, dims[3].Size, dims[1].Size, dims[2].Size}))
	case "Conv2D", "_FusedConv2D", "DepthwiseConv2dNative":
		return c.convolution(n)
	case "Prelu":
		return c.sloped(n)
	case "MaxPool":
		return c.pool(n)
	case "AvgPool":
		return c.average(n)
	case "Pad":
		return c.pad(n)
	case "Mean":
		return c.mean(n)
	case "Reshape":
		return c.reshape(n)
	case "MatMul", "_FusedMatMul":
		return c.dense(n)
	default:
		return fmt.Errorf("unsupported operator")
	}
	return nil
}

// operands returns the inputs of an elementwise node. A per-channel constant
// next to a channels-first image is given the shape [channels,1,1].
func (c *converter) operands(n node) []string {
	names := slices.Clone(n.Inputs)
	for i, name := range names {
		t, ok := c.graph.consts[name]
		if !ok {
			continue
		}
		if !c.image[n.Inputs[0]] {
			names[i] = c.constant(name, t)
			continue
		}
		t.shape = []int64{int64(len(t.floats)), 1, 1}
		names[i] = c.constant(name+"/channels", t)
	}
	return names
}

// fused writes the activations that TensorFlow.js folded into n, after the bias.
// It reads from n's name and returns to it.
func (c *converter) fused(n node) (result string, finish func() error) {
	var ops []string
	for _, op := range n.Attrs["fused_ops"].List.S {
		if string(op) != "BiasAdd" {
			ops = append(ops, string(op))
		}
	}
	if len(ops) == 0 {
		return n.Name, func() error { return nil }
	}
	result = n.Name + "/linear"
	return result, func() error {
		switch strings.Join(ops, "+") {
		case "Relu":
			c.emit("Relu", n.Name, []string{result})
		case "Relu6":
			zero := c.constant("zero", tensor{shape: []int64{}, floats: []float32{0}})
			six := c.constant("six", tensor{shape: []int64{}, floats: []float32{6}})
			c.emit("Clip", n.Name, []string{result, zero, six})
		case "Prelu":
			c.prelu(result, n.Name, c.graph.consts[n.Inputs[3]])
		default:
			return fmt.Errorf("unsupported activation %v", ops)
		}
		return nil
	}
}
