// Package portrait compares the portrait of a document with another picture of a
// face. It measures how similar two faces are, which stops most people who use a
// stranger's document. It cannot tell apart siblings and look-alikes. It keeps no
// part of a picture.
package portrait

import (
	_ "embed" // the reference
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"agegate/internal/check/inference"
	"agegate/internal/check/vision"
)

// Reference holds the numbers used to compare faces. `make face-match` fits it to faces of
// known sex (internal/tools/facematch).
type Reference struct {
	Origin string `json:"origin"`
	// Models are the SHA-256 of the models for which the numbers are valid.
	Models map[inference.Model]string `json:"models"`
	// Threshold is the minimum similarity of matching faces.
	Threshold float64 `json:"threshold"`
	// Stock and Matcher say how similar strangers of one sex are, by the stock
	// descriptors and by the matcher's.
	Stock   Spread `json:"stock"`
	Matcher Spread `json:"matcher"`
	// Common is the part of the stock descriptors that faces of many people share.
	Common Common `json:"common"`
}

// Spread is the mean and the standard deviation of a measure.
type Spread struct {
	Mean      float64 `json:"mean"`
	Deviation float64 `json:"deviation"`
}

// standard returns a value of the measure in standard deviations from its mean.
func (s Spread) standard(v float64) float64 { return (v - s.Mean) / s.Deviation }

// Common is the part of descriptors that depends on a group of people and not on a
// person. It is removed before a comparison, because it makes the faces of strangers
// alike.
type Common struct {
	Mean vision.Vector `json:"mean"` // of the means of the groups
	// Groups are directions in which the groups' means differ: of length one, and
	// at right angles to each other.
	Groups []vision.Vector `json:"groups"`
}

//go:embed reference.json
var fitted []byte

// Errors of Load.
var (
	// ErrOtherModels is returned if the descriptors come from other models than those
	// that the reference was fitted on. The reference's numbers are then not valid.
	ErrOtherModels = errors.New("the face match was fitted on other models: fit it with `make face-match SET=DIR`")
	// ErrNoMatcher is returned for a models directory without the matcher.
	ErrNoMatcher = errors.New("the models directory has no face matcher: run `make models`, or install the package again")
)

// ReferenceModels are the models whose change makes a reference invalid.
var ReferenceModels = []inference.Model{inference.Detector, inference.Mesh, inference.Ager, inference.Matcher}

// Load returns the embedded reference. It fails with ErrNoMatcher or ErrOtherModels
// if the models directory lacks the matcher or holds other models.
func Load(manifest inference.Manifest) (*Reference, error) {
	if _, ok := manifest.Models[inference.Matcher]; !ok {
		return nil, ErrNoMatcher
	}
	r := new(Reference)
	if err := json.Unmarshal(fitted, r); err != nil {
		return nil, fmt.Errorf("reference of the face match: %w", err)
	}
	for _, role := range ReferenceModels {
		if r.Models[role] != manifest.Models[role].SHA256 {
			return nil, ErrOtherModels
		}
	}
	return r, nil
}

// Similarity compares two faces that Views described with a matcher. It joins two
// measures, by the stock descriptors and by the matcher's descriptors. Each is in
// standard deviations above the mean of strangers of one sex, so the result is about 0
// for strangers.
func (r *Reference) Similarity(a, b *vision.Features) float64 {
	return r.Join(r.Cosine(a, b), Distance(a, b))
}

// Join returns the similarity of two faces from the two measures. The matcher's counts
// twice, because its error is smaller.
func (r *Reference) Join(cosine, distance float64) float64 {
	return (r.Stock.standard(cosine) + 2*r.Matcher.standard(-distance)) / 3
}

// Cosine returns the cosine between the stock descriptors, without their common part.
func (r *Reference) Cosine(a, b *vision.Features) float64 {
	ownA, ownB := r.Common.Own(&a.Whole.Descriptor), r.Common.Own(&b.Whole.Descriptor)
	return ownA.Dot(&ownB)
}

// Distance returns the Euclidean distance between the matcher's descriptors.
func Distance(a, b *vision.Features) float64 {
	var square float64
	for i, v := range a.Identity {
		d := float64(v - b.Identity[i])
		square += d * d
	}
	return math.Sqrt(square)
}

// Match reports whether the similarity is high enough for the same person.
func (r *Reference) Match(similarity float64) bool { return similarity >= r.Threshold }

// Own returns a descriptor without its common part, scaled to length one.
func (c *Common) Own(descriptor *[inference.DescriptorSize]float32) (own vision.Vector) {
	for i, v := range descriptor {
		own[i] = v - c.Mean[i]
	}
	for i := range c.Groups {
		own.Without(&c.Groups[i])
	}
	own.Normalize()
	return own
}
