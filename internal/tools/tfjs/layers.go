package tfjs

import (
	"fmt"
	"slices"
)

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

// prelu writes a Prelu of an image as x + (1 - slope) × relu(-x), the products as
// depthwise convolutions. ONNX Runtime keeps images in blocks of channels for these
// operators, and would convert each image back and forth for PRelu.
func (c *converter) prelu(from, to string, slope tensor) {
	channels := len(slope.floats)
	below := c.perChannel(to+"/below", from, channels, 1, 1, func(int) []float32 { return []float32{-1} })
	c.emit("Relu", to+"/positive", []string{below})
	rest := c.perChannel(to+"/rest", to+"/positive", channels, 1, 1,
		func(i int) []float32 { return []float32{1 - slope.floats[i]} })
	c.emit("Add", to, []string{rest, from})
}

// perChannel writes a depthwise convolution, whose kernel of height × width also
// sets its strides, and returns its name.
func (c *converter) perChannel(
	to, from string, channels int, height, width int64, kernel func(channel int) []float32,
) string {
	t := tensor{shape: []int64{int64(channels), 1, height, width}}
	for i := range channels {
		t.floats = append(t.floats, kernel(i)...)
	}
	c.emit("Conv", to, []string{from, c.constant(to+"/weights", t)},
		attribute{"group", int64(channels)}, attribute{"strides", []int64{height, width}})
	return to
}

// pool writes a MaxPool. ONNX Runtime keeps images in blocks of channels for it only
// if the last block is full. Otherwise the maximum of 2×2 cells is written as those
// of two neighbours in a row, and then in a column. The height and width must then
// be even.
func (c *converter) pool(n node) error {
	kernel, err := spatial(n, "ksize")
	if err != nil {
		return err
	}
	strides, err := spatial(n, "strides")
	if err != nil {
		return err
	}
	c.image[n.Name] = true
	channels, ok := c.graph.channels(n.Inputs[0])
	if pairs := []int64{2, 2}; !ok || channels%fullBlock == 0 || !slices.Equal(kernel, pairs) ||
		!slices.Equal(strides, pairs) {
		c.emit("MaxPool", n.Name, n.Inputs[:1], attribute{"kernel_shape", kernel}, attribute{"strides", strides}, padding(n))
		return nil
	}
	c.larger(n.Inputs[0], n.Name+"/row", int(channels), 1, 2)
	c.larger(n.Name+"/row", n.Name, int(channels), 2, 1)
	return nil
}

// average writes an AvgPool.
func (c *converter) average(n node) error {
	kernel, err := spatial(n, "ksize")
	if err != nil {
		return err
	}
	strides, err := spatial(n, "strides")
	c.image[n.Name] = true
	c.emit("AveragePool", n.Name, n.Inputs[:1], attribute{"kernel_shape", kernel}, attribute{"strides", strides},
		padding(n))
	return err
}

// fullBlock is the number of channels in a block on processors with the widest
// registers.
const fullBlock = 16

// larger writes the maximum of two neighbours, next to each other or one above the
// other, as relu(a - b) + b, with depthwise convolutions.
func (c *converter) larger(from, to string, channels int, height, width int64) {
	difference := c.perChannel(to+"/difference", from, channels, height, width,
		func(int) []float32 { return []float32{1, -1} })
	c.emit("Relu", to+"/excess", []string{difference})
	second := c.perChannel(to+"/second", from, channels, height, width, func(int) []float32 { return []float32{0, 1} })
	c.emit("Add", to, []string{second, to + "/excess"})
}

// pad converts the [before,after] pairs of a channels-last image to ONNX's order:
// first all befores, then all afters, channels first.
func (c *converter) pad(n node) error {
	p := c.graph.consts[n.Inputs[1]].ints
	if len(p) != 8 {
		return fmt.Errorf("want the padding of an image")
	}
	if in, ok := c.graph.channels(n.Inputs[0]); ok && p[7] > 0 && p[0]+p[1]+p[2]+p[3]+p[4]+p[5]+p[6] == 0 {
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
	out := tensor{shape: make([]int64, 4), floats: make([]float32, 0, len(t.floats)), low: t.low, step: t.step}
	for i, axis := range order {
		out.shape[i] = t.shape[axis]
	}
	for a := range out.shape[0] {
		for b := range out.shape[1] {
			for c := range out.shape[2] {
				for d := range out.shape[3] {
					at := a*step[order[0]] + b*step[order[1]] + c*step[order[2]] + d*step[order[3]]
					out.floats = append(out.floats, t.floats[at])
					if t.levels != nil {
						out.levels = append(out.levels, t.levels[at])
					}
				}
			}
		}
	}
	return out
}
