package calibration

import (
	"fmt"

	"gonum.org/v1/gonum/blas/blas32"
)

// Network is a perceptron with one hidden layer of rectified units and one
// output.
type Network struct {
	Weights Floats  `json:"weights"` // one row of inputs for each hidden unit
	Biases  Floats  `json:"biases"`  // of the hidden units
	Output  Floats  `json:"output"`  // weight of each hidden unit
	Offset  float32 `json:"offset"`
}

// check reports whether the network fits its number of inputs.
func (n *Network) check(inputs int) error {
	hidden := len(n.Output)
	if hidden == 0 || len(n.Biases) != hidden || len(n.Weights) != hidden*inputs {
		return fmt.Errorf("a network of %d × %d weights has %d biases and %d outputs", inputs, hidden, len(n.Biases), len(n.Output))
	}
	return nil
}

// value computes the network's output.
func (n *Network) value(input []float32) float32 {
	out := n.Offset
	for j, bias := range n.Biases {
		row := n.Weights[j*len(input) : (j+1)*len(input)]
		out += n.Output[j] * max(0, bias+blas32.Dot(vector(input), vector(row)))
	}
	return out
}

func vector(v []float32) blas32.Vector { return blas32.Vector{N: len(v), Inc: 1, Data: v} }
