// Package photographic tells drawn and rendered faces from photographed ones. It uses
// the descriptor that the face models compute anyway for each frame that counts. The
// descriptors of drawings differ from those of people in their direction.
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

// Gate is a linear discriminant of descriptors of length one: the mean of drawn faces
// minus the mean of photographed ones, weighted by the inverse of their covariance. A
// nil gate passes every face.
type Gate struct {
	Origin string `json:"origin"`
	// Models are the SHA-256 of the models for which the numbers are valid.
	Models map[inference.Model]string `json:"models"`
	// Threshold is the largest score of a photographed face. In the scale of the
	// scores, the median of photographed faces and that of drawn faces differ by one.
	Threshold float64       `json:"threshold"`
	Weights   vision.Vector `json:"weights"` // of a descriptor's values
}

//go:embed gate.json
var fitted []byte

// ErrOtherModels is returned if descriptors come from other models than those that the
// gate was fitted on. The gate's numbers are then not valid.
var ErrOtherModels = errors.New("the gate against drawn faces was fitted on other models")

// models are the models whose change makes a gate invalid. The front is not among them:
// it is the age model in eight bits, and a new front gives nearly the same descriptor.
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
// photographed. It compares the median of their scores with the threshold, so that one
// bad frame does not decide.
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
