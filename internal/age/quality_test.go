package age

import "testing"

// TestLimits walks along both sides of each limit of a good frame.
func TestLimits(t *testing.T) {
	at := func(x, y, width float64) []Face { return []Face{{X: x, Y: y, Width: width, Height: width}} }
	rows := []struct {
		name string
		got  Guidance
		want Guidance
	}{
		{"scale 0.20", framing(at(320, 240, 96), 640, 480), GuidanceOK},
		{"scale below 0.20", framing(at(320, 240, 95), 640, 480), GuidanceTooFar},
		{"80 pixels in a small frame", framing(at(160, 120, 80), 320, 240), GuidanceOK},
		{"79 pixels in a small frame", framing(at(160, 120, 79), 320, 240), GuidanceTooFar},
		{"scale 0.85", framing(at(320, 240, 408), 640, 480), GuidanceOK},
		{"scale over 0.85", framing(at(320, 240, 409), 640, 480), GuidanceTooClose},
		{"a quarter to the right", framing(at(480, 240, 200), 640, 480), GuidanceOK},
		{"more than a quarter", framing(at(481, 240, 200), 640, 480), GuidanceOffCenter},
		{"high up", framing(at(320, 119, 200), 640, 480), GuidanceOffCenter},
		{"portrait, high up", framing(at(240, 159, 200), 480, 640), GuidanceOffCenter},
		{"small second face", framing(append(at(320, 240, 200), at(100, 100, 79)...), 640, 480), GuidanceOK},
		{"second person", framing(append(at(320, 240, 200), at(100, 100, 80)...), 640, 480), GuidanceSeveralFaces},
		{"brightness 40", lighting(40), GuidanceOK},
		{"brightness 39", lighting(39), GuidanceTooDark},
		{"brightness 226", lighting(226), GuidanceTooBright},
		{"turned 25°", attitude(Pose{Yaw: -25}, 1, 1), GuidanceOK},
		{"turned 26°", attitude(Pose{Yaw: -26}, 1, 1), GuidanceTurnedAway},
		{"looking up 26°", attitude(Pose{Pitch: 26}, 1, 1), GuidanceTurnedAway},
		{"leaning 36°", attitude(Pose{Roll: 36}, 1, 1), GuidanceTurnedAway},
		{"hardly a face", attitude(Pose{}, 0.49, 1), GuidanceCovered},
		{"cold lips", attitude(Pose{}, 1, 0.39), GuidanceCovered},
		{"soft", focus(0.0079), GuidanceBlurred},
		{"sharp enough", focus(0.008), GuidanceOK},
	}
	for _, row := range rows {
		if row.got != row.want {
			t.Errorf("%s: %s, want %s", row.name, row.got, row.want)
		}
	}
}
