package inference_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agegate/internal/check/inference"
	"agegate/internal/check/vision/visiontest"
)

// TestTail: the tail is available if its manifest exists, and a tail that is
// damaged or belongs to another model is refused.
func TestTail(t *testing.T) {
	source := filepath.Join(visiontest.Root(), "models")
	visiontest.Pool(t) // the library of the real directory is the one in use
	rows := []struct {
		name   string
		change func(dir string, m *inference.TailManifest)
		has    bool
		want   string // of the error; "" for none
		is     error
	}{
		{"as shipped", func(string, *inference.TailManifest) {}, true, "", nil},
		{"absent", func(_ string, m *inference.TailManifest) { m.Path = "" }, false, "", nil},
		{"another base", func(_ string, m *inference.TailManifest) { m.Base = "0" }, false, "make train",
			inference.ErrOtherBase},
		{"a scale of another second model", func(_ string, m *inference.TailManifest) {
			m.Second = &inference.SecondScale{Base: "0"}
		}, false, "agegate-lab fit", inference.ErrOtherSecond},
		{"changed", func(dir string, m *inference.TailManifest) {
			os.Remove(filepath.Join(dir, m.Path))
			os.WriteFile(filepath.Join(dir, m.Path), []byte("other"), 0o600)
		}, false, "SHA-256 differs", nil},
		{"no tail at all", func(dir string, m *inference.TailManifest) {
			m.Path, m.SHA256 = "liveness.onnx", hash(t, filepath.Join(dir, "liveness.onnx"))
		}, false, "model liveness.onnx: takes 3072 values, want 100352", nil},
		{"of floats, as before there were fronts", func(_ string, m *inference.TailManifest) { m.Front = nil }, true, "",
			nil},
		{"another front", func(_ string, m *inference.TailManifest) { m.Front.SHA256 = "0" }, false, "agefront.onnx in", nil},
		{"a front elsewhere", func(_ string, m *inference.TailManifest) { m.Front.Path = "../agefront.onnx" }, false,
			"leaves the models directory", nil},
		{"a front without a map", func(_ string, m *inference.TailManifest) { delete(m.Front.Outputs, "map") }, false,
			`agefront.onnx lacks the output "map"`, nil},
		{"elsewhere", func(_ string, m *inference.TailManifest) { m.Path = "../agetail.onnx" }, false,
			"leaves the models directory", nil},
	}
	for _, row := range rows {
		manifest, err := inference.ReadManifest(source)
		if err != nil {
			t.Fatal(err)
		}
		dir := linked(t, source)
		write(t, dir, manifest)
		path := filepath.Join(dir, inference.TailManifestName)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var tail inference.TailManifest
		if err := json.Unmarshal(text, &tail); err != nil {
			t.Fatal(err)
		}
		os.Remove(path)
		row.change(dir, &tail)
		if text, _ = json.Marshal(tail); tail.Path != "" {
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		pool, err := inference.Open(dir, 1)
		if row.want != "" {
			if err == nil || !strings.Contains(err.Error(), row.want) || row.is != nil && !errors.Is(err, row.is) {
				t.Errorf("%s: %v, want %q", row.name, err, row.want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", row.name, err)
			continue
		}
		w, err := pool.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if w.Has(inference.Front) != (row.has && tail.Front != nil) {
			t.Errorf("%s: has the front: %v", row.name, w.Has(inference.Front))
		}
		if w.Has(inference.Tail) != row.has || !w.Has(inference.Ager) || (pool.Manifest.Tail != nil) != row.has {
			t.Errorf("%s: has the tail: %v", row.name, w.Has(inference.Tail))
		}
		w.Release()
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	}
}

func hash(t *testing.T, path string) string {
	t.Helper()
	sum, err := inference.SHA256(path)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}
