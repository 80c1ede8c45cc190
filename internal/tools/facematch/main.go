// Command facematch fits the comparison of faces
// (internal/check/document/portrait) to pictures of faces of different people
// whose file names contain the sex, as UTKFace's do. One half gives the mean of
// the descriptors; the other gives the threshold at which at most the given share
// of pairs of strangers of one sex match.
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
	"sync"

	"agegate/internal/check/document/portrait"
	"agegate/internal/check/inference"
	"agegate/internal/check/vision"
	"agegate/internal/lab/accuracy"

	"golang.org/x/sync/errgroup"
)

func main() {
	set := flag.String("set", "", "directory of pictures")
	models := flag.String("models", "models", "models directory")
	name := flag.String("name", "", "of the set, for the origin")
	out := flag.String("out", "internal/check/document/portrait/reference.json", "file for the result")
	share := flag.Float64("strangers", 0.028, "share of pairs of strangers of one sex that may match")
	flag.Parse()
	if err := run(*set, *models, *name, *out, *share); err != nil {
		fmt.Fprintln(os.Stderr, "facematch:", err)
		os.Exit(1)
	}
}

// face is one picture of the set.
type face struct {
	age      int
	sex      string
	group    string
	features *vision.Features
}

func run(set, models, name, out string, share float64) (err error) {
	pictures, err := accuracy.ReadSet(set)
	if err != nil {
		return err
	}
	pool, err := inference.Open(models, runtime.NumCPU())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	faces, err := find(vision.NewAnalyzer(pool), pictures)
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(1, 1)) //nolint:gosec // repeatable on purpose
	random.Shuffle(len(faces), func(i, j int) { faces[i], faces[j] = faces[j], faces[i] })
	first, second := faces[:len(faces)/2], faces[len(faces)/2:]
	r := &portrait.Reference{
		Origin: fmt.Sprintf("make face-match: mean of %d faces of %s, threshold of %d others", len(first), name, len(second)),
		Models: map[inference.Model]string{}, Whole: mean(first, func(f *vision.Features) *vision.View { return &f.Whole }),
		Inner: mean(first, func(f *vision.Features) *vision.View { return &f.Inner }),
	}
	for _, role := range portrait.ReferenceModels {
		r.Models[role] = pool.Manifest.Models[role].SHA256
	}
	pairs := compare(r, second)
	r.Threshold = quantile(pairs, 1-share)
	fmt.Printf("%d of %d pictures show a face; threshold %.4f\n", len(faces), len(pictures), r.Threshold)
	report(r, pairs, second)
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(out, append(text, '\n'), 0o644) //nolint:gosec // a file of the repository
}

// find computes the features of every picture that shows one face.
func find(analyzer vision.Analyzer, pictures []accuracy.Picture) ([]face, error) {
	found := make([]*face, len(pictures))
	group, ctx := errgroup.WithContext(context.Background())
	group.SetLimit(runtime.NumCPU())
	var progress sync.Mutex
	done := 0
	for i, p := range pictures {
		if len(p.Groups) != 2 {
			return nil, fmt.Errorf("%s: the name carries no sex", p.Path)
		}
		group.Go(func() error {
			img, err := open(p.Path)
			if err != nil {
				return err
			}
			features, err := portrait.Find(ctx, analyzer, img)
			switch {
			case err == nil:
				found[i] = &face{p.Age, p.Groups[0], p.Groups[1], features}
			case !errors.Is(err, portrait.ErrNoFace) && !errors.Is(err, portrait.ErrSeveralFaces):
				return err
			}
			progress.Lock()
			defer progress.Unlock()
			if done++; done%500 == 0 {
				fmt.Fprintf(os.Stderr, "%d of %d pictures\n", done, len(pictures))
			}
			return nil
		})
	}
	err := group.Wait()
	var faces []face
	for _, f := range found {
		if f != nil {
			faces = append(faces, *f)
		}
	}
	return faces, err
}

func open(path string) (image.Image, error) {
	data, err := os.ReadFile(path) //nolint:gosec // a picture of the operator's set
	if err != nil {
		return nil, err
	}
	img, err := vision.DecodePicture(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return img, nil
}

func mean(faces []face, view func(*vision.Features) *vision.View) (m portrait.Mean) {
	var sums [inference.DescriptorSize]float64
	for _, f := range faces {
		for i, v := range view(f.features).Descriptor {
			sums[i] += float64(v)
		}
	}
	for i, sum := range sums {
		m[i] = float32(sum / float64(len(faces)))
	}
	return m
}

// pair is two strangers of one sex.
type pair struct {
	a, b       int
	similarity float32
}

// compare returns every pair of one sex.
func compare(r *portrait.Reference, faces []face) []pair {
	whole := make([][inference.DescriptorSize]float32, len(faces))
	inner := make([][inference.DescriptorSize]float32, len(faces))
	for i, f := range faces {
		whole[i], inner[i] = r.Whole.Centred(&f.features.Whole.Descriptor), r.Inner.Centred(&f.features.Inner.Descriptor)
	}
	dot := func(a, b *[inference.DescriptorSize]float32) (sum float32) {
		for i, v := range a {
			sum += v * b[i]
		}
		return sum
	}
	var pairs []pair
	for i := range faces {
		for j := range i {
			if faces[i].sex == faces[j].sex {
				pairs = append(pairs, pair{i, j, (dot(&whole[i], &whole[j]) + dot(&inner[i], &inner[j])) / 2})
			}
		}
	}
	return pairs
}

func quantile(pairs []pair, q float64) float64 {
	values := make([]float32, len(pairs))
	for i, p := range pairs {
		values[i] = p.similarity
	}
	slices.Sort(values)
	return float64(values[int(q*float64(len(values)))])
}
