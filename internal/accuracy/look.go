package accuracy

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	_ "image/png" // sets may hold PNG
	"math/rand/v2"
	"os"
	"sync"

	"agegate/internal/vision"

	xdraw "golang.org/x/image/draw"
	"golang.org/x/sync/errgroup"
)

// frameSide and frameQuality are those of the page: it sends JPEGs of at most
// 640 pixels.
const (
	frameSide    = 640
	frameQuality = 90
)

// maxPicturePixels bounds what one picture of a set may decode to.
const maxPicturePixels = 100_000_000

// Look is the pipeline's result for one picture. Features is set exactly when
// Guidance is vision.GuidanceOK.
type Look struct {
	Picture
	Guidance vision.Guidance
	Features *vision.Features
}

// Options configure LookAt and LearnFrom.
type Options struct {
	Workers int     // pictures at a time
	Pad     float64 // grey border on each side, as a fraction of the picture's longer side
	// Progress, when set, is called after each picture, by one goroutine at a
	// time.
	Progress func(done, total int)
}

// LookAt sends every picture through the pipeline as a single frame: scaled to
// a frame's size, encoded as JPEG, judged, and, if the page would count it, its
// features computed. An unreadable picture is an error that names it.
func LookAt(ctx context.Context, analyzer vision.Analyzer, set []Picture, o Options) ([]Look, error) {
	looks := make([]Look, len(set))
	err := each(ctx, len(set), o, func(ctx context.Context, i int) error {
		frame, err := Frame(set[i].Path, o.Pad)
		if err != nil {
			return err
		}
		looks[i], err = look(ctx, analyzer, frame, frameQuality)
		looks[i].Picture = set[i]
		return err
	})
	return looks, err
}

// alterations is the number of altered views per picture, beside the picture
// and its mirror image.
const alterations = 4

// Lesson is a picture with everything a fit learns from it: Features of the
// picture itself, Views of the picture mirrored and altered as other cameras
// might have taken it. Views that the page would not count are left out.
type Lesson struct {
	Look
	Views []*vision.Features
}

// LearnFrom looks at every picture as LookAt does, and at the altered views of
// those that the page would count. The alterations depend on seed and on the
// picture's place in the set.
func LearnFrom(ctx context.Context, analyzer vision.Analyzer, set []Picture, o Options, seed uint64) ([]Lesson, error) {
	lessons := make([]Lesson, len(set))
	err := each(ctx, len(set), o, func(ctx context.Context, i int) error {
		frame, err := Frame(set[i].Path, o.Pad)
		if err != nil {
			return err
		}
		l := &lessons[i]
		l.Look, err = look(ctx, analyzer, frame, frameQuality)
		l.Picture = set[i]
		if err != nil || l.Features == nil {
			return err
		}
		random := rand.New(rand.NewPCG(seed, uint64(i))) //nolint:gosec // repeatable on purpose
		l.Views, err = views(ctx, analyzer, frame, random)
		return err
	})
	return lessons, err
}

func views(ctx context.Context, analyzer vision.Analyzer, frame *image.RGBA, random *rand.Rand) ([]*vision.Features, error) {
	var out []*vision.Features
	for i := range 1 + alterations {
		view, quality := mirrored(frame), frameQuality
		if i > 0 {
			view, quality = altered(frame, random)
		}
		l, err := look(ctx, analyzer, view, quality)
		if err != nil {
			return nil, err
		}
		if l.Features != nil {
			out = append(out, l.Features)
		}
	}
	return out, nil
}

// each calls do for every index, with o.Workers in parallel, until one fails.
func each(ctx context.Context, total int, o Options, do func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(o.Workers, 1))
	var progress sync.Mutex
	done := 0
	for i := range total {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := do(ctx, i); err != nil {
				return err
			}
			progress.Lock()
			defer progress.Unlock()
			if done++; o.Progress != nil {
				o.Progress(done, total)
			}
			return nil
		})
	}
	return group.Wait()
}

func look(ctx context.Context, analyzer vision.Analyzer, frame image.Image, quality int) (Look, error) {
	var data bytes.Buffer
	if err := jpeg.Encode(&data, frame, &jpeg.Options{Quality: quality}); err != nil {
		return Look{}, err
	}
	seen, err := analyzer.Analyze(ctx, data.Bytes())
	if err != nil {
		return Look{}, err
	}
	l := Look{Guidance: seen.Guidance}
	if seen.Guidance == vision.GuidanceOK {
		l.Features, err = analyzer.Features(ctx, seen)
	}
	return l, err
}

// Frame reads a picture and makes the frame of it that a camera page would
// send, with the grey border that a tightly cut picture needs before a
// detector finds its face. An error names the file.
func Frame(path string, pad float64) (*image.RGBA, error) {
	data, err := os.ReadFile(path) //nolint:gosec // a picture of the operator's set
	if err != nil {
		return nil, err
	}
	config, _, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil || config.Width < 1 || config.Height < 1 {
		return nil, fmt.Errorf("%s is not a JPEG or PNG picture", path)
	}
	if config.Width > maxPicturePixels/config.Height {
		return nil, fmt.Errorf("%s is larger than %d megapixels", path, maxPicturePixels/1_000_000)
	}
	img, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%s is a damaged picture", path)
	}
	size := img.Bounds().Size()
	longer := float64(max(size.X, size.Y))
	scale := min(1, frameSide/(longer*(1+2*pad)))
	border := int(pad*longer*scale + 0.5)
	inner := image.Rect(0, 0, max(1, int(float64(size.X)*scale)), max(1, int(float64(size.Y)*scale))).Add(image.Pt(border, border))
	frame := image.NewRGBA(image.Rect(0, 0, inner.Max.X+border, inner.Max.Y+border))
	draw.Draw(frame, frame.Bounds(), image.NewUniform(color.Gray{128}), image.Point{}, draw.Src)
	if inner.Size() == size {
		draw.Draw(frame, inner, img, img.Bounds().Min, draw.Over)
	} else {
		xdraw.CatmullRom.Scale(frame, inner, img, img.Bounds(), draw.Over, nil)
	}
	return frame, nil
}
