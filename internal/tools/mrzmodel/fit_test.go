package main

import (
	"math"
	"math/rand/v2"
	"testing"

	"golang.org/x/image/font/gofont/gomono"

	"agegate/internal/check/document/glyph"
)

// TestGradient compares the gradient with differences of the loss.
func TestGradient(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	w, g := initial(random), new(glyph.Weights)
	var cell glyph.Cell
	for i := range cell {
		cell[i] = float32(random.NormFloat64())
	}
	const class = 5
	var a glyph.Activations
	loss := func() (sum float64) {
		w.Run(&cell, &a)
		for c, log := range a.Logs {
			share := smoothing / float64(glyph.Classes)
			if c == class {
				share += 1 - smoothing
			}
			sum -= share * float64(log)
		}
		return sum
	}
	loss()
	back(w, g, &cell, &a, class)
	weights, gradient := w.Groups(), g.Groups()
	for _, group := range []int{3, 25, 30, 100, 169, 170, 171, 500, 811, 812, 850, 876} {
		for range 3 {
			i := random.IntN(len(weights[group]))
			const step = 2e-3
			old := weights[group][i]
			weights[group][i] = old + step
			up := loss()
			weights[group][i] = old - step
			down := loss()
			weights[group][i] = old
			if want, got := (up-down)/(2*step), float64(gradient[group][i]); math.Abs(want-got) > 0.05*math.Abs(want)+3e-3 {
				t.Errorf("group %d, weight %d: %g, want %g", group, i, got, want)
			}
		}
	}
}

// TestFit: a short training lowers the loss, and the same seed gives the same
// weights. It uses a font that every machine has.
func TestFit(t *testing.T) {
	font, err := newFontSet(gomono.TTF)
	if err != nil {
		t.Fatal(err)
	}
	var first, last float64
	train := func() *glyph.Weights {
		first = 0
		return training{seed: 3, steps: 24, batch: 32, threads: 2, rate: 2e-2, every: 8}.fit(font, func(_ int, loss float64) {
			if first == 0 {
				first = loss
			}
			last = loss
		})
	}
	a := train()
	if last >= first {
		t.Errorf("loss %.3f after %.3f", last, first)
	}
	if b := train(); *a != *b {
		t.Error("the same training gave other weights")
	}
}
