package accuracy

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"agegate/internal/age/calibration"
	"agegate/internal/vision"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/mat"
)

// Example is one labelled picture. The first of its views is the unchanged
// picture, which estimates are made from; the others are altered copies, used
// for training only.
type Example struct {
	Age   int // years
	Views []*vision.Features
}

// FewestExamples is how many examples a fit needs.
const FewestExamples = 200

// ErrTooFew reports a set that is too small to learn from.
var ErrTooFew = fmt.Errorf("a calibration needs at least %d pictures with a usable face, of more than one age", FewestExamples)

// Parameters of the fit, chosen by cross-validation on 2,000 pictures. Small
// changes make little difference.
const (
	components = 100
	networks   = 5
)

var recipe = training{hidden: 64, batch: 128, epochs: 20, fewest: 600, rate: 2e-3, decay: 1, dropout: 0.3}

// Fit fits a head. The same examples and seed give the same head.
func Fit(examples []Example, seed uint64) (*calibration.Head, error) {
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
	for _, e := range all {
		for _, view := range e.Views {
			ex.rows = append(ex.rows, h.Projection.Apply(calibration.Values(view))...)
			ex.targets = append(ex.targets, float32(calibration.ToTarget(float64(e.Age))))
		}
	}
	return ex
}

// CrossValidate estimates every example by a head fitted without it: the
// examples are dealt into folds at random, and each fold is estimated by a head
// fitted on the others, projection included. Two pictures of one person may
// fall into different folds; without persons' names in the set this cannot be
// avoided.
func CrossValidate(ctx context.Context, all []Example, folds, workers int, seed uint64) ([]float64, error) {
	estimates := make([]float64, len(all))
	order := rand.New(rand.NewPCG(seed, 2)).Perm(len(all)) //nolint:gosec // repeatable on purpose
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(workers, 1))
	for fold := range folds {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			var fitting []Example
			for i, at := range order {
				if i%folds != fold {
					fitting = append(fitting, all[at])
				}
			}
			head, err := Fit(fitting, seed)
			if err != nil {
				return err
			}
			for i, at := range order {
				if i%folds == fold {
					estimates[at] = head.Age(all[at].Views[0])
				}
			}
			return nil
		})
	}
	return estimates, group.Wait()
}
