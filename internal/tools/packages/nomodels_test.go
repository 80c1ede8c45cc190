package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestDocumentsPackage: the package agegate-documents contains neither models nor ONNX
// Runtime, names neither among its content, and stands in for the package agegate.
func TestDocumentsPackage(t *testing.T) {
	with := built(t)
	without := with
	without.name = documents
	for _, tt := range []struct {
		r        release
		control  string
		settings string
		has      bool // models and ONNX Runtime
	}{
		{with, "agegate-documents, agegate-documents, ", "AGEGATE_MODELS_DIR=", true},
		{without, "agegate, agegate, agegate", "AGEGATE_ESTIMATOR=off", false},
	} {
		path, root := tt.r.path(".deb"), t.TempDir()
		fields := exec.Command("dpkg-deb", "--show", "--showformat=${Conflicts}, ${Replaces}, ${Provides}", path)
		if got := output(t, fields); got != tt.control {
			t.Errorf("%s conflicts with, replaces and provides %q", tt.r.name, got)
		}
		output(t, exec.Command("dpkg-deb", "--extract", path, root))
		environment := read(t, root, "/usr/share/agegate/agegate.env")
		for _, setting := range []string{"AGEGATE_MODELS_DIR=", "AGEGATE_ESTIMATOR=off"} {
			if got := strings.Contains(environment, "\n"+setting); got != (setting == tt.settings) {
				t.Errorf("%s: the environment has %s: %v", tt.r.name, setting, got)
			}
		}
		names := output(t, exec.Command("dpkg-deb", "--contents", path))
		bom := read(t, filepath.Dir(path), filepath.Base(tt.r.path(".cdx.json")))
		licences, notice := read(t, root, docDir+"/licences.txt"), read(t, root, docDir+"/NOTICE")
		for what, in := range map[string]string{
			"/models/": names, "libonnxruntime": names, "libonnxruntime.so.1": bom, "machine-learning-model": bom,
			"libstdc++": bom, "\nONNX Runtime\n": licences, "The face models\n": licences, "vladmandic": licences + notice,
			"VGG": licences + notice, "Microsoft": notice,
			"onnxruntime-node": read(t, root, "/usr/share/doc/"+tt.r.name+"/copyright"),
		} {
			if got := strings.Contains(in, what); got != tt.has {
				t.Errorf("%s has %q: %v", tt.r.name, what, got)
			}
		}
		// They are part of the programs.
		for _, what := range []string{"weights.json", "reference.json", "gate.json"} {
			if !strings.Contains(notice, what) || !strings.Contains(licences, what) {
				t.Errorf("%s does not name %s", tt.r.name, what)
			}
		}
	}
}

func read(t *testing.T, root, path string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestDebWithoutModels installs agegate-documents on a bare Debian, where it serves with
// the estimator off, and then the other package in its place.
func TestDebWithoutModels(t *testing.T) {
	with := built(t)
	without := with
	without.name = documents
	m := bareDebian(t)
	m.install(without)
	at := m.configure()
	m.run("systemctl", "enable", "--now", "agegate")
	m.ready(at)
	found, _ := m.agegate("doctor").CombinedOutput() // fails if it finds a problem, such as an address without https
	for _, log := range []string{string(found), m.run("journalctl", "--unit", "agegate", "--no-pager")} {
		if !strings.Contains(log, "the estimator is off") {
			t.Errorf("nothing says that the estimator is off:\n%s", log)
		}
	}
	configured := m.read(environmentFile)
	m.install(with)
	m.run("apt-get", "purge", "--yes", documents)
	if !bytes.Equal(m.read(environmentFile), configured) || !m.exists(modelsDir+"/manifest.json") {
		t.Error("the other package has not the configuration, or not its models")
	}
	m.run("systemctl", "enable", "--now", "agegate")
	m.ready(at)
}

// TestImageWithoutModels starts the image agegate-documents, which has neither models nor
// ONNX Runtime, nor the libraries that this needs.
func TestImageWithoutModels(t *testing.T) {
	needRoot(t, "chroot")
	r, root := built(t), filepath.Join(work, "image-documents")
	r.name = documents
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	config := unpack(t, r, root)
	for _, name := range []string{libraryDir, modelsDir, "/usr/share/doc/libstdc++6"} {
		if _, err := os.Stat(root + name); err == nil {
			t.Errorf("the image has %s", name)
		}
	}
	address := freeAddress(t)
	cmd := exec.Command("chroot", root, config.Config.Entrypoint[0], "serve")
	cmd.Env = append(config.Config.Env, "AGEGATE_LISTEN="+address, "AGEGATE_BASE_URL=http://"+address,
		"AGEGATE_SECRET_KEY=AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
	gateway := serve(t, cmd, "http://"+address)
	gateway.stop()
	if !strings.Contains(gateway.log.String(), "the estimator is off") {
		t.Errorf("the log does not say that the estimator is off:\n%s", gateway.log)
	}
}
