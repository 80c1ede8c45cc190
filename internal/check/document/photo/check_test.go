package photo

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/jpeg"
	"testing"
	"time"

	"agegate/internal/check/age"
	"agegate/internal/check/document/capture"
	"agegate/internal/check/document/date"
	"agegate/internal/check/document/mrz"
	"agegate/internal/check/document/portrait"
	"agegate/internal/check/inference"
	"agegate/internal/check/liveness"
	"agegate/internal/check/vision"
)

var today = time.Date(2026, 11, 21, 23, 30, 0, 0, time.UTC)

// shown is a documentCapture that returns prepared steps.
type shown struct {
	steps    []capture.Step
	document capture.Document
	err      error
}

func (s *shown) Frame(context.Context, image.Image) (capture.Step, error) {
	step := s.steps[0]
	s.steps = s.steps[1:]
	return step, s.err
}

func (s *shown) Document() capture.Document { return s.document }

// facing is a faceCapture that returns prepared steps.
type facing struct {
	steps []age.Step
	next  uint32
	more  int
}

func (f *facing) Nonce() [16]byte { return [16]byte{9} }
func (f *facing) MoreTime() bool  { f.more++; return true }
func (f *facing) Add(_ context.Context, frame age.Frame) (age.Step, error) {
	if frame.Nonce != f.Nonce() || frame.Seq != f.next {
		return age.Step{}, age.ErrForeignFrame
	}
	f.next++
	step := f.steps[0]
	f.steps = f.steps[1:]
	return step, nil
}

// features returns a face whose descriptor points in the given direction.
func features(direction int) *vision.Features {
	f := &vision.Features{Identity: new([inference.IdentitySize]float32)}
	f.Whole.Descriptor[direction], f.Identity[direction] = 1, 1
	return f
}

// year returns a birth date of which only the year is known.
func year(t *testing.T, year int) date.Date {
	t.Helper()
	d, _ := date.Partial(year, 0, 0)
	return d
}

func picture(t *testing.T, width, height int) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := jpeg.Encode(&out, image.NewGray(image.Rect(0, 0, width, height)), nil); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// newCheck returns a check of an adult's document, whose next frame is its last.
func newCheck() (*Check, *shown) {
	document := &shown{steps: []capture.Step{{Stage: capture.Done}}, document: capture.Document{
		Zone: mrz.Result{Valid: true, BirthDate: date.On(2000, 1, 1), ExpiryDate: date.On(2030, 1, 1)}, Portrait: features(1),
	}}
	engine := NewEngine(nil, nil, nil, &portrait.Reference{
		Threshold: 0.25, Stock: portrait.Spread{Deviation: 1}, Matcher: portrait.Spread{Deviation: 1},
	})
	c := engine.NewCheck(Options{TargetAge: 18, Now: func() time.Time { return today }})
	c.document = document
	return c, document
}

func (c *Check) see(t *testing.T, jpeg []byte) (Step, error) {
	t.Helper()
	return c.Add(t.Context(), age.Frame{Nonce: c.nonce, Seq: c.next, JPEG: jpeg})
}

// TestDays: whether the document passes depends on the day of the check. The
// first and the last valid day are included.
func TestDays(t *testing.T) {
	for _, row := range []struct {
		name          string
		birth, expiry date.Date
		want          Outcome
	}{
		{"an adult", date.On(2000, 1, 1), date.On(2030, 1, 1), ""},
		{"18 today", date.On(2008, 11, 21), date.On(2030, 1, 1), ""},
		{"18 tomorrow", date.On(2008, 11, 22), date.On(2030, 1, 1), UnderAge},
		{"of a year in which all are 18", year(t, 2007), date.On(2030, 1, 1), ""},
		{"of a year in which some are 18", year(t, 2008), date.On(2030, 1, 1), Undated},
		{"of a year in which nobody is 18", year(t, 2009), date.On(2030, 1, 1), UnderAge},
		{"without an end", date.On(2000, 1, 1), date.NoEnd, ""},
		{"the last day of validity", date.On(2000, 1, 1), date.On(2026, 11, 21), ""},
		{"expired yesterday", date.On(2000, 1, 1), date.On(2026, 11, 20), Expired},
		{"expired and too young", date.On(2015, 1, 1), date.On(2026, 11, 20), Expired},
	} {
		c, document := newCheck()
		document.document.Zone.BirthDate, document.document.Zone.ExpiryDate = row.birth, row.expiry
		step, err := c.see(t, picture(t, 64, 48))
		if err != nil || step.Outcome != row.want || row.want == "" && step.Stage != StageFace {
			t.Errorf("%s: %q at %q, %v, want %q", row.name, step.Outcome, step.Stage, err, row.want)
		}
		if row.want == "" {
			continue
		}
		if _, err := c.see(t, nil); !errors.Is(err, age.ErrFinished) {
			t.Errorf("%s: after the end: %v", row.name, err)
		}
	}
}

// TestRefusedBeforeTilts: a document whose dates do not pass is refused as soon
// as its zone is read; any other document continues with the tilts.
func TestRefusedBeforeTilts(t *testing.T) {
	for _, row := range []struct {
		name          string
		birth, expiry date.Date
		want          Outcome
	}{
		{"valid", date.On(2000, 1, 1), date.On(2030, 1, 1), ""},
		{"expired", date.On(2000, 1, 1), date.On(2026, 11, 20), Expired},
		{"too young", date.On(2015, 1, 1), date.On(2030, 1, 1), UnderAge},
	} {
		c, document := newCheck()
		document.steps = []capture.Step{{Stage: capture.Hold}, {Stage: capture.Tilt, Hint: capture.RaiseLeft}}
		document.document.Zone.BirthDate, document.document.Zone.ExpiryDate = row.birth, row.expiry
		if step, err := c.see(t, picture(t, 64, 48)); err != nil || step.Outcome != "" {
			t.Errorf("%s: while frames must still agree: %q, %v", row.name, step.Outcome, err)
		}
		step, err := c.see(t, picture(t, 64, 48))
		if asked := step.Prompt != ""; err != nil || step.Outcome != row.want || asked == (row.want != "") {
			t.Errorf("%s: %+v, %v, want %q", row.name, step, err, row.want)
		}
	}
}

// TestSpecimens: specimens are accepted only if the options allow them.
func TestSpecimens(t *testing.T) {
	for specimens, want := range map[bool]Outcome{true: "", false: Doubtful} {
		c, document := newCheck()
		c.options.Specimens, document.document.Zone.IssuingState = specimens, "UTO"
		if step, err := c.see(t, picture(t, 64, 48)); err != nil || step.Outcome != want {
			t.Errorf("specimens taken %t: %q, %v, want %q", specimens, step.Outcome, err, want)
		}
	}
}

// TestFaces covers the outcomes of the face. After a face without a result, the
// check asks only for the face again, not for the document.
func TestFaces(t *testing.T) {
	met := func(faces ...*vision.Features) age.Step {
		return age.Step{Verdict: age.VerdictMet, Age: 33, Faces: faces}
	}
	for _, row := range []struct {
		name string
		step age.Step
		want Outcome
	}{
		{"the portrait's", met(features(1), features(1), features(2)), Passed},
		{"however young it looks", age.Step{Verdict: age.VerdictBelow, Age: 12, Faces: []*vision.Features{features(1)}},
			Passed},
		{"another's", met(features(2), features(2), features(1)), AnotherFace},
		{"none at all", met(), AnotherFace},
		{"not live", age.Step{Verdict: age.VerdictSpoof}, NotLive},
	} {
		c, _ := newCheck()
		if _, err := c.see(t, picture(t, 64, 48)); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			face := &facing{steps: []age.Step{
				{Guidance: vision.GuidanceTooFar}, {Verdict: age.VerdictNoCapture, Why: age.ReasonHasty},
			}}
			c.face, c.taken = face, 0
			step, err := c.see(t, nil)
			if err != nil || step.Stage != StageFace || step.Guidance != vision.GuidanceTooFar || !c.MoreTime() ||
				face.more != 1 {
				t.Fatalf("%s: %+v, %v", row.name, step, err)
			}
			step, err = c.see(t, nil)
			if err != nil || step.Outcome != "" || step.Verdict != age.VerdictNoCapture || step.Why != age.ReasonHasty ||
				c.face == faceCapture(face) {
				t.Fatalf("%s: no capture: %+v, %v", row.name, step, err)
			}
		}
		c.face, c.taken = &facing{steps: []age.Step{row.step}}, 0
		step, err := c.see(t, nil)
		if err != nil || step.Outcome != row.want || step.Age != 0 || step.Faces != nil || step.Verdict != "" {
			t.Errorf("%s: %+v, %v, want %q", row.name, step, err, row.want)
		}
	}
}

// TestGuidanceOfDocuments: a hint about a good picture becomes a prompt, one
// about a bad picture becomes guidance.
func TestGuidanceOfDocuments(t *testing.T) {
	for _, row := range []struct {
		seen     capture.Step
		guidance vision.Guidance
		prompt   liveness.Prompt
		outcome  Outcome
	}{
		{capture.Step{Stage: capture.Find, Hint: capture.ShowZone}, "document.show_zone", "", ""},
		{capture.Step{Stage: capture.Hold, Hint: capture.Glare}, "document.glare", "", ""},
		{capture.Step{Stage: capture.Find, Hint: capture.ZoneCovered}, "document.zone_covered", "", ""},
		{capture.Step{Stage: capture.Hold}, "ok", "document.hold_still", ""},
		{capture.Step{Stage: capture.Tilt, Hint: capture.RaiseLeft}, "ok", "document.raise_left", ""},
		{capture.Step{Stage: capture.Refused}, "", "", Doubtful},
	} {
		c, document := newCheck()
		document.steps = []capture.Step{row.seen}
		step, err := c.see(t, picture(t, 1280, 960))
		if err != nil || step.Guidance != row.guidance || step.Prompt != row.prompt || step.Outcome != row.outcome ||
			step.Stage != StageDocument {
			t.Errorf("%v: %+v, %v", row.seen, step, err)
		}
	}
}

// TestForeignFrames: frames that no honest page sends end the check; a damaged
// picture does not.
func TestForeignFrames(t *testing.T) {
	failed := errors.New("a model failed")
	for _, row := range []struct {
		name   string
		change func(c *Check, d *shown, f *age.Frame)
		want   error
	}{
		{"damaged", func(_ *Check, _ *shown, f *age.Frame) { f.JPEG = []byte("jpeg") }, nil},
		{"of another check", func(_ *Check, _ *shown, f *age.Frame) { f.Nonce[0]++ }, age.ErrForeignFrame},
		{"out of order", func(_ *Check, _ *shown, f *age.Frame) { f.Seq++ }, age.ErrFrameOrder},
		{"too wide", func(_ *Check, _ *shown, f *age.Frame) { f.JPEG = picture(t, 1281, 8) }, vision.ErrFrameTooLarge},
		{"too heavy", func(_ *Check, _ *shown, f *age.Frame) { f.JPEG = make([]byte, vision.MaxFrameBytes+1) },
			vision.ErrFrameTooLarge},
		{"with a failing model", func(_ *Check, d *shown, _ *age.Frame) { d.err = failed }, failed},
		{"without a turn", func(c *Check, _ *shown, _ *age.Frame) {
			c.options.DocumentTurn = func(context.Context) (func(), error) { return nil, failed }
		}, failed},
	} {
		c, document := newCheck()
		f := age.Frame{Nonce: c.nonce, JPEG: picture(t, 64, 48)}
		row.change(c, document, &f)
		if _, err := c.Add(t.Context(), f); !errors.Is(err, row.want) {
			t.Errorf("%s: %v, want %v", row.name, err, row.want)
		}
		if _, err := c.see(t, picture(t, 64, 48)); (row.want != nil) != errors.Is(err, age.ErrFinished) {
			t.Errorf("%s: the next frame: %v", row.name, err)
		}
	}
}
