package calibration

import (
	"math"

	"agegate/internal/inference"
	"agegate/internal/vision"
)

// Inputs is how many numbers a frame's features become.
const Inputs = 2 * (inference.AgeBins + inference.DescriptorSize)

// Values lists a frame's features as the projection takes them: the square
// roots of both age distributions, between which distance means something
// (Hellinger), and both descriptors at length one.
func Values(f *vision.Features) []float32 {
	out := make([]float32, 0, Inputs)
	for _, view := range []*vision.View{&f.Whole, &f.Inner} {
		for _, p := range view.Distribution {
			out = append(out, float32(math.Sqrt(float64(max(p, 0)))))
		}
		var square float64
		for _, v := range view.Descriptor {
			square += float64(v) * float64(v)
		}
		length := float32(max(math.Sqrt(square), 1e-12))
		for _, v := range view.Descriptor {
			out = append(out, v/length)
		}
	}
	return out
}
