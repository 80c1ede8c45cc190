package main

import (
	"fmt"

	"agegate/internal/tools/tfjs"
)

// channelMeans are the means of red, green and blue that the networks of
// @vladmandic/face-api subtract.
var channelMeans = [3]float32{122.782, 117.001, 104.298}

// secondGraph writes the graph of age_gender_model, a small Xception, whose package
// ships weights only. The gender output is left out.
func secondGraph(path string) (*tfjs.Graph, error) {
	n, err := tfjs.LoadNet(path, 112, 112)
	if err != nil {
		return nil, err
	}
	x := n.Conv("entry_flow/conv_in", normalized(n), 2, tfjs.Same, "entry_flow/conv_in/filters", "entry_flow/conv_in/bias")
	x = n.Apply("Relu", "entry_flow/conv_in/relu", x)
	x = reduction(n, "entry_flow/reduction_block_0", x, x)
	x = reduction(n, "entry_flow/reduction_block_1", x, n.Apply("Relu", "entry_flow/reduction_block_1/relu", x))
	for block := range 2 {
		x = residual(n, fmt.Sprintf("middle_flow/main_block_%d", block), x)
	}
	x = reduction(n, "exit_flow/reduction_block", x, n.Apply("Relu", "exit_flow/reduction_block/relu", x))
	x = n.Apply("Relu", "exit_flow/relu", separable(n, "exit_flow/separable_conv", x))
	n.Dense("age", n.Mean("mean", x), "fc/age/weights", "fc/age/bias")
	return n.Graph(), nil
}

// normalized is the input less channelMeans, over 255.
func normalized(n *tfjs.Net) string {
	means := channelMeans
	less := n.Apply("Add", "centered", tfjs.NetInput, n.Constant("means", -means[0], -means[1], -means[2]))
	return n.Apply("Mul", "normalized", less, n.Constant("per_level", 1.0/255, 1.0/255, 1.0/255))
}

// reduction halves an image. Its second branch starts from the activated image.
func reduction(n *tfjs.Net, name, x, activated string) string {
	y := separable(n, name+"/separable_conv0", activated)
	y = separable(n, name+"/separable_conv1", n.Apply("Relu", name+"/relu1", y))
	y = n.MaxPool(name+"/pool", y, 3, 2, tfjs.Same)
	short := n.Conv(name+"/short", x, 2, tfjs.Same, name+"/expansion_conv/filters", name+"/expansion_conv/bias")
	return n.Apply("Add", name+"/sum", y, short)
}

func residual(n *tfjs.Net, name, x string) string {
	y := x
	for i := range 3 {
		y = n.Apply("Relu", fmt.Sprintf("%s/relu%d", name, i), y)
		y = separable(n, fmt.Sprintf("%s/separable_conv%d", name, i), y)
	}
	return n.Apply("Add", name+"/sum", y, x)
}

// separable is a convolution in two steps: of each channel by itself, then across
// the channels.
func separable(n *tfjs.Net, name, x string) string {
	x = n.Depthwise(name+"/depthwise", x, 1, tfjs.Same, name+"/depthwise_filter")
	return n.Conv(name+"/pointwise", x, 1, tfjs.Same, name+"/pointwise_filter", name+"/bias")
}
