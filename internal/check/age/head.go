package age

import (
	"math"

	"agegate/internal/check/inference"
	"agegate/internal/check/vision"
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
	return mean(distribution, func(years float64) float64 { return years })
}

// mean is the mean of what every age gives, by the probability of the age.
func mean(distribution *[inference.AgeBins]float32, of func(years float64) float64) float64 {
	var sum, mass float64
	for age, p := range distribution {
		sum += of(float64(age)) * float64(p)
		mass += float64(p)
	}
	return sum / mass
}

// Tuned is the head used with a fine-tuned tail. Near the usual cutoffs the
// tail's distribution and another head's estimate, which knows little of the
// old, count half each. Their mean is the power mean of age + nearShift with
// the exponent -2, so that a belief in a young age counts more than one in an
// old age: a face that may be 15 or 35 does not pass as 25. That lowers every
// estimate that is in doubt; the factor nearLift makes up for it. Where the
// tail's plain mean is over nearFades years, that takes over step by step.
type Tuned struct{ Other Head } // nil: the tail alone

// Constants of Tuned, in years but for nearLift. From nearEnds on, only the
// tail's plain mean counts. Chosen by cross-validation, see docs/measurements.md.
const (
	nearShift           = 5.0
	nearLift            = 1.04
	nearFades, nearEnds = 35.0, 45.0
)

// TunedVersion changes when Tuned makes another estimate of the same outputs.
const TunedVersion = 2

// Age returns the estimate, which is 0 years where the models gave no numbers:
// nobody is let through on that.
func (t Tuned) Age(f *vision.Features) float64 {
	years := expected(f.Tuned)
	young := mean(f.Tuned, youth)
	if t.Other != nil {
		young = (young + youth(t.Other.Age(f))) / 2
	}
	near := nearLift/math.Sqrt(young) - nearShift
	share := min(max((nearEnds-years)/(nearEnds-nearFades), 0), 1)
	years += share * (near - years)
	if math.IsNaN(years) {
		return 0
	}
	return years
}

// youth is what Tuned takes the mean of: the younger, the more.
func youth(years float64) float64 { return 1 / ((years + nearShift) * (years + nearShift)) }
