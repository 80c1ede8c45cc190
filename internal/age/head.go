package age

import (
	"math"

	"agegate/internal/inference"
	"agegate/internal/vision"
)

// Head computes an age in years from the features of one frame.
type Head interface {
	Age(f *vision.Features) float64
}

// ExpectedValue is the head used without calibration: the mean of the whole
// crop's age distribution. It is smoother than the most likely age, and
// flatters teenagers by some eight years.
type ExpectedValue struct{}

// Age returns Σ age × probability.
func (ExpectedValue) Age(f *vision.Features) float64 { return expected(&f.Whole.Distribution) }

func expected(distribution *[inference.AgeBins]float32) float64 {
	var sum, mass float64
	for age, p := range distribution {
		sum += float64(age) * float64(p)
		mass += float64(p)
	}
	return sum / mass
}

// Tuned is the head used with a fine-tuned tail: the mean of what the tail
// expects and of another head's estimate, which errs less than either alone.
// The other head knows little of the old: where the tail expects more than 30
// years the other counts less, and from 40 on not at all. Without another
// head, it is what the tail expects.
type Tuned struct{ Other Head }

// The ages, by the tail, at which the other head begins to count less and
// ceases to count.
const otherFades, otherEnds = 30.0, 40.0

// Age returns the estimate, which is 0 years where the models gave no numbers:
// nobody is let through on that.
func (t Tuned) Age(f *vision.Features) float64 {
	years := expected(f.Tuned)
	if t.Other != nil {
		share := min(max((otherEnds-years)/(otherEnds-otherFades), 0), 1) / 2
		years += share * (t.Other.Age(f) - years)
	}
	if math.IsNaN(years) {
		return 0
	}
	return years
}
