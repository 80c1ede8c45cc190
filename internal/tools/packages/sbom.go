package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// writeSBOM writes a bill of materials in the CycloneDX format: the Go modules
// listed in the programs, the models, ONNX Runtime, and the Debian libraries that
// the package depends on and the image contains.
func writeSBOM(r release, debian needs) error {
	info, err := buildinfo.ReadFile(r.binary)
	if err != nil {
		return err
	}
	door, err := buildinfo.ReadFile(r.door)
	if err != nil {
		return err
	}
	materials, err := readMaterials(r.root)
	if err != nil {
		return err
	}
	components := []cdx.Component{module("std", strings.TrimPrefix(info.GoVersion, "go"))}
	for i, dep := range slices.Concat(info.Deps, door.Deps) {
		same := func(d *debug.Module) bool { return d.Path == dep.Path && d.Version == dep.Version }
		if i < len(info.Deps) || !slices.ContainsFunc(info.Deps, same) {
			components = append(components, module(dep.Path, dep.Version))
		}
	}
	components = append(components, part(cdx.ComponentTypeLibrary, materials.runtime))
	for _, model := range materials.models {
		components = append(components, part(cdx.ComponentTypeMachineLearningModel, model))
	}
	for _, pkg := range debian.packages {
		url := "pkg:deb/" + debian.vendor + "/" + pkg.name + "@" + pkg.version + "?arch=" + runtime.GOARCH
		components = append(components, cdx.Component{Type: cdx.ComponentTypeLibrary, BOMRef: url, PackageURL: url,
			Name: pkg.name, Version: pkg.version})
	}
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{
		Timestamp: r.time.Format("2006-01-02T15:04:05Z"),
		Component: &cdx.Component{
			Type: cdx.ComponentTypeApplication, BOMRef: "agegate", Name: "agegate", Version: r.version,
			Licenses: licence("Apache-2.0"),
		},
	}
	bom.Components = &components
	return write(r.path(".cdx.json"), func(out *os.File) error {
		return cdx.NewBOMEncoder(out, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
	})
}

func module(path, version string) cdx.Component {
	url := "pkg:golang/" + path + "@" + version
	return cdx.Component{Type: cdx.ComponentTypeLibrary, BOMRef: url, PackageURL: url, Name: path, Version: version}
}

func part(kind cdx.ComponentType, c component) cdx.Component {
	return cdx.Component{
		Type: kind, BOMRef: c.File, Name: c.File, Description: c.Source, Licenses: licence(c.Licence),
		Hashes: &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: c.SHA256}},
	}
}

// licence returns a licence by its SPDX name if text is one.
func licence(text string) *cdx.Licenses {
	if slices.Contains([]string{"MIT", "Apache-2.0"}, text) {
		return &cdx.Licenses{{License: &cdx.License{ID: text}}}
	}
	return &cdx.Licenses{{License: &cdx.License{Name: text}}}
}

// writeSums writes SHA256SUMS for the files of this release.
func writeSums(r release) error {
	paths, err := filepath.Glob(r.path("*"))
	if err != nil {
		return err
	}
	var sums bytes.Buffer
	for _, path := range paths { // sorted
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(data), filepath.Base(path))
	}
	return write(filepath.Join(r.out, "SHA256SUMS"), func(out *os.File) error {
		_, err := sums.WriteTo(out)
		return err
	})
}
