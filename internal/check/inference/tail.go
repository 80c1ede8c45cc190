package inference

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// TailManifestName is the file in the models directory that describes the
// fine-tuned tail. `make train` writes it, and it may be absent.
const TailManifestName = "agetail.json"

// TailManifest describes a tail: the model, the stock model whose feature map
// is its input, and its training data.
type TailManifest struct {
	File
	// Front is the stock model in eight bits, from which this tail takes its map
	// instead; nil if it takes the stock model's own.
	Front *File  `json:"front,omitempty"`
	Base  string `json:"base"` // SHA-256 of the age model
	Scale Scale  `json:"scale"`
	// Second is how the second age model's years join the estimate; nil if they do
	// not.
	Second    *SecondScale    `json:"second,omitempty"`
	TrainedAt time.Time       `json:"trained_at"`
	Data      TailData        `json:"data"`
	Training  json.RawMessage `json:"training,omitempty"` // how the tail was trained
	Figures   json.RawMessage `json:"figures"`            // measured on pictures held out from training
}

// SecondScale converts the years of the second age model, as a tail's scale converts
// the tail's readings. Base is the SHA-256 of that model.
type SecondScale struct {
	Base  string `json:"base"`
	Scale Scale  `json:"scale"`
}

// ofTail are the roles that only a tail's manifest fills.
var ofTail = map[Model]bool{Tail: true, Front: true}

// TailData says what a tail was trained on.
type TailData struct {
	Name     string `json:"name"`
	Pictures int    `json:"pictures"`
	Youngest int    `json:"youngest"` // years
	Oldest   int    `json:"oldest"`
}

// ErrOtherBase is returned for a tail that was trained on another age model than the
// one in the directory.
var ErrOtherBase = errors.New("the tail was trained on another age model: remove this file, then run `make train`")

// ErrOtherSecond is returned for a scale that was fitted to another second age model
// than the one in the directory.
var ErrOtherSecond = errors.New("the scale of the second age model was fitted to another model: run `agegate-lab fit`")

// addTail gives the tail its role, if the directory has one.
func (m *Manifest) addTail(dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, TailManifestName)) //nolint:gosec // the operator chose the directory
	if errors.Is(err, os.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	var t TailManifest
	if err := json.Unmarshal(text, &t); err != nil {
		return err
	}
	if t.Base != m.Models[Ager].SHA256 {
		return ErrOtherBase
	}
	if _, ok := m.Models[Ager].Outputs["map"]; !ok && t.Front == nil {
		return fmt.Errorf("the age model gives no %q", "map")
	}
	if err := errors.Join(t.Scale.check(), t.Second.check(*m), t.verify(dir)); err != nil {
		return err
	}
	m.Models[Tail], m.Tail = t.File, &t
	return m.addFront(dir)
}

func (s *SecondScale) check(m Manifest) error {
	switch {
	case s == nil:
		return nil
	case s.Base != m.Models[Second].SHA256:
		return ErrOtherSecond
	}
	return s.Scale.check()
}

// addFront gives the tail's front its role, if the tail has one. Its input is that
// of the age model.
func (m *Manifest) addFront(dir string) error {
	if m.Tail.Front == nil {
		return nil
	}
	front := *m.Tail.Front
	for name := range Outputs[Front] {
		if _, ok := front.Outputs[name]; !ok {
			return fmt.Errorf("%s lacks the output %q", front.Path, name)
		}
	}
	if err := front.verify(dir); err != nil {
		return err
	}
	front.Input = m.Models[Ager].Input
	m.Models[Front] = front
	return nil
}
