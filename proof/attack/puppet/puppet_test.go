package puppet_test

import (
	"image"
	"math"
	"math/rand/v2"
	"testing"

	"agegate/internal/check/vision"
	"agegate/internal/check/vision/visiontest"
	"agegate/proof/attack/puppet"
)

// TestPuppet: the pipeline measures the turn with which a head was drawn, and
// hardly any turn from a print.
func TestPuppet(t *testing.T) {
	analyzer := vision.NewAnalyzer(visiontest.Pool(t))
	person, stranger, err := puppet.Sample(t.Context(), analyzer)
	if err != nil {
		t.Fatal(err)
	}
	camera := puppet.NewCamera(rand.New(rand.NewPCG(1, 1)))
	look := func(h *puppet.Head, s puppet.Surface, p puppet.Pose) *vision.Observation {
		t.Helper()
		p.X, p.Y, p.Width = 320, 240, 180
		frame := image.NewRGBA(image.Rect(0, 0, 640, 480))
		h.Backdrop(frame)
		h.Draw(frame, s, p)
		jpeg, err := camera.Shoot(frame)
		if err != nil {
			t.Fatal(err)
		}
		o, err := analyzer.Analyze(t.Context(), jpeg)
		if err != nil || o.Landmarks == nil {
			t.Fatal(o, err)
		}
		return o
	}
	for _, h := range []*puppet.Head{person, stranger} {
		level := look(h, puppet.Solid, puppet.Pose{})
		if level.Guidance != vision.GuidanceOK || math.Abs(level.Face.X-320) > 10 || math.Abs(level.Face.Width-180) > 25 {
			t.Errorf("level: %s, face %+v", level.Guidance, level.Face)
		}
		for _, p := range []puppet.Pose{{Yaw: 22}, {Yaw: -22}, {Pitch: 18}} {
			for name, surface := range map[string]puppet.Surface{"head": puppet.Solid, "print": puppet.Flat} {
				o := look(h, surface, p)
				yaw, pitch := o.Pose.Yaw-level.Pose.Yaw, o.Pose.Pitch-level.Pose.Pitch
				off := math.Max(math.Abs(yaw-p.Yaw), math.Abs(pitch-p.Pitch))
				if name == "head" && off > 9 || name == "print" && off < 14 {
					t.Errorf("%s drawn at %.0f, %.0f is read at %.0f, %.0f", name, p.Yaw, p.Pitch, yaw, pitch)
				}
			}
		}
	}
}
