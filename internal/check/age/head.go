package age

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"sort"

	"agegate/internal/check/inference"
	"agegate/internal/check/vision"
)

// Head estimates an age from the features of one frame.
type Head interface {
	Estimate(f *vision.Features) Estimate
}

// Estimate is a head's answer for one frame.
type Estimate struct {
	Years float64
	Apart float64 // years between the two age models' answers; 0 if only one was asked
}

// NewHead returns the head for the models of a manifest: Joined where they have a
// fine-tuned tail and a scale for the second age model, Tuned with a tail alone,
// and ExpectedValue otherwise.
func NewHead(m inference.Manifest) Head {
	switch {
	case m.Tail == nil:
		return ExpectedValue{}
	case m.Tail.Second == nil:
		return Tuned{Scale: m.Tail.Scale}
	}
	return Joined{Tail: Tuned{Scale: m.Tail.Scale}, Second: m.Tail.Second.Scale}
}

// ExpectedValue is the head used without a fine-tuned tail, and so without a front. It
// returns the mean of the stock model's age distribution, by which teenagers are
// estimated some eight years too old.
type ExpectedValue struct{}

// Estimate returns Σ age × probability.
func (ExpectedValue) Estimate(f *vision.Features) Estimate {
	return Estimate{Years: expected(&f.Whole.Distribution)}
}

func expected(distribution *[inference.AgeBins]float32) float64 {
	return mean(distribution, func(years float64) float64 { return years })
}

// mean returns the mean of the function of over all ages, weighted by the probability
// of each age.
func mean(distribution *[inference.AgeBins]float32, of func(years float64) float64) float64 {
	var sum, mass float64
	for age, p := range distribution {
		sum += of(float64(age)) * float64(p)
		mass += float64(p)
	}
	return sum / mass
}

// Tuned is the head used with a fine-tuned tail. It takes the mean of worth over the
// tail's distribution, not the mean age. worth mainly measures the probability of 18
// and over. The estimate is the age that has this mean as its worth. So a face that may
// be 15 or 35 does not pass as 25, and a face that is surely 25 gets 25. From plainFrom
// years on, the mean age gradually replaces this estimate. The scale then converts the
// result to years.
type Tuned struct{ Scale inference.Scale }

// Constants of Tuned, in years. From plainAlone on, only the mean age counts. They were
// chosen on held-out pictures, see proof/training.md.
const (
	majority, doubt       = 18.0, 1.5 // the age at which worth rises, and the width of the rise
	plainFrom, plainAlone = 45.0, 55.0
)

// tunedVersion must change whenever Tuned computes another estimate from the same
// outputs.
const tunedVersion = 3

// worths holds the worth of each whole age; it rises with age.
var worths = func() (table [inference.AgeBins]float64) {
	for years := range table {
		table[years] = worth(float64(years))
	}
	return table
}()

// worth is the weight of an age. It is near zero for a child and near one for an adult,
// and rises slightly with each further year.
func worth(years float64) float64 {
	return 1/(1+math.Exp((majority-years)/doubt)) + years/2000
}

// Estimate returns the age by the tail alone. It is 0 if the tail returned no
// numbers, so that nobody passes.
func (t Tuned) Estimate(f *vision.Features) Estimate { return Estimate{Years: t.age(f)} }

func (t Tuned) age(f *vision.Features) float64 {
	years := expected(f.Tuned)
	share := min(max((plainAlone-years)/(plainAlone-plainFrom), 0), 1)
	years = t.Scale.Years(years + share*(ageWorth(mean(f.Tuned, worth))-years))
	if math.IsNaN(years) {
		return 0
	}
	return years
}

// ageWorth returns the age with the given worth, interpolated between whole ages.
func ageWorth(value float64) float64 {
	above := sort.SearchFloat64s(worths[:], value)
	switch {
	case above == 0:
		return 0
	case above == len(worths):
		return float64(above - 1)
	}
	return float64(above) - (worths[above]-value)/(worths[above]-worths[above-1])
}

// Estimator returns the fingerprint of everything that an age estimate depends
// on: the models, the tail, its scale, and the code that reads them.
func Estimator(m inference.Manifest) string {
	digest := sha256.New()
	for _, role := range []inference.Model{inference.Tail, inference.Detector, inference.Ager} {
		fmt.Fprintln(digest, role, m.Models[role].SHA256)
	}
	if front, ok := m.Models[inference.Front]; ok {
		fmt.Fprintln(digest, inference.Front, front.SHA256)
	}
	if m.Tail != nil {
		fmt.Fprintln(digest, "tuned", tunedVersion, m.Tail.Scale)
		if second := m.Tail.Second; second != nil {
			fmt.Fprintln(digest, "joined", joinedVersion, second.Base, second.Scale)
		}
	}
	return hex.EncodeToString(digest.Sum(nil)[:6])
}
