// Package portrait compares the portrait of a document with another picture of a face.
// That stops most people who use a stranger's document. It cannot tell apart siblings
// and look-alikes. It keeps no part of a picture.
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
	Origin    string                     `json:"origin"`
	Models    map[inference.Model]string `json:"models"`    // SHA-256 of those for which the numbers are valid
	Threshold float64                    `json:"threshold"` // the minimum similarity of matching faces
	Stock     Spread                     `json:"stock"`     // of strangers of one sex, by the stock descriptors
	Matcher   Spread                     `json:"matcher"`   // the same by the matcher's
	Common    Common                     `json:"common"`    // the part of the stock descriptors that many people share
	// Crowd are the weights of the matcher's descriptor in Excess, and a constant.
	Crowd [inference.IdentitySize + 1]float64 `json:"crowd"`
}

// Spread is the mean and the standard deviation of a measure.
type Spread struct {
	Mean      float64 `json:"mean"`
	Deviation float64 `json:"deviation"`
}

// Common is the part of descriptors that depends on a group of people and not on a
// person. It is removed before a comparison: it makes strangers alike.
type Common struct {
	Mean   vision.Vector   `json:"mean"`   // of the means of the groups
	Groups []vision.Vector `json:"groups"` // in which the groups' means differ: orthonormal directions
}

//go:embed reference.json
var fitted []byte

// Errors of Load.
var (
	// ErrOtherModels is returned if the reference was fitted on other models.
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
// for strangers. The smaller excess of the faces is subtracted if it is above 0.
func (r *Reference) Similarity(a, b *vision.Features) float64 {
	return r.Join(r.Cosine(a, b), Distance(a, b), min(r.Excess(a), r.Excess(b)))
}

// Excess estimates how much more the nearest strangers of a face resemble it than those
// of half of all faces do: the networks distinguish some people less well than others.
func (r *Reference) Excess(f *vision.Features) float64 {
	excess := r.Crowd[inference.IdentitySize]
	for i, v := range f.Identity {
		excess += r.Crowd[i] * float64(v)
	}
	return excess
}

// Join returns the similarity of two faces from the two measures and the smaller excess
// of the faces. The matcher's measure counts twice, because its error is smaller.
func (r *Reference) Join(cosine, distance, excess float64) float64 {
	stock, matcher := (cosine-r.Stock.Mean)/r.Stock.Deviation, (-distance-r.Matcher.Mean)/r.Matcher.Deviation
	return (stock+2*matcher)/3 - max(0, excess)
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
