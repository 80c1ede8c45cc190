package age_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"agegate/internal/age"
	"agegate/internal/liveness"
	"agegate/internal/vision"
)

// TestDrawnChallenges: whatever is drawn, a person who obeys passes in time,
// is asked for three actions, never the same twice in a row, with a turn among
// them.
func TestDrawnChallenges(t *testing.T) {
	seen := map[[3]liveness.Prompt]int{}
	rapid.Check(t, func(t *rapid.T) {
		p := honest(plain, 40)
		p.options.Rand = bytes.NewReader(rapid.SliceOfN(rapid.Byte(), 256, 256).Draw(t, "random"))
		p.gap = time.Duration(rapid.IntRange(125, 250).Draw(t, "gap")) * time.Millisecond
		p.react = time.Duration(rapid.IntRange(200, 900).Draw(t, "reaction")) * time.Millisecond
		p.move = time.Duration(rapid.IntRange(400, 1200).Draw(t, "motion")) * time.Millisecond
		var asked []liveness.Prompt
		var last age.Step
		for _, s := range p.play(t) {
			if s.Prompt != "" && s.Prompt != liveness.PromptHoldStill && s.Prompt != last.Prompt {
				asked = append(asked, s.Prompt)
			}
			if s.Done < last.Done || s.Done > s.Total || s.Total != 3 || (s.Age != 0) != (s.Verdict != "") {
				t.Fatalf("%+v after %+v", s, last)
			}
			last = s
		}
		if last.Verdict != age.VerdictMet || len(asked) != 3 {
			t.Fatalf("%+v, asked for %v", last, asked)
		}
		turns := 0
		for i, a := range asked {
			if i > 0 && a == asked[i-1] {
				t.Fatalf("asked for %v", asked)
			}
			if a == liveness.PromptTurnLeft || a == liveness.PromptTurnRight {
				turns++
			}
		}
		if turns == 0 {
			t.Fatalf("no turn in %v", asked)
		}
		seen[[3]liveness.Prompt(asked)]++
	})
	if len(seen) < 8 {
		t.Errorf("only %d different challenges", len(seen))
	}
}

// TestLateActions: whoever takes longer than a prompt lasts gets no verdict on
// their age, whatever they do.
func TestLateActions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := honest(plain, 40)
		p.options.Rand = bytes.NewReader(rapid.SliceOfN(rapid.Byte(), 256, 256).Draw(t, "random"))
		p.react = time.Duration(rapid.IntRange(6_001, 20_000).Draw(t, "reaction")) * time.Millisecond
		steps := p.play(t)
		if last := steps[len(steps)-1]; last.Verdict != age.VerdictNoCapture || last.Done != 0 {
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
		c := age.NewEngine(p, age.ExpectedValue{}, nil).NewCapture(age.Options{TargetAge: 18, Now: func() time.Time { return p.now }})
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
