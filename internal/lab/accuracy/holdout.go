package accuracy

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"path/filepath"

	"agegate/internal/check/inference"
	"agegate/internal/check/vision"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
)

// nearCopy is the cosine between the descriptors of two pictures' whole crops
// from which they count as copies of one picture.
const nearCopy = 0.9

// heldShare is the share of each collection that HoldOut chooses.
const heldShare = 0.15

// HoldOut reports for each look with features whether its picture is held out
// of a training. Near copies of one picture, of which public sets hold many, are
// held out together: a training that has seen one would flatter itself on the
// other. The choice depends on the file names alone, so it stays the same when
// pictures are added.
func HoldOut(looks []Look) []bool {
	first := nearCopies(looks)
	held := make([]bool, len(looks))
	for i := range looks {
		sum := sha256.Sum256([]byte(first[i]))
		held[i] = float64(binary.BigEndian.Uint32(sum[:])) < heldShare*(1<<32)
	}
	return held
}

// nearCopies names for each look the file that comes first by name among its
// picture and those that are, directly or by others in between, near copies.
func nearCopies(looks []Look) []string {
	const block = 256
	n, d := len(looks), inference.DescriptorSize
	rows := make([]float32, n*d)
	parent := make([]int, n)
	for i, l := range looks {
		parent[i] = i
		unit(rows[i*d:(i+1)*d], l.Features)
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
	names := map[int]string{}
	for i, l := range looks {
		name, at := filepath.Base(l.Path), root(i)
		if known, ok := names[at]; !ok || name < known {
			names[at] = name
		}
	}
	first := make([]string, n)
	for i := range first {
		first[i] = names[root(i)]
	}
	return first
}

// unit writes the descriptor at length one.
func unit(row []float32, f *vision.Features) {
	var square float64
	for _, v := range f.Whole.Descriptor {
		square += float64(v) * float64(v)
	}
	length := float32(math.Sqrt(max(square, math.SmallestNonzeroFloat32)))
	for j, v := range f.Whole.Descriptor {
		row[j] = v / length
	}
}

func matrix(rows, columns int, data []float32) blas32.General {
	return blas32.General{Rows: rows, Cols: columns, Stride: columns, Data: data}
}
