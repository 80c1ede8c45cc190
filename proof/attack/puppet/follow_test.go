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

// TestFollowTurns: a head that has turned far since it was detected is detected
// again in the next frame, wherever following would have placed it. The new
// detection alone does not look like a movement.
func TestFollowTurns(t *testing.T) {
	analyzer := vision.NewAnalyzer(visiontest.Pool(t))
	person, stranger, err := puppet.Sample(t.Context(), analyzer)
	if err != nil {
		t.Fatal(err)
	}
	camera := puppet.NewCamera(rand.New(rand.NewPCG(1, 1)))
	for name, head := range map[string]*puppet.Head{"person": person, "stranger": stranger} {
		var before, last *vision.Observation
		var jpeg []byte
		for _, pose := range []puppet.Pose{{}, {Yaw: 11}, {Yaw: 25}, {Yaw: 25}} {
			frame := image.NewRGBA(image.Rect(0, 0, 384, 288))
			head.Backdrop(frame)
			pose.X, pose.Y, pose.Width = 192, 144, 85
			head.Draw(frame, puppet.Solid, pose)
			if jpeg, err = camera.Shoot(frame); err != nil {
				t.Fatal(err)
			}
			before = last
			if last, err = analyzer.Follow(t.Context(), jpeg, last); err != nil || last.Landmarks == nil {
				t.Fatalf("%s, %+v: %v, %v", name, pose, last, err)
			}
		}
		found, err := analyzer.Follow(t.Context(), jpeg, nil)
		if err != nil {
			t.Fatal(err)
		}
		if last.Face != found.Face {
			t.Errorf("%s: the face is at %.0f, %.0f, %.0f wide; want %.0f, %.0f, %.0f", name,
				last.Face.X, last.Face.Y, last.Face.Width, found.Face.X, found.Face.Y, found.Face.Width)
		}
		x, y, width := last.Place()
		beforeX, beforeY, beforeWidth := before.Place()
		if math.Hypot(x-beforeX, y-beforeY) > 0.1*width || math.Abs(width-beforeWidth) > 0.1*width {
			t.Errorf("%s: held still at %.3f, %.3f, %.3f wide, and then at %.3f, %.3f, %.3f", name, beforeX, beforeY, beforeWidth, x, y, width)
		}
	}
}
