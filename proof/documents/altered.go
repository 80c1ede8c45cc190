package documents

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"agegate/internal/check/document/mrz"
	"agegate/internal/check/document/mrz/mrztest"
	"agegate/internal/check/document/reader"

	"golang.org/x/image/math/f64"
)

// Alteration is something that hides a part of the zone. From frame to frame it
// moves as hands do. The ranges were fixed before the reader was changed for it.
type Alteration struct {
	Name string

	along  between // where it begins, as a part of the zone's width
	step   between // movement along the zone from one frame to the next, mm
	across between // movement across the zone, mm
	hide   func(h *hidden)
}

// The alterations. One degree of tilt moves a reflection by about 10 mm on a
// document that is held 30 cm from the camera.
var (
	StrongGlare = Alteration{"strong glare over the zone", between{0, 1}, between{-15, 15}, between{-3, 3}, glare}
	Finger      = Alteration{"a finger on the zone", between{0, 1}, between{-6, 6}, between{-3, 3}, finger}
	CutLeft     = Alteration{"a zone cut at the left", between{0.02, 0.12}, between{-6, 6}, between{}, nil}
	Alterations = []Alteration{StrongGlare, Finger, CutLeft}
)

// AlteredFrames is the number of frames of a capture of an altered document.
const AlteredFrames = 6

// hidden is one frame of an alteration.
type hidden struct {
	frame  *picture
	view   view
	page   *page
	x, y   float64    // its middle, in mm from the zone's left edge and middle
	random *rand.Rand // the same in every frame of a document
}

// at returns where an alteration is in a frame of a document.
func (a Alteration) at(seed uint64, frame int, p *page) (x, y float64) {
	random := rand.New(rand.NewPCG(seed, 1000)) //nolint:gosec // repeatable on purpose
	width := p.zone[1].x - p.zone[0].x
	x = width * a.along.draw(random)
	y = a.across.draw(random)
	for range frame {
		x = min(max(x+a.step.draw(random), -pitchMM), width)
		y = a.across.draw(random)
	}
	return x, y
}

// AlteredFrame renders the picture that a camera takes of a document under an
// alteration, at the given moment of a capture.
func (r *Renderer) AlteredFrame(d Document, a Alteration, frame int) ([]byte, error) {
	document := rand.New(rand.NewPCG(d.seed, 1))             //nolint:gosec // repeatable on purpose
	random := rand.New(rand.NewPCG(d.seed, uint64(2+frame))) //nolint:gosec // repeatable on purpose
	p := r.page(d.content, d.Ease.ink.draw(document), d.Ease.guilloche.draw(document), document)
	v := p.view(d.Ease, d.Roll, random)
	x, y := a.at(d.seed, frame, p)
	if a.hide == nil {
		v = v.shifted(p, x)
	}
	picture := v.take(p, table(random))
	light(picture, d.Ease, v, p, random)
	if a.hide != nil {
		a.hide(&hidden{picture, v, p, x, y, rand.New(rand.NewPCG(d.seed, 1001))}) //nolint:gosec // repeatable on purpose
	}
	return finish(picture, d.Ease, random)
}

// shifted moves the view until the given width of the zone has left the frame
// at its left edge.
func (v view) shifted(p *page, width float64) view {
	edge := apply(v.toFrame, point{p.zone[0].x + width, (p.zone[0].y + p.zone[3].y) / 2})
	v.toFrame = multiply(f64.Mat3{1, 0, -edge.x, 0, 1, 0, 0, 0, 1}, v.toFrame)
	v.toPage = invert(v.toFrame)
	return v
}

// each calls paint for every pixel with its place on the page, in mm from the
// alteration's middle.
func (h *hidden) each(paint func(dx, dy float64, out []float32)) {
	middle := point{h.page.zone[0].x + h.x, (h.page.zone[0].y+h.page.zone[3].y)/2 + h.y}
	for y := range Height {
		for x := range Width {
			q := h.view.onPage(apply(h.view.toPage, point{float64(x) + 0.5, float64(y) + 0.5}))
			paint(q.x-middle.x, q.y-middle.y, h.frame.at(x, y))
		}
	}
}

// glare is the reflection of a lamp, saturated in its middle.
func glare(h *hidden) {
	wide, high, peak := between{6, 14}.draw(h.random), between{4, 9}.draw(h.random), between{1.2, 2.5}.draw(h.random)
	h.each(func(dx, dy float64, out []float32) {
		far := dx*dx/wide/wide + dy*dy/high/high
		if far > 30 {
			return
		}
		shine := float32(min(peak*math.Exp(-far/2), 1))
		for i := range out {
			out[i] += (255 - out[i]) * shine
		}
	})
}

// finger is a finger that holds the document at its lower edge. Its tip lies on
// the zone.
func finger(h *hidden) {
	half, tip, skin := between{7, 10}.draw(h.random), between{-4, 2}.draw(h.random), between{90, 210}.draw(h.random)
	colour := [3]float64{skin, skin * 0.78, skin * 0.66}
	h.each(func(dx, dy float64, out []float32) {
		from := math.Abs(dx) // the distance from its axis, at the tip from the middle of its end
		if below := dy - tip - half; below < 0 {
			from = math.Hypot(dx, below)
		}
		if from > half {
			return
		}
		shade := 0.6 + 0.4*math.Sqrt(1-from*from/half/half) // round
		for i := range out {
			out[i] = float32(colour[i] * shade)
		}
	})
}

// AlteredSet invents documents as a capture accepts them, upright in the
// frame and of ease Medium.
func AlteredSet(seed uint64, count int, now time.Time) []Document {
	var set []Document
	for i := range count {
		d := Document{Format: []mrz.Format{mrz.TD1, mrz.TD2, mrz.TD3}[i%3], Ease: Medium, seed: seed<<32 + 1<<31 + uint64(i)}
		random := rand.New(rand.NewPCG(d.seed, 0)) //nolint:gosec // repeatable on purpose
		d.Roll = between{-12, 12}.draw(random)
		d.Person = mrztest.Random(random, now)
		d.content = Content{Format: d.Format, Lines: mrztest.Zone(d.Format, d.Person)}
		set = append(set, d)
	}
	return set
}

// Altered counts the captures of documents under an alteration.
type Altered struct {
	Alteration
	Captures int
	Read     int // of which a frame was read, with the right format and dates
	Wrong    int // of which a frame was read with another date or format
}

// PlayAltered renders the documents under an alteration and reads them, on
// every core until ctx ends.
func PlayAltered(ctx context.Context, zones *reader.Reader, set []Document, a Alteration, now time.Time, progress func(done, total int)) (Altered, error) {
	all := Altered{Alteration: a}
	var mu sync.Mutex
	err := spread(ctx, len(set), func(r *Renderer, i int) error {
		read, wrong, err := playAltered(r, zones, set[i], a, now)
		mu.Lock()
		defer mu.Unlock()
		all.Captures++
		if read {
			all.Read++
		}
		if wrong {
			all.Wrong++
		}
		progress(all.Captures, len(set))
		return err
	})
	return all, err
}

func playAltered(r *Renderer, zones *reader.Reader, d Document, a Alteration, now time.Time) (read, wrong bool, err error) {
	for frame := 0; frame < AlteredFrames && !read; frame++ {
		data, err := r.AlteredFrame(d, a, frame)
		if err != nil {
			return false, false, err
		}
		reading, _, err := Look(zones, data, now)
		if err != nil {
			return false, false, err
		}
		if !reading.Valid || leaves(reading) {
			continue
		}
		right := reading.BirthDate == d.Person.Birth && reading.ExpiryDate == d.Person.Expiry && reading.Format == d.Format
		read, wrong = read || right, wrong || !right
	}
	return read, wrong, nil
}

// leaves reports whether a part of the zone lies outside the frame; a capture
// does not count such a reading.
func leaves(r reader.Reading) bool {
	return slices.ContainsFunc(r.Corners[:], func(p reader.Point) bool {
		return p.X < 0 || p.Y < 0 || p.X > Width || p.Y > Height
	})
}
