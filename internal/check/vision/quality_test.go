package vision

import "testing"

// TestLimits checks values on both sides of each limit of a good frame.
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
		{"47 pixels in a small frame", framing(at(160, 120, 47), 320, 240), GuidanceTooFar},
		{"scale 0.85", framing(at(320, 240, 408), 640, 480), GuidanceOK},
		{"scale over 0.85", framing(at(320, 240, 409), 640, 480), GuidanceTooClose},
		{"a quarter to the right", framing(at(480, 240, 200), 640, 480), GuidanceOK},
		{"more than a quarter", framing(at(481, 240, 200), 640, 480), GuidanceOffCenter},
		{"high up", framing(at(320, 119, 200), 640, 480), GuidanceOffCenter},
		{"portrait, high up", framing(at(240, 159, 200), 480, 640), GuidanceOffCenter},
		{"small second face", framing(append(at(320, 240, 200), at(100, 100, 79)...), 640, 480), GuidanceOK},
		{"second person", framing(append(at(320, 240, 200), at(100, 100, 80)...), 640, 480), GuidanceSeveralFaces},
		{"brightness 30", Surface{Brightness: 30}.lighting(), GuidanceOK},
		{"brightness 29", Surface{Brightness: 29}.lighting(), GuidanceTooDark},
		{"brightness 226", Surface{Brightness: 226}.lighting(), GuidanceTooBright},
		{"a tenth glaring", Surface{Brightness: 150, Glare: 0.1}.lighting(), GuidanceOK},
		{"more than a tenth", Surface{Brightness: 150, Glare: 0.11}.lighting(), GuidanceTooBright},
		{"turned 25°", attitude(Pose{Yaw: -25}), GuidanceOK},
		{"turned 26°", attitude(Pose{Yaw: -26}), GuidanceTurnedAway},
		{"looking up 26°", attitude(Pose{Pitch: 26}), GuidanceChinRaised},
		{"looking down 26°", attitude(Pose{Pitch: -26}), GuidanceChinLowered},
		{"turned and looking up", attitude(Pose{Yaw: 26, Pitch: 26}), GuidanceTurnedAway},
		{"leaning 36°", attitude(Pose{Roll: 36}), GuidanceTurnedAway},
		{"a bare face", cover(0.5, 0.25, 0.25), GuidanceOK},
		{"hardly a face", cover(0.49, 1, 0.6), GuidanceCovered},
		{"cold lips", cover(1, 0.24, 0.6), GuidanceCovered},
		{"shaded eyes", cover(1, 1, 0.24), GuidanceCovered},
		{"soft", Surface{Sharpness: 0.0079}.texture(), GuidanceBlurred},
		{"sharp enough", Surface{Sharpness: 0.008}.texture(), GuidanceOK},
		{"grain", Surface{Sharpness: 2}.texture(), GuidanceOK},
		{"too much grain", Surface{Sharpness: 2.01}.texture(), GuidanceTooDark},
	}
	for _, row := range rows {
		if row.got != row.want {
			t.Errorf("%s: %s, want %s", row.name, row.got, row.want)
		}
	}
}
