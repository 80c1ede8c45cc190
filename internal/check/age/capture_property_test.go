package age_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"agegate/internal/check/age"
	"agegate/internal/check/liveness"
	"agegate/internal/check/vision"
)

// TestDrawnChallenges: for every drawn challenge, a person who obeys in time
// passes and is asked for four directions, each at least a quarter turn from the
// one before. The test draws no movement shorter than three frames: such a
// movement may go unseen, which prolongs the challenge.
func TestDrawnChallenges(t *testing.T) {
	seen := map[[4]liveness.Prompt]int{}
	rapid.Check(t, func(t *rapid.T) {
		p := honest(plain, 40)
		p.options.Rand = bytes.NewReader(rapid.SliceOfN(rapid.Byte(), 256, 256).Draw(t, "random"))
		p.gap = time.Duration(rapid.IntRange(125, 250).Draw(t, "gap")) * time.Millisecond
		p.react = time.Duration(rapid.IntRange(200, 9000).Draw(t, "reaction")) * time.Millisecond
		p.move = max(3*p.gap, time.Duration(rapid.IntRange(500, 4000).Draw(t, "motion"))*time.Millisecond)
		var asked []liveness.Prompt
		var last age.Step
		for _, s := range p.play(t) {
			if s.Prompt != "" && s.Prompt != liveness.PromptHoldStill && s.Prompt != last.Prompt {
				asked = append(asked, s.Prompt)
			}
			if s.Done < last.Done || s.Done > s.Total || s.Total != 4 || (s.Age != 0) != (s.Verdict != "") || s.Progress < 0 ||
				s.Progress > 1 {
				t.Fatalf("%+v after %+v", s, last)
			}
			last = s
		}
		if last.Verdict != age.VerdictMet || len(asked) != 4 {
			t.Fatalf("%+v, asked for %v", last, asked)
		}
		for i, a := range asked[1:] {
			side, up := a.Direction()
			before, over := asked[i].Direction()
			if side*before+up*over > 1e-9 { // less than a quarter turn away
				t.Fatalf("asked for %v", asked)
			}
		}
		seen[[4]liveness.Prompt(asked)]++
	})
	if len(seen) < 20 {
		t.Errorf("only %d different challenges", len(seen))
	}
}

// TestLateActions: a person who needs more time than a prompt and its repetition
// allow gets no verdict, unless they ask for more time.
func TestLateActions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := honest(plain, 40)
		p.options.Rand = bytes.NewReader(rapid.SliceOfN(rapid.Byte(), 256, 256).Draw(t, "random"))
		p.react = time.Duration(rapid.IntRange(20_001, 35_000).Draw(t, "reaction")) * time.Millisecond
		p.moreTime = rapid.Bool().Draw(t, "more time")
		want, done := age.VerdictNoCapture, 0
		if p.moreTime {
			want, done = age.VerdictMet, 4
		}
		steps := p.play(t)
		if last := steps[len(steps)-1]; last.Verdict != want || last.Done != done {
			t.Fatalf("%+v after %v", last, p.react)
		}
	})
}

// FuzzMessages: after the first message that is not the next frame of this
// capture, nothing is accepted any more. Each byte of the input makes one
// message.
func FuzzMessages(f *testing.F) {
	f.Fuzz(func(t *testing.T, script []byte) {
		p := honest(plain, 40)
		c := age.NewEngine(p, age.ExpectedValue{},
			nil).NewCapture(age.Options{TargetAge: 18, Now: func() time.Time { return p.now }})
		spoilt := false
		for i, op := range script {
			frame := age.Frame{Nonce: c.Nonce(), Seq: uint32(i), JPEG: binary.BigEndian.AppendUint32(nil, uint32(i))}
			switch op % 5 {
			case 1:
				frame.Nonce[op%16] ^= op | 1
			case 2:
				frame.Seq += 1 + uint32(op)
			case 3:
				frame.Seq -= 1 + uint32(op)
			case 4:
				frame.JPEG = make([]byte, vision.MaxFrameBytes+1)
			}
			step, err := c.Add(t.Context(), frame)
			switch {
			case spoilt && !errors.Is(err, age.ErrFinished):
				t.Fatalf("message %d accepted after the end: %+v, %v", i, step, err)
			case !spoilt && op%5 != 0 && err == nil:
				t.Fatalf("message %d accepted: %+v", i, step)
			case !spoilt && op%5 == 0 && err != nil:
				t.Fatalf("message %d refused: %v", i, err)
			}
			spoilt = spoilt || err != nil || step.Verdict != ""
			p.now = p.now.Add(p.gap)
		}
	})
}
