package age_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"agegate/internal/check/age"
	"agegate/internal/check/liveness"
	"agegate/internal/check/vision"
)

var (
	plain = age.Options{TargetAge: 18, Margin: 7}
	still = age.Options{TargetAge: 18, Margin: 7, Assisted: true}
)

func TestVerdictOnAge(t *testing.T) {
	rows := []struct {
		name    string
		options age.Options
		years   []int
		want    age.Verdict
		shown   float64
	}{
		{"clear adult", plain, []int{40}, age.VerdictMet, 40},
		{"exactly the cutoff", plain, []int{25}, age.VerdictMet, 25},
		{"a year below it", plain, []int{24}, age.VerdictBelow, 24},
		{"fractional margin", age.Options{TargetAge: 18, Margin: 7.5}, []int{25}, age.VerdictBelow, 25},
		{"the median decides, not odd frames", plain, []int{20, 90, 21, 22, 90, 22}, age.VerdictBelow, 22},
		{"assisted", still, []int{40}, age.VerdictMet, 40},
	}
	for _, row := range rows {
		steps := honest(row.options, row.years...).play(t)
		last := steps[len(steps)-1]
		cutoff := float64(row.options.TargetAge) + row.options.Margin
		if last.Verdict != row.want || last.Age != row.shown || last.Cutoff != cutoff || last.Phase != age.PhaseDone {
			t.Errorf("%s: %+v, want %s at %v", row.name, last, row.want, row.shown)
		}
	}
}

// TestBlurredOnTheWay: a person passes even if the frames of the moving head are
// blurred and small.
func TestBlurredOnTheWay(t *testing.T) {
	p := honest(plain, 40)
	p.change = p.blurUnderWay
	steps := p.play(t)
	if last := steps[len(steps)-1]; last.Verdict != age.VerdictMet {
		t.Errorf("%+v, want met", last)
	}
}

// TestCourse follows one capture step by step: the guidance names what is wrong,
// a face that passes by starts nothing, and the attempt starts once, with the
// first prompt.
func TestCourse(t *testing.T) {
	p := honest(plain, 30)
	p.change = func(n int, o *vision.Observation) {
		switch n {
		case 0:
			*o = vision.Observation{Guidance: vision.GuidanceNoFace}
		case 2:
			o.Guidance = vision.GuidanceBlurred
		}
	}
	steps := p.play(t)
	first := age.Step{Guidance: vision.GuidanceOK, Phase: age.PhaseChallenge, Prompt: liveness.PromptLeft, Total: 4,
		Remaining: 20 * time.Second, Extensible: true, Full: true, AttemptStarted: true}
	second := first
	second.AttemptStarted, second.Remaining = false, first.Remaining-p.gap
	for i, want := range []age.Step{
		{Guidance: vision.GuidanceNoFace, Phase: age.PhaseFraming, Total: 4},
		{Guidance: vision.GuidanceOK, Phase: age.PhaseFraming, Total: 4},
		{Guidance: vision.GuidanceBlurred, Phase: age.PhaseFraming, Total: 4},
		{Guidance: vision.GuidanceOK, Phase: age.PhaseFraming, Total: 4},
		{Guidance: vision.GuidanceOK, Phase: age.PhaseFraming, Total: 4, Full: true},
		first, second,
	} {
		if !reflect.DeepEqual(steps[i], want) {
			t.Errorf("step %d: %+v, want %+v", i, steps[i], want)
		}
	}
	var prompts []liveness.Prompt
	for i, s := range steps[5 : len(steps)-1] {
		if s.Guidance != vision.GuidanceOK && s.Guidance != vision.GuidanceTurnedAway || s.AttemptStarted != (i == 0) ||
			s.Hint != "" {
			t.Errorf("step %d: %+v", i+5, s)
		}
		if len(prompts) == 0 || prompts[len(prompts)-1] != s.Prompt {
			prompts = append(prompts, s.Prompt)
		}
	}
	// The random source draws the first direction a quarter turn away each time.
	want := []liveness.Prompt{liveness.PromptLeft, liveness.PromptUp, liveness.PromptLeft, liveness.PromptUp,
		liveness.PromptHoldStill}
	if !slices.Equal(prompts, want) {
		t.Errorf("prompts %v, want %v", prompts, want)
	}
	if took := p.now.Sub(time.Unix(1767225600, 0)); took > 7*time.Second {
		t.Errorf("an obedient person needs %v", took)
	}
}

// TestSmallFaces: a face with too few pixels does not count. The person is asked
// to come closer once the page has sent the largest frame it can; on a slow
// connection that frame arrives several frames later.
func TestSmallFaces(t *testing.T) {
	p := honest(plain, 40)
	p.change = func(_ int, o *vision.Observation) { o.Face.Width = 70 }
	steps := p.play(t)
	ok := vision.GuidanceOK
	for i, want := range []vision.Guidance{ok, ok, ok, ok, ok, vision.GuidanceTooFar} {
		if steps[i].Guidance != want {
			t.Errorf("frame %d: %s, want %s", i, steps[i].Guidance, want)
		}
	}
	if last := steps[len(steps)-1]; last.Verdict != age.VerdictNoCapture {
		t.Errorf("%+v, want no capture", last)
	}
}

// TestStartingPose: the challenge starts from a face that points at the camera or
// a little below it, because beards make faces seem to point down. From any other
// pose, the guidance names the way to turn.
func TestStartingPose(t *testing.T) {
	rows := []struct {
		name string
		pose vision.Pose
		want vision.Guidance
	}{
		{"level", vision.Pose{}, vision.GuidanceOK},
		{"turned a little", vision.Pose{Yaw: 15}, vision.GuidanceOK},
		{"turned", vision.Pose{Yaw: -16}, vision.GuidanceTurnedAway},
		{"chin a little up", vision.Pose{Pitch: 15}, vision.GuidanceOK},
		{"chin up", vision.Pose{Pitch: 16}, vision.GuidanceChinRaised},
		{"a beard", vision.Pose{Pitch: -20}, vision.GuidanceOK},
		{"chin down", vision.Pose{Pitch: -21}, vision.GuidanceChinLowered},
	}
	for _, row := range rows {
		p := honest(plain, 40)
		p.change = func(_ int, o *vision.Observation) { o.Pose = row.pose }
		steps := p.play(t)
		if got := steps[2]; got.Guidance != row.want || got.AttemptStarted != (row.want == vision.GuidanceOK) {
			t.Errorf("%s: %+v, want %s", row.name, got, row.want)
		}
	}
}

// TestDoubtfulPictureAsksForLight: a person whose camera shows grey or soft
// pictures is asked for better light twice, for five seconds each, before the
// attempt starts, and no longer once the picture is better.
func TestDoubtfulPictureAsksForLight(t *testing.T) {
	grey := func(o *vision.Observation) { o.Colour = 1 }
	rows := []struct {
		name    string
		doubt   func(o *vision.Observation)
		seconds float64 // for which the picture stays like this
		waits   float64 // seconds until the attempt starts
	}{
		{"clear", grey, 0, 0.3},
		{"grey for a moment", grey, 2, 5.7},
		{"grey all along", grey, 1000, 11.1},
		{"soft all along", func(o *vision.Observation) { o.Sharpness = 0.009 }, 1000, 11.1},
	}
	for _, row := range rows {
		p := honest(plain, 40)
		begun := p.now
		p.change = func(_ int, o *vision.Observation) {
			if p.now.Sub(begun).Seconds() < row.seconds {
				row.doubt(o)
			}
		}
		steps := p.play(t)
		started := 0
		for !steps[started].AttemptStarted {
			if g := steps[started].Guidance; g != vision.GuidanceOK && g != vision.GuidanceTooDark {
				t.Errorf("%s: step %d says %s", row.name, started, g)
			}
			started++
		}
		if waited := float64(started) * p.gap.Seconds(); math.Abs(waited-row.waits) > 0.4 {
			t.Errorf("%s: the attempt starts after %.2f s, want about %.2f", row.name, waited, row.waits)
		}
		if last := steps[len(steps)-1]; last.Verdict != age.VerdictMet {
			t.Errorf("%s: %s", row.name, last.Verdict)
		}
	}
}

// TestForeignMessages: a message that no honest page sends ends the attempt for
// good.
func TestForeignMessages(t *testing.T) {
	rows := []struct {
		name   string
		change func(*age.Frame)
		want   error
	}{
		{"another nonce", func(f *age.Frame) { f.Nonce[15]++ }, age.ErrForeignFrame},
		{"a frame skipped", func(f *age.Frame) { f.Seq++ }, age.ErrFrameOrder},
		{"a frame again", func(f *age.Frame) { f.Seq-- }, age.ErrFrameOrder},
		{"too large", func(f *age.Frame) { f.JPEG = make([]byte, vision.MaxFrameBytes+1) }, vision.ErrFrameTooLarge},
	}
	for _, row := range rows {
		c := age.NewEngine(honest(plain, 40), age.ExpectedValue{}, nil).NewCapture(plain)
		f := age.Frame{Nonce: c.Nonce(), JPEG: []byte{1}}
		if _, err := c.Add(t.Context(), f); err != nil {
			t.Fatal(err)
		}
		f.Seq, f.JPEG = 1, []byte{2}
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

// TestFramesTakeTurns: a frame takes one turn for everything that the models do
// with it and then returns it; a capture that gets no turn ends.
func TestFramesTakeTurns(t *testing.T) {
	p := honest(plain, 40)
	refused := errors.New("no turn")
	turns, given, measured := 0, 0, 0
	p.options.Turn = func(context.Context) (func(), error) {
		if turns++; turns == 30 {
			return nil, refused
		}
		given++
		return func() { given-- }, nil
	}
	c := age.NewEngine(watched{p, &given, &measured}, age.ExpectedValue{}, nil).NewCapture(p.options)
	for n := range uint32(29) {
		p.now = p.now.Add(p.gap)
		if step, err := c.Add(t.Context(), age.Frame{Nonce: c.Nonce(), Seq: n, JPEG: []byte{byte(n)}}); err != nil ||
			step.Verdict != "" {
			t.Fatal(step, err)
		}
		if given != 0 || turns != int(n)+1 {
			t.Fatalf("%d turns taken and %d kept after %d frames", turns, given, n+1)
		}
	}
	if measured == 0 {
		t.Error("no frame was measured")
	}
	if _, err := c.Add(t.Context(), age.Frame{Nonce: c.Nonce(), Seq: 29, JPEG: []byte{29}}); !errors.Is(err, refused) {
		t.Errorf("%v, want the error of the turn", err)
	}
}

// watched is an analyzer that may be used only during a turn.
type watched struct {
	vision.Analyzer
	given, measured *int
}

func (w watched) Follow(ctx context.Context, jpeg []byte, last *vision.Observation) (*vision.Observation, error) {
	if *w.given != 1 {
		return nil, errors.New("looked at without a turn")
	}
	return w.Analyzer.Follow(ctx, jpeg, last)
}

func (w watched) Features(ctx context.Context, o *vision.Observation) (*vision.Features, error) {
	if *w.given != 1 {
		return nil, errors.New("measured without a turn")
	}
	*w.measured++
	return w.Analyzer.Features(ctx, o)
}

// TestAgeOfCountingFramesOnly: the age model runs for the frames that count, and
// for no other: those with which the person is only recognized need no age.
func TestAgeOfCountingFramesOnly(t *testing.T) {
	p := honest(plain, 40)
	steps := p.play(t)
	if last := steps[len(steps)-1]; last.Verdict != age.VerdictMet || p.asked != len(last.Faces) {
		t.Errorf("verdict %q; the age of %d frames was computed, %d count", last.Verdict, p.asked, len(last.Faces))
	}
	if p.named <= p.asked {
		t.Errorf("the person was recognized in %d frames, of which %d count", p.named, p.asked)
	}
}

// apart is a head whose two models differ by some years.
type apart float64

func (a apart) Estimate(f *vision.Features) age.Estimate {
	return age.Estimate{Years: age.ExpectedValue{}.Estimate(f).Years, Apart: float64(a)}
}

// TestDisagreement: a capture takes more frames where the two age models differ,
// and decides on all of them.
func TestDisagreement(t *testing.T) {
	rows := []struct {
		name    string
		options age.Options
		apart   apart
		frames  int
		verdict age.Verdict
	}{
		{"agreed", plain, 3, 5, age.VerdictMet},
		{"far apart", plain, 30, 9, age.VerdictBelow},
		{"assisted, agreed", still, 3, 14, age.VerdictBelow},
		{"assisted, far apart", still, 30, 16, age.VerdictBelow},
	}
	for _, row := range rows {
		p := honest(row.options, 40, 40, 40, 20)
		p.head = row.apart
		last := p.play(t)
		if step := last[len(last)-1]; len(step.Faces) != row.frames || step.Verdict != row.verdict {
			t.Errorf("%s: %d frames and %s, want %d and %s", row.name, len(step.Faces), step.Verdict, row.frames, row.verdict)
		}
	}
}

// TestNonceIsFresh: two captures never share a nonce.
func TestNonceIsFresh(t *testing.T) {
	engine := age.NewEngine(honest(plain, 40), age.ExpectedValue{}, nil)
	a, b := engine.NewCapture(plain).Nonce(), engine.NewCapture(plain).Nonce()
	if bytes.Equal(a[:], b[:]) || a == [16]byte{} {
		t.Errorf("nonces %x and %x", a, b)
	}
}

// frameTimes is an age.Observer that keeps what it receives.
type frameTimes []time.Duration

func (f *frameTimes) Frame(took time.Duration) { *f = append(*f, took) }

// TestObserver: the observer receives every frame, also a refused one.
func TestObserver(t *testing.T) {
	var times frameTimes
	c := age.NewEngine(honest(plain, 40), age.ExpectedValue{}, &times).NewCapture(plain)
	for seq := range uint32(3) {
		_, _ = c.Add(t.Context(), age.Frame{Nonce: c.Nonce(), Seq: seq % 2, JPEG: []byte{byte(seq)}})
	}
	if len(times) != 3 {
		t.Errorf("told of %d frames, want 3", len(times))
	}
}
