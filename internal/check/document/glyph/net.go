// Package glyph recognises the characters of OCR-B by a small neural network,
// in plain Go. `make mrz-model` trains it (internal/tools/mrzmodel).
package glyph

import (
	_ "embed" // the weights
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"agegate/internal/check/document/mrz"
)

// A cell is the network's input. It shows one character in the middle; the neighbours are cut off at the edges.
const (
	Width  = 24
	Height = 28
	// Across is the width of a cell in pitches; a pitch is the distance from one character to the next. Upright is the
	// height of a cell in heights of a capital letter.
	Across  = 1.3
	Upright = 1.54
)

// Classes of the network: those of mrz.Alphabet in its order, then Junk, which
// stands for anything except one centred character.
const (
	Classes = len(mrz.Alphabet) + 1
	Junk    = len(mrz.Alphabet)
)

// Cell holds the darkness of Width × Height samples, row by row, with mean 0
// and, unless it is almost blank, standard deviation 1.
type Cell [Width * Height]float32

// Shape of the network: two convolutions without padding, with a step of two, each
// followed by a rectifier, and then two dense layers.
const (
	Kernel1   = 5  // side of the first convolution
	Channels1 = 16 // its output channels
	Rows1     = (Height-Kernel1)/2 + 1
	Columns1  = (Width-Kernel1)/2 + 1
	Kernel2   = 3 // side of the second convolution
	Channels2 = 32
	Rows2     = (Rows1-Kernel2)/2 + 1
	Columns2  = (Columns1-Kernel2)/2 + 1
	Inner     = Rows2 * Columns2 * Channels2 // inputs of the first dense layer
	Hidden    = 64                           // its outputs
)

// Weights are the network's numbers. Within a layer they are ordered by input,
// then by output, so that the weights of one input are contiguous.
type Weights struct {
	Conv1 [Kernel1 * Kernel1][Channels1]float32
	Bias1 [Channels1]float32
	Conv2 [Kernel2 * Kernel2 * Channels1][Channels2]float32
	Bias2 [Channels2]float32
	Dense [Inner][Hidden]float32
	Bias3 [Hidden]float32
	Last  [Hidden][Classes]float32
	Bias4 [Classes]float32
}

// Activations are the outputs of the layers for one cell.
type Activations struct {
	First  [Rows1 * Columns1][Channels1]float32
	Second [Rows2 * Columns2][Channels2]float32
	Third  [Hidden]float32
	Logs   [Classes]float32 // logarithms of the probabilities
}

// Run computes the activations of a cell.
func (w *Weights) Run(cell *Cell, a *Activations) {
	for at := range a.First {
		w.first(cell, at, &a.First[at])
	}
	for at := range a.Second {
		w.second(&a.First, at, &a.Second[at])
	}
	w.dense(a)
	logSoftmax(&a.Logs)
}

// first computes the outputs of the first convolution at one position.
func (w *Weights) first(cell *Cell, at int, out *[Channels1]float32) {
	top, left := 2*(at/Columns1), 2*(at%Columns1)
	sum := w.Bias1
	for tap := range w.Conv1 {
		x := cell[(top+tap/Kernel1)*Width+left+tap%Kernel1]
		weights := &w.Conv1[tap]
		for c := range sum {
			sum[c] += x * weights[c]
		}
	}
	for c, v := range sum {
		out[c] = max(v, 0)
	}
}

// second computes the outputs of the second convolution at one position.
func (w *Weights) second(in *[Rows1 * Columns1][Channels1]float32, at int, out *[Channels2]float32) {
	top, left := 2*(at/Columns2), 2*(at%Columns2)
	sum := w.Bias2
	for tap := range Kernel2 * Kernel2 {
		for c, x := range &in[(top+tap/Kernel2)*Columns1+left+tap%Kernel2] {
			if x == 0 { // every second input, after a rectifier
				continue
			}
			weights := &w.Conv2[tap*Channels1+c]
			for o := range sum {
				sum[o] += x * weights[o]
			}
		}
	}
	for c, v := range sum {
		out[c] = max(v, 0)
	}
}

// dense computes the two dense layers.
func (w *Weights) dense(a *Activations) {
	a.Third = w.Bias3
	for i := range Inner {
		x := a.Second[i/Channels2][i%Channels2]
		if x == 0 {
			continue
		}
		weights := &w.Dense[i]
		for o := range a.Third {
			a.Third[o] += x * weights[o]
		}
	}
	a.Logs = w.Bias4
	for i, x := range a.Third {
		if x <= 0 {
			a.Third[i] = 0
			continue
		}
		weights := &w.Last[i]
		for o := range a.Logs {
			a.Logs[o] += x * weights[o]
		}
	}
}

func logSoftmax(logits *[Classes]float32) {
	top := slices.Max(logits[:])
	var sum float64
	for _, v := range logits {
		sum += math.Exp(float64(v - top))
	}
	shift := top + float32(math.Log(sum))
	for i := range logits {
		logits[i] -= shift
	}
}

// Groups returns the weights as slices that share their memory, in a fixed order.
func (w *Weights) Groups() [][]float32 {
	var groups [][]float32
	for i := range w.Conv1 {
		groups = append(groups, w.Conv1[i][:])
	}
	groups = append(groups, w.Bias1[:])
	for i := range w.Conv2 {
		groups = append(groups, w.Conv2[i][:])
	}
	groups = append(groups, w.Bias2[:])
	for i := range w.Dense {
		groups = append(groups, w.Dense[i][:])
	}
	groups = append(groups, w.Bias3[:])
	for i := range w.Last {
		groups = append(groups, w.Last[i][:])
	}
	return append(groups, w.Bias4[:])
}

// File is the stored form of the weights: numbers with a description of their origin.
type File struct {
	Origin string `json:"origin"`
	// Weights holds one row for each of Weights.Groups.
	Weights [][]float32 `json:"weights"`
}

//go:embed weights.json
var trained []byte

// Trained returns the embedded weights.
func Trained() (*Weights, error) { return Parse(trained) }

// Parse reads the text of a File.
func Parse(text []byte) (*Weights, error) {
	var file File
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("weights of the MRZ reader: %w", err)
	}
	w := new(Weights)
	groups := w.Groups()
	if len(file.Weights) != len(groups) {
		return nil, fmt.Errorf("weights of the MRZ reader: %d groups, want %d", len(file.Weights), len(groups))
	}
	for i, group := range groups {
		if len(file.Weights[i]) != len(group) {
			return nil, fmt.Errorf("weights of the MRZ reader: group %d has %d numbers, want %d", i, len(file.Weights[i]),
				len(group))
		}
		copy(group, file.Weights[i])
	}
	return w, nil
}
