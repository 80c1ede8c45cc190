package calibration

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/mat"
)

// projection reduces features to their principal components.
type projection struct {
	Mean  floats `json:"mean"`
	Basis floats `json:"basis"` // a row of features for each component
}

func (p *projection) check() error {
	if len(p.Mean) != features || len(p.Basis) == 0 || len(p.Basis)%features != 0 {
		return fmt.Errorf("the projection has %d and %d numbers for %d features", len(p.Mean), len(p.Basis), features)
	}
	return nil
}

func (p *projection) components() int { return len(p.Basis) / features }

// apply returns the components of one list of features.
func (p *projection) apply(values []float32) []float32 {
	centred := make([]float32, features)
	for i, v := range values {
		centred[i] = v - p.Mean[i]
	}
	out := make([]float32, p.components())
	blas32.Gemv(blas.NoTrans, 1, matrix(len(out), features, p.Basis), vector(centred), 0, vector(out))
	return out
}

// principal finds the leading components of rows of features by subspace
// iteration from random directions (Halko, Martinsson, Tropp: Finding
// structure with randomness, 2011, algorithm 4.4). Each component is divided by
// the root of its standard deviation, halfway to equal importance, and all are
// scaled so that the first has the standard deviation 1.
func principal(rows *mat.Dense, components int, seed uint64) *projection {
	n, d := rows.Dims()
	mean := columnMeans(rows)
	centred := mat.NewDense(n, d, nil)
	centred.Apply(func(_, j int, v float64) float64 { return v - mean[j] }, rows)

	const spare, rounds = 10, 4
	random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // repeatable on purpose
	directions := mat.NewDense(d, components+spare, nil)
	directions.Apply(func(int, int, float64) float64 { return random.NormFloat64() }, directions)
	for range rounds {
		var sampled, spread mat.Dense
		sampled.Mul(centred, directions)
		spread.Mul(centred.T(), &sampled)
		orthonormalise(&spread)
		directions = &spread
	}
	// Within the subspace the problem is small enough to solve as it is.
	var sampled, basis mat.Dense
	sampled.Mul(centred, directions)
	var svd mat.SVD
	if !svd.Factorize(&sampled, mat.SVDThin) {
		panic("calibration: no singular values")
	}
	var right mat.Dense
	svd.VTo(&right)
	basis.Mul(directions, &right)

	deviation := svd.Values(nil)
	p := &projection{Mean: single(mean)}
	for c := range components {
		scale := 1 / math.Sqrt(deviation[c]*deviation[0]/float64(n-1))
		for i := range d {
			p.Basis = append(p.Basis, float32(basis.At(i, c)*scale))
		}
	}
	return p
}

func columnMeans(rows *mat.Dense) []float64 {
	n, d := rows.Dims()
	mean := make([]float64, d)
	for i := range n {
		for j, v := range rows.RawRowView(i) {
			mean[j] += v / float64(n)
		}
	}
	return mean
}

// orthonormalise replaces the columns by an orthonormal basis of their span.
func orthonormalise(m *mat.Dense) {
	var svd mat.SVD
	if !svd.Factorize(m, mat.SVDThinU) {
		panic("calibration: no singular values")
	}
	m.Reset()
	svd.UTo(m)
}

func single(values []float64) floats {
	out := make(floats, len(values))
	for i, v := range values {
		out[i] = float32(v)
	}
	return out
}
