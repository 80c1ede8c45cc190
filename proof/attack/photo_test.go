package attack

import (
	"image"
	"strings"
	"testing"
	"time"

	"agegate/internal/check/age"
	"agegate/internal/check/document/capture"
	"agegate/internal/check/document/date"
	"agegate/internal/check/document/mrz"
	"agegate/internal/check/document/mrz/mrztest"
	"agegate/internal/check/document/photo"
	"agegate/internal/check/vision"
	"agegate/internal/check/vision/visiontest"
	"agegate/proof/attack/puppet"
	"agegate/proof/documents"
)

// TestPhotographedDocuments plays the whole check with the real models: a
// passport held in a hand, then the face.
func TestPhotographedDocuments(t *testing.T) {
	pool := visiontest.Pool(t)
	d, err := newDocumentKit(t.Context(), pool)
	if err != nil {
		t.Fatal(err)
	}
	person, _, err := puppet.Sample(t.Context(), d.analyzer)
	if err != nil {
		t.Fatal(err)
	}
	// With one disguise the portrait still resembles the face like a sister's
	// would; with three it is a stranger's.
	stranger := puppet.Disguise(puppet.Disguise(d.stranger))
	engine := photo.NewEngine(d.zones, d.analyzer, nil, d.reference)
	year := time.Now().Year()
	for _, row := range []struct {
		name          string
		portrait      image.Image
		birth, expiry date.Date
		want          photo.Outcome
	}{
		{"one's own", d.person, date.On(1990, 1, 31), date.On(year+4, 1, 31),
			photo.Passed},
		{"a stranger's", stranger, date.On(1990, 1, 31), date.On(year+4, 1, 31),
			photo.AnotherFace},
		{"an under-age one", d.person, date.On(year-14, 1, 31), date.On(year+4, 1, 31),
			photo.UnderAge},
		{"an expired one", d.person, date.On(1990, 1, 31), date.On(2026, 1, 31),
			photo.Expired},
	} {
		h, err := newHolder(d, mrz.TD3, 7, 0)
		if err != nil {
			t.Fatal(err)
		}
		h.person.Birth, h.person.Expiry = row.birth, row.expiry
		renderer, err := documents.NewRenderer()
		if err != nil {
			t.Fatal(err)
		}
		content := documents.Content{Format: mrz.TD3, Lines: mrztest.Zone(mrz.TD3, h.person), Portrait: row.portrait}
		h.zone = renderer.Hold(content, documents.Easy, h.random)
		if got := h.photographs(t, engine, person); got != row.want {
			t.Errorf("%s: %q, want %q", row.name, got, row.want)
		}
	}
}

// photographs shows the document, and then the face of head, to a new check.
func (h *holder) photographs(t *testing.T, engine *photo.Engine, head *puppet.Head) photo.Outcome {
	t.Helper()
	now := 0.0
	check := engine.NewCheck(photo.Options{TargetAge: 18, Rand: chance{h.random}, Now: func() time.Time {
		return today.Add(time.Duration(now * float64(time.Second)))
	}})
	k := newTake(&cast{person: head, stranger: head}, 7)
	step := photo.Step{Stage: photo.StageDocument}
	for n := range 250 {
		var jpeg []byte
		var err error
		if step.Stage == photo.StageDocument {
			asked := capture.Step{Stage: capture.Hold}
			if prompt := strings.TrimPrefix(string(step.Prompt), photo.Prefix); strings.HasPrefix(prompt, "raise_") {
				asked = capture.Step{Stage: capture.Tilt, Hint: capture.Hint(prompt)}
			}
			if step.Guidance == photo.Prefix+vision.Guidance(capture.Further) {
				asked = capture.Step{Stage: capture.Tilt, Hint: capture.Further}
			}
			jpeg, err = h.camera.Shoot(h.hold(asked, now))
			now += frameGap
		} else {
			k.see(step.Prompt, now)
			frame := image.NewRGBA(image.Rectangle{Max: k.size})
			k.show(frame, now)
			jpeg, err = k.camera.Shoot(frame)
			now += k.gap
		}
		if err != nil {
			t.Fatal(err)
		}
		step, err = check.Add(t.Context(), age.Frame{Nonce: check.Nonce(), Seq: uint32(n), JPEG: jpeg})
		if err != nil {
			t.Fatal(err)
		}
		if step.Outcome != "" {
			t.Logf("%s after %d frames", step.Outcome, n+1)
			return step.Outcome
		}
	}
	t.Logf("the last step: %+v", step)
	return ""
}
