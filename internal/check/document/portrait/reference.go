package portrait

import (
	_ "embed" // the reference
	"encoding/base64"
	"encoding/binary"
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
	// Whole and Inner are the mean descriptors of many faces. They are
	// subtracted, because what all faces have in common does not help to tell
	// them apart.
	Whole Mean `json:"whole"`
	Inner Mean `json:"inner"`
}

// Mean is a mean descriptor, written as base64 of little-endian 32-bit floats.
type Mean [inference.DescriptorSize]float32

// MarshalText writes the mean.
func (m *Mean) MarshalText() ([]byte, error) {
	raw, err := binary.Append(nil, binary.LittleEndian, m[:])
	return []byte(base64.StdEncoding.EncodeToString(raw)), err
}

// UnmarshalText reads the mean.
func (m *Mean) UnmarshalText(text []byte) error {
	raw, err := base64.StdEncoding.DecodeString(string(text))
	if err != nil {
		return err
	}
	if n, err := binary.Decode(raw, binary.LittleEndian, m[:]); err != nil || n != len(raw) {
		return errors.New("a mean descriptor has the wrong length")
	}
	return nil
}

//go:embed reference.json
var fitted []byte

// ErrOtherModels reports that the face descriptor comes from a different model
// from the one the reference was fitted on, so its numbers are not valid.
var ErrOtherModels = errors.New("the face match was fitted on other models: fit it with `make face-match SET=DIR`")

// ReferenceModels are the models whose change makes a reference invalid.
var ReferenceModels = []inference.Model{inference.Detector, inference.Ager}

// Load returns the embedded reference. It fails with ErrOtherModels if the
// models directory holds other models.
func Load(manifest inference.Manifest) (*Reference, error) {
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

// Similarity compares two faces: the cosine between their descriptors minus the
// mean, averaged over both crops. It is 1 for the same picture and around 0 for
// strangers.
func (r *Reference) Similarity(a, b *vision.Features) float64 {
	return (cosine(&a.Whole.Descriptor, &b.Whole.Descriptor, &r.Whole) +
		cosine(&a.Inner.Descriptor, &b.Inner.Descriptor, &r.Inner)) / 2
}

// Match reports whether the similarity is high enough for the same person.
func (r *Reference) Match(similarity float64) bool { return similarity >= r.Threshold }

// Centred returns the descriptor minus the mean, scaled to length one.
func (m *Mean) Centred(descriptor *[inference.DescriptorSize]float32) (out [inference.DescriptorSize]float32) {
	var square float64
	for i, v := range descriptor {
		out[i] = v - m[i]
		square += float64(out[i]) * float64(out[i])
	}
	scale := float32(1 / math.Sqrt(max(square, math.SmallestNonzeroFloat32)))
	for i := range out {
		out[i] *= scale
	}
	return out
}

func cosine(a, b *[inference.DescriptorSize]float32, mean *Mean) float64 {
	ca, cb := mean.Centred(a), mean.Centred(b)
	var dot float64
	for i, v := range ca {
		dot += float64(v) * float64(cb[i])
	}
	return dot
}
