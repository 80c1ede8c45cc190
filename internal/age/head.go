package age

import "agegate/internal/vision"

// Head computes an age in years from the features of one frame.
type Head interface {
	Age(f *vision.Features) float64
}

// ExpectedValue is the head used without calibration: the mean of the whole
// crop's age distribution. It is smoother than the most likely age, and
// flatters teenagers by some eight years.
type ExpectedValue struct{}

// Age returns Σ age × probability.
func (ExpectedValue) Age(f *vision.Features) float64 {
	var sum, mass float64
	for age, p := range f.Whole.Distribution {
		sum += float64(age) * float64(p)
		mass += float64(p)
	}
	return sum / mass
}
