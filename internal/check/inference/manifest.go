// Package inference runs the capture pipeline's models in ONNX Runtime, inside the
// process.
package inference

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// ManifestName is the file in the models directory that describes the others.
const ManifestName = "manifest.json"

// Manifest describes a models directory: which file plays which role, how its
// input is prepared, and the origin of each file. To use another model of the
// same shape, put its file next to the others and change its entry.
type Manifest struct {
	Runtime File           `json:"runtime"` // the ONNX Runtime shared library
	Models  map[Model]File `json:"models"`
	Tail    *TailManifest  `json:"-"` // of TailManifestName; nil without one
}

// File is one entry of the manifest. Path is relative to the manifest and must not
// leave its directory. Outputs maps the name of each output that is computed to its
// meaning. The graph's input must be called "input".
type File struct {
	Path    string            `json:"file"`
	SHA256  string            `json:"sha256"`
	Input   *Input            `json:"input,omitempty"`
	Outputs map[string]string `json:"outputs,omitempty"`
	Source  string            `json:"source"`
	Licence string            `json:"licence"`
}

// Fingerprint identifies the models in use: directories with the same fingerprint
// have the same models.
func (m Manifest) Fingerprint() string {
	digest := sha256.New()
	for _, role := range slices.Sorted(maps.Keys(m.Models)) {
		fmt.Fprintln(digest, role, m.Models[role].SHA256)
	}
	return hex.EncodeToString(digest.Sum(nil)[:6])
}

// ErrMissing is returned if the models directory is missing or incomplete. Its text
// says what to run.
var ErrMissing = errors.New("the age models are not installed: set AGEGATE_MODELS_DIR to the directory that holds " +
	"them, of a package /usr/share/agegate/models, or run `make models`")

// ReadManifest reads the manifest of a models directory, checks that every
// required role is filled, and compares each file with its SHA-256. A missing manifest
// or file is ErrMissing.
func ReadManifest(dir string) (m Manifest, err error) {
	text, err := os.ReadFile(filepath.Join(dir, ManifestName)) //nolint:gosec // the operator chose the directory
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return m, fmt.Errorf("%w (no %s in %s)", ErrMissing, ManifestName, dir)
	} else if err != nil {
		return m, err
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return m, fmt.Errorf("%s: %w", ManifestName, err)
	}
	if err := m.Runtime.verify(dir); err != nil {
		return m, err
	}
	if err := m.checkRoles(); err != nil {
		return m, err
	}
	maps.DeleteFunc(m.Models, func(role Model, _ File) bool { return ofTail[role] })
	for _, file := range m.Models {
		if file.Input == nil || file.Input.Width < 1 || file.Input.Height < 1 {
			return m, fmt.Errorf("%s: %s has no input size", ManifestName, file.Path)
		}
		if err := file.verify(dir); err != nil {
			return m, err
		}
	}
	if err := m.addTail(dir); err != nil {
		return m, fmt.Errorf("%s: %w", TailManifestName, err)
	}
	return m, nil
}

// checkRoles checks that the required roles are filled, and the outputs of all roles.
func (m Manifest) checkRoles() error {
	for role, outputs := range Outputs {
		file, ok := m.Models[role]
		if ofTail[role] || !ok && role == Matcher {
			continue
		}
		if !ok {
			return fmt.Errorf("%w (%s names no file for the role %q)", ErrMissing, ManifestName, role)
		}
		for name := range outputs {
			if _, ok := file.Outputs[name]; !ok {
				return fmt.Errorf("%s: %s lacks the output %q", ManifestName, file.Path, name)
			}
		}
	}
	return nil
}

func (f File) verify(dir string) error {
	if !filepath.IsLocal(f.Path) {
		return fmt.Errorf("%s: %q leaves the models directory", ManifestName, f.Path)
	}
	sum, err := SHA256(filepath.Join(dir, f.Path))
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%w (no %s in %s)", ErrMissing, f.Path, dir)
	} else if err != nil {
		return err
	}
	if sum != f.SHA256 {
		return fmt.Errorf("%s in %s is not the file its manifest describes (SHA-256 differs): run `make models`, "+
			"or install the package again", f.Path, dir)
	}
	return nil
}

// SHA256 returns the file's digest in hexadecimal.
func SHA256(path string) (string, error) {
	file, err := os.Open(path) //nolint:gosec // a file of the models directory
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }() // opened for reading
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
