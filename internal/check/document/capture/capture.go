// Package capture judges, picture by picture, a passport or identity card that
// a shopper holds to a camera: several different frames must agree on the zone,
// the portrait must be seen next to it (on the other side of a small card) and
// stay the same, and the document must move as a prompt asks. That refuses
// recordings, frames that come back, and documents that are exchanged under
// way. It does not distinguish a well-made fake from the original, and a document on a
// screen only where the screen's raster shows. The package keeps nothing of a
// picture beyond the capture.
package capture

import (
	"context"
	"crypto/rand"
	"image"
	"io"
	"slices"
	"time"

	"agegate/internal/check/document/mrz"
	"agegate/internal/check/document/reader"
	"agegate/internal/check/liveness"
	"agegate/internal/check/vision"
)

// Limits of a capture's frames.
const (
	mostRepeated   = 2   // frames that came back
	mostStalled    = 30  // frames in a row that are the same
	mostFaceless   = 12  // frames with a zone within which a portrait must be found
	mostDifferent  = 1   // frames with another portrait
	mostRaster     = 1.0 // median of vision.Raster over the frames that are held still
	portraitsAlone = 1   // frames of a side without zone that must show the portrait again
)

// Times in which the other side of a card must be shown, by the capture's
// clock.
const (
	turningTime = 60 * time.Second // after the zone was seen last
	longestGap  = 5 * time.Second  // between two frames
)

// Capture is the check of one document. It must not be used by two goroutines
// at once.
type Capture struct {
	reader   *reader.Reader
	analyzer vision.Analyzer
	now      func() time.Time

	stage   Stage
	hint    Hint
	reason  Reason
	memory  liveness.Memory
	stalled int
	again   int // frames that came back
	zones   zones
	rasters []float64 // of the frames that were held still
	tilting tilting
	last    time.Time // of the latest fresh frame

	portrait  *vision.Features
	faceless  int // frames with a zone but no portrait
	same      int // later frames with the same portrait
	different int // or another one
	turn      int // quarters by which the other side is turned
	zoneSeen  time.Time
}

// New returns a capture. Dates are judged, and time is taken, by now.
func New(zones *reader.Reader, analyzer vision.Analyzer, now func() time.Time) *Capture {
	return &Capture{reader: zones, analyzer: analyzer, now: now, stage: Find, hint: ShowZone, tilting: tilting{random: rand.Reader}}
}

// DrawFrom lets prompts be drawn from random, which must not run dry, instead of
// the system's source. It makes a capture repeatable.
func (c *Capture) DrawFrom(random io.Reader) { c.tilting.random = random }

// Document returns what was read. It is the zero Document before Done.
func (c *Capture) Document() Document {
	if c.stage != Done {
		return Document{}
	}
	leading := c.zones.leading()
	d := Document{Zone: leading.result, Portrait: c.portrait}
	d.Zone.IssuingState, _ = leading.state()
	d.Zone.Reasons = nil // of one frame, against the others
	return d
}

// Reason says why the capture was refused, or is empty.
func (c *Capture) Reason() Reason { return c.reason }

// Frame judges the next picture of the camera; its longer side is best about
// 1280 pixels, and it costs the less the smaller it is. It fails because a model
// failed or ctx ended. After Done or Refused
// it changes nothing.
func (c *Capture) Frame(ctx context.Context, img image.Image) (Step, error) {
	if err := ctx.Err(); err != nil {
		return c.step(), err
	}
	if c.stage == Done || c.stage == Refused || img.Bounds().Empty() {
		return c.step(), nil
	}
	picture, now := reader.Grey(img), c.now()
	if !c.fresh(picture) {
		return c.step(), nil
	}
	err := c.judge(ctx, img, picture, now)
	c.last = now
	return c.step(), err
}

func (c *Capture) step() Step { return Step{c.stage, c.hint} }

func (c *Capture) refuse(why Reason) {
	c.stage, c.hint, c.reason = Refused, NoHint, why
}

// fresh reports whether the picture is a new one.
func (c *Capture) fresh(picture *image.Gray) bool {
	switch c.memory.Add(picture.Pix, &vision.Observation{Grain: vision.GrainOf(picture)}) {
	case liveness.Repeated:
		if c.again++; c.again > mostRepeated {
			c.refuse(Repeated)
		}
		return false
	case liveness.Stalled:
		if c.stalled++; c.stalled > mostStalled {
			c.refuse(Frozen)
		}
		return false
	}
	c.stalled = 0
	return true
}

func (c *Capture) judge(ctx context.Context, img image.Image, picture *image.Gray, now time.Time) error {
	if c.stage == Turn {
		return c.otherSide(ctx, img, now)
	}
	reading := c.reader.Read(picture, now)
	switch {
	case leaves(reading, picture.Rect.Size()): // what is missing may be guessed, so that the check digits hold
		c.hint = Further
		return nil
	case !reading.Valid:
		c.hint = c.guide(trouble(picture, reading))
		return nil
	case reading.Format == mrz.MRVA || reading.Format == mrz.MRVB:
		c.hint = c.guide(OtherDocument)
		return nil
	}
	seen := c.zones.add(reading)
	if c.zones.disagree() {
		c.refuse(Disagreeing)
		return nil
	}
	if seen != c.zones.leading() {
		return nil // a misread frame, or the first of another document
	}
	c.zoneSeen = now
	if err := c.face(ctx, img, reading); err != nil || c.stage == Refused {
		return err
	}
	c.advance(seen, reading, picture, now)
	return nil
}

// guide prefers the prompt to tilt over advice that a tilted document brings
// about by itself.
func (c *Capture) guide(h Hint) Hint {
	if c.stage == Tilt && (h == HoldStill || h == ShowZone || h == Blurred) {
		return c.tilting.prompt
	}
	return h
}

// face looks for the portrait next to the zone, where the format has it there,
// as long as it must be found, and again when the document has been tilted.
func (c *Capture) face(ctx context.Context, img image.Image, r reader.Reading) error {
	c.hint = HoldStill
	if r.Format == mrz.TD1 || c.portrait != nil && c.stage != Tilt {
		return nil
	}
	f, hint, err := faceBeside(ctx, c.analyzer, img, r)
	switch {
	case err != nil:
		return err
	case f != nil && c.portrait == nil:
		c.portrait = f
	case f != nil:
		c.compare(f)
	case c.portrait == nil:
		if c.faceless++; c.faceless >= mostFaceless && hint != Further && hint != Closer {
			c.refuse(NoPortrait)
			return nil
		}
		c.hint = hint
	}
	return nil
}

// compare refuses a capture in which the portrait changes.
func (c *Capture) compare(f *vision.Features) {
	if resemblance(c.portrait, f) >= samePortrait {
		c.same++
		return
	}
	if c.different++; c.different > mostDifferent {
		c.refuse(OtherPortrait)
	}
}

// advance takes a frame that shows the zone into account.
func (c *Capture) advance(seen *zone, r reader.Reading, picture *image.Gray, now time.Time) {
	lean := slopeOf(r.Corners, picture.Rect.Size())
	if c.stage == Tilt {
		c.tilted(r, lean, now)
		return
	}
	c.stage = Hold
	c.tilting.flat = append(c.tilting.flat, lean)
	c.rasters = append(c.rasters, vision.Raster(picture))
	_, known := seen.state()
	switch {
	case seen.frames >= mostStateless && !known:
		c.refuse(UnknownIssuer)
	case len(c.rasters) >= agreeing && middle(c.rasters) > mostRaster:
		c.refuse(Screen)
	case known && (c.portrait != nil || r.Format == mrz.TD1):
		c.stage = Tilt
		c.tilting.begin(now)
		c.hint = c.tilting.prompt
	}
}

// tilted weighs the slope of a frame after a prompt to tilt. The portrait must
// have been seen again before the capture goes on.
func (c *Capture) tilted(r reader.Reading, lean slope, now time.Time) {
	if c.tilting.done < tilts && c.tilting.add(lean, now) {
		c.refuse(Unprompted)
		return
	}
	switch {
	case c.tilting.done < tilts:
		c.hint = c.tilting.prompt
	case r.Format == mrz.TD1:
		c.stage, c.hint, c.turn = Turn, TurnOver, quarters(r)
	case c.same > 0:
		c.stage, c.hint = Done, NoHint
	}
}

// otherSide looks for the portrait on the side without zone. What binds both
// sides is only that they are shown in one view without interruption.
func (c *Capture) otherSide(ctx context.Context, img image.Image, now time.Time) error {
	if now.Sub(c.zoneSeen) > turningTime || now.Sub(c.last) > longestGap {
		c.refuse(SidesApart)
		return nil
	}
	f, hint, err := faceAlone(ctx, c.analyzer, img, c.turn)
	c.hint = hint
	switch {
	case err != nil:
		return err
	case f == nil && hint == TurnOver:
		c.turn = (c.turn + 1) % 4 // the card may be turned in any way
		return nil
	case f == nil:
		return nil
	case c.portrait == nil:
		c.portrait = f
	default:
		c.compare(f)
	}
	if c.stage == Refused {
		return nil
	}
	c.hint = HoldStill
	if c.same >= portraitsAlone {
		c.stage, c.hint = Done, NoHint
	}
	return nil
}

// middle is the median.
func middle(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	if len(sorted) == 0 {
		return 0
	}
	return sorted[len(sorted)/2]
}
