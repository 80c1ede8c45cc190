package accuracy_test

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"agegate/internal/check/age"
	"agegate/internal/check/vision"
	"agegate/internal/check/vision/visiontest"
	"agegate/internal/lab/accuracy"
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
	set, err := accuracy.ReadSet(write(t, map[string]string{
		"28_tight.jpg": string(visiontest.FaceJPEG(t)), "28_scene.png": large.String(), "40_none.png": none.String(),
	}))
	if err != nil {
		t.Fatal(err)
	}
	var progress []int
	o := accuracy.Options{Workers: 2, Pad: 0.2, Progress: func(done, total int) { progress = append(progress, done, total) }}
	looks, err := accuracy.LookAt(t.Context(), vision.NewAnalyzer(visiontest.Pool(t)), set, o)
	if err != nil {
		t.Fatal(err)
	}
	if want := []int{1, 3, 2, 3, 3, 3}; !slices.Equal(progress, want) {
		t.Errorf("progress %v, want %v", progress, want)
	}
	r := accuracy.Evaluate(looks, age.ExpectedValue{}, 18)
	if r.Pictures != 3 || r.Measured != 2 || len(r.Refused) != 1 || r.Refused[0] != (accuracy.Refusal{Reason: vision.GuidanceNoFace, Count: 1}) {
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
	_, err := accuracy.LookAt(t.Context(), vision.NewAnalyzer(visiontest.Pool(t)), []accuracy.Picture{{Path: filepath.Join(t.TempDir(), "gone.jpg")}}, accuracy.Options{})
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "gone.jpg") {
		t.Errorf("missing picture: %v", err)
	}
}

func TestLookAtStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	set := make([]accuracy.Picture, 1000) // without files: nothing may be opened
	if _, err := accuracy.LookAt(ctx, nil, set, accuracy.Options{Workers: 2}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestLearnFromIsRepeatable: a fit learns from the picture and altered views, the same ones whenever the seed is the same.
func TestLearnFromIsRepeatable(t *testing.T) {
	set, err := accuracy.ReadSet(write(t, map[string]string{"28_face.jpg": string(visiontest.FaceJPEG(t))}))
	if err != nil {
		t.Fatal(err)
	}
	learn := func(seed uint64) accuracy.Lesson {
		lessons, err := accuracy.LearnFrom(t.Context(), vision.NewAnalyzer(visiontest.Pool(t)), set, accuracy.Options{Workers: 2, Pad: 0.2}, seed)
		if err != nil {
			t.Fatal(err)
		}
		return lessons[0]
	}
	first := learn(1)
	if first.Features == nil || len(first.Views) < 2 || len(first.Views) > 3 {
		t.Fatalf("guidance %s, %d views", first.Guidance, len(first.Views))
	}
	for i, view := range first.Views {
		years := age.ExpectedValue{}.Age(view)
		if *view == *first.Features || math.Abs(years-age.ExpectedValue{}.Age(first.Features)) > 10 {
			t.Errorf("view %d reads %.1f years", i, years)
		}
	}
	if !reflect.DeepEqual(learn(1), first) {
		t.Error("the same seed gave other views")
	}
	if reflect.DeepEqual(learn(2).Views, first.Views) {
		t.Error("another seed gave the same views")
	}
}
