package vision

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"math"

	"agegate/internal/check/inference"
)

// Vector is a descriptor of the age model, or a direction among such descriptors. As
// text it is the base64 of little-endian 32-bit floats.
type Vector [inference.DescriptorSize]float32

// MarshalText writes the vector.
func (v Vector) MarshalText() ([]byte, error) {
	raw, err := binary.Append(nil, binary.LittleEndian, v[:])
	return []byte(base64.StdEncoding.EncodeToString(raw)), err
}

// UnmarshalText reads the vector.
func (v *Vector) UnmarshalText(text []byte) error {
	raw, err := base64.StdEncoding.DecodeString(string(text))
	if err != nil {
		return err
	}
	if n, err := binary.Decode(raw, binary.LittleEndian, v[:]); err != nil || n != len(raw) {
		return errors.New("a vector has the wrong length")
	}
	return nil
}

// Dot returns the product of two vectors.
func (v *Vector) Dot(w *Vector) (sum float64) {
	for i, x := range v {
		sum += float64(x) * float64(w[i])
	}
	return sum
}

// Normalize scales a vector to length one.
func (v *Vector) Normalize() {
	scale := float32(1 / math.Sqrt(max(v.Dot(v), math.SmallestNonzeroFloat32)))
	for i := range v {
		v[i] *= scale
	}
}

// Without subtracts a vector's component along a direction of length one.
func (v *Vector) Without(direction *Vector) {
	part := float32(v.Dot(direction))
	for i, x := range direction {
		v[i] -= part * x
	}
}
