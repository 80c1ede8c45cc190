package main

import (
	"bytes"
	"fmt"
	"image/jpeg"
	"os"
	"path/filepath"
	"testing"

	"agegate/internal/check/liveness"
	"agegate/internal/check/vision"
	"agegate/internal/check/vision/visiontest"
)

// TestPictures: the last picture of every gesture shows the whole action.
func TestPictures(t *testing.T) {
	dir := t.TempDir()
	if err := run(t.Context(), []string{"--out", dir, "--frames", "3"}); err != nil {
		t.Fatal(err)
	}
	analyzer := vision.NewAnalyzer(visiontest.Pool(t))
	look := func(gesture liveness.Prompt) *vision.Observation {
		data, err := os.ReadFile(filepath.Join(dir, string(gesture), "02.jpg"))
		if err != nil {
			t.Fatal(err)
		}
		o, err := analyzer.Analyze(t.Context(), data)
		if err != nil || o.Landmarks == nil {
			t.Fatal(gesture, o, err)
		}
		return o
	}
	level := look("level")
	for gesture, moved := range map[liveness.Prompt]func(o *vision.Observation) bool{
		liveness.PromptLeft:  func(o *vision.Observation) bool { return o.Pose.Yaw-level.Pose.Yaw > 15 },
		liveness.PromptRight: func(o *vision.Observation) bool { return o.Pose.Yaw-level.Pose.Yaw < -15 },
		liveness.PromptUp:    func(o *vision.Observation) bool { return o.Pose.Pitch-level.Pose.Pitch > 11 },
		liveness.PromptUpLeft: func(o *vision.Observation) bool {
			return o.Pose.Yaw-level.Pose.Yaw > 10 && o.Pose.Pitch-level.Pose.Pitch > 8
		},
	} {
		if o := look(gesture); !moved(o) {
			t.Errorf("%s: pose %+v from %+v", gesture, o.Pose, level.Pose)
		}
	}
}

// TestPoses: the grid contains the poses in the files' names, as far as the
// actions go.
func TestPoses(t *testing.T) {
	dir := t.TempDir()
	if err := run(t.Context(), []string{"--poses", dir}); err != nil {
		t.Fatal(err)
	}
	analyzer := vision.NewAnalyzer(visiontest.Pool(t))
	look := func(name string) vision.Pose {
		data, err := os.ReadFile(filepath.Join(dir, name+".jpg"))
		if err != nil {
			t.Fatal(err)
		}
		o, err := analyzer.Analyze(t.Context(), data)
		if err != nil || o.Landmarks == nil {
			t.Fatal(name, o, err)
		}
		return o.Pose
	}
	level := look("0,0")
	for name, moved := range map[string]func(yaw, pitch float64) bool{
		"27.5,0":   func(yaw, _ float64) bool { return yaw > 15 },
		"-27.5,0":  func(yaw, _ float64) bool { return yaw < -15 },
		"0,20":     func(_, pitch float64) bool { return pitch > 11 },
		"0,-20":    func(_, pitch float64) bool { return pitch < -11 },
		"16.5,-16": func(yaw, pitch float64) bool { return yaw > 10 && pitch < -8 },
		"-5.5,16":  func(yaw, pitch float64) bool { return yaw < 0 && pitch > 8 },
	} {
		if p := look(name); !moved(p.Yaw-level.Yaw, p.Pitch-level.Pitch) {
			t.Errorf("%s: pose %+v from %+v", name, p, level)
		}
	}
}

// TestVideo: both formats contain the frames of the script.
func TestVideo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.y4m")
	args := []string{"--video", path, "--fps", "4", "--width", "320", "--height", "240", "--script",
		"level:1 turn_left:0.5"}
	if err := run(t.Context(), args); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	header := fmt.Sprintf("YUV4MPEG2 W%d H%d F%d:1 Ip A1:1 C420jpeg\n", 320, 240, 4)
	if want := len(header) + 6*(len("FRAME\n")+320*240*3/2); len(data) != want || !bytes.HasPrefix(data, []byte(header)) {
		t.Errorf("%d bytes of y4m, want %d", len(data), want)
	}
	args[1] = filepath.Join(t.TempDir(), "a.mjpeg")
	if err := run(t.Context(), args); err != nil {
		t.Fatal(err)
	}
	if data, err = os.ReadFile(args[1]); err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(data, []byte{0xff, 0xd8, 0xff}); n != 6 {
		t.Errorf("%d JPEGs, want 6", n)
	}
	if img, err := jpeg.Decode(bytes.NewReader(data)); err != nil || img.Bounds().Dx() != 320 {
		t.Error(err)
	}
}

func TestRefusals(t *testing.T) {
	for _, args := range [][]string{
		{}, {"--out", t.TempDir(), "--gesture", "nod"}, {"--video", "a.avi"},
		{"--video", filepath.Join(t.TempDir(), "a.y4m"), "--script", "nod:1"},
		{"--video", filepath.Join(t.TempDir(), "a.y4m"), "--script", "level"},
	} {
		if err := run(t.Context(), args); err == nil {
			t.Errorf("%v: no error", args)
		}
	}
}
