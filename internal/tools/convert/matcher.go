package main

import (
	"fmt"

	"agegate/internal/tools/tfjs"
)

// stages are the residual blocks of face_recognition_model by their image's size.
var stages = []struct {
	first    string // the block that halves the image; "" in the first stage
	channels int64  // appended to its shortcut
	zeros    int64  // rows and columns appended to its image, which is smaller than the shortcut's
	others   string // of the blocks that follow
	count    int
}{
	{"", 0, 0, "conv32", 3},
	{"conv64_down", 32, 0, "conv64", 3},
	{"conv128_down", 64, 0, "conv128", 2},
	{"conv256_down", 128, 1, "conv256", 2},
	{"conv256_down_out", 0, 1, "", 0},
}

// matcherGraph writes the graph of face_recognition_model, dlib's residual network,
// whose package ships weights only.
func matcherGraph(path string) (*tfjs.Graph, error) {
	n, err := tfjs.LoadNet(path, 150, 150)
	if err != nil {
		return nil, err
	}
	x := n.Apply("Relu", "conv32_down", scaled(n, "conv32_down", normalized(n), 2, tfjs.Valid))
	x = n.MaxPool("pooled", x, 3, 2, tfjs.Valid)
	for _, s := range stages {
		if s.first != "" {
			y := convolutions(n, s.first, x, 2, tfjs.Valid)
			x = n.MeanPool(s.first+"/shortcut", x, 2, 2, tfjs.Valid)
			if s.channels > 0 {
				x = n.Append(s.first+"/widened", x, 0, 0, s.channels)
			}
			if s.zeros > 0 {
				y = n.Append(s.first+"/enlarged", y, s.zeros, s.zeros, 0)
			}
			x = added(n, s.first, y, x)
		}
		for i := range s.count {
			name := fmt.Sprintf("%s_%d", s.others, i+1)
			x = added(n, name, convolutions(n, name, x, 1, tfjs.Same), x)
		}
	}
	n.Dense("product", n.Mean("mean", x), "fc")
	return n.Compact(), nil
}

// convolutions are the two of a residual block.
func convolutions(n *tfjs.Net, name, x string, stride int64, padding tfjs.Padding) string {
	x = n.Apply("Relu", name+"/conv1", scaled(n, name+"/conv1", x, stride, padding))
	return scaled(n, name+"/conv2", x, 1, tfjs.Same)
}

// scaled is a convolution whose channels are then scaled and shifted.
func scaled(n *tfjs.Net, name, x string, stride int64, padding tfjs.Padding) string {
	x = n.Conv(name+"/linear", x, stride, padding, name+"/conv/filters", name+"/conv/bias")
	x = n.Apply("Mul", name+"/scaled", x, name+"/scale/weights")
	return n.Apply("Add", name+"/shifted", x, name+"/scale/biases")
}

func added(n *tfjs.Net, name, y, shortcut string) string {
	return n.Apply("Relu", name, n.Apply("Add", name+"/sum", y, shortcut))
}
