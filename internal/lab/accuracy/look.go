package accuracy

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"image"
	"os"
	"sync"

	"agegate/internal/check/vision"
	"agegate/internal/lab/picture"

	"golang.org/x/sync/errgroup"
)

// frameSide and frameQuality are the page's: it sends JPEGs of at most 640 pixels
// per side and quality 0.8.
const (
	frameSide    = 640
	frameQuality = 80
)

// Look is the pipeline's result for one picture. Features is set exactly when
// Guidance is vision.GuidanceOK.
type Look struct {
	Picture
	Guidance vision.Guidance
	Features *vision.Features
}

// Options configure LookAt and EvaluateAltered.
type Options struct {
	Workers int // number of pictures processed at a time
	// Crop cuts closer to a face that the page would refuse as too far away or off centre.
	Crop bool
	// Progress, when set, is called after each picture, by one goroutine at a
	// time.
	Progress func(done, total int)
}

// LookAt sends every picture through the pipeline as a single frame: it scales
// the picture to a frame's size, encodes it as JPEG, judges it and, if the page
// would count it, computes its features. The error for an unreadable picture
// names the file.
func LookAt(ctx context.Context, analyzer vision.Analyzer, set []Picture, o Options) ([]Look, error) {
	looks := make([]Look, len(set))
	err := Each(ctx, len(set), o, func(ctx context.Context, i int) error {
		s, err := o.open(ctx, analyzer, set[i])
		if err != nil {
			return err
		}
		looks[i], _, err = look(ctx, analyzer, s.img)
		looks[i].Picture = set[i]
		return err
	})
	return looks, err
}

// Each calls do for every index below total, with o.Workers in parallel, until one
// call fails.
func Each(ctx context.Context, total int, o Options, do func(ctx context.Context, i int) error) error {
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

func look(ctx context.Context, analyzer vision.Analyzer, frame image.Image) (Look, *vision.Observation, error) {
	seen, err := picture.Look(ctx, analyzer, frame, frameQuality)
	if err != nil {
		return Look{}, nil, err
	}
	l := Look{Guidance: seen.Guidance}
	if seen.Guidance == vision.GuidanceOK {
		l.Features, err = analyzer.Features(ctx, seen)
	}
	return l, seen, err
}

// closerBy is the side of a picture that Options.Crop cuts, over the width of its face: as
// of somebody who holds a phone.
const closerBy = 2.2

// open returns a picture's frame, closer to its face if o says so.
func (o Options) open(ctx context.Context, analyzer vision.Analyzer, p Picture) (*shot, error) {
	img, err := openPicture(p.Path)
	if err != nil {
		return nil, err
	}
	s := framed(img, p.Pad)
	if !o.Crop {
		return s, nil
	}
	_, seen, err := look(ctx, analyzer, s.img)
	if err != nil || seen.Guidance != vision.GuidanceTooFar && seen.Guidance != vision.GuidanceOffCenter {
		return s, err
	}
	scale := float64(img.Bounds().Dx()) / float64(s.inner.Dx())
	x, y := int((seen.Face.X-float64(s.inner.Min.X))*scale), int((seen.Face.Y-float64(s.inner.Min.Y))*scale)
	half := int(closerBy / 2 * seen.Face.Width * scale)
	around := image.Rect(x-half, y-half, x+half, y+half).Add(img.Bounds().Min)
	part := img.Bounds().Intersect(around)
	return framed(picture.Paste(around, part, img, part), 0), nil
}

// openPicture reads a picture and turns it upright by its EXIF orientation. An error
// names the file.
func openPicture(path string) (image.Image, error) {
	data, err := os.ReadFile(path) //nolint:gosec // a picture of the operator's set
	if err != nil {
		return nil, err
	}
	img, err := picture.Decode(data)
	if err != nil {
		return nil, fmt.Errorf("%s %w", path, err)
	}
	return picture.Turned(img, orientation(data)), nil
}

// framed converts a picture to the frame that a page would send. pad is the grey border
// that a tightly cut picture needs before a detector finds its face.
func framed(img image.Image, pad float64) *shot {
	size := img.Bounds().Size()
	longer := float64(max(size.X, size.Y))
	scale := min(1, frameSide/(longer*(1+2*pad)))
	border := int(pad*longer*scale + 0.5)
	inner := image.Rect(0, 0, max(1, int(float64(size.X)*scale)),
		max(1, int(float64(size.Y)*scale))).Add(image.Pt(border, border))
	frame := image.Rect(0, 0, inner.Max.X+border, inner.Max.Y+border)
	return &shot{img: picture.Paste(frame, inner, img, img.Bounds()), inner: inner}
}

// orientation returns the EXIF orientation of a JPEG, 1 to 8, and 1 where it
// states none. Layout: Exif 2.32, sections 4.5 and 4.6: an APP1 segment holds
// a TIFF structure, whose first directory may have the tag 0x0112.
func orientation(data []byte) int {
	const app1, startOfScan = 0xe1, 0xda
	for at := 2; at+4 <= len(data) && data[at] == 0xff && data[at+1] != startOfScan; {
		length := int(binary.BigEndian.Uint16(data[at+2:]))
		end := at + 2 + length
		if length < 2 || end > len(data) {
			return 1
		}
		if tiff, ok := bytes.CutPrefix(data[at+4:end], []byte("Exif\x00\x00")); ok && data[at+1] == app1 {
			return tiffOrientation(tiff)
		}
		at = end
	}
	return 1
}

func tiffOrientation(tiff []byte) int {
	const tag, entrySize = 0x0112, 12
	if len(tiff) < 8 {
		return 1
	}
	var order binary.ByteOrder = binary.BigEndian
	if tiff[0] == 'I' {
		order = binary.LittleEndian
	}
	at := uint64(order.Uint32(tiff[4:]))
	if at+2 > uint64(len(tiff)) {
		return 1
	}
	entries := tiff[at+2:]
	for range order.Uint16(tiff[at:]) {
		if len(entries) < entrySize {
			return 1
		}
		if order.Uint16(entries) == tag {
			if o := int(order.Uint16(entries[8:])); o >= 1 && o <= 8 {
				return o
			}
			return 1
		}
		entries = entries[entrySize:]
	}
	return 1
}
