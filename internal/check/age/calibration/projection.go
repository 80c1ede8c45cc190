package calibration

import (
	"fmt"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
)

// Projection reduces features to their principal components.
type Projection struct {
	Mean  Floats `json:"mean"`
	Basis Floats `json:"basis"` // a row of features for each component
}

func (p *Projection) check() error {
	if len(p.Mean) != Inputs || len(p.Basis) == 0 || len(p.Basis)%Inputs != 0 {
		return fmt.Errorf("the projection has %d and %d numbers for %d features", len(p.Mean), len(p.Basis), Inputs)
	}
	return nil
}

func (p *Projection) components() int { return len(p.Basis) / Inputs }

// Apply returns the components of one list of Values.
func (p *Projection) Apply(values []float32) []float32 {
	centred := make([]float32, Inputs)
	for i, v := range values {
		centred[i] = v - p.Mean[i]
	}
	out := make([]float32, p.components())
	basis := blas32.General{Rows: len(out), Cols: Inputs, Stride: Inputs, Data: p.Basis}
	blas32.Gemv(blas.NoTrans, 1, basis, vector(centred), 0, vector(out))
	return out
}
