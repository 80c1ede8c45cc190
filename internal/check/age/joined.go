package age

import (
	"math"

	"agegate/internal/check/inference"
	"agegate/internal/check/vision"
)

// Joined is the head used with two independent age models. What makes one of them
// estimate a teenager too old, such as make-up, seldom misleads the other as much,
// so the lower of the two ages counts most.
type Joined struct {
	Tail   Tuned
	Second inference.Scale // of the second model's years
}

// joinedVersion must change whenever Joined computes another estimate from the
// same outputs.
const joinedVersion = 1

// Estimate returns the age by both models. It is 0 if either returned no number, so
// that nobody passes.
func (j Joined) Estimate(f *vision.Features) Estimate {
	first, second := j.Tail.age(f), j.Second.Years(f.Second)
	if math.IsNaN(second) {
		return Estimate{}
	}
	return Estimate{Years: Join(first, second), Apart: math.Abs(first - second)}
}

// lowerShare is the weight of the lower age in Join. It was chosen on held-out
// pictures, see docs/measurements.md.
const lowerShare = 0.75

// Join returns ¾ of the lower and ¼ of the higher of two ages. It rises with each
// of them, and is below the higher one unless they are equal.
func Join(a, b float64) float64 { return lowerShare*min(a, b) + (1-lowerShare)*max(a, b) }

// maxApart is how many years the two models may differ, in the median of the frames
// that count, before a capture takes furtherFrames more frames. %TODO
const (
	maxApart      = 12.0
	furtherFrames = 4
)
