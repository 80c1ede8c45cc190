// Package tfjs converts the small TensorFlow.js graph models of the capture
// pipeline to ONNX, so that one native runtime can run all of them.
package tfjs

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
)

// Graph is a TensorFlow.js graph model: its nodes by name, and the constants in
// its weight files. Layout of the format: model.json holds the topology as a
// TensorFlow GraphDef in JSON and a weights manifest; the .bin files hold the
// constants one after the other, little-endian, in manifest order.
type Graph struct {
	nodes   map[string]node
	consts  map[string]tensor
	compact bool // write constants of bytes as such
}

type node struct {
	Name   string          `json:"name"`
	Op     string          `json:"op"`
	Inputs []string        `json:"input"`
	Attrs  map[string]attr `json:"attr"`
}

// attr is the part of a GraphDef AttrValue that these models use. Strings are
// base64, which encoding/json decodes into []byte.
type attr struct {
	S     []byte `json:"s"`
	B     bool   `json:"b"`
	Shape struct {
		Dim []dim `json:"dim"`
	} `json:"shape"`
	List struct {
		I []json.Number `json:"i"`
		S [][]byte      `json:"s"`
	} `json:"list"`
}

type dim struct {
	Size int64 `json:"size,string"`
}

// tensor is a constant; exactly one of floats and ints is set.
type tensor struct {
	shape     []int64
	floats    []float32
	ints      []int64
	levels    []byte // of which the floats were made: each is low + step × level
	low, step float32
}

type modelFile struct {
	Topology struct {
		Nodes []node `json:"node"`
	} `json:"modelTopology"`
	Manifest []weightGroup `json:"weightsManifest"`
}

type weightGroup struct {
	Paths   []string      `json:"paths"`
	Weights []weightEntry `json:"weights"`
}

type weightEntry struct {
	Name         string  `json:"name"`
	Shape        []int64 `json:"shape"`
	DType        string  `json:"dtype"`
	Quantization *struct {
		DType string  `json:"dtype"`
		Scale float64 `json:"scale"` // of uint8: a value is Min + Scale × byte
		Min   float64 `json:"min"`
	} `json:"quantization"`
}

// Load reads the model.json at path and the weight files in its folder.
func Load(path string) (*Graph, error) {
	text, err := os.ReadFile(path) //nolint:gosec // of an installed package
	if err != nil {
		return nil, err
	}
	var file modelFile
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	g := &Graph{nodes: map[string]node{}, consts: map[string]tensor{}}
	for _, n := range file.Topology.Nodes {
		g.nodes[n.Name] = n
	}
	return g, g.readWeights(path, file.Manifest)
}

// readWeights adds the constants of the files that the manifest at path names.
func (g *Graph) readWeights(path string, manifest []weightGroup) error {
	for _, group := range manifest {
		var data []byte
		for _, p := range group.Paths {
			part, err := os.ReadFile(filepath.Join(filepath.Dir(path), p)) //nolint:gosec // of an installed package
			if err != nil {
				return err
			}
			data = append(data, part...)
		}
		for _, w := range group.Weights {
			t, rest, err := readWeight(w, data)
			if err != nil {
				return fmt.Errorf("%s: weight %s: %w", path, w.Name, err)
			}
			g.consts[w.Name], data = t, rest
		}
	}
	return nil
}

// readWeight reads one constant from the front of data and returns the rest.
func readWeight(w weightEntry, data []byte) (tensor, []byte, error) {
	t, count := tensor{shape: w.Shape}, 1
	for _, d := range w.Shape {
		count *= int(d)
	}
	stored, width := w.DType, 4
	if w.Quantization != nil {
		stored = w.Quantization.DType
	}
	switch {
	case stored == "float16":
		width = 2
	case stored == "uint8" && w.Quantization != nil:
		width = 1
	case stored == "uint8":
		return t, nil, fmt.Errorf("unsupported type %q", stored)
	}
	if len(data) < count*width {
		return t, nil, fmt.Errorf("weight file ends early")
	}
	if stored == "uint8" {
		t.levels, t.low, t.step = data[:count], float32(w.Quantization.Min), float32(w.Quantization.Scale)
	}
	for i := range count {
		at := data[i*width:]
		switch stored {
		case "float32":
			t.floats = append(t.floats, math.Float32frombits(binary.LittleEndian.Uint32(at)))
		case "float16":
			t.floats = append(t.floats, fromHalf(binary.LittleEndian.Uint16(at)))
		case "uint8":
			t.floats = append(t.floats, float32(w.Quantization.Min+w.Quantization.Scale*float64(at[0])))
		case "int32":
			t.ints = append(t.ints, int64(int32(binary.LittleEndian.Uint32(at)))) //nolint:gosec // two's complement
		default:
			return t, nil, fmt.Errorf("unsupported type %q", stored)
		}
	}
	return t, data[count*width:], nil
}

// fromHalf converts an IEEE 754 binary16 value.
func fromHalf(h uint16) float32 {
	sign := uint32(h>>15) << 31
	exponent := int(h >> 10 & 0x1f)
	fraction := uint32(h & 0x3ff)
	switch exponent {
	case 0: // zero or subnormal: fraction × 2⁻²⁴
		value := float32(fraction) * (1.0 / (1 << 24))
		return math.Float32frombits(math.Float32bits(value) | sign)
	case 31: // infinity or not a number
		return math.Float32frombits(sign | 0x7f800000 | fraction<<13)
	}
	return math.Float32frombits(sign | uint32(exponent+127-15)<<23 | fraction<<13)
}

// channels returns the number of channels of an image, if a convolution or a Pad
// made it, or something that keeps their number.
func (g *Graph) channels(name string) (count int64, ok bool) {
	n := g.nodes[name]
	switch n.Op {
	case "Conv2D", "_FusedConv2D":
		return last(g.consts[n.Inputs[1]].shape)
	case "Pad":
		before, ok := g.channels(n.Inputs[0])
		p := g.consts[n.Inputs[1]].ints
		return before + p[6] + p[7], ok
	case "Add", "AddV2", "Mul", "Relu", "Prelu", "MaxPool", "AvgPool", "DepthwiseConv2dNative":
		return g.channels(n.Inputs[0])
	}
	return 0, false
}

func last(shape []int64) (int64, bool) {
	if len(shape) == 0 {
		return 0, false
	}
	return shape[len(shape)-1], true
}
