package accuracy

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"agegate/internal/check/inference"
	"agegate/internal/check/vision"
)

// Material is what internal/tools/training/train.py learns from, in a directory: maps.u8, the
// age model's feature map of every view, 100,352 bytes each (value × 255 / 6),
// and views.csv, which says what each of them shows. It is derived from the
// pictures and belongs where they belong.
type Material struct {
	dir    string
	models inference.Models
	maps   *os.File

	lock  sync.Mutex
	views map[int][]int // the views of each picture, in order
}

// CreateMaterial begins the material in a directory, which is made.
func CreateMaterial(dir string, models inference.Models) (*Material, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	maps, err := os.Create(filepath.Join(dir, "maps.u8")) //nolint:gosec // the operator names it
	if err != nil {
		return nil, err
	}
	return &Material{dir: dir, models: models, maps: maps, views: map[int][]int{}}, nil
}

// Add takes one view, as Options.Seen.
func (m *Material) Add(ctx context.Context, picture, view int, o *vision.Observation) error {
	values, err := vision.FeatureMap(ctx, m.models, o)
	if err != nil {
		return err
	}
	cells := make([]byte, len(values))
	for i, v := range values {
		cells[i] = uint8(min(max(v, 0), 6)*(255.0/6) + 0.5)
	}
	m.lock.Lock()
	m.views[picture] = append(m.views[picture], view)
	m.lock.Unlock()
	_, err = m.maps.WriteAt(cells, int64(place(picture, view))*inference.MapSize)
	return err
}

// place is a view's row in maps.u8; rows of views that were left out stay
// empty.
func place(picture, view int) int { return picture*(1+alteredViews) + view }

// Close writes views.csv: a row for each view of the pictures that the page
// would count, with the picture's fold and what the head says that was fitted
// without that fold.
func (m *Material) Close(set []Lesson, folds []int, estimates []float64) error {
	file, err := os.Create(filepath.Join(m.dir, "views.csv"))
	if err != nil {
		return errors.Join(err, m.maps.Close())
	}
	out := csv.NewWriter(file)
	_ = out.Write([]string{"row", "file", "age", "group", "fold", "head"})
	measured := 0
	for i, l := range set {
		if l.Features == nil {
			continue
		}
		for _, view := range m.views[i] {
			_ = out.Write([]string{
				strconv.Itoa(place(i, view)), l.Path, strconv.Itoa(l.Age), strings.Join(l.Groups, ";"),
				strconv.Itoa(folds[measured]), fmt.Sprintf("%.3f", estimates[measured]),
			})
		}
		measured++
	}
	out.Flush()
	return errors.Join(out.Error(), file.Close(), m.maps.Close())
}
