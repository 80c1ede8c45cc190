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

// TestFollowTurns: a head that turns stays where the detector would find it,
// without a further detection, and when the head holds still, its place does not
// change.
func TestFollowTurns(t *testing.T) {
	analyzer := vision.NewAnalyzer(visiontest.Pool(t))
	person, stranger, err := puppet.Sample(t.Context(), analyzer)
	if err != nil {
		t.Fatal(err)
	}
	look := func(camera *puppet.Camera, head *puppet.Head, pose puppet.Pose, last *vision.Observation) (followed,
		found *vision.Observation) {
		frame := image.NewRGBA(image.Rect(0, 0, 384, 288))
		head.Backdrop(frame)
		pose.X, pose.Y, pose.Width = 192, 144, 85
		head.Draw(frame, puppet.Solid, pose)
		jpeg, err := camera.Shoot(frame)
		if err != nil {
			t.Fatal(err)
		}
		followed, err = analyzer.Follow(t.Context(), jpeg, last)
		if err == nil {
			found, err = analyzer.Follow(t.Context(), jpeg, nil)
		}
		if err != nil || followed.Landmarks == nil || found.Landmarks == nil {
			t.Fatalf("%+v: %v", pose, err)
		}
		return followed, found
	}
	const takes = 10
	for name, path := range map[string][]puppet.Pose{
		"to the left":    {{}, {Yaw: 11}, {Yaw: 25}, {Yaw: 32}, {Yaw: 32}},
		"to the right":   {{}, {Yaw: -11}, {Yaw: -25}, {Yaw: -32}, {Yaw: -32}},
		"down":           {{}, {Pitch: -8}, {Pitch: -18}, {Pitch: -18}},
		"up":             {{}, {Pitch: 8}, {Pitch: 18}, {Pitch: 18}},
		"to one side up": {{}, {Yaw: 10, Pitch: 8}, {Yaw: 20, Pitch: 14}, {Yaw: 20, Pitch: 14}},
	} {
		for who, head := range map[string]*puppet.Head{"person": person, "stranger": stranger} {
			// Means over some takes, because the size that is found differs by several
			// per cent between pictures of one pose with other noise. The detector is
			// unsure of the stranger's turned head (a score of 0.7) and finds it 16 to 20 %
			// narrower, depending on single levels of the pictures it is drawn from.
			off, wider := make([]float64, len(path)), make([]float64, len(path))
			for take := range uint64(takes) {
				camera := puppet.NewCamera(rand.New(rand.NewPCG(1+take, 1)))
				var before, last, found *vision.Observation
				for i, pose := range path {
					before = last
					last, found = look(camera, head, pose, last)
					off[i] += math.Hypot(last.Face.X-found.Face.X, last.Face.Y-found.Face.Y) / found.Face.Width / takes
					wider[i] += math.Log(last.Face.Width/found.Face.Width) / takes
				}
				x, y, width := last.Place()
				beforeX, beforeY, beforeWidth := before.Place()
				if math.Hypot(x-beforeX, y-beforeY) > 0.1*width || math.Abs(width-beforeWidth) > 0.1*width {
					t.Errorf("%s, %s: held still at %.3f, %.3f, %.3f wide, and then at %.3f, %.3f, %.3f", who, name, beforeX, beforeY,
						beforeWidth, x, y, width)
				}
			}
			for i, pose := range path {
				if off[i] > 0.1 || math.Abs(wider[i]) > 0.2 {
					t.Errorf("%s, %s, %+v: %.2f widths from where it is found, and %.2f wider", who, name, pose, off[i], wider[i])
				}
			}
		}
	}
}
