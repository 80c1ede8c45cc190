package documents

import (
	"bytes"
	"context"
	"image/jpeg"
	"math/rand/v2"
	"sync"
	"time"

	"agegate/internal/check/document/capture"
	"agegate/internal/check/document/mrz"
	"agegate/internal/check/document/reader"
	"agegate/internal/check/vision"
)

// Hiding is a way in which a part of the zone is hidden from the camera. Lengths
// are in characters of the zone. The ranges were fixed so that a reader that reads
// whole zones only reads three frames of about 3, 11 and 10 of 35 documents, as in
// an earlier trial.
type Hiding struct {
	Name   string
	wide   between // width of the hidden part
	travel between // how far the hidden part moves along the zone during a capture
	beyond float64 // share of its width by which it may lie beyond the zone in the middle of the capture
	mark   float64 // least share of the documents whose zone is read
	cut    bool    // the frame begins after the hidden part
	cover  func(frame *picture, v view, p *page, from, to float64)
}

// HiddenFrames is how many frames a camera takes of a document in HiddenSet.
const HiddenFrames = 10

// The hidings: none, for comparison; the reflection of a lamp; the tip of a
// finger; and a frame that begins to the right of the zone's first characters.
var (
	Open = Hiding{Name: "nothing hidden", mark: 1}
	Lamp = Hiding{Name: "strong glare on the zone", wide: between{6, 11}, travel: between{10, 30}, beyond: 0.5,
		mark: 15. / 35, cover: shineOn}
	Finger = Hiding{Name: "a finger on the zone", wide: between{4, 7}, travel: between{12, 32}, beyond: 0.9,
		mark: 20. / 35, cover: putFinger}
	CutLeft = Hiding{Name: "the zone cut at its left", wide: between{1.5, 7}, travel: between{5, 16}, mark: 15. / 35,
		cut: true}
	Hidings  = []Hiding{Open, Lamp, Finger, CutLeft}
	formats  = []mrz.Format{mrz.TD1, mrz.TD2, mrz.TD3} // a visa is not accepted
	hiddenOn = []Ease{Easy, Medium}
)

// HiddenSet invents documents, held upright, of all formats with a portrait.
func HiddenSet(seed uint64, count int, now time.Time) []Document {
	var set []Document
	for i := range count {
		format, ease := formats[i%len(formats)], hiddenOn[i/len(formats)%len(hiddenOn)]
		set = append(set, invent(format, ease, seed<<32+uint64(i), now, func(share float64) float64 {
			return 16*share - 8
		}))
	}
	return set
}

// HiddenFrame renders one of the HiddenFrames of a capture in which a part of the
// zone is hidden. The hidden part moves evenly along the zone, as the hand or the
// document does.
func (r *Renderer) HiddenFrame(d Document, h Hiding, frame int) ([]byte, error) {
	whole := rand.New(rand.NewPCG(d.seed, 1000)) //nolint:gosec // repeatable on purpose; the same for all frames
	wide, travel := h.wide.draw(whole), h.travel.draw(whole)
	start := between{-h.beyond * wide, float64(d.Format.Length()) - (1-h.beyond)*wide}.draw(whole)
	moved := travel * (float64(frame)/(HiddenFrames-1) - 0.5)
	var a alteration
	if h.cut {
		a.aim = func(v view, p *page) view { return v.without(p, wide+moved) }
	}
	if h.cover != nil {
		a.cover = func(frame *picture, v view, p *page) { h.cover(frame, v, p, start+moved, start+moved+wide) }
	}
	return r.frame(d, frame, a)
}

// HiddenOutcome counts the documents of which a part is hidden.
type HiddenOutcome struct {
	Hiding
	All    int
	Agreed int // enough frames agree on the zone
	Went   int // the portrait was found too: the capture asked to tilt the document
	Wrong  int // of these, with another birth or expiry date
}

// PlayHidden shows the frames of every document and every hiding to a capture, on
// every core until ctx ends. In place of the portrait a face is found wherever the
// capture looks for it.
func PlayHidden(
	ctx context.Context, zones *reader.Reader, set []Document, now time.Time, progress func(done, total int),
) ([]HiddenOutcome, error) {
	outcomes := make([]HiddenOutcome, len(Hidings))
	for i, h := range Hidings {
		outcomes[i].Hiding = h
	}
	var mu sync.Mutex
	done := 0
	err := spread(ctx, len(Hidings)*len(set), func(r *Renderer, i int) error {
		d, o := set[i/len(Hidings)], &outcomes[i%len(Hidings)]
		c, err := r.hold(d, o.Hiding, zones, now)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		o.add(d, c)
		done++
		progress(done, len(Hidings)*len(set))
		return nil
	})
	return outcomes, err
}

// add counts a capture of a document.
func (o *HiddenOutcome) add(d Document, c *capture.Capture) {
	o.All++
	if c.Agreed() {
		o.Agreed++
	}
	if zone := c.Document().Zone; zone.Valid {
		o.Went++
		if zone.BirthDate != d.Person.Birth || zone.ExpiryDate != d.Person.Expiry {
			o.Wrong++
		}
	}
}

// hold shows a document to a capture until it asks to tilt it.
func (r *Renderer) hold(d Document, h Hiding, zones *reader.Reader, now time.Time) (*capture.Capture, error) {
	c := capture.New(zones, everywhere{}, func() time.Time {
		now = now.Add(time.Second / 4)
		return now
	})
	for frame := range HiddenFrames {
		data, err := r.HiddenFrame(d, h, frame)
		if err != nil {
			return nil, err
		}
		img, err := jpeg.Decode(bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		if step, err := c.Frame(context.Background(), img); err != nil || step.Stage == capture.Tilt {
			return c, err
		}
	}
	return c, nil
}

// everywhere finds the same face in every picture.
type everywhere struct{ vision.Analyzer }

func (everywhere) Analyze(context.Context, []byte) (*vision.Observation, error) {
	return &vision.Observation{Landmarks: make([]vision.Point, 468), Presence: 1,
		Face: vision.Face{Width: 150, Height: 200}}, nil
}

func (everywhere) Views(context.Context, *vision.Observation) (*vision.Features, error) {
	return new(vision.Features), nil
}
