package inference_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agegate/internal/check/inference"
	"agegate/internal/check/vision/visiontest"
)

func TestPoolBoundsItsWorkers(t *testing.T) {
	pool, err := inference.Open(filepath.Join(visiontest.Root(), "models"), 1)
	if err != nil {
		t.Fatal(err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	for range 20 {
		w, err := pool.Acquire(ended)
		if err != nil {
			t.Fatalf("a free worker was refused: %v", err)
		}
		w.Release()
	}
	first, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if pool.Busy() != 1 || pool.Size() != 1 {
		t.Errorf("busy %d of %d, want 1 of 1", pool.Busy(), pool.Size())
	}
	impatient, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := pool.Acquire(impatient); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a second worker: %v, want the context's error", err)
	}
	patient, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	waiting := make(chan error)
	go func() {
		second, err := pool.Acquire(patient)
		if err == nil {
			second.Release()
		}
		waiting <- err
	}()
	first.Release()
	if err := <-waiting; err != nil {
		t.Errorf("the one who waited: %v", err)
	}
	if err := pool.Close(); err != nil {
		t.Error(err)
	}
	if _, err := pool.Acquire(t.Context()); !errors.Is(err, inference.ErrClosed) {
		t.Errorf("after Close: %v, want ErrClosed", err)
	}
}

// TestOpenRefuses: every fault of a models directory is found at startup, and the
// error for missing files says how to get them.
func TestOpenRefuses(t *testing.T) {
	rows := []struct {
		name    string
		change  func(dir string, m *inference.Manifest)
		missing bool
		want    string
	}{
		{"no manifest", func(dir string, m *inference.Manifest) {
			m.Models = nil
			os.Remove(filepath.Join(dir, inference.ManifestName))
		}, true, "make models"},
		{"no model file", func(dir string, _ *inference.Manifest) { os.Remove(filepath.Join(dir, "faceres.onnx")) }, true,
			"no faceres.onnx"},
		{"no library", func(dir string, m *inference.Manifest) { os.Remove(filepath.Join(dir, m.Runtime.Path)) }, true,
			"make models"},
		{"changed model", func(dir string, _ *inference.Manifest) {
			os.Remove(filepath.Join(dir, "liveness.onnx"))
			os.WriteFile(filepath.Join(dir, "liveness.onnx"), []byte("other"), 0o600)
		}, false, "SHA-256 differs"},
		{"role unfilled", func(_ string, m *inference.Manifest) { delete(m.Models, inference.Mesh) }, true,
			`no file for the role "mesh"`},
		{"file elsewhere", func(_ string, m *inference.Manifest) { m.Runtime.Path = "../lib.so" }, false,
			"leaves the models directory"},
		{"wrong model in a role", func(_ string, m *inference.Manifest) {
			file := m.Models[inference.Antispoof]
			file.Path, file.SHA256 = m.Models[inference.Liveness].Path, m.Models[inference.Liveness].SHA256
			m.Models[inference.Antispoof] = file
		}, false, "model liveness.onnx: has 0 of the 1 outputs"},
	}
	source := filepath.Join(visiontest.Root(), "models")
	visiontest.Pool(t) // the library of the real directory is the one in use
	for _, row := range rows {
		manifest, err := inference.ReadManifest(source)
		if err != nil {
			t.Fatal(err)
		}
		dir := linked(t, source)
		write(t, dir, manifest)
		row.change(dir, &manifest)
		if manifest.Models != nil {
			write(t, dir, manifest)
		}
		pool, err := inference.Open(dir, 1)
		if err == nil {
			t.Errorf("%s: opened", row.name)
			pool.Close()
			continue
		}
		if errors.Is(err, inference.ErrMissing) != row.missing || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v, want %q", row.name, err, row.want)
		}
	}
}

// TestOpenWithout: a role that the caller does not use, or that the manifest does not
// fill, stays empty.
func TestOpenWithout(t *testing.T) {
	source := filepath.Join(visiontest.Root(), "models")
	visiontest.Pool(t) // the library of the real directory is the one in use
	manifest, err := inference.ReadManifest(source)
	if err != nil {
		t.Fatal(err)
	}
	delete(manifest.Models, inference.Matcher)
	dir := linked(t, source)
	write(t, dir, manifest)
	for _, row := range []struct {
		dir     string
		without []inference.Model
		has     bool
	}{
		{source, nil, true},
		{source, []inference.Model{inference.Matcher}, false},
		{dir, nil, false},
	} {
		pool, err := inference.Open(row.dir, 1, row.without...)
		if err != nil {
			t.Fatal(err)
		}
		w, err := pool.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if w.Has(inference.Matcher) != row.has || !w.Has(inference.Mesh) {
			t.Errorf("%s without %v: has the matcher: %t, want %t", row.dir, row.without, !row.has, row.has)
		}
		w.Release()
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestManifestDecides: a model is opened, and an output computed, if the manifest
// lists it, even if the pipeline does not know the role.
func TestManifestDecides(t *testing.T) {
	source := filepath.Join(visiontest.Root(), "models")
	visiontest.Pool(t) // the library of the real directory is the one in use
	manifest, err := inference.ReadManifest(source)
	if err != nil {
		t.Fatal(err)
	}
	manifest.Models["other"] = manifest.Models[inference.Liveness]
	dir := linked(t, source)
	write(t, dir, manifest)
	pool, err := inference.Open(dir, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pool.Close() }()
	w, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Release()
	if err := w.Run("other"); err != nil || len(w.Output("other", "live")) != 2 {
		t.Errorf("the further role gave %v, %v", w.Output("other", "live"), err)
	}
}

// linked returns a directory with links to the models.
func linked(t *testing.T, source string) string {
	t.Helper()
	dir := t.TempDir()
	entries, err := os.ReadDir(source)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() == inference.ManifestName {
			continue
		}
		if err := os.Symlink(filepath.Join(source, e.Name()), filepath.Join(dir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func write(t *testing.T, dir string, m inference.Manifest) {
	t.Helper()
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, inference.ManifestName), text, 0o600); err != nil {
		t.Fatal(err)
	}
}
