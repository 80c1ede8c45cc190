package accuracy

import (
	"math"
	"math/rand/v2"

	"agegate/internal/check/inference"
	"agegate/internal/check/vision"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
)

// nearCopy is the cosine between the descriptors of two pictures' whole crops
// from which they count as copies of one picture, see Folds.
const nearCopy = 0.9

// Folds deals pictures into folds for cross-validation, by their features.
// Near copies of one picture, of which public sets hold many, come into the
// same fold: a fit that has seen one would flatter itself on the other. The
// same features and seed give the same folds.
func Folds(features []*vision.Features, folds int, seed uint64) []int {
	groups := nearCopies(features)
	fold := make([]int, len(features))
	order := rand.New(rand.NewPCG(seed, 2)).Perm(len(features)) //nolint:gosec // repeatable on purpose
	dealt := map[int]int{}                                      // the fold of each group met so far
	for _, at := range order {
		g := groups[at]
		if _, ok := dealt[g]; !ok {
			dealt[g] = len(dealt) % folds
		}
		fold[at] = dealt[g]
	}
	return fold
}

// nearCopies names for each picture the first one that it is, directly or by
// others in between, a near copy of.
func nearCopies(features []*vision.Features) []int {
	const block = 256
	n, d := len(features), inference.DescriptorSize
	rows := make([]float32, n*d)
	parent := make([]int, n)
	for i, f := range features {
		parent[i] = i
		var square float64
		for _, v := range f.Whole.Descriptor {
			square += float64(v) * float64(v)
		}
		length := float32(math.Sqrt(max(square, math.SmallestNonzeroFloat32)))
		for j, v := range f.Whole.Descriptor {
			rows[i*d+j] = v / length
		}
	}
	root := func(i int) int {
		for parent[i] != i {
			i = parent[i]
		}
		return i
	}
	cosines := make([]float32, block*n)
	for from := 0; from < n; from += block {
		m := min(block, n-from)
		blas32.Gemm(blas.NoTrans, blas.Trans, 1, matrix(m, d, rows[from*d:(from+m)*d]), matrix(n, d, rows), 0, matrix(m, n, cosines[:m*n]))
		for i := range m {
			for j := from + i + 1; j < n; j++ {
				if cosines[i*n+j] >= nearCopy {
					a, b := root(from+i), root(j)
					parent[max(a, b)] = min(a, b)
				}
			}
		}
	}
	for i := range parent {
		parent[i] = root(i)
	}
	return parent
}
