package accuracy

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"agegate/internal/check/age/calibration"
)

// principal finds the leading components of rows of features by subspace
// iteration from random directions (Halko, Martinsson, Tropp: Finding structure
// with randomness, 2011, algorithm 4.4). Each component is divided by the
// square root of its standard deviation, a compromise between keeping and
// equalizing their scales, and all are scaled so that the first has standard
// deviation 1.
func principal(rows *mat.Dense, components int, seed uint64) *calibration.Projection {
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
	// Within the subspace the problem is small enough to solve directly.
	var sampled, basis mat.Dense
	sampled.Mul(centred, directions)
	var svd mat.SVD
	if !svd.Factorize(&sampled, mat.SVDThin) {
		panic("accuracy: no singular values")
	}
	var right mat.Dense
	svd.VTo(&right)
	basis.Mul(directions, &right)

	deviation := svd.Values(nil)
	p := &calibration.Projection{Mean: single(mean)}
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
		panic("accuracy: no singular values")
	}
	m.Reset()
	svd.UTo(m)
}

func single(values []float64) calibration.Floats {
	out := make(calibration.Floats, len(values))
	for i, v := range values {
		out[i] = float32(v)
	}
	return out
}
