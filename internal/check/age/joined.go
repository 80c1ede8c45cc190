package age

import (
	"math"

	"agegate/internal/check/inference"
	"agegate/internal/check/vision"
)

// Joined is the head used with two independent age models. Make-up and the like can
// make one model estimate a teenager too old. They seldom mislead the other model as
// much.
type Joined struct {
	Tail   Tuned
	Second inference.Scale // of the second model's years
}

// joinedVersion must change whenever Joined computes another estimate from the
// same outputs.
const joinedVersion = 2

// Estimate returns the age by both models. It is 0 if either returned no number, so
// that nobody passes.
func (j Joined) Estimate(f *vision.Features) Estimate {
	first, second := j.Tail.age(f), j.Second.Years(f.Second)
	if math.IsNaN(second) {
		return Estimate{}
	}
	return Estimate{Years: Join(first, second), Apart: math.Abs(first - second)}
}

// Join returns the joined age: the mean of the tail's age and of the lower of both
// ages. If the second model's age is more than maxApart years above the tail's, Join
// subtracts half of the excess, because glasses, beards and wrinkles drawn on a
// teenager mislead the second model most. The second model can therefore only make a
// person younger. The result rises with the tail's age, is never negative, and is never
// above the tail's age.
func Join(tail, second float64) float64 {
	excess := max(0, second-tail-maxApart)
	return max(0, (tail+min(tail, second)-excess)/2)
}

// maxApart is how many years the two models may differ. If the median difference of the
// frames that count is larger, which happens for one in ten people (held out), a
// capture takes furtherFrames more frames.
const (
	maxApart      = 10.0
	furtherFrames = 4
)
