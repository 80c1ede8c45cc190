package calibration_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agegate/internal/check/age"
	"agegate/internal/check/age/calibration"
	"agegate/internal/check/inference"
	"agegate/internal/check/vision"
)

func manifest(detector, ager string) inference.Manifest {
	return inference.Manifest{Models: map[inference.Model]inference.File{
		inference.Detector: {SHA256: detector}, inference.Ager: {SHA256: ager}, inference.Mesh: {SHA256: "any"},
	}}
}

// madeUp is a head of the usual size that was fitted on nothing.
func madeUp(seed uint64) *calibration.Head {
	const components, hidden, networks = 100, 64, 5
	random := rand.New(rand.NewPCG(seed, 0))
	floats := func(n int) calibration.Floats {
		out := make(calibration.Floats, n)
		for i := range out {
			out[i] = float32(0.1 * random.NormFloat64())
		}
		return out
	}
	h := &calibration.Head{Youngest: 8, Oldest: 50}
	h.Projection = calibration.Projection{Mean: floats(calibration.Inputs), Basis: floats(components * calibration.Inputs)}
	for range networks {
		h.Networks = append(h.Networks, &calibration.Network{
			Weights: floats(hidden * components), Biases: floats(hidden), Output: floats(hidden), Offset: floats(1)[0],
		})
	}
	return h
}

// views are features of nobody, each others.
func views(seed uint64, n int) []*vision.Features {
	random := rand.New(rand.NewPCG(seed, 0))
	out := make([]*vision.Features, n)
	for i := range out {
		out[i] = new(vision.Features)
		for _, v := range []*vision.View{&out[i].Whole, &out[i].Inner} {
			v.Distribution[random.IntN(len(v.Distribution))] = 1
			for j := range v.Descriptor {
				v.Descriptor[j] = float32(random.NormFloat64())
			}
		}
	}
	return out
}

// stored writes a calibration for the models "d" and "a" and returns its
// directory.
func stored(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	f := calibration.File{
		Format: calibration.Format, FittedAt: time.Unix(1_800_000_000, 0).UTC(), Head: *madeUp(1),
		Data:    calibration.Data{Name: "made up", Pictures: 430, Youngest: 8, Oldest: 50},
		Models:  calibration.ModelHashes(manifest("d", "a")),
		Metrics: json.RawMessage(`{"target":18}`),
	}
	if err := f.Write(filepath.Join(dir, calibration.FileName)); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestLoadHead(t *testing.T) {
	loaded, info, err := calibration.LoadHead(stored(t), manifest("d", "a"))
	if err != nil {
		t.Fatal(err)
	}
	if info.Data.Name != "made up" || info.FittedAt.Unix() != 1_800_000_000 {
		t.Errorf("says %+v", info.Data)
	}
	h, several := madeUp(1), map[float64]bool{}
	for _, f := range views(6, 43) {
		got, want := loaded.Age(f), h.Age(f)
		if got != want {
			t.Errorf("%v after the file, %v before", got, want)
		}
		several[got] = true
	}
	if len(several) < 20 {
		t.Errorf("only %d different ages: nothing was compared", len(several))
	}
}

func TestLoadHeadWithoutCalibration(t *testing.T) {
	loaded, info, err := calibration.LoadHead(t.TempDir(), manifest("d", "a"))
	if !errors.Is(err, calibration.ErrMissing) || info != nil || loaded != (age.ExpectedValue{}) {
		t.Errorf("%v, %v, %v", loaded, info, err)
	}
}

func TestLoadHeadWithTail(t *testing.T) {
	m := manifest("d", "a")
	m.Models[inference.Tail] = inference.File{}
	loaded, _, err := calibration.LoadHead(stored(t), m)
	if tuned, ok := loaded.(age.Tuned); err != nil || !ok || tuned.Other == nil {
		t.Errorf("with a calibration: %T, %v", loaded, err)
	}
	if loaded, _, err = calibration.LoadHead(t.TempDir(), m); !errors.Is(err, calibration.ErrMissing) || loaded != (age.Tuned{}) {
		t.Errorf("without one: %v, %v", loaded, err)
	}
}

func TestLoadHeadRefusesOtherModels(t *testing.T) {
	dir := stored(t)
	for _, m := range []inference.Manifest{manifest("d", "x"), manifest("x", "a"), {}} {
		loaded, _, err := calibration.LoadHead(dir, m)
		if !errors.Is(err, calibration.ErrOtherModels) || loaded != nil {
			t.Errorf("%+v: %v", m.Models, err)
		} else if !strings.Contains(err.Error(), "agegate calibrate") {
			t.Errorf("%q does not say what to run", err)
		}
	}
}

func TestLoadHeadRefusesDamage(t *testing.T) {
	notANumber := base64.StdEncoding.EncodeToString([]byte{0, 0, 0xc0, 0x7f})
	rows := []struct {
		name   string
		damage func(text string, f map[string]any) string
		want   string
	}{
		{"cut off", func(text string, _ map[string]any) string { return text[:len(text)/2] }, "unexpected end"},
		{"empty", func(string, map[string]any) string { return "" }, "unexpected end"},
		{"other format", func(_ string, f map[string]any) string { f["format"] = 1; return "" }, "format 1, not 2"},
		{"not a number", func(_ string, f map[string]any) string { networkOf(f)["biases"] = notANumber; return "" }, "not finite"},
		{"offset too large", func(_ string, f map[string]any) string { networkOf(f)["offset"] = 1e60; return "" }, "offset"},
		{"half a number", func(_ string, f map[string]any) string { networkOf(f)["output"] = "AAAA"; return "" }, "cut off"},
		{"unit missing", func(_ string, f map[string]any) string { networkOf(f)["output"] = "AAAAAA=="; return "" }, "has 64 biases and 1 outputs"},
		{"no network", func(_ string, f map[string]any) string { headOf(f)["networks"] = nil; return "" }, "no networks"},
		{"null network", func(_ string, f map[string]any) string { headOf(f)["networks"] = []any{nil}; return "" }, "empty network"},
		{"no basis", func(_ string, f map[string]any) string {
			headOf(f)["projection"].(map[string]any)["basis"] = ""
			return ""
		}, "projection"},
		{"ages reversed", func(_ string, f map[string]any) string { headOf(f)["oldest"] = 3; return "" }, "ages 8 to 3"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			dir := stored(t)
			path := filepath.Join(dir, calibration.FileName)
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var f map[string]any
			if err := json.Unmarshal(text, &f); err != nil {
				t.Fatal(err)
			}
			damaged := []byte(row.damage(string(text), f))
			if len(damaged) == 0 && row.name != "empty" {
				if damaged, err = json.Marshal(f); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(path, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			loaded, _, err := calibration.LoadHead(dir, manifest("d", "a"))
			if err == nil || loaded != nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("%v does not say %q", err, row.want)
			}
		})
	}
}

func headOf(f map[string]any) map[string]any { return f["head"].(map[string]any) }

func networkOf(f map[string]any) map[string]any {
	return headOf(f)["networks"].([]any)[0].(map[string]any)
}

func BenchmarkAge(b *testing.B) {
	h, f := madeUp(1), views(9, 1)[0]
	for b.Loop() {
		h.Age(f)
	}
}
