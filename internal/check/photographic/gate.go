// Package photographic tells drawn and rendered faces from photographed ones. It uses
// the descriptor that the face models compute anyway for each frame that counts:
// descriptors of drawings lie in another direction than those of people.
package photographic

import (
	_ "embed" // the fitted gate
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"agegate/internal/check/inference"
	"agegate/internal/check/vision"
)

// Gate is a linear discriminant of descriptors of length one: the mean of drawn
// faces less that of photographed ones, weighed by the inverse of their covariance.
// A nil gate takes every face for a photograph.
type Gate struct {
	Origin string `json:"origin"`
	// Models are the SHA-256 of the models for which the numbers are valid.
	Models map[inference.Model]string `json:"models"`
	// Threshold is the largest score of a photographed face. On the scale of the
	// scores, the medians of photographed and of drawn faces lie one apart.
	Threshold float64       `json:"threshold"`
	Weights   vision.Vector `json:"weights"` // of a descriptor's values
}

//go:embed gate.json
var fitted []byte

// ErrOtherModels reports that descriptors come from other models than those that
// the gate was fitted on, so its numbers are not valid.
var ErrOtherModels = errors.New("the gate against drawn faces was fitted on other models")

// models are those whose change makes a gate invalid. A new front is not among
// them: it is the age model in eight bits, and gives nearly the same descriptor.
var models = []inference.Model{inference.Detector, inference.Ager}

// Load returns the embedded gate. It fails with ErrOtherModels if the models
// directory holds other models, or no front.
func Load(manifest inference.Manifest) (*Gate, error) {
	g := new(Gate)
	if err := json.Unmarshal(fitted, g); err != nil {
		return nil, fmt.Errorf("gate against drawn faces: %w", err)
	}
	if _, ok := manifest.Models[inference.Front]; !ok {
		return nil, ErrOtherModels
	}
	for _, role := range models {
		if g.Models[role] != manifest.Models[role].SHA256 {
			return nil, ErrOtherModels
		}
	}
	return g, nil
}

// Score returns how much a face looks drawn. It does not depend on the length of
// the descriptor. It is -Inf for a descriptor without any numbers.
func (g *Gate) Score(f *vision.Features) float64 {
	descriptor := vision.Vector(f.Whole.Descriptor)
	square := descriptor.Dot(&descriptor)
	if square == 0 {
		return math.Inf(-1)
	}
	return descriptor.Dot(&g.Weights) / math.Sqrt(square)
}

// Passes reports whether the faces of the frames that counted in one check are
// photographed: whether the median of their scores is at most the threshold. One
// unfortunate frame therefore decides nothing.
func (g *Gate) Passes(faces []*vision.Features) bool {
	if g == nil || len(faces) == 0 {
		return true
	}
	scores := make([]float64, len(faces))
	for i, f := range faces {
		scores[i] = g.Score(f)
	}
	slices.Sort(scores)
	return scores[(len(scores)-1)/2] <= g.Threshold
}
