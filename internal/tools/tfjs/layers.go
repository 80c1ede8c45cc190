package tfjs

import "fmt"

// convolution writes Conv2D and depthwise convolution as Conv. TensorFlow stores
// weights as [height,width,in,out], or [height,width,channels,multiplier] for a
// depthwise convolution; ONNX stores them as [out,in/groups,height,width].
func (c *converter) convolution(n node) error {
	weights, ok := c.graph.consts[n.Inputs[1]]
	if !ok || len(weights.shape) != 4 {
		return fmt.Errorf("weights are not constant")
	}
	strides, err := spatial(n, "strides")
	if err != nil {
		return err
	}
	dilations, err := spatial(n, "dilations")
	if err != nil {
		return err
	}
	groups, order := int64(1), [4]int{3, 2, 0, 1}
	if n.Op == "DepthwiseConv2dNative" {
		groups, order = weights.shape[2], [4]int{2, 3, 0, 1}
		if weights.shape[3] != 1 {
			return fmt.Errorf("unsupported channel multiplier")
		}
	}
	inputs := []string{n.Inputs[0], c.constant(n.Inputs[1]+"/oihw", transpose(weights, order))}
	if len(n.Inputs) > 2 {
		inputs = append(inputs, c.constant(n.Inputs[2], c.graph.consts[n.Inputs[2]]))
	}
	c.image[n.Name] = true
	result, finish := c.fused(n)
	c.emit("Conv", result, inputs, attribute{"group", groups}, attribute{"strides", strides},
		attribute{"dilations", dilations}, padding(n))
	return finish()
}

// sloped writes the node of a Prelu.
func (c *converter) sloped(n node) error {
	slope, ok := c.graph.consts[n.Inputs[1]]
	if !ok || !c.image[n.Inputs[0]] {
		return fmt.Errorf("want an image and a constant slope")
	}
	c.image[n.Name] = true
	c.prelu(n.Inputs[0], n.Name, slope)
	return nil
}

// prelu writes a Prelu of an image as relu(x) - slope × relu(-x), the products as
// depthwise convolutions. ONNX Runtime keeps images in blocks of channels for these
// operators, and would convert each image back and forth for PRelu.
func (c *converter) prelu(from, to string, slope tensor) {
	channels := int64(len(slope.floats))
	times := func(name string, factor func(i int) float32) string {
		t := tensor{shape: []int64{channels, 1, 1, 1}, floats: make([]float32, channels)}
		for i := range t.floats {
			t.floats[i] = factor(i)
		}
		return c.constant(to+name, t)
	}
	scaled := func(name, from, weights string) string {
		c.emit("Conv", to+name, []string{from, weights}, attribute{"group", channels})
		return to + name
	}
	opposite := scaled("/opposite", from, times("/minus", func(int) float32 { return -1 }))
	c.emit("Relu", to+"/below", []string{opposite})
	below := scaled("/sloped", to+"/below", times("/slope", func(i int) float32 { return -slope.floats[i] }))
	c.emit("Relu", to+"/above", []string{from})
	c.emit("Add", to, []string{below, to + "/above"})
}

// pad converts the [before,after] pairs of a channels-last image to ONNX's order:
// first all befores, then all afters, channels first.
func (c *converter) pad(n node) error {
	p := c.graph.consts[n.Inputs[1]].ints
	if len(p) != 8 {
		return fmt.Errorf("want the padding of an image")
	}
	if in, ok := c.graph.channels(n.Inputs[0]); ok && c.blocks && p[7] > 0 && p[0]+p[1]+p[2]+p[3]+p[4]+p[5]+p[6] == 0 {
		c.image[n.Name] = true
		c.widen(n, in, p[7])
		return nil
	}
	pads := tensor{shape: []int64{8}, ints: []int64{p[0], p[6], p[2], p[4], p[1], p[7], p[3], p[5]}}
	c.image[n.Name] = true
	c.emit("Pad", n.Name, []string{n.Inputs[0], c.constant(n.Name+"/pads", pads)})
	return nil
}

// widen writes a Pad that appends channels of zeros as a convolution with the unit
// matrix, for the same reason as in prelu.
func (c *converter) widen(n node, in, more int64) {
	unit := tensor{shape: []int64{in + more, in, 1, 1}, floats: make([]float32, (in+more)*in)}
	for i := range in {
		unit.floats[i*in+i] = 1
	}
	c.emit("Conv", n.Name, []string{n.Inputs[0], c.constant(n.Name+"/unit", unit)})
}

// mean writes the average over an image's height and width.
func (c *converter) mean(n node) error {
	axes := c.graph.consts[n.Inputs[1]].ints
	if len(axes) != 2 || axes[0] != 1 || axes[1] != 2 || n.Attrs["keep_dims"].B {
		return fmt.Errorf("want the mean over height and width")
	}
	name := c.constant(n.Name+"/axes", tensor{shape: []int64{2}, ints: []int64{2, 3}})
	c.emit("ReduceMean", n.Name, []string{n.Inputs[0], name}, attribute{"keepdims", int64(0)})
	return nil
}

// reshape turns an image into a list in TensorFlow's channels-last order.
func (c *converter) reshape(n node) error {
	shape, ok := c.graph.consts[n.Inputs[1]]
	if !ok || len(shape.ints) == 4 {
		return fmt.Errorf("want a constant shape that is not an image's")
	}
	from := n.Inputs[0]
	if c.image[from] {
		from = n.Name + "/nhwc"
		c.emit("Transpose", from, n.Inputs[:1], attribute{"perm", []int64{0, 2, 3, 1}})
	}
	c.emit("Reshape", n.Name, []string{from, c.constant(n.Name+"/shape", shape)})
	return nil
}

// dense writes a matrix product with its bias as Gemm.
func (c *converter) dense(n node) error {
	if n.Attrs["transpose_a"].B || n.Attrs["transpose_b"].B {
		return fmt.Errorf("unsupported transposition")
	}
	inputs := n.Inputs[:1:1]
	for _, name := range n.Inputs[1:] {
		t, ok := c.graph.consts[name]
		if !ok {
			return fmt.Errorf("weights are not constant")
		}
		inputs = append(inputs, c.constant(name, t))
	}
	result, finish := c.fused(n)
	c.emit("Gemm", result, inputs)
	return finish()
}

// spatial returns the height and width entries of a channels-last attribute.
func spatial(n node, name string) ([]int64, error) {
	list := n.Attrs[name].List.I
	if len(list) != 4 {
		return nil, fmt.Errorf("attribute %s has %d entries", name, len(list))
	}
	height, err := list[1].Int64()
	if err != nil {
		return nil, err
	}
	width, err := list[2].Int64()
	return []int64{height, width}, err
}

func padding(n node) attribute {
	if string(n.Attrs["padding"].S) == "SAME" {
		return attribute{"auto_pad", "SAME_UPPER"}
	}
	return attribute{"auto_pad", "VALID"}
}

// transpose reorders a four-dimensional constant's axes.
func transpose(t tensor, order [4]int) tensor {
	step := [4]int64{t.shape[1] * t.shape[2] * t.shape[3], t.shape[2] * t.shape[3], t.shape[3], 1}
	out := tensor{shape: make([]int64, 4), floats: make([]float32, 0, len(t.floats))}
	for i, axis := range order {
		out.shape[i] = t.shape[axis]
	}
	for a := range out.shape[0] {
		for b := range out.shape[1] {
			for c := range out.shape[2] {
				for d := range out.shape[3] {
					at := a*step[order[0]] + b*step[order[1]] + c*step[order[2]] + d*step[order[3]]
					out.floats = append(out.floats, t.floats[at])
				}
			}
		}
	}
	return out
}
