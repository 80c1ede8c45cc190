package photographic_test

import (
	"errors"
	"math"
	"testing"

	"agegate/internal/check/inference"
	"agegate/internal/check/photographic"
	"agegate/internal/check/vision"
	"agegate/internal/check/vision/visiontest"

	"pgregory.net/rapid"
)

// faces returns faces whose scores with gate are the given ones.
func faces(scores ...float64) (out []*vision.Features) {
	for _, s := range scores {
		f := new(vision.Features)
		f.Whole.Descriptor[0] = float32(s)
		f.Whole.Descriptor[1] = float32(math.Sqrt(1 - s*s))
		out = append(out, f)
	}
	return out
}

func gate() *photographic.Gate {
	g := &photographic.Gate{Threshold: 0.25}
	g.Weights[0] = 1
	return g
}

// TestPasses: the middle of the frames decides, the lower middle of an even number.
func TestPasses(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name  string
		faces []*vision.Features
		want  bool
	}{
		{"no frame", nil, true},
		{"photographed", faces(-0.5, -0.4, -0.5, -0.6, -0.3), true},
		{"drawn", faces(0.5, 0.4, 0.5, 0.6, 0.3), false},
		{"at the threshold", faces(0.25), true},
		{"two bad frames of five", faces(0.9, -0.5, 0.9, -0.5, -0.5), true},
		{"three bad frames of five", faces(0.9, -0.5, 0.9, 0.9, -0.5), false},
		{"half of four", faces(0.9, -0.5, 0.9, -0.5), true},
		{"no numbers", []*vision.Features{{}}, true},
	} {
		if got := gate().Passes(row.faces); got != row.want {
			t.Errorf("%s: passes %t", row.name, got)
		}
	}
	if !(*photographic.Gate)(nil).Passes(faces(0.9)) {
		t.Error("without a gate, a face does not pass")
	}
}

// TestPassesProperties: neither the order of the frames nor the length of their
// descriptors decides, and a frame that looks less drawn never lets a check fail.
func TestPassesProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		scores := rapid.SliceOfN(rapid.Float64Range(-1, 1), 1, 12).Draw(t, "scores")
		passes := gate().Passes(faces(scores...))
		if gate().Passes(faces(rapid.Permutation(scores).Draw(t, "order")...)) != passes {
			t.Fatal("the order decides")
		}
		longer := faces(scores...)
		for _, f := range longer {
			by := rapid.Float32Range(0.5, 20).Draw(t, "length")
			for i := range f.Whole.Descriptor {
				f.Whole.Descriptor[i] *= by
			}
			if math.Abs(gate().Score(f)-gate().Threshold) < 1e-5 {
				t.Skip("rounding decides")
			}
		}
		if gate().Passes(longer) != passes {
			t.Fatal("the length decides")
		}
		better := append([]float64(nil), scores...)
		better[rapid.IntRange(0, len(better)-1).Draw(t, "frame")] = -1
		if passes && !gate().Passes(faces(better...)) {
			t.Fatal("a better frame fails the check")
		}
	})
}

// TestLoad: the gate is that of the models that the tests use, and of no others.
func TestLoad(t *testing.T) {
	t.Parallel()
	manifest := visiontest.Pool(t).Manifest
	g, err := photographic.Load(manifest)
	if err != nil {
		t.Fatal(err)
	}
	o, err := vision.NewAnalyzer(visiontest.Pool(t)).Analyze(t.Context(), visiontest.FaceJPEG(t))
	if err != nil {
		t.Fatal(err)
	}
	f, err := vision.NewAnalyzer(visiontest.Pool(t)).Features(t.Context(), o)
	if err != nil || g.Score(f) > g.Threshold-0.1 {
		t.Errorf("the sample face scores %.3f, the threshold is %.3f: %v", g.Score(f), g.Threshold, err)
	}
	for _, role := range []inference.Model{inference.Ager, inference.Detector, inference.Front} {
		other := inference.Manifest{Models: map[inference.Model]inference.File{}}
		for r, m := range manifest.Models {
			if r != role {
				other.Models[r] = m
			}
		}
		if _, err := photographic.Load(other); !errors.Is(err, photographic.ErrOtherModels) {
			t.Errorf("without %s: %v", role, err)
		}
	}
}

// BenchmarkPasses measures what the gate adds to a check of five frames.
func BenchmarkPasses(b *testing.B) {
	five := faces(-0.5, -0.4, -0.5, -0.6, -0.3)
	g := gate()
	for b.Loop() {
		if !g.Passes(five) {
			b.Fatal("refused")
		}
	}
}
