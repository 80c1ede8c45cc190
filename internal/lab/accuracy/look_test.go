package accuracy_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agegate/internal/check/age"
	"agegate/internal/check/vision"
	"agegate/internal/check/vision/visiontest"
	"agegate/internal/lab/accuracy"

	xdraw "golang.org/x/image/draw"
)

// TestEvaluateSampleFace looks at the sample face, tightly cut and as a PNG
// far larger than a frame, and at a picture without a face.
func TestEvaluateSampleFace(t *testing.T) {
	var large bytes.Buffer
	if err := png.Encode(&large, visiontest.Scene(visiontest.Face(t), [3]int{320, 240, 400})); err != nil {
		t.Fatal(err)
	}
	var none bytes.Buffer
	if err := png.Encode(&none, image.NewGray(image.Rect(0, 0, 300, 200))); err != nil {
		t.Fatal(err)
	}
	set, err := accuracy.ReadSets([]string{write(t, map[string]string{
		"28_tight.jpg": string(visiontest.FaceJPEG(t)), "28_scene.png": large.String(), "40_none.png": none.String(),
	})}, []float64{0.2})
	if err != nil {
		t.Fatal(err)
	}
	var progress []int
	o := accuracy.Options{Workers: 2, Progress: func(done, total int) { progress = append(progress, done, total) }}
	looks, err := accuracy.LookAt(t.Context(), vision.NewAnalyzer(visiontest.Pool(t)), set, o)
	if err != nil {
		t.Fatal(err)
	}
	if want := []int{1, 3, 2, 3, 3, 3}; !slices.Equal(progress, want) {
		t.Errorf("progress %v, want %v", progress, want)
	}
	r := accuracy.Evaluate(looks, age.NewHead(visiontest.Pool(t).Manifest), 18)
	if r.Pictures != 3 || r.Measured != 2 || len(r.Refused) != 1 ||
		r.Refused[0] != (accuracy.Refusal{Reason: vision.GuidanceNoFace, Count: 1}) {
		t.Errorf("%d pictures, %d measured, refused %v", r.Pictures, r.Measured, r.Refused)
	}
	if len(r.Bands) != 1 || r.Bands[0].Count != 2 || r.Bands[0].MAE > 6 {
		t.Errorf("bands %+v: the face is made to look 28", r.Bands)
	}
}

func TestLookAtNamesUnreadablePictures(t *testing.T) {
	whole := visiontest.FaceJPEG(t)
	for name, text := range map[string]string{
		"20_empty.jpg": "", "20_text.jpg": "hello", "20_cut.jpg": string(whole[:len(whole)/2]),
	} {
		set, err := accuracy.ReadSet(write(t, map[string]string{name: text}))
		if err != nil {
			t.Fatal(err)
		}
		_, err = accuracy.LookAt(t.Context(), vision.NewAnalyzer(visiontest.Pool(t)), set, accuracy.Options{})
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := accuracy.LookAt(t.Context(), vision.NewAnalyzer(visiontest.Pool(t)),
		[]accuracy.Picture{{Path: filepath.Join(t.TempDir(), "gone.jpg")}}, accuracy.Options{})
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "gone.jpg") {
		t.Errorf("missing picture: %v", err)
	}
}

func TestLookAtStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	set := make([]accuracy.Picture, 1000) // the files do not exist, so opening one would fail
	if _, err := accuracy.LookAt(ctx, nil, set, accuracy.Options{Workers: 2}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestWriteMaterial: the material contains the crops of the pictures that the
// page would count, with their labels, in the set's order.
func TestWriteMaterial(t *testing.T) {
	face := string(visiontest.FaceJPEG(t))
	var none bytes.Buffer
	if err := png.Encode(&none, image.NewGray(image.Rect(0, 0, 300, 200))); err != nil {
		t.Fatal(err)
	}
	pictures := write(t, map[string]string{"28_1_0_a.jpg": face, "29_0_2_copy.jpg": face, "40_none.png": none.String()})
	set, err := accuracy.ReadSets([]string{"shops=" + pictures}, []float64{0.2})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "material")
	wrote, err := accuracy.WriteMaterial(t.Context(), vision.NewAnalyzer(visiontest.Pool(t)), set, nil, dir,
		accuracy.Options{Workers: 2})
	if err != nil || wrote != 2 {
		t.Fatalf("%d crops, %v", wrote, err)
	}
	crops, err := os.Stat(filepath.Join(dir, "crops.u8"))
	if err != nil || crops.Size() != 2*3*280*280 {
		t.Errorf("crops: %v, %v", crops, err)
	}
	file, err := os.Open(filepath.Join(dir, "pictures.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil || len(rows) != 3 {
		t.Fatalf("%v, %v", rows, err)
	}
	for i, want := range [][]string{{"28", "female;White"}, {"29", "male;Asian"}} {
		row := rows[1+i]
		if row[2] != "shops" || row[3] != want[0] || row[4] != want[1] {
			t.Errorf("row %v, want %v", row, want)
		}
	}
	if rows[1][5] != rows[2][5] {
		t.Error("of two copies of one picture, one is held out")
	}
}

// TestCrop: a small face at the side of a large picture counts once the picture is cut
// closer to it.
func TestCrop(t *testing.T) {
	var far bytes.Buffer
	scene, face := image.NewRGBA(image.Rect(0, 0, 1600, 1200)), visiontest.Face(t)
	xdraw.CatmullRom.Scale(scene, image.Rect(1150, 650, 1450, 950), face, face.Bounds(), xdraw.Src, nil)
	if err := png.Encode(&far, scene); err != nil {
		t.Fatal(err)
	}
	set, err := accuracy.ReadSets([]string{write(t, map[string]string{"28_far.png": far.String()})}, []float64{0})
	if err != nil {
		t.Fatal(err)
	}
	for crop, want := range map[bool]vision.Guidance{false: vision.GuidanceTooFar, true: vision.GuidanceOK} {
		looks, err := accuracy.LookAt(t.Context(), vision.NewAnalyzer(visiontest.Pool(t)), set, accuracy.Options{Crop: crop})
		if err != nil || looks[0].Guidance != want || crop != (looks[0].Features != nil) {
			t.Errorf("cut closer %t: %v, %v", crop, looks[0].Guidance, err)
		}
	}
}
