package attack

import (
	"bytes"
	"context"
	"image"
	"image/draw"
	"image/jpeg"
	"math/rand/v2"
	"sync"
	"time"

	"agegate/internal/check/document/capture"
	"agegate/internal/check/document/date"
	"agegate/internal/check/document/mrz"
	"agegate/internal/check/document/mrz/mrztest"
	"agegate/internal/check/document/portrait"
	"agegate/internal/check/document/reader"
	"agegate/internal/check/vision"
	"agegate/proof/attack/puppet"
	"agegate/proof/documents"
)

// documentKit holds what all presentations of documents use.
type documentKit struct {
	zones     *reader.Reader
	analyzer  vision.Analyzer
	reference *portrait.Reference
	person    image.Image // the person in front of the camera
	stranger  image.Image
	selfie    *vision.Features // of the person

	mu    sync.Mutex
	drawn map[edition]*documents.Held
}

// edition is a document with a single print that all presentations share.
type edition struct {
	format mrz.Format
	i      int    // number of the presentation
	face   string // whose portrait it has
	front  bool
	older  bool // the holder is ten years older
}

// holder presents a document to the camera and follows the prompts.
type holder struct {
	kit         *documentKit
	random      *rand.Rand
	i           int
	camera      *puppet.Camera
	person      mrztest.Person
	zone, front *documents.Held // front is the other side of a card
	home        documents.Pose
	lean        documents.Pose // towards the latest prompt
	shaking     float64        // in pixels and, at a smaller scale, in degrees

	obey func(capture.Hint) capture.Hint // the direction in which it tilts for a prompt
	show func(step capture.Step, t float64) *image.RGBA
	// shoot makes the JPEG of frame n.
	shoot func(n int, frame *image.RGBA) ([]byte, error)
}

// Frames of a presentation.
const (
	framePixels = 720 // by 540: as small as possible, to save time
	frameGap    = 0.4 // seconds
	maxFrames   = 40
)

// today is the day on which documents are shown.
var today = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// newHolder returns an honest person with a document of the format.
func newHolder(d *documentKit, format mrz.Format, seed uint64, i int) (*holder, error) {
	random := rand.New(rand.NewPCG(seed, 9303)) //nolint:gosec // every run must be the same
	between := func(low, high float64) float64 { return low + (high-low)*random.Float64() }
	h := &holder{kit: d, random: random, i: i, camera: puppet.NewCamera(random), shaking: 1}
	h.camera.Noise, h.camera.Gain, h.camera.Quality = between(1.5, 3), between(0.8, 1.1), 85
	h.home = documents.Pose{Roll: between(-12, 12), Left: between(-4, 4), Top: between(-4, 4), X: between(-15, 15),
		Y: between(-10, 10)}
	// As large as the page's outline requires: nearly the frame's width.
	widths := map[mrz.Format]float64{mrz.TD1: 85.6, mrz.TD2: 105, mrz.TD3: 125, mrz.MRVA: 120}
	h.home.Pitch = between(0.8, 0.88) * framePixels / widths[format] * 2.54
	h.obey = func(asked capture.Hint) capture.Hint { return asked }
	h.show = h.hold
	h.shoot = func(_ int, frame *image.RGBA) ([]byte, error) { return h.camera.Shoot(frame) }
	e := edition{format: format, i: i, face: "person"}
	h.person = e.person()
	var err error
	if format == mrz.TD1 {
		e.front = true
		if h.front, err = d.print(e); err != nil {
			return nil, err
		}
		e.front, e.face = false, ""
	}
	h.zone, err = d.print(e)
	return h, err
}

// person is the holder of a document.
func (e edition) person() mrztest.Person {
	random := e.random(1)
	p := mrztest.Random(random, today)
	p.Birth = date.Of(today.AddDate(-20-random.IntN(40), 0, -random.IntN(365)))
	if e.older {
		p.Birth = date.Of(p.Birth.Latest.AddDate(-10, 0, 0))
	}
	return p
}

func (e edition) random(stream uint64) *rand.Rand {
	return rand.New(rand.NewPCG(uint64(e.i)<<8+uint64(e.format), stream)) //nolint:gosec // every run must be the same
}

// print draws a document, once.
func (d *documentKit) print(e edition) (*documents.Held, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if h := d.drawn[e]; h != nil {
		return h, nil
	}
	renderer, err := documents.NewRenderer()
	if err != nil {
		return nil, err
	}
	faces := map[string]image.Image{"person": d.person, "stranger": d.stranger, "": nil,
		"blank": image.NewGray(image.Rect(0, 0, 8, 8))}
	content := documents.Content{Format: e.format, Lines: mrztest.Zone(e.format, e.person()), Portrait: faces[e.face],
		Front: e.front}
	d.drawn[e] = renderer.Hold(content, documents.Easy, e.random(2))
	return d.drawn[e], nil
}

// hold renders the document in the pose in which the hand holds it now.
func (h *holder) hold(step capture.Step, _ float64) *image.RGBA {
	side := h.zone
	if step.Stage == capture.Turn && h.front != nil {
		side = h.front
	}
	return side.Draw(h.pose(step), image.Pt(framePixels, framePixels*3/4))
}

// pose moves towards the prompt's pose within a frame or two.
func (h *holder) pose(step capture.Step) documents.Pose {
	var target documents.Pose
	if step.Hint == capture.Further {
		h.home.Pitch *= 0.95
	}
	if step.Stage == capture.Tilt {
		const angle = 17
		switch h.obey(step.Hint) {
		case capture.RaiseLeft:
			target.Left = angle
		case capture.RaiseRight:
			target.Left = -angle
		case capture.RaiseTop:
			target.Top = angle
		case capture.RaiseBottom:
			target.Top = -angle
		default:
			target = h.lean
		}
	}
	const follow = 0.6 // share of the way moved in each frame
	h.lean.Left += follow * (target.Left - h.lean.Left)
	h.lean.Top += follow * (target.Top - h.lean.Top)
	p := h.home
	shake := func() float64 { return h.shaking * h.random.NormFloat64() }
	p.Left, p.Top, p.Roll = p.Left+h.lean.Left+shake()/2, p.Top+h.lean.Top+shake()/2, p.Roll+shake()/2
	p.X, p.Y, p.Pitch = p.X+2*shake(), p.Y+2*shake(), p.Pitch*(1+shake()/200)
	return p
}

// shown is the result of a presentation.
type shown struct {
	stage  capture.Stage
	reason capture.Reason
	match  bool // the portrait matches the person
	wrong  bool // a wrong birth or expiry date was read
	frames int
	took   []time.Duration // processor time of each frame
}

// accepted reports whether the document check accepts the presentation as the
// person's own document.
func (s shown) accepted() bool { return s.stage == capture.Done && s.match }

// play shows the document to a new capture.
func (h *holder) play(ctx context.Context) (shown, error) {
	t := 0.0
	check := capture.New(h.kit.zones, h.kit.analyzer,
		func() time.Time { return today.Add(time.Duration(t * float64(time.Second))) })
	check.DrawFrom(chance{h.random})
	step := capture.Step{Stage: capture.Find}
	var result shown
	for n := range maxFrames {
		data, err := h.shoot(n, h.show(step, t))
		if err != nil {
			return result, err
		}
		img, err := jpeg.Decode(bytes.NewReader(data))
		if err != nil {
			return result, err
		}
		took := documents.ProcessorTime(func() { step, err = check.Frame(ctx, img) })
		if err != nil {
			return result, err
		}
		result = shown{stage: step.Stage, reason: check.Reason(), frames: n + 1, took: append(result.took, took)}
		if step.Stage == capture.Done || step.Stage == capture.Refused {
			break
		}
		t += frameGap * (0.9 + 0.2*h.random.Float64())
	}
	if result.stage == capture.Done {
		d := check.Document()
		result.match = h.kit.reference.Match(h.kit.reference.Similarity(d.Portrait, h.kit.selfie))
		result.wrong = d.Zone.BirthDate != h.person.Birth || d.Zone.ExpiryDate != h.person.Expiry
	}
	return result, nil
}

// copied returns a copy of the frame.
func copied(frame *image.RGBA) *image.RGBA {
	out := image.NewRGBA(frame.Rect)
	draw.Draw(out, out.Rect, frame, frame.Rect.Min, draw.Src)
	return out
}
