package vision_test

import (
	"image"
	"math"
	"testing"

	xdraw "golang.org/x/image/draw"

	"agegate/internal/check/vision"
	"agegate/internal/check/vision/visiontest"
)

func resize(img image.Image, width, height int) *image.RGBA {
	out := image.NewRGBA(image.Rect(0, 0, width, height))
	xdraw.CatmullRom.Scale(out, out.Bounds(), img, img.Bounds(), xdraw.Src, nil)
	return out
}

// TestFollow: a face that moves, leans, comes nearer, jumps or is sent in another
// size is found where the detector finds it, and gets about the same age.
func TestFollow(t *testing.T) {
	analyzer, face := vision.NewAnalyzer(visiontest.Pool(t)), visiontest.Face(t)
	frames := []struct {
		name string
		img  image.Image
	}{
		{"first", visiontest.Scene(face, [3]int{320, 240, 300})},
		{"moved", visiontest.Scene(face, [3]int{345, 235, 300})},
		{"leaning", rotate(visiontest.Scene(face, [3]int{345, 235, 300}), 8)},
		{"nearer", visiontest.Scene(face, [3]int{340, 240, 330})},
		{"smaller frame", resize(visiontest.Scene(face, [3]int{330, 240, 330}), 384, 288)},
		{"full size again", visiontest.Scene(face, [3]int{325, 240, 330})},
		{"elsewhere at once", visiontest.Scene(face, [3]int{230, 240, 220})},
	}
	var last *vision.Observation
	for _, frame := range frames {
		jpeg := visiontest.JPEG(t, frame.img)
		followed, err := analyzer.Follow(t.Context(), jpeg, last)
		if err != nil {
			t.Fatal(err)
		}
		found, err := analyzer.Analyze(t.Context(), jpeg)
		if err != nil || found.Landmarks == nil || followed.Landmarks == nil {
			t.Fatalf("%s: %v, %v, %v", frame.name, found.Guidance, followed.Guidance, err)
		}
		var years [2]float64
		for i, o := range []*vision.Observation{found, followed} {
			f, err := analyzer.Features(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			years[i] = mean(*f.Tuned)
		}
		off := math.Hypot(found.Face.X-followed.Face.X, found.Face.Y-followed.Face.Y) / found.Face.Width
		if wider := math.Abs(math.Log(followed.Face.Width / found.Face.Width)); off > 0.06 || wider > 0.1 ||
			math.Abs(years[0]-years[1]) > 2.5 ||
			math.Abs(found.Pose.Yaw-followed.Pose.Yaw) > 5 || math.Abs(found.Pose.Pitch-followed.Pose.Pitch) > 5 {
			t.Errorf("%s: %.2f widths off, %.2f wider, pose %.0f and %.0f, %.1f and %.1f years", frame.name, off, wider,
				found.Pose, followed.Pose, years[0], years[1])
		}
		last = followed
	}
}

// TestFollowLooksUp: a face that appears or disappears is noticed within
// some seconds.
func TestFollowLooksUp(t *testing.T) {
	analyzer, face := vision.NewAnalyzer(visiontest.Pool(t)), visiontest.Face(t)
	one, two := [3]int{180, 240, 260}, [3]int{470, 240, 250}
	for name, row := range map[string]struct {
		then *image.RGBA
		want vision.Guidance
	}{
		"a second person": {visiontest.Scene(face, one, two), vision.GuidanceSeveralFaces},
		"nobody":          {visiontest.Scene(face), vision.GuidanceNoFace},
	} {
		last, err := analyzer.Analyze(t.Context(), visiontest.JPEG(t, visiontest.Scene(face, one)))
		if err != nil {
			t.Fatal(err)
		}
		frame, seen := visiontest.JPEG(t, row.then), false
		for range 14 {
			if last, err = analyzer.Follow(t.Context(), frame, last); err != nil {
				t.Fatal(err)
			}
			seen = seen || last.Guidance == row.want
		}
		if !seen {
			t.Errorf("%s: not noticed, guidance %s", name, last.Guidance)
		}
	}
}

// TestFollowComesBack: a face that was detected turned is detected again when it
// comes back, also if it looks up or down when it is level, as with a dense beard.
// One that turns away is followed.
func TestFollowComesBack(t *testing.T) {
	for _, row := range []struct {
		from, to vision.Pose
		due      bool
	}{
		{vision.Pose{Yaw: 30}, vision.Pose{}, true},
		{vision.Pose{Yaw: 30, Pitch: -14}, vision.Pose{Pitch: -14}, true},
		{vision.Pose{Yaw: 30, Pitch: -14}, vision.Pose{Yaw: 15, Pitch: -14}, false},
		{vision.Pose{Pitch: -14}, vision.Pose{Yaw: 30, Pitch: -14}, false},
		{vision.Pose{}, vision.Pose{Pitch: 20}, false},
		{vision.Pose{}, vision.Pose{Pitch: 9}, false},
	} {
		if due := vision.Due(row.from, row.to, 1); due != row.due {
			t.Errorf("from %v to %v: detected again %v, want %v", row.from, row.to, due, row.due)
		}
	}
}
