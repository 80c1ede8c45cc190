// Command facematch fits the comparison of faces
// (internal/check/document/portrait) to pictures of faces of different people
// whose file names contain sex and group, as UTKFace's do. One half gives the mean of
// the descriptors; the other gives how similar strangers are, and the threshold at
// which the given share of pairs of strangers of one sex match. The first half gives as
// well how a face shows that many strangers resemble it. Further sets are only measured.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"image"
	_ "image/png" // sets contain PNG besides JPEG
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"agegate/internal/check/document/portrait"
	"agegate/internal/check/inference"
	"agegate/internal/check/vision"
	"agegate/internal/lab/accuracy"
	"agegate/internal/lab/measured"
	"agegate/internal/lab/picture"

	"golang.org/x/sync/errgroup"
)

type options struct {
	sets, measured []string // [NAME=]DIR
	models, name   string
	out, figures   string
	share          float64
}

func main() {
	set := flag.String("set", "", "sets of pictures, [NAME=]DIR..., to fit to")
	measured := flag.String("measure", "", "sets that are only measured")
	o := options{}
	flag.StringVar(&o.models, "models", "models", "models directory")
	flag.StringVar(&o.name, "name", "", "of the sets, for the origin")
	flag.StringVar(&o.out, "out", "internal/check/document/portrait/reference.json", "file for the result")
	flag.StringVar(&o.figures, "figures", "internal/lab/measured/matching.json", "file for the figures")
	flag.Float64Var(&o.share, "strangers", 0.0042, "share of pairs of strangers of one sex that may match")
	flag.Parse()
	o.sets, o.measured = strings.Fields(*set), strings.Fields(*measured)
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "facematch:", err)
		os.Exit(1)
	}
}

func run(o options) (err error) {
	pool, err := inference.Open(o.models, runtime.NumCPU())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	analyzer := vision.NewAnalyzer(pool)
	faces, err := find(analyzer, o.sets)
	if err != nil {
		return err
	}
	further, err := find(analyzer, o.measured)
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(1, 1)) //nolint:gosec // repeatable on purpose
	random.Shuffle(len(faces), func(i, j int) { faces[i], faces[j] = faces[j], faces[i] })
	first, second := faces[:len(faces)/2], faces[len(faces)/2:]
	r := fit(first, second, o.share)
	r.Origin = fmt.Sprintf("make face-match: common to %d faces of %s, threshold of %d others",
		len(first), o.name, len(second))
	for _, role := range portrait.ReferenceModels {
		r.Models[role] = pool.Manifest.Models[role].SHA256
	}
	fmt.Printf("threshold %.4f\n\n", r.Threshold)
	all := slices.Concat(rows(second), young(second))
	figures := measured.Matching{
		Command: "make face-match", Source: "docs/document-measurements.md", Published: time.Now().Format(time.DateOnly),
		Rows: slices.Concat(report(r, second, all), report(r, further, young(further))),
	}
	refusals(r, second, young(second))
	refusals(r, further, young(further))
	return errors.Join(write(o.out, r), write(o.figures, figures))
}

func write(path string, v any) error {
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644) //nolint:gosec // a file of the repository
}

// face is one picture of a set.
type face struct {
	collection string
	age        int
	sex, group string
	features   *vision.Features
	worn       *vision.Features // of the picture as a poor portrait; nil if it shows no face
}

// find computes the features of every picture that shows one face.
func find(analyzer vision.Analyzer, sets []string) ([]face, error) {
	if len(sets) == 0 {
		return nil, nil
	}
	pictures, err := accuracy.ReadSets(sets, []float64{0})
	if err != nil {
		return nil, err
	}
	found := make([]*face, len(pictures))
	group, ctx := errgroup.WithContext(context.Background())
	group.SetLimit(runtime.NumCPU())
	progress := counter{total: len(pictures)}
	for i, p := range pictures {
		if len(p.Groups) != 2 {
			return nil, fmt.Errorf("%s: the name carries no sex", p.Path)
		}
		group.Go(func() error {
			img, err := open(p.Path)
			if err != nil {
				return err
			}
			features, err := faceIn(ctx, analyzer, img)
			if err != nil || features == nil {
				return err
			}
			found[i] = &face{p.Collection, p.Age, p.Groups[0], p.Groups[1], features, nil}
			found[i].worn, err = faceIn(ctx, analyzer, wear(img))
			progress.add()
			return err
		})
	}
	err = group.Wait()
	var faces []face
	for _, f := range found {
		if f != nil {
			faces = append(faces, *f)
		}
	}
	fmt.Printf("%s: %d of %d pictures show a face\n", strings.Join(sets, " "), len(faces), len(pictures))
	return faces, err
}

// counter shows progress.
type counter struct {
	sync.Mutex
	done, total int
}

func (c *counter) add() {
	c.Lock()
	defer c.Unlock()
	if c.done++; c.done%500 == 0 {
		fmt.Fprintf(os.Stderr, "%d of %d pictures\n", c.done, c.total)
	}
}

// faceIn returns the features of the one face in a picture, nil if there is not
// exactly one.
func faceIn(ctx context.Context, analyzer vision.Analyzer, img image.Image) (*vision.Features, error) {
	features, err := picture.FindUpright(ctx, analyzer, img)
	if errors.Is(err, picture.ErrNoFace) || errors.Is(err, picture.ErrSeveralFaces) {
		return nil, nil
	}
	return features, err
}

func open(path string) (image.Image, error) {
	data, err := os.ReadFile(path) //nolint:gosec // a picture of the operator's set
	if err != nil {
		return nil, err
	}
	img, err := picture.Decode(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return img, nil
}
