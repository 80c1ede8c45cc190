// Command convert fills the models directory from node_modules: it turns the
// TensorFlow.js models of @vladmandic/human and @vladmandic/face-api into ONNX
// files, copies the ONNX Runtime library of onnxruntime-node next to them, and
// writes the manifest last, so that its presence means the rest is complete.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"runtime"

	"agegate/internal/check/inference"
	"agegate/internal/lab/curve"
	"agegate/internal/tools/tfjs"
)

// readable is the mode of the files: they are public, and the server may run as
// another user than the one who installs them.
const readable = 0o644

func main() {
	log.SetFlags(0)
	from := flag.String("from", "node_modules", "directory of the installed npm packages")
	to := flag.String("to", "models", "directory to fill")
	flag.Parse()
	if err := run(*from, *to); err != nil {
		log.Fatal(err)
	}
}

func run(from, to string) error {
	if err := os.MkdirAll(to, 0o755); err != nil { //nolint:gosec // see readable
		return err
	}
	library, err := copyRuntime(filepath.Join(from, "onnxruntime-node"), to)
	if err != nil {
		return err
	}
	manifest := inference.Manifest{Runtime: library, Models: map[inference.Model]inference.File{}}
	for role, m := range models {
		file, err := m.convert(filepath.Join(from, m.from), to)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		manifest.Models[role] = file
	}
	path := filepath.Join(to, inference.ManifestName)
	if err := curve.WriteJSON(path, manifest); err != nil {
		return err
	}
	log.Printf("%s: %d models and ONNX Runtime", path, len(manifest.Models))
	return nil
}

func (m model) convert(from, to string) (inference.File, error) {
	file := inference.File{Path: m.name + ".onnx", Input: &m.input, Outputs: map[string]string{}, Licence: m.licence}
	version, err := packageVersion(from)
	if err != nil {
		return file, err
	}
	file.Source = fmt.Sprintf("npm %s %s, %s; originally %s", m.from, version, m.path, m.origin)
	graph, err := m.load(filepath.Join(from, m.path))
	if err != nil {
		return file, err
	}
	var outputs []tfjs.Output
	for _, o := range m.outputs {
		outputs = append(outputs, o.Output)
		file.Outputs[o.Name] = o.meaning
	}
	data, err := graph.ToONNX(outputs)
	if err != nil {
		return file, err
	}
	path := filepath.Join(to, file.Path)
	if err := os.WriteFile(path, data, readable); err != nil {
		return file, err
	}
	file.SHA256, err = inference.SHA256(path)
	return file, err
}

// copyRuntime copies the shared library for this machine.
func copyRuntime(from, to string) (inference.File, error) {
	platform := map[string]string{
		"linux/amd64":  "linux/x64/libonnxruntime.so.1",
		"linux/arm64":  "linux/arm64/libonnxruntime.so.1",
		"darwin/arm64": "darwin/arm64/libonnxruntime.*.dylib",
	}[runtime.GOOS+"/"+runtime.GOARCH]
	found, _ := filepath.Glob(filepath.Join(from, "bin", "napi-v6", platform))
	if platform == "" || len(found) != 1 {
		return inference.File{}, fmt.Errorf("onnxruntime-node has no library for %s/%s", runtime.GOOS, runtime.GOARCH)
	}
	version, err := packageVersion(from)
	if err != nil {
		return inference.File{}, err
	}
	data, err := os.ReadFile(found[0])
	if err != nil {
		return inference.File{}, err
	}
	file := inference.File{
		Path:    filepath.Base(found[0]),
		Source:  "npm onnxruntime-node " + version + ", https://github.com/microsoft/onnxruntime",
		Licence: "MIT",
	}
	path := filepath.Join(to, file.Path)
	// The file is replaced by renaming, because a running server may have mapped
	// the old one.
	if err := os.WriteFile(path+".new", data, readable); err != nil { //nolint:gosec // the path is a flag of ours
		return file, err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return file, err
	}
	file.SHA256, err = inference.SHA256(path)
	return file, err
}

func packageVersion(dir string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, "package.json")) //nolint:gosec // of an installed package
	if err != nil {
		return "", fmt.Errorf("run `npm ci --ignore-scripts` first: %w", err)
	}
	var pkg struct {
		Version string `json:"version"`
	}
	err = json.Unmarshal(text, &pkg)
	return pkg.Version, err
}
