package inference_test

import (
	"math"
	"testing"

	"agegate/internal/check/inference"
	"agegate/internal/check/vision/visiontest"
)

// TestConvertedModelsAgreeWithTensorFlow compares the converted models with
// TensorFlow.js running the originals on the same artificial picture. The
// expected values were computed once with the package's own tfjs on its CPU
// backend. They agree to about 1e-6. The tolerance is larger, because other
// processors may compute in another order; a wrongly converted model differs by
// far more.
func TestConvertedModelsAgreeWithTensorFlow(t *testing.T) {
	type value struct {
		index int
		want  float64
	}
	rows := []struct {
		model        inference.Model
		output       string
		meanAbsolute float64
		values       []value
	}{
		{inference.Detector, "fine_scores", 28.660317, []value{{0, -12.968282}, {170, -4.1148782}, {511, -3.3490143}}},
		{inference.Detector, "fine_boxes", 7.9517494, []value{{0, -3.1971993}, {2730, -6.5192828}, {8191, -7.2921715}}},
		{inference.Detector, "coarse_scores", 10.575582, []value{{0, -4.9799299}, {128, -7.5097408}, {383, -15.873211}}},
		{inference.Detector, "coarse_boxes", 25.656981, []value{{0, 9.9475603}, {2048, -8.5936508}, {6143, -8.6963196}}},
		{inference.Mesh, "points", 65.610536, []value{{0, 94.791695}, {468, 47.967026}, {1403, 9.5649233}}},
		{inference.Mesh, "presence", 0.0011305447, nil},
		{inference.Ager, "distribution", 0.01, []value{{0, 0.026182944}, {33, 0.022517085}, {99, 0.0012747375}}},
		{inference.Ager, "descriptor", 0.0097061793, nil},
		{inference.Second, "years", 29.652039, nil},
		{inference.Matcher, "descriptor", 0.087755966,
			[]value{{0, -0.055517513}, {63, -0.12438732}, {64, 0.22544457}, {127, -0.0097943451}}},
		{inference.Antispoof, "real", 0.70304763, nil},
		{inference.Liveness, "live", 0.5, []value{{0, 0.95166141}, {1, 0.048338547}}},
	}
	worker, err := visiontest.Pool(t).Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer worker.Release()
	for _, row := range rows {
		paint(worker.Input(row.model))
		if err := worker.Run(row.model); err != nil {
			t.Fatal(err)
		}
		got := worker.Output(row.model, row.output)
		var sum float64
		for _, v := range got {
			sum += math.Abs(float64(v))
		}
		check := func(what string, got, want float64) {
			if math.Abs(got-want) > 1e-3*max(row.meanAbsolute, math.Abs(want)) {
				t.Errorf("%s %s %s = %v, want %v", row.model, row.output, what, got, want)
			}
		}
		check("mean", sum/float64(len(got)), row.meanAbsolute)
		for _, v := range row.values {
			check("value", float64(got[v.index]), v.want)
		}
	}
}

// paint fills the input with a picture that is easy to compute.
func paint(in inference.Input, tensor []float32) {
	for c := range 3 {
		for y := range in.Height {
			for x := range in.Width {
				pixel := float32((x*3 + y*5 + c*40 + x*y>>4) & 255)
				tensor[(c*in.Height+y)*in.Width+x] = pixel*in.Scale + in.Offset
			}
		}
	}
}
