package age_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"agegate/internal/age"
	"agegate/internal/age/agetest"
)

// script is an analyzer that shows one prepared observation after another,
// and an age model that sees the years written there.
type script struct {
	shots []shot
	shown int
}

type shot struct {
	age.Observation
	years int
}

func (s *script) Analyze(context.Context, []byte) (*age.Observation, error) {
	o := s.shots[min(s.shown, len(s.shots)-1)].Observation
	s.shown++
	return &o, nil
}

func (s *script) Features(context.Context, *age.Observation) (*age.Features, error) {
	f := new(age.Features)
	f.Whole.Distribution[s.shots[min(s.shown, len(s.shots))-1].years] = 1
	return f, nil
}

// person is a good frame of somebody in the middle of the picture.
func person(years int) shot {
	return shot{age.Observation{
		Guidance: age.GuidanceOK, Width: 640, Height: 480,
		Face: age.Face{Score: 0.9, X: 320, Y: 240, Width: 200, Height: 200},
		Real: 0.9, Live: 0.9,
	}, years}
}

func people(years ...int) []shot {
	var shots []shot
	for _, y := range years {
		shots = append(shots, person(y))
	}
	return shots
}

func with(s shot, change func(*shot)) shot {
	change(&s)
	return s
}

// clock advances a quarter of a second at every look.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time {
	c.now = c.now.Add(250 * time.Millisecond)
	return c.now
}

func start(shots []shot, options age.Options) *age.Capture {
	options.Now = (&clock{time.Unix(1767225600, 0)}).Now
	options.Rand = bytes.NewReader(bytes.Repeat([]byte{7}, 16))
	return age.NewEngine(&script{shots: shots}, age.ExpectedValue{}).NewCapture(options)
}

// play feeds frames until the verdict and returns every step.
func play(t *testing.T, c *age.Capture) []age.Step {
	t.Helper()
	var steps []age.Step
	for seq := range uint32(1000) {
		step, err := c.Add(t.Context(), age.Frame{Nonce: c.Nonce(), Seq: seq, JPEG: []byte{1}})
		if err != nil {
			t.Fatal(err)
		}
		if steps = append(steps, step); step.Verdict != "" {
			return steps
		}
	}
	t.Fatal("no verdict")
	return nil
}

func TestVerdict(t *testing.T) {
	screen := func(s *shot) { s.Real = 0.1 }
	replay := func(s *shot) { s.Live = 0.05 }
	weak := func(s *shot) { s.Live = 0.12 }
	rows := []struct {
		name    string
		options age.Options
		shots   []shot
		want    age.Verdict
		years   float64
		frames  int
	}{
		{"clear adult", age.Options{TargetAge: 18, Margin: 7}, people(40), age.VerdictMet, 40, 6},
		{"exactly the cutoff", age.Options{TargetAge: 18, Margin: 7}, people(25), age.VerdictMet, 25, 6},
		{"a year below it", age.Options{TargetAge: 18, Margin: 7}, people(24), age.VerdictBelow, 24, 6},
		{"fractional margin", age.Options{TargetAge: 18, Margin: 7.5}, people(25), age.VerdictBelow, 25, 6},
		{"the median decides, not one odd frame", age.Options{TargetAge: 18, Margin: 7}, people(0, 20, 90, 21, 22, 90), age.VerdictBelow, 22, 6},
		{"printed", age.Options{TargetAge: 18, Margin: 7}, []shot{with(person(40), screen)}, age.VerdictSpoof, 0, 6},
		{"recorded", age.Options{TargetAge: 18, Margin: 7}, []shot{with(person(40), replay)}, age.VerdictSpoof, 0, 6},
		{"weak score, head free", age.Options{TargetAge: 18, Margin: 7}, []shot{with(person(40), weak)}, age.VerdictMet, 40, 6},
		{"weak score, assisted", age.Options{TargetAge: 18, Margin: 7, Assisted: true}, []shot{with(person(40), weak)}, age.VerdictSpoof, 0, 11},
		{"assisted", age.Options{TargetAge: 18, Margin: 7, Assisted: true}, people(40), age.VerdictMet, 40, 11},
		{"nobody comes", age.Options{TargetAge: 18}, []shot{{Observation: age.Observation{Guidance: age.GuidanceNoFace}}}, age.VerdictNoCapture, 0, 241},
		{"leaves in the middle", age.Options{TargetAge: 18},
			[]shot{person(40), person(40), {Observation: age.Observation{Guidance: age.GuidanceTooDark}}}, age.VerdictNoCapture, 0, 83},
	}
	for _, row := range rows {
		steps := play(t, start(row.shots, row.options))
		last := steps[len(steps)-1]
		if last.Verdict != row.want || last.Age != row.years || last.Phase != age.PhaseDone || len(steps) != row.frames {
			t.Errorf("%s: %+v after %d frames, want %s at %v after %d", row.name, last, len(steps), row.want, row.years, row.frames)
		}
	}
}

// TestCourse follows one capture step by step: what is wrong is said, a face
// in passing starts nothing, and the attempt starts exactly once.
func TestCourse(t *testing.T) {
	guided := func(g age.Guidance) shot { return shot{Observation: age.Observation{Guidance: g}} }
	moved := func(s *shot) { s.Face.X += 100 }
	steps := play(t, start([]shot{
		guided(age.GuidanceNoFace), person(30), guided(age.GuidanceBlurred),
		person(30), person(30), with(person(30), moved), with(person(30), moved),
		guided(age.GuidanceTurnedAway), with(person(30), moved),
	}, age.Options{TargetAge: 18, Margin: 7}))
	want := []age.Step{
		{Guidance: age.GuidanceNoFace, Phase: age.PhaseFraming, Total: 5},
		{Guidance: age.GuidanceOK, Phase: age.PhaseFraming, Total: 5},
		{Guidance: age.GuidanceBlurred, Phase: age.PhaseFraming, Total: 5},
		{Guidance: age.GuidanceOK, Phase: age.PhaseFraming, Total: 5},
		{Guidance: age.GuidanceOK, Phase: age.PhaseChallenge, Prompt: age.PromptHoldStill, Done: 1, Total: 5, AttemptStarted: true},
		{Guidance: age.GuidanceHoldStill, Phase: age.PhaseChallenge, Prompt: age.PromptHoldStill, Done: 1, Total: 5},
		{Guidance: age.GuidanceOK, Phase: age.PhaseChallenge, Prompt: age.PromptHoldStill, Done: 2, Total: 5},
		{Guidance: age.GuidanceTurnedAway, Phase: age.PhaseChallenge, Prompt: age.PromptHoldStill, Done: 2, Total: 5},
		{Guidance: age.GuidanceOK, Phase: age.PhaseChallenge, Prompt: age.PromptHoldStill, Done: 3, Total: 5},
		{Guidance: age.GuidanceOK, Phase: age.PhaseChallenge, Prompt: age.PromptHoldStill, Done: 4, Total: 5},
		{Guidance: age.GuidanceOK, Phase: age.PhaseDone, Done: 5, Total: 5, Verdict: age.VerdictMet, Age: 30},
	}
	if len(steps) != len(want) {
		t.Fatalf("%d steps, want %d", len(steps), len(want))
	}
	for i, step := range steps {
		if step != want[i] {
			t.Errorf("step %d: %+v, want %+v", i, step, want[i])
		}
	}
}

// TestForeignMessages: a message no honest page sends ends the attempt for good.
func TestForeignMessages(t *testing.T) {
	rows := []struct {
		name   string
		change func(*age.Frame)
		want   error
	}{
		{"another nonce", func(f *age.Frame) { f.Nonce[15]++ }, age.ErrForeignFrame},
		{"a frame skipped", func(f *age.Frame) { f.Seq++ }, age.ErrFrameOrder},
		{"a frame again", func(f *age.Frame) { f.Seq-- }, age.ErrFrameOrder},
		{"too large", func(f *age.Frame) { f.JPEG = make([]byte, age.MaxFrameBytes+1) }, age.ErrFrameTooLarge},
	}
	for _, row := range rows {
		c := start(people(40), age.Options{TargetAge: 18})
		f := age.Frame{Nonce: c.Nonce(), JPEG: []byte{1}}
		if _, err := c.Add(t.Context(), f); err != nil {
			t.Fatal(err)
		}
		f.Seq = 1
		bad := f
		row.change(&bad)
		if _, err := c.Add(t.Context(), bad); !errors.Is(err, row.want) {
			t.Errorf("%s: %v, want %v", row.name, err, row.want)
		}
		if _, err := c.Add(t.Context(), f); !errors.Is(err, age.ErrFinished) {
			t.Errorf("%s: the next good frame gave %v, want ErrFinished", row.name, err)
		}
	}
}

// TestCaptureOnTheRealModels lets the sample face through the whole pipeline.
func TestCaptureOnTheRealModels(t *testing.T) {
	engine := age.NewEngine(age.NewAnalyzer(agetest.Pool(t)), age.ExpectedValue{})
	frame := goodFrame(t)
	for target, want := range map[int]age.Verdict{13: age.VerdictMet, 60: age.VerdictBelow} {
		c := engine.NewCapture(age.Options{TargetAge: target, Margin: 7})
		var last age.Step
		for seq := uint32(0); last.Verdict == ""; seq++ {
			message := append(append(bytes.Clone(nonce(c)), 0, 0, 0, byte(seq)), frame...)
			f, err := age.ParseFrame(message)
			if err != nil {
				t.Fatal(err)
			}
			if last, err = c.Add(t.Context(), f); err != nil {
				t.Fatal(err)
			}
		}
		if last.Verdict != want || last.Age < 20 || last.Age > 40 {
			t.Errorf("target %d: %+v, want %s in the twenties or thirties", target, last, want)
		}
	}
}

func nonce(c *age.Capture) []byte {
	n := c.Nonce()
	return n[:]
}
