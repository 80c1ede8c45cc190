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

// Tuned is the head used with a fine-tuned tail. For people near the usual
// cutoffs it is the mean of two: what the tail expects if everybody over
// nearCap counts as nearCap, so that a little belief in a great age does not
// lift a teenager, and another head's estimate, which knows little of the old.
// Where the tail expects more than nearFades years, what it expects without the
// cap takes over step by step.
type Tuned struct{ Other Head } // nil: the tail alone

// Ages in years, see Tuned: from nearEnds on, only the tail counts.
const nearCap, nearFades, nearEnds = 35, 35.0, 45.0

// Age returns the estimate, which is 0 years where the models gave no numbers:
// nobody is let through on that.
func (t Tuned) Age(f *vision.Features) float64 {
	capped := *f.Tuned
	for age := nearCap + 1; age < len(capped); age++ {
		capped[nearCap] += capped[age]
		capped[age] = 0
	}
	near, years := expected(&capped), expected(f.Tuned)
	if t.Other != nil {
		near = (near + t.Other.Age(f)) / 2
	}
	share := min(max((nearEnds-years)/(nearEnds-nearFades), 0), 1)
	years += share * (near - years)
	if math.IsNaN(years) {
		return 0
	}
	return years
}
