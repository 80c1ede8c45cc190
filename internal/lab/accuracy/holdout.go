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
// from which the pictures count as copies of each other.
const nearCopy = 0.9

// heldShare is the share of each collection that HoldOut holds out.
const heldShare = 0.15

// HoldOut reports for each look with features whether its picture is held out of
// a training. Near copies of one picture, which are frequent in public sets, are
// held out together: a model trained on one would look too good on the other. The
// choice depends on the file names alone, so it stays the same when pictures are
// added.
func HoldOut(looks []Look) []bool {
	first := nearCopies(looks)
	held := make([]bool, len(looks))
	for i := range looks {
		sum := sha256.Sum256([]byte(first[i]))
		held[i] = float64(binary.BigEndian.Uint32(sum[:])) < heldShare*(1<<32)
	}
	return held
}

// nearCopies returns for each look the first file, by name, of the group of near
// copies that it belongs to. Pictures are in one group if they are near copies
// directly or through others.
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
		blas32.Gemm(blas.NoTrans, blas.Trans, 1, matrix(m, d, rows[from*d:(from+m)*d]), matrix(n, d, rows), 0,
			matrix(m, n, cosines[:m*n]))
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

// unit writes the descriptor, scaled to length 1, to row.
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
