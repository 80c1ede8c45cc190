// Package capture judges, picture by picture, a passport or identity card that a shopper holds to a camera. Several
// different frames must agree on the machine-readable zone. The portrait must be seen next to the zone (on the other
// side of a small card) and stay the same. The document must move as a prompt asks. This refuses recordings, repeated
// frames, and documents that are exchanged during the capture. It does not distinguish a well-made fake from the
// original. A document on a screen is detected only if the screen's raster is visible. The package keeps no part of a
// picture after the capture.
package capture

import (
	"context"
	"crypto/rand"
	"image"
	"io"
	"slices"
	"time"

	"agegate/internal/check/document/mrz"
	"agegate/internal/check/document/portrait"
	"agegate/internal/check/document/reader"
	"agegate/internal/check/liveness"
	"agegate/internal/check/vision"
)

// Limits of a capture's frames.
const (
	maxRepeated    = 2   // frames that repeat an earlier one
	maxStalled     = 30  // frames in a row that are the same
	maxFaceless    = 12  // frames with a zone after which a portrait must have been found
	maxDifferent   = 1   // frames with another portrait
	maxRaster      = 1.0 // median of vision.Raster over the frames in which the document is held still
	portraitsAlone = 1   // frames of a side without a zone that must confirm the portrait
)

// Limits for showing the other side of a card, by the capture's clock.
const (
	turningTime = 60 * time.Second // since the zone was last seen
	longestGap  = 5 * time.Second  // between two frames
)

// Capture is the check of one document. It must not be used by two goroutines at once.
type Capture struct {
	reader   *reader.Reader
	analyzer vision.Analyzer
	now      func() time.Time

	stage   Stage
	hint    Hint
	reason  Reason
	memory  liveness.Memory
	stalled int
	again   int // frames that repeated an earlier one
	zones   zones
	parts   parts
	rasters []float64 // of the frames in which the document was held still
	tilting tilting
	last    time.Time // of the latest fresh frame

	portrait  *vision.Features
	faceless  int // frames with a zone but no portrait
	same      int // later frames with the same portrait
	different int // later frames with another portrait
	turn      int // quarter turns by which the other side is rotated
	zoneSeen  time.Time
}

// New returns a capture. now gives the date for judging the document and the time for limits.
func New(zones *reader.Reader, analyzer vision.Analyzer, now func() time.Time) *Capture {
	return &Capture{reader: zones, analyzer: analyzer, now: now, stage: Find, hint: ShowZone,
		tilting: tilting{random: rand.Reader}}
}

// DrawFrom makes the capture draw its prompts from random instead of the system's
// source, so that it can be repeated. random must never end.
func (c *Capture) DrawFrom(random io.Reader) { c.tilting.random = random }

// Document returns what the capture has read so far. At Tilt and Turn, it has the zone on which enough frames agree; at
// Done, the zone and the portrait; at other stages it is the zero Document.
func (c *Capture) Document() Document {
	if c.stage != Tilt && c.stage != Turn && c.stage != Done {
		return Document{}
	}
	leading := c.zones.leading()
	d := Document{Zone: leading.result, Portrait: c.portrait}
	d.Zone.IssuingState, _ = leading.state()
	d.Zone.Reasons = nil // the reasons of one frame say nothing about the agreed zone
	return d
}

// Agreed reports whether enough frames agree on a zone. The portrait may not have been seen yet.
func (c *Capture) Agreed() bool {
	leading := c.zones.leading()
	return leading != nil && leading.frames >= agreeing
}

// Reason says why the capture was refused, or is empty.
func (c *Capture) Reason() Reason { return c.reason }

// Frame judges the next picture of the camera. A longer side of about 1280 pixels is best; a smaller picture costs
// less. Frame fails if a model failed or ctx ended. After Done or Refused it changes nothing.
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
		if c.again++; c.again > maxRepeated {
			c.refuse(Repeated)
		}
		return false
	case liveness.Stalled:
		if c.stalled++; c.stalled > maxStalled {
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
	if reading.Valid && reading.Format.IsVisa() {
		c.hint = c.guide(OtherDocument)
		return nil
	}
	seen, at := c.zone(reading, picture, now)
	if c.zones.disagree() {
		c.refuse(Disagreeing)
		return nil
	}
	if seen == nil || seen != c.zones.leading() {
		return nil // no zone, a misread frame, or the first of another document
	}
	c.zoneSeen = now
	if err := c.face(ctx, img, at); err != nil || c.stage == Refused {
		return err
	}
	c.advance(seen, at, picture, now)
	return nil
}

// zone returns the zone that a frame shows, and its place in the frame. If the frame shows no zone, or only a part and
// other frames have not shown the rest, it returns nil and sets the hint.
func (c *Capture) zone(r reader.Reading, picture *image.Gray, now time.Time) (*zone, outline) {
	size := picture.Rect.Size()
	// The reader may have guessed missing characters so that the check digits match.
	whole := r.Valid && !leaves(r.Corners, size)
	// A document must be seen whole while it is tilted.
	added := r.Part != nil && c.stage != Tilt && c.parts.add(r.Part, now)
	switch {
	case whole:
		return c.zones.add(r.Result, r.Lines), outline{r.Format, r.Corners}
	case added:
		at := outline{r.Part.Format, r.Part.Corners}
		if lines, ok := c.parts.zone(); ok {
			if result := mrz.Decode(at.format, lines, now); result.Valid && result.IssuingState != "" {
				return c.zones.join(result, lines), at
			}
		}
		c.still(at, picture)
	}
	if c.hint = c.guide(trouble(picture, r)); leaves(r.Corners, size) || r.Part != nil && leaves(r.Part.Corners, size) {
		c.hint = Further
	}
	return nil, outline{}
}

// guide returns a hint. If only the tilt has caused the hint, it returns the prompt to tilt instead.
func (c *Capture) guide(h Hint) Hint {
	if c.stage != Tilt {
		return h
	}
	switch h {
	case HoldStill, ShowZone, Blurred, ZoneGlare, ZoneCovered:
		return c.tilting.prompt
	}
	return h
}

// face looks for the portrait next to the zone, if the format has it there. It looks
// until the portrait is found, and again after the document was tilted.
func (c *Capture) face(ctx context.Context, img image.Image, r outline) error {
	c.hint = HoldStill
	if r.format == mrz.TD1 || c.portrait != nil && c.stage != Tilt {
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
		if c.faceless++; c.faceless >= maxFaceless && hint != Further && hint != Closer {
			c.refuse(NoPortrait)
			return nil
		}
		c.hint = hint
	}
	return nil
}

// compare refuses a capture in which the portrait changes.
func (c *Capture) compare(f *vision.Features) {
	if new(portrait.Reference).Cosine(c.portrait, f) >= samePortrait { // no mean is subtracted
		c.same++
		return
	}
	if c.different++; c.different > maxDifferent {
		c.refuse(OtherPortrait)
	}
}

// advance evaluates a frame that shows the zone.
func (c *Capture) advance(seen *zone, r outline, picture *image.Gray, now time.Time) {
	if c.stage == Tilt {
		c.tilted(r, slopeOf(r.corners, picture.Rect.Size()), now)
		return
	}
	c.stage = Hold
	c.still(r, picture)
	_, known := seen.state()
	switch {
	case seen.frames >= maxStateless && !known:
		c.refuse(UnknownIssuer)
	case len(c.rasters) >= agreeing && middle(c.rasters) > maxRaster:
		c.refuse(Screen)
	case known && len(c.rasters) >= agreeing && (c.portrait != nil || r.format == mrz.TD1):
		c.stage = Tilt
		c.tilting.ask(now, NoHint)
		c.hint = c.tilting.prompt
	}
}

// still keeps the measurements of a document held still. Later frames are compared with them.
func (c *Capture) still(r outline, picture *image.Gray) {
	c.tilting.flat = append(c.tilting.flat, slopeOf(r.corners, picture.Rect.Size()))
	c.rasters = append(c.rasters, vision.Raster(picture))
}

// tilted evaluates the slope of a frame after a prompt to tilt. The capture
// continues only after the portrait has been seen again.
func (c *Capture) tilted(r outline, lean slope, now time.Time) {
	if c.tilting.done < tilts && c.tilting.add(lean, now) {
		c.refuse(Unprompted)
		return
	}
	switch {
	case c.tilting.done < tilts:
		c.hint = c.tilting.prompt
	case r.format == mrz.TD1:
		c.stage = Turn
		c.hint = TurnOver
		c.turn = quarters(r)
	case c.same > 0:
		c.stage, c.hint = Done, NoHint
	}
}

// otherSide looks for the portrait on the side without a zone. The view must not be
// interrupted: nothing else shows that both sides belong to one document.
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
		c.turn = (c.turn + 1) % 4 // the card may be rotated either way
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

// middle returns the median of the values.
func middle(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	if len(sorted) == 0 {
		return 0
	}
	return sorted[len(sorted)/2]
}
