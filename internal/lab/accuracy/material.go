package accuracy

import (
	"context"
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

	"agegate/internal/check/vision"
)

// WriteMaterial writes what internal/tools/training/train.py learns from into a
// new directory: crops.u8, the wide crop (vision.WideCrop) of every picture that
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
	pixels, place := vision.WideCrop(seen)
	in := s.inner
	m.lock.Lock()
	row := m.count
	m.count++
	m.places[i] = cropPlace{row, place, in.Min.X, in.Min.Y, in.Max.X, in.Max.Y}
	m.lock.Unlock()
	points := make([]byte, 0, 8*len(seen.Landmarks))
	for _, p := range seen.Landmarks {
		x, y := place.Within(p.X, p.Y)
		points = binary.LittleEndian.AppendUint32(points, math.Float32bits(float32(x)))
		points = binary.LittleEndian.AppendUint32(points, math.Float32bits(float32(y)))
	}
	_, failed := m.points.WriteAt(points, int64(row)*int64(len(points)))
	_, err := m.crops.WriteAt(pixels, int64(row)*int64(len(pixels)))
	return errors.Join(failed, err)
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
