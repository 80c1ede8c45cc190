package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	modelsDir  = "/usr/share/agegate/models"
	libraryDir = "/usr/lib/agegate"
	docDir     = "/usr/share/doc/agegate"
)

// file is one entry of a package or a layer: a regular file with its data, a
// symbolic link, or a directory.
type file struct {
	path string // absolute
	mode fs.FileMode
	data []byte
	link string // target of a symbolic link
	uid  int    // and group ID
}

// component is a file of the models' manifests.
type component struct {
	File    string `json:"file"`
	SHA256  string `json:"sha256"`
	Source  string `json:"source"`
	Licence string `json:"licence"`
}

// materials are the models with their manifests and tables, and ONNX Runtime.
type materials struct {
	runtime  component
	models   []component // sorted by file
	manifest []byte      // with the digest of the runtime for the release's processor
	files    []string    // the other manifest, and the tables that have no entry in them
}

// readMaterials reads the manifests of models/ and checks the files against them.
func readMaterials(r release) (materials, error) {
	var manifest struct {
		Runtime component            `json:"runtime"`
		Models  map[string]component `json:"models"`
	}
	var tail struct {
		component
		Front *component `json:"front"`
	}
	dir := filepath.Join(r.root, "models")
	if err := errors.Join(readJSON(filepath.Join(dir, "manifest.json"), &manifest),
		readJSON(filepath.Join(dir, "agetail.json"), &tail)); err != nil {
		return materials{}, err
	}
	m := materials{runtime: manifest.Runtime,
		files: []string{"agetail.json", "accuracy.csv", "targets.csv"}}
	for _, c := range manifest.Models {
		m.models = append(m.models, c)
	}
	m.models = append(m.models, tail.component)
	if tail.Front != nil {
		m.models = append(m.models, *tail.Front)
	}
	slices.SortFunc(m.models, func(a, b component) int { return strings.Compare(a.File, b.File) })
	for _, c := range append([]component{m.runtime}, m.models...) {
		data, err := os.ReadFile(filepath.Join(dir, c.File))
		if err != nil {
			return m, err
		}
		if fmt.Sprintf("%x", sha256.Sum256(data)) != c.SHA256 {
			return m, fmt.Errorf("models/%s is not the file its manifest describes: run `make models`", c.File)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if err != nil {
		return m, err
	}
	library, err := os.ReadFile(r.runtime)
	if err != nil {
		return m, err
	}
	digest := fmt.Sprintf("%x", sha256.Sum256(library))
	m.manifest = bytes.Replace(text, []byte(m.runtime.SHA256), []byte(digest), 1)
	m.runtime.SHA256 = digest
	return m, nil
}

// modelFiles returns the models directory and ONNX Runtime, where the package has them. A
// link places the runtime where the gateway looks for it.
func modelFiles(r release) ([]file, error) {
	if r.name == documents {
		return nil, nil
	}
	m, err := readMaterials(r)
	if err != nil {
		return nil, err
	}
	files := []file{{path: modelsDir + "/manifest.json", mode: 0o644, data: m.manifest}}
	for _, c := range m.models {
		m.files = append(m.files, c.File)
	}
	for _, name := range m.files {
		files, err = addFile(files, modelsDir+"/"+name, 0o644, r.root, "models", name)
		if err != nil {
			return nil, err
		}
	}
	library := libraryDir + "/" + m.runtime.File
	link, err := filepath.Rel(modelsDir, library) // Debian wants links within /usr to be relative
	if err != nil {
		return nil, err
	}
	files = append(files, file{path: modelsDir + "/" + m.runtime.File, mode: fs.ModeSymlink | 0o777, link: link})
	return addFile(files, library, 0o644, r.runtime)
}

// copyright precedes NOTICE in the file of this name. Debian's packages refer to the
// text of the licence, which every Debian has; licences.txt has it too.
const copyright = `Copyright the authors of agegate

Licensed under the Apache License, Version 2.0. On Debian systems, its text is
in /usr/share/common-licenses/Apache-2.0; it is also in
/usr/share/doc/agegate/licences.txt.

`

// notice returns what a text such as NOTICE says of what is in the package.
func (r release) notice(text string) string {
	if r.name == documents {
		text, _, _ = strings.Cut(text, "\nFace models and ONNX Runtime\n---")
	}
	return text
}

// programFiles returns the gateway, the door and their documents.
func programFiles(r release, modules []dependency) ([]file, error) {
	files, err := addFile(nil, "/usr/bin/agegate", 0o755, r.binary)
	if err != nil {
		return nil, err
	}
	if files, err = addFile(files, "/usr/bin/agegate-door", 0o755, r.door); err != nil {
		return nil, err
	}
	notice, err := os.ReadFile(filepath.Join(r.root, "NOTICE"))
	if err != nil {
		return nil, err
	}
	licences, err := allLicences(r, modules)
	if err != nil {
		return nil, err
	}
	return append(files,
		file{path: "/usr/share/doc/" + r.name + "/copyright", mode: 0o644,
			data: []byte(copyright + r.notice(string(notice)))},
		file{path: docDir + "/licences.txt", mode: 0o644, data: licences}), nil
}

// addFile appends a file with the data at the joined source path.
func addFile(files []file, path string, mode fs.FileMode, source ...string) ([]file, error) {
	data, err := os.ReadFile(filepath.Join(source...))
	return append(files, file{path: path, mode: mode, data: data}), err
}

func readJSON(path string, to any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, to); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
