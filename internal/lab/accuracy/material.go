package accuracy

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"agegate/internal/check/inference"
	"agegate/internal/check/vision"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
)

// WriteMaterial writes what internal/tools/training/train.py learns from into a
// new directory: crops.u8, the wide crop, with a side of wideSide, of every picture that
// the page would count; points.f32, the landmarks in each crop, x and y from -1 to
// 1 over the crop without its surroundings; and pictures.csv, with each crop's
// labels, its place in the picture, and whether it is held out. The files are
// derived from the pictures and need the same protection. The pictures of the collections
// whole are all held out, those of others by HoldOut. WriteMaterial returns how many
// crops it wrote.
func WriteMaterial(
	ctx context.Context, analyzer vision.Analyzer, set []Picture, whole []string, dir string, o Options,
) (int, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return 0, err
	}
	crops, err := os.Create(filepath.Join(dir, "crops.u8")) //nolint:gosec // the operator names it
	if err != nil {
		return 0, err
	}
	points, err := os.Create(filepath.Join(dir, "points.f32")) //nolint:gosec // as above
	if err != nil {
		return 0, errors.Join(err, crops.Close())
	}
	m := material{crops: crops, points: points, places: make([]cropPlace, len(set))}
	looks := make([]Look, len(set))
	err = Each(ctx, len(set), o, func(ctx context.Context, i int) error {
		s, err := o.open(ctx, analyzer, set[i])
		if err != nil {
			return err
		}
		l, seen, err := look(ctx, analyzer, s.img)
		if err != nil {
			return err
		}
		l.Picture = set[i]
		looks[i] = l
		if l.Features == nil {
			return nil
		}
		return m.add(i, s, seen)
	})
	if err = errors.Join(err, crops.Close(), points.Close()); err != nil {
		return 0, err
	}
	return m.count, m.describe(filepath.Join(dir, "pictures.csv"), looks, whole)
}

// wideSide is the side of a wide crop in samples: that of the age model's input plus an eighth of it on each side.
const wideSide = 280

// material are the crops written so far.
type material struct {
	lock   sync.Mutex
	crops  *os.File
	points *os.File
	count  int
	places []cropPlace // by picture
}

type cropPlace struct {
	row                      int
	place                    vision.Place
	left, top, right, bottom int // the picture without its border
}

func (m *material) add(i int, s *shot, seen *vision.Observation) error {
	values, place := seen.Around(0.125, wideSide)
	pixels := make([]byte, len(values))
	for i, v := range values {
		pixels[i] = uint8(v + 0.5)
	}
	in := s.inner
	m.lock.Lock()
	row := m.count
	m.count++
	m.places[i] = cropPlace{row, place, in.Min.X, in.Min.Y, in.Max.X, in.Max.Y}
	m.lock.Unlock()
	points := make([]byte, 0, 8*len(seen.Landmarks))
	for _, p := range seen.Landmarks {
		x, y := inCrop(place, p.X, p.Y)
		points = binary.LittleEndian.AppendUint32(points, math.Float32bits(float32(x)))
		points = binary.LittleEndian.AppendUint32(points, math.Float32bits(float32(y)))
	}
	_, failed := m.points.WriteAt(points, int64(row)*int64(len(points)))
	_, err := m.crops.WriteAt(pixels, int64(row)*int64(len(pixels)))
	return errors.Join(failed, err)
}

// inCrop returns where a point of the picture lies in a crop: from -1 to 1 over its side.
func inCrop(p vision.Place, x, y float64) (u, v float64) {
	sin, cos := math.Sincos(p.Angle)
	x, y = 2*(x-p.X)/p.Side, 2*(y-p.Y)/p.Side
	return x*cos + y*sin, y*cos - x*sin
}

func (m *material) describe(path string, looks []Look, whole []string) error {
	var counted []Look
	var places []cropPlace
	for i, l := range looks {
		if l.Features != nil {
			counted, places = append(counted, l), append(places, m.places[i])
		}
	}
	held := HoldOut(counted)
	file, err := os.Create(path) //nolint:gosec // in the directory that the operator names
	if err != nil {
		return err
	}
	rows := [][]string{strings.Split("row,file,collection,age,group,pad,held,x,y,side,angle,left,top,right,bottom", ",")}
	for i, l := range counted {
		at := places[i]
		row := []string{strconv.Itoa(at.row), l.Path, l.Collection, strconv.Itoa(l.Age), strings.Join(l.Groups, ";"),
			strconv.FormatFloat(l.Pad, 'g', -1, 64), "0"}
		if held[i] || slices.Contains(whole, l.Collection) {
			row[len(row)-1] = "1"
		}
		for _, v := range []float64{at.place.X, at.place.Y, at.place.Side, at.place.Angle} {
			row = append(row, fmt.Sprintf("%.4f", v))
		}
		for _, v := range []int{at.left, at.top, at.right, at.bottom} {
			row = append(row, strconv.Itoa(v))
		}
		rows = append(rows, row)
	}
	return errors.Join(csv.NewWriter(file).WriteAll(rows), file.Close())
}

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
