package calibration

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	"agegate/internal/check/age"
	"agegate/internal/check/inference"
)

// FileName is the calibration in a models directory.
const FileName = "calibration.json"

// Format is the version of the file and of what its head is computed from.
const Format = 2

// refit is the hint appended to every error.
const refit = "fit one with `agegate calibrate CSV|DIR --out FILE` as " + FileName + " in the models directory"

// ErrMissing reports a models directory without a calibration. The stock
// estimate that then decides flatters teenagers by some eight years.
var ErrMissing = errors.New("the age estimate is not calibrated: " + refit)

// ErrOtherModels reports a calibration that was fitted on other models than
// the directory holds, for which its numbers mean nothing.
var ErrOtherModels = errors.New("the age calibration was fitted on other models: " + refit)

// File is a calibration as it is stored.
type File struct {
	Format   int                        `json:"format"`
	FittedAt time.Time                  `json:"fitted_at"`
	Data     Data                       `json:"data"`
	Models   map[inference.Model]string `json:"models"`  // SHA-256 of the models that make the features
	Metrics  json.RawMessage            `json:"metrics"` // cross-validated, by picture
	Head     Head                       `json:"head"`
}

// Data describes what a calibration was fitted on.
type Data struct {
	Name     string `json:"name"`
	Pictures int    `json:"pictures"` // that showed a usable face
	Youngest int    `json:"youngest"` // years
	Oldest   int    `json:"oldest"`
}

// featureModels are the models whose change makes a calibration void: the one
// that places the crop and the one that looks at it.
var featureModels = []inference.Model{inference.Detector, inference.Ager}

// ModelHashes returns the SHA-256 of the models that a calibration depends on.
func ModelHashes(m inference.Manifest) map[inference.Model]string {
	hashes := map[inference.Model]string{}
	for _, role := range featureModels {
		hashes[role] = m.Models[role].SHA256
	}
	return hashes
}

// LoadHead returns the head to estimate with, and the calibration in the models
// directory for what it says about itself. With a fine-tuned tail the head is
// age.Tuned over the calibration's. Without a calibration it returns what the
// models give without one, nil and ErrMissing; with one fitted on other models
// it fails with ErrOtherModels, with a damaged one by naming the fault.
func LoadHead(dir string, manifest inference.Manifest) (age.Head, *File, error) {
	_, tuned := manifest.Models[inference.Tail]
	f, err := load(dir, manifest)
	switch {
	case err == nil && tuned:
		return age.Tuned{Other: &f.Head}, f, nil
	case err == nil:
		return &f.Head, f, nil
	case errors.Is(err, ErrMissing) && tuned:
		return age.Tuned{}, nil, err
	case errors.Is(err, ErrMissing):
		return age.ExpectedValue{}, nil, err
	}
	return nil, nil, err
}

func load(dir string, manifest inference.Manifest) (*File, error) {
	text, err := os.ReadFile(filepath.Join(dir, FileName)) //nolint:gosec // the operator chose the directory
	if errors.Is(err, os.ErrNotExist) {
		return nil, ErrMissing
	} else if err != nil {
		return nil, err
	}
	f, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; %s", FileName, err, refit)
	}
	for role, want := range ModelHashes(manifest) {
		if f.Models[role] != want {
			return nil, fmt.Errorf("%w (the %s model differs)", ErrOtherModels, role)
		}
	}
	return f, nil
}

// Parse reads a calibration and checks that its head can be computed.
func Parse(text []byte) (*File, error) {
	f := new(File)
	if err := json.Unmarshal(text, f); err != nil {
		return nil, err
	}
	if f.Format != Format {
		return nil, fmt.Errorf("has format %d, not %d", f.Format, Format)
	}
	return f, f.Head.check()
}

// Fingerprint identifies what the calibration computes: files with the same one
// estimate alike on the same models.
func (f *File) Fingerprint() string {
	text, err := json.Marshal(f.Head)
	if err != nil {
		panic("calibration: " + err.Error()) // numbers that were read from JSON
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
}

// Estimator identifies everything that an age estimate is computed by: the
// models, the tail and how it is read, and the calibration, which may be nil.
func Estimator(m inference.Manifest, f *File) string {
	digest := sha256.New()
	for _, role := range append([]inference.Model{inference.Tail}, featureModels...) {
		fmt.Fprintln(digest, role, m.Models[role].SHA256)
	}
	if _, tuned := m.Models[inference.Tail]; tuned {
		fmt.Fprintln(digest, "tuned", age.TunedVersion)
	}
	if f != nil {
		fmt.Fprintln(digest, f.Fingerprint())
	}
	return hex.EncodeToString(digest.Sum(nil)[:6])
}

// Write stores the calibration, replacing an older one at once.
func (f *File) Write(path string) error { return inference.WriteJSON(path, f) }

// Floats are stored as base64 of little-endian IEEE 754 singles.
type Floats []float32

// MarshalJSON implements json.Marshaler.
func (f Floats) MarshalJSON() ([]byte, error) {
	data, err := binary.Append(nil, binary.LittleEndian, []float32(f))
	if err != nil {
		return nil, err
	}
	return json.Marshal(base64.StdEncoding.EncodeToString(data))
}

// UnmarshalJSON implements json.Unmarshaler. A value that is not finite is an
// error.
func (f *Floats) UnmarshalJSON(text []byte) error {
	var data []byte
	if err := json.Unmarshal(text, &data); err != nil {
		return err
	}
	if len(data)%4 != 0 {
		return errors.New("a list of numbers is cut off")
	}
	*f = make(Floats, len(data)/4)
	if _, err := binary.Decode(data, binary.LittleEndian, []float32(*f)); err != nil {
		return err
	}
	for _, v := range *f {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return errors.New("a number is not finite")
		}
	}
	return nil
}
