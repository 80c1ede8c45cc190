package accuracy

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"agegate/internal/check/age/calibration"
	"agegate/internal/check/vision"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/mat"
)

// Example is one labelled picture. The first of its views is the unchanged
// picture, which estimates are made from; the others are altered copies, used
// for training only.
type Example struct {
	Age   int    // years
	Group string // the first that the set names for the person, usually the sex; may be empty
	Views []*vision.Features
}

// oldestTaught is the age in years up to which a head learns. It decides about
// ages near 25: with older faces among its lessons it reads more teenagers as
// over 30, and over its oldest lesson other estimates take over anyway.
const oldestTaught = 50

// FewestExamples is how many examples a fit needs.
const FewestExamples = 200

// ErrTooFew reports a set that is too small to learn from.
var ErrTooFew = fmt.Errorf("a calibration needs at least %d pictures with a usable face up to the age of %d, of more than one age, and a quarter more for its cross-validation", FewestExamples, oldestTaught)

// Parameters of the fit, chosen by cross-validation on 2,000 pictures. Small
// changes make little difference.
const (
	components = 100
	networks   = 5
)

var recipe = training{hidden: 64, batch: 128, epochs: 20, fewest: 600, rate: 2e-3, decay: 1, dropout: 0.3}

// Fit fits a head to the examples up to oldestTaught. The same examples and
// seed give the same head.
func Fit(examples []Example, seed uint64) (*calibration.Head, error) {
	examples = slices.DeleteFunc(slices.Clone(examples), func(e Example) bool { return e.Age > oldestTaught })
	h, err := spanOf(examples)
	if err != nil {
		return nil, err
	}
	plain := mat.NewDense(len(examples), calibration.Inputs, nil)
	for i, e := range examples {
		for j, v := range calibration.Values(e.Views[0]) {
			plain.Set(i, j, float64(v))
		}
	}
	h.Projection = *principal(plain, components, seed)
	lessons := project(h, examples)
	for i := range uint64(networks) {
		h.Networks = append(h.Networks, recipe.train(lessons, seed+i))
	}
	return h, nil
}

// spanOf returns a head with only the age range of the examples set.
func spanOf(examples []Example) (*calibration.Head, error) {
	if len(examples) < FewestExamples {
		return nil, ErrTooFew
	}
	h := &calibration.Head{Youngest: examples[0].Age, Oldest: examples[0].Age}
	for _, e := range examples {
		if len(e.Views) == 0 {
			return nil, errors.New("an example has no view")
		}
		h.Youngest, h.Oldest = min(h.Youngest, e.Age), max(h.Oldest, e.Age)
	}
	if h.Youngest == h.Oldest {
		return nil, ErrTooFew
	}
	return h, nil
}

// project projects every view of every example.
func project(h *calibration.Head, all []Example) examples {
	ex := examples{inputs: components}
	weights := balance(all)
	for i, e := range all {
		for _, view := range e.Views {
			ex.weights = append(ex.weights, weights[i])
			ex.rows = append(ex.rows, h.Projection.Apply(calibration.Values(view))...)
			ex.targets = append(ex.targets, float32(calibration.ToTarget(float64(e.Age))))
		}
	}
	return ex
}

// CrossValidate estimates every example by a head fitted without it: each fold
// is estimated by a head fitted on the others, projection included. folds
// names the fold of each example, see Folds.
func CrossValidate(ctx context.Context, all []Example, folds []int, workers int, seed uint64) ([]float64, error) {
	estimates := make([]float64, len(all))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(workers, 1))
	for fold := range slices.Max(folds) + 1 {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			var fitting []Example
			for i, e := range all {
				if folds[i] != fold {
					fitting = append(fitting, e)
				}
			}
			head, err := Fit(fitting, seed)
			if err != nil {
				return err
			}
			for i, e := range all {
				if folds[i] == fold {
					estimates[i] = head.Age(e.Views[0])
				}
			}
			return nil
		})
	}
	return estimates, group.Wait()
}
