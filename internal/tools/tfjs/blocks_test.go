package tfjs

import (
	"encoding/json"
	"math"
	"testing"

	"agegate/internal/check/vision/visiontest"

	ort "github.com/yalue/onnxruntime_go"
)

// TestBlocks: what is written in other operators, so that ONNX Runtime keeps images
// in blocks of channels, gives the values of TensorFlow's operators.
func TestBlocks(t *testing.T) {
	visiontest.Pool(t) // loads ONNX Runtime
	const side, channels = 4, 3
	slopes := []float32{0.25, -0.5, 2}
	input := make([]float32, channels*side*side)
	for i := range input {
		input[i] = float32(7*i%23) - 11.5
	}
	want := make([]float32, (channels+2)*4)
	for c, slope := range slopes {
		for cell := range 4 {
			highest := float32(math.Inf(-1))
			for i := range 4 {
				v := input[c*side*side+(2*(cell/2)+i/2)*side+2*(cell%2)+i%2]
				if v < 0 {
					v *= slope
				}
				highest = max(highest, v)
			}
			want[4*c+cell] = highest
		}
	}
	model, err := pooled(side, slopes).ToONNX([]Output{{Node: "pad", Name: "result",
		Shape: []int64{1, channels + 2, 2, 2}}})
	if err != nil {
		t.Fatal(err)
	}
	got := run(t, model, input, ort.NewShape(1, channels, side, side), ort.NewShape(1, channels+2, 2, 2))
	for i, v := range got {
		if math.Abs(float64(v-want[i])) > 1e-5 {
			t.Errorf("value %d is %v, want %v", i, v, want[i])
		}
	}
}

// pooled returns a graph of a convolution that changes nothing, a Prelu, a MaxPool
// of 2×2 cells, and a Pad that appends two channels.
func pooled(side int64, slopes []float32) *Graph {
	channels := int64(len(slopes))
	unit := tensor{shape: []int64{1, 1, channels, channels}, floats: make([]float32, channels*channels)}
	for i := range channels {
		unit.floats[i*channels+i] = 1
	}
	list := func(numbers ...json.Number) (a attr) {
		a.List.I = numbers
		return a
	}
	var shape attr
	for _, size := range []int64{1, side, side, channels} {
		shape.Shape.Dim = append(shape.Shape.Dim, dim{size})
	}
	same := attr{S: []byte("SAME")}
	nodes := map[string]node{}
	for _, n := range []node{
		{"in", "Placeholder", nil, map[string]attr{"shape": shape}},
		{"conv", "Conv2D", []string{"in", "unit"},
			map[string]attr{"strides": list("1", "1", "1", "1"), "dilations": list("1", "1", "1", "1"), "padding": same}},
		{"prelu", "Prelu", []string{"conv", "slopes"}, nil},
		{"pool", "MaxPool", []string{"prelu"},
			map[string]attr{"ksize": list("1", "2", "2", "1"), "strides": list("1", "2", "2", "1"), "padding": same}},
		{"pad", "Pad", []string{"pool", "pads"}, nil},
	} {
		nodes[n.Name] = n
	}
	for _, name := range []string{"unit", "slopes", "pads"} {
		nodes[name] = node{Name: name, Op: "Const"}
	}
	return &Graph{nodes: nodes, consts: map[string]tensor{
		"unit": unit, "slopes": {shape: []int64{channels}, floats: slopes},
		"pads": {shape: []int64{4, 2}, ints: []int64{0, 0, 0, 0, 0, 0, 0, 2}},
	}}
}

// run returns what the model computes from the input.
func run(t *testing.T, model []byte, input []float32, from, to ort.Shape) []float32 {
	t.Helper()
	in, err := ort.NewTensor(from, input)
	if err != nil {
		t.Fatal(err)
	}
	out, err := ort.NewEmptyTensor[float32](to)
	if err != nil {
		t.Fatal(err)
	}
	session, err := ort.NewAdvancedSessionWithONNXData(model, []string{"input"}, []string{"result"}, []ort.Value{in},
		[]ort.Value{out}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := session.Run(); err != nil {
		t.Fatal(err)
	}
	return out.GetData()
}
