package calibration

import (
	"math"

	"agegate/internal/check/inference"
	"agegate/internal/check/vision"
)

// Inputs is how many numbers a frame's features become.
const Inputs = inference.AgeBins + inference.DescriptorSize

// Values lists what the projection takes of a frame's features, of the whole
// crop: the square roots of the age distribution, between which distance means
// something (Hellinger), and the descriptor at length one.
func Values(f *vision.Features) []float32 {
	out := make([]float32, 0, Inputs)
	for _, p := range f.Whole.Distribution {
		out = append(out, float32(math.Sqrt(float64(max(p, 0)))))
	}
	var square float64
	for _, v := range f.Whole.Descriptor {
		square += float64(v) * float64(v)
	}
	length := float32(max(math.Sqrt(square), 1e-12))
	for _, v := range f.Whole.Descriptor {
		out = append(out, v/length)
	}
	return out
}
