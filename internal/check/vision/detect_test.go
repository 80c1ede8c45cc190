package vision

import (
	"math"
	"testing"
)

// TestDecodeBoxes places one anchor by hand: cell 17 of the fine grid is
// column 1, row 1, its centre at (24, 24).
func TestDecodeBoxes(t *testing.T) {
	scores, boxes := make([]float32, 512), make([]float32, 512*16)
	for i := range scores {
		scores[i] = -10
	}
	scores[5] = float32(math.NaN())
	scores[2*17+1] = 2
	copy(boxes[(2*17+1)*16:], []float32{1, -2, 30, 40, 5, 6})
	scores[40], scores[41] = 2, 2 // boxes with negative size, and with size zero
	copy(boxes[40*16:], []float32{1, 1, -30, 40})
	found := decodeBoxes(nil, scores, boxes, 16, 2, 256)
	if len(found) != 1 {
		t.Fatalf("%d faces, want 1", len(found))
	}
	f := found[0]
	if f.X != 25 || f.Y != 22 || f.Width != 30 || f.Height != 40 || f.Keys[0] != (Point{29, 30, 0}) {
		t.Errorf("%+v", f)
	}
	if math.Abs(f.Score-0.8808) > 1e-4 {
		t.Errorf("score %v, want the logistic of 2", f.Score)
	}
}

func TestMerge(t *testing.T) {
	at := func(score, x float64) Face { return Face{Score: score, X: x, Y: 50, Width: 40, Height: 40} }
	faces := merge([]Face{at(0.6, 54), at(0.9, 50), at(0.7, 150), at(0.9, 50)})
	if len(faces) != 2 {
		t.Fatalf("%d faces, want 2: %v", len(faces), faces)
	}
	if want := (0.9*50*2 + 0.6*54) / 2.4; math.Abs(faces[0].X-want) > 1e-9 || faces[0].Score != 0.9 {
		t.Errorf("first face %+v, want x %v and the best score", faces[0], want)
	}
	if math.Abs(faces[1].X-150) > 1e-9 {
		t.Errorf("second face %+v", faces[1])
	}
}

func TestPose(t *testing.T) {
	eyes := func(yaw, roll float64) (right, left Point) {
		sinYaw, cosYaw := math.Sincos(yaw * math.Pi / 180)
		sinRoll, cosRoll := math.Sincos(roll * math.Pi / 180)
		x, z := 50*cosYaw, 50*sinYaw
		return Point{-x * cosRoll, -x * sinRoll, -z}, Point{x * cosRoll, x * sinRoll, z}
	}
	for _, want := range []Pose{{0, 0, 0}, {30, 0, 0}, {-30, 10, 0}, {0, -20, 15}} {
		right, left := eyes(want.Yaw, want.Roll)
		sin, cos := math.Sincos((want.Pitch + levelPitch) * math.Pi / 180)
		got := poseOf(right, left, Point{0, -80 * cos, 80 * sin}, Point{0, 80 * cos, -80 * sin})
		if math.Abs(got.Yaw-want.Yaw)+math.Abs(got.Pitch-want.Pitch)+math.Abs(got.Roll-want.Roll) > 1e-9 {
			t.Errorf("pose %+v, want %+v", got, want)
		}
	}
}

// TestMergeCloseFace: a face that fills the frame is found as a whole and in
// parts; two heads next to each other are two faces.
func TestMergeCloseFace(t *testing.T) {
	at := func(x, y, side float64) Face { return Face{Score: 0.9, X: x, Y: y, Width: side, Height: side} }
	for _, tt := range []struct {
		name  string
		found []Face
		want  int
	}{
		{"a part inside", []Face{at(100, 100, 180), at(130, 120, 80)}, 1},
		{"the part first", []Face{at(130, 120, 80), at(100, 100, 180)}, 1},
		{"cheek to cheek", []Face{at(60, 100, 80), at(125, 100, 80)}, 2},
		{"a child in front", []Face{at(100, 100, 100), at(160, 130, 60)}, 2},
	} {
		if got := len(merge(tt.found)); got != tt.want {
			t.Errorf("%s: %d faces, want %d", tt.name, got, tt.want)
		}
	}
}
