// Package photo is the check of a photographed document. First the document is read
// with the rear camera. Then a live face in front of the front camera is compared with
// the document's portrait. The package keeps no part of a picture after the check, and
// passes on only the outcome.
package photo

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"image"
	"io"
	"time"

	"agegate/internal/check/age"
	"agegate/internal/check/document/capture"
	"agegate/internal/check/document/date"
	"agegate/internal/check/document/mrz"
	"agegate/internal/check/document/portrait"
	"agegate/internal/check/document/reader"
	"agegate/internal/check/liveness"
	"agegate/internal/check/vision"
)

// The maximum number of pixels, and of pixels on the longer side, of a picture
// of a document.
const (
	maxSide   = 1280
	maxPixels = maxSide * maxSide
)

// utopia is the issuing state of specimens.
const utopia = "UTO"

// Engine starts checks over one set of models.
type Engine struct {
	zones     *reader.Reader
	analyzer  vision.Analyzer
	faces     *age.Engine
	reference *portrait.Reference
}

// NewEngine returns an engine. observer receives the times of the live face's frames;
// it may be nil. The age comes from the document, so the engine compares the live face
// with the portrait only, by the same views.
func NewEngine(
	zones *reader.Reader, analyzer vision.Analyzer, observer age.Observer, reference *portrait.Reference,
) *Engine {
	return &Engine{zones, analyzer, age.NewEngine(vision.Comparing(analyzer), age.ExpectedValue{}, observer), reference}
}

// Turn waits for a turn at the processor; done ends it.
type Turn func(ctx context.Context) (done func(), err error)

// Options are the terms of one check.
type Options struct {
	TargetAge int  // years that the holder of the document must have lived
	Assisted  bool // the person cannot move their head
	Specimens bool // accept documents of Utopia, the state of specimens (ICAO Doc 9303-3, section 5)
	// DocumentTurn is waited for before each picture of a document, FaceTurn before
	// each of a face. If they are nil, the check does not wait.
	DocumentTurn, FaceTurn Turn
	Now                    func() time.Time // nil: time.Now. Its time zone determines the day of the check
	Rand                   io.Reader        // nil: crypto/rand
}

// Check is one check of a document. It is for one goroutine.
type Check struct {
	engine  *Engine
	options Options
	nonce   [16]byte
	next    uint32 // sequence number expected
	over    bool

	document documentCapture
	portrait *vision.Features // nil until the document was read
	face     faceCapture      // nil until the document was read
	taken    uint32           // frames passed to face
}

// documentCapture is implemented by capture.Capture, and faceCapture by
// age.Capture.
type (
	documentCapture interface {
		Frame(ctx context.Context, img image.Image) (capture.Step, error)
		Document() capture.Document
	}
	faceCapture interface {
		Nonce() [16]byte
		Add(ctx context.Context, f age.Frame) (age.Step, error)
		MoreTime() bool
	}
)

// NewCheck starts a check.
func (e *Engine) NewCheck(o Options) *Check {
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Rand = cmp.Or(o.Rand, rand.Reader)
	if o.DocumentTurn == nil {
		o.DocumentTurn = func(context.Context) (func(), error) { return func() {}, nil }
	}
	document := capture.New(e.zones, e.analyzer, o.Now)
	document.DrawFrom(o.Rand)
	c := &Check{engine: e, options: o, document: document}
	if _, err := io.ReadFull(o.Rand, c.nonce[:]); err != nil {
		panic("photo: no randomness for a nonce: " + err.Error())
	}
	return c
}

// Nonce returns the bytes that must precede every frame of this check.
func (c *Check) Nonce() [16]byte { return c.nonce }

// MoreTime extends the time of the face's current prompt and reports whether it
// did.
func (c *Check) MoreTime() bool { return c.face != nil && c.face.MoreTime() }

// Add takes the next frame and returns what to do. Its errors are those of
// age.Capture.Add.
func (c *Check) Add(ctx context.Context, f age.Frame) (Step, error) {
	step, err := c.add(ctx, f)
	c.over = c.over || err != nil || step.Outcome != ""
	return step, err
}

func (c *Check) add(ctx context.Context, f age.Frame) (Step, error) {
	switch {
	case c.over:
		return Step{}, age.ErrFinished
	case f.Nonce != c.nonce:
		return Step{}, age.ErrForeignFrame
	case f.Seq != c.next:
		return Step{}, age.ErrFrameOrder
	}
	c.next++
	if c.face != nil {
		return c.compare(ctx, f)
	}
	return c.read(ctx, f.JPEG)
}

// read takes a picture of the document.
func (c *Check) read(ctx context.Context, jpeg []byte) (Step, error) {
	done, err := c.options.DocumentTurn(ctx)
	if err != nil {
		return Step{}, err
	}
	defer done()
	img, err := vision.DecodeFrame(jpeg, maxPixels, maxSide)
	switch {
	case errors.Is(err, vision.ErrBadImage):
		return Step{Stage: StageDocument, Step: age.Step{Guidance: vision.GuidanceBadImage}}, nil
	case err != nil:
		return Step{}, err
	}
	seen, err := c.document.Frame(ctx, img)
	switch {
	case err != nil:
		return Step{}, err
	case seen.Stage == capture.Refused:
		return Step{Stage: StageDocument, Outcome: Doubtful}, nil
	case seen.Stage == capture.Tilt || seen.Stage == capture.Done:
		// A document that cannot pass is refused before the person has to tilt
		// it.
		d := c.document.Document()
		if outcome := c.refusal(d.Zone); outcome != "" {
			return Step{Stage: StageDocument, Outcome: outcome}, nil
		}
		if seen.Stage == capture.Done {
			c.portrait, c.document = d.Portrait, nil // from now on, the check keeps nothing else of the document
			c.beginFace()
			return Step{Stage: StageFace, Step: age.Step{Guidance: vision.GuidanceNoFace, Phase: age.PhaseFraming}}, nil
		}
	}
	return stepOf(seen), nil
}

// refusal returns why a document with this zone does not prove the age, or "".
func (c *Check) refusal(zone mrz.Result) Outcome {
	today := date.Of(c.options.Now())
	reached, possible := zone.BirthDate.Reached(c.options.TargetAge, today)
	switch {
	case zone.IssuingState == utopia && !c.options.Specimens:
		return Doubtful
	case zone.ExpiryDate.Ended(today):
		return Expired
	case !possible:
		return UnderAge
	case !reached:
		return Undated
	}
	return ""
}

// beginFace starts a capture of the live face. It also does so after an earlier capture
// ended without a result.
func (c *Check) beginFace() {
	c.taken = 0
	c.face = c.engine.faces.NewCapture(age.Options{
		TargetAge: c.options.TargetAge, Assisted: c.options.Assisted, Turn: c.options.FaceTurn, Now: c.options.Now,
		Rand: c.options.Rand,
	})
}

// compare takes a picture of the face.
func (c *Check) compare(ctx context.Context, f age.Frame) (Step, error) {
	f.Nonce, f.Seq = c.face.Nonce(), c.taken
	c.taken++
	seen, err := c.face.Add(ctx, f)
	if err != nil {
		return Step{}, err
	}
	step := Step{Stage: StageFace}
	switch {
	case seen.Verdict == "":
		step.Step = seen
	case seen.Verdict == age.VerdictNoCapture:
		c.beginFace()
		step.Step = age.Step{Guidance: seen.Guidance, Phase: age.PhaseFraming, Verdict: seen.Verdict, Why: seen.Why}
	case seen.Verdict == age.VerdictSpoof:
		step.Outcome = NotLive
	case c.matches(seen.Faces):
		step.Outcome = Passed
	default:
		step.Outcome = AnotherFace
	}
	return step, nil
}

// matches compares the portrait with each frame of the face that counted.
func (c *Check) matches(faces []*vision.Features) bool {
	var similarities []float64
	for _, face := range faces {
		similarities = append(similarities, c.engine.reference.Similarity(c.portrait, face))
	}
	return len(similarities) > 0 && c.engine.reference.Match(liveness.Median(similarities))
}
