package attack

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"image"
	"image/draw"
	"image/jpeg"
	"io"
	"math"
	"runtime"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"agegate/internal/check/document/capture"
	"agegate/internal/check/document/mrz"
	"agegate/internal/check/document/portrait"
	"agegate/internal/check/document/reader"
	"agegate/internal/check/inference"
	"agegate/internal/check/vision"
	"agegate/internal/check/vision/visiontest"
	"agegate/internal/lab/picture"
	"agegate/proof/attack/puppet"
	"agegate/proof/documents"
)

// documentSpecies is a kind of presentation of a document.
type documentSpecies struct {
	name     string
	format   mrz.Format
	bonaFide bool
	beyond   bool    // cannot be distinguished from the original, so there is no goal
	goal     float64 // as in species
	change   func(*holder) error
}

// documentPresentations are the kinds, with those of persons first.
var documentPresentations = []documentSpecies{
	{name: "person with a passport", format: mrz.TD3, bonaFide: true},
	{name: "person with an identity card of passport format", format: mrz.TD2, bonaFide: true},
	{name: "person with an identity card of bank-card format", format: mrz.TD1, bonaFide: true},
	{name: "person who first tilts the wrong way", format: mrz.TD3, bonaFide: true, change: hesitating},

	{name: "passport on a screen", format: mrz.TD3, change: onScreen},
	{name: "one frame, over and over", format: mrz.TD3, change: frozen(0)},
	{name: "one frame, over and over, with noise", format: mrz.TD3, change: frozen(3)},
	{name: "loop of five frames", format: mrz.TD3, change: looped},
	{name: "injected recording of another capture", format: mrz.TD3, goal: 0.1, change: recordedCapture},
	{name: "zone exchanged under way", format: mrz.TD3, change: exchanged(edition{face: "person", older: true})},
	{name: "portrait exchanged under way", format: mrz.TD3, change: exchanged(edition{face: "stranger"})},
	{name: "passport with the portrait covered", format: mrz.TD3, change: covered},
	{name: "visa", format: mrz.MRVA, change: nil},

	{name: "passport of the same face in disguise", format: mrz.TD3, beyond: true, change: borrowed},
	{name: "photograph of a passport, printed, with its reflection", format: mrz.TD3, beyond: true,
		change: photographed(true)},
	{name: "photograph of a passport, printed, without reflection", format: mrz.TD3, beyond: true,
		change: photographed(false)},
	{name: "printed fake with right check digits and the own portrait", format: mrz.TD3, beyond: true,
		change: printedFake},
	{name: "back of another's card, front of one's own", format: mrz.TD1, beyond: true, change: printedFake},
	{name: "injected recording that tilts in all directions", format: mrz.TD3, beyond: true, change: swept},
	{name: "injected stream of a document that obeys", format: mrz.TD3, beyond: true},
}

// DocumentRow counts the results of the presentations of one kind.
type DocumentRow struct {
	Row
	Wrong   int // accepted with another birth or expiry date than the document's
	Matched int // of the refused ones, those that the comparison with the person's face would refuse
	Reasons map[capture.Reason]int
	Took    []time.Duration // processor time of each frame, without decoding
}

// DocumentRange plays n presentations of every kind of document whose name
// contains only, or as many as there is time for until the deadline.
func DocumentRange(
	ctx context.Context, pool *inference.Pool, only string, n int, deadline time.Time, progress func(done, total int),
) ([]DocumentRow, error) {
	d, err := newDocumentKit(ctx, pool)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var rows []DocumentRow
	var kinds []documentSpecies
	for _, s := range documentPresentations {
		if strings.Contains(s.name, only) {
			kinds = append(kinds, s)
			rows = append(rows, DocumentRow{
				Row:     Row{Species: s.name, BonaFide: s.bonaFide, Beyond: s.beyond, Goal: cmp.Or(s.goal, Goal)},
				Reasons: map[capture.Reason]int{},
			})
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.NumCPU())
	done := 0
	for i := range n {
		for row, s := range kinds {
			group.Go(func() error {
				if ctx.Err() != nil || !deadline.IsZero() && time.Now().After(deadline) {
					return nil
				}
				result, err := s.play(ctx, d, i)
				if err != nil {
					return fmt.Errorf("%s: %w", s.name, err)
				}
				mu.Lock()
				defer mu.Unlock()
				rows[row].count(result)
				if done++; progress != nil {
					progress(done, n*len(kinds))
				}
				return nil
			})
		}
	}
	return rows, group.Wait()
}

func newDocumentKit(ctx context.Context, pool *inference.Pool) (*documentKit, error) {
	zones, err := reader.New()
	if err != nil {
		return nil, err
	}
	d := &documentKit{zones: zones, analyzer: vision.NewAnalyzer(pool), drawn: map[edition]*documents.Held{}}
	if d.reference, err = portrait.Load(pool.Manifest); err != nil {
		return nil, err
	}
	data, err := visiontest.SampleJPEG()
	if err != nil {
		return nil, err
	}
	if d.person, err = jpeg.Decode(bytes.NewReader(data)); err != nil {
		return nil, err
	}
	d.stranger = puppet.Disguise(d.person)
	d.selfie, err = picture.Find(ctx, d.analyzer, d.person)
	return d, err
}

func (s documentSpecies) play(ctx context.Context, d *documentKit, i int) (shown, error) {
	hash := fnv.New64a()
	_, _ = io.WriteString(hash, s.name)                         // never fails
	h, err := newHolder(d, s.format, hash.Sum64()+uint64(i), i) //nolint:gosec // not negative
	if err != nil {
		return shown{}, err
	}
	if s.change != nil {
		if err := s.change(h); err != nil {
			return shown{}, err
		}
	}
	return h.play(ctx)
}

func (r *DocumentRow) count(s shown) {
	r.N++
	r.Took = append(r.Took, s.took...)
	switch {
	case s.accepted():
		r.Accepted++
		if s.wrong {
			r.Wrong++
		}
	case s.stage == capture.Done:
		r.Matched++
	case s.stage == capture.Refused:
		r.Spoof++
		r.Reasons[s.reason]++
	default:
		r.NoCapture++
	}
}

// hesitating tilts to the opposite side for about two seconds before it follows a
// prompt.
func hesitating(h *holder) error {
	opposite := map[capture.Hint]capture.Hint{
		capture.RaiseLeft: capture.RaiseRight, capture.RaiseRight: capture.RaiseLeft,
		capture.RaiseTop: capture.RaiseBottom, capture.RaiseBottom: capture.RaiseTop,
	}
	mistaken := 5 // number of frames
	h.obey = func(asked capture.Hint) capture.Hint {
		if other, tilt := opposite[asked]; tilt && mistaken > 0 {
			mistaken--
			return other
		}
		return asked
	}
	return nil
}

// borrowed shows the passport of a person who resembles the holder: the same face
// with other proportions, hair, beard and skin.
func borrowed(h *holder) (err error) {
	h.zone, err = h.kit.print(edition{format: mrz.TD3, i: h.i, face: "stranger"})
	return err
}

// printedFake changes nothing: a printed copy of a document looks like the
// document to the camera.
func printedFake(*holder) error { return nil }

// onScreen shows the passport on a tablet that follows the prompts.
func onScreen(h *holder) error {
	display := newDisplay(h.random)
	h.show = func(step capture.Step, t float64) *image.RGBA {
		frame := h.hold(step, t)
		display.light(frame, t)
		return frame
	}
	return nil
}

// photographed shows a print of a photograph of the passport. A reflection in the
// photograph stays in the same place when the print is tilted.
func photographed(reflection bool) func(*holder) error {
	return func(h *holder) error {
		flat := h.home
		flat.Roll, flat.Left, flat.Top, flat.X, flat.Y = 0, 0, 0, 0, 0
		picture := h.zone.Draw(flat, image.Pt(framePixels, framePixels*3/4))
		if reflection {
			size := picture.Rect.Size()
			shine(picture, (0.3+0.5*h.random.Float64())*float64(size.X), (0.25+0.3*h.random.Float64())*float64(size.Y),
				0.035*float64(size.X))
		}
		data, err := h.camera.Shoot(picture)
		if err != nil {
			return err
		}
		taken, err := jpeg.Decode(bytes.NewReader(data))
		if err != nil {
			return err
		}
		paper := image.NewRGBA(taken.Bounds())
		draw.Draw(paper, paper.Rect, taken, image.Point{}, draw.Src)
		h.zone = h.zone.Photograph(paper, flat.Pitch, h.random)
		return nil
	}
}

// shine lays a reflection over a picture.
func shine(img *image.RGBA, x, y, radius float64) {
	reach := int(4 * radius)
	for v := max(int(y)-reach, 0); v < min(int(y)+reach, img.Rect.Dy()); v++ {
		for u := max(int(x)-reach, 0); u < min(int(x)+reach, img.Rect.Dx()); u++ {
			far := ((float64(u)-x)*(float64(u)-x) + (float64(v)-y)*(float64(v)-y)) / (radius * radius)
			bright := min(1.6*math.Exp(-far/2), 1)
			at := img.Pix[img.PixOffset(u, v):]
			for i := range 3 {
				at[i] = uint8(float64(at[i]) + (255-float64(at[i]))*bright)
			}
		}
	}
}

// frozen sends the same frame again and again, unchanged or with new noise.
func frozen(noise float64) func(*holder) error {
	return func(h *holder) error {
		var one *image.RGBA
		var sent []byte
		h.camera.Noise = noise
		h.shoot = func(_ int, frame *image.RGBA) ([]byte, error) {
			if one == nil {
				one = copied(frame)
			}
			if noise == 0 && sent != nil {
				return sent, nil
			}
			var err error
			sent, err = h.camera.Shoot(copied(one))
			return sent, err
		}
		return nil
	}
}

// looped repeats its first five frames. A capture takes nine frames, so ten
// different ones would be an honest capture.
func looped(h *holder) error {
	var sent [][]byte
	h.shoot = func(n int, frame *image.RGBA) ([]byte, error) {
		if n >= 5 {
			return sent[n%5], nil
		}
		data, err := h.camera.Shoot(frame)
		sent = append(sent, data)
		return data, err
	}
	return nil
}

// recordedCapture follows the prompts of another capture.
func recordedCapture(h *holder) error {
	h.show = h.rehearsed([]capture.Hint{h.any(), h.any(), h.any()}, 6)
	return nil
}

// swept tilts in every direction, one after another, without regard to the
// prompts.
func swept(h *holder) error {
	order := []capture.Hint{capture.RaiseLeft, capture.RaiseTop, capture.RaiseRight, capture.RaiseBottom}
	h.show = h.rehearsed(append(append(order, order...), order...), 4)
	return nil
}

func (h *holder) any() capture.Hint {
	return []capture.Hint{capture.RaiseLeft, capture.RaiseTop, capture.RaiseRight, capture.RaiseBottom}[h.random.IntN(4)]
}

// rehearsed tilts in a fixed order, each direction for a number of frames, after
// some frames at rest.
func (h *holder) rehearsed(order []capture.Hint, each int) func(capture.Step, float64) *image.RGBA {
	n := -8
	return func(capture.Step, float64) *image.RGBA {
		n++
		step := capture.Step{Stage: capture.Hold}
		if n >= 0 && n/each < len(order) {
			step = capture.Step{Stage: capture.Tilt, Hint: order[n/each]}
		}
		return h.hold(step, 0)
	}
}

// exchanged shows another document, or another print of it, once the frames agree
// on a zone.
func exchanged(other edition) func(*holder) error {
	return func(h *holder) error {
		other.format, other.i = mrz.TD3, h.i
		first := h.zone
		second, err := h.kit.print(other)
		if err != nil {
			return err
		}
		h.show = func(step capture.Step, t float64) *image.RGBA {
			h.zone = first
			if step.Stage == capture.Tilt {
				h.zone = second
			}
			return h.hold(step, t)
		}
		return nil
	}
}

// covered shows a passport without a portrait.
func covered(h *holder) (err error) {
	h.zone, err = h.kit.print(edition{format: mrz.TD3, i: h.i, face: "blank"})
	return err
}
