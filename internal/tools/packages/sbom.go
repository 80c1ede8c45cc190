package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// writeSBOM writes a bill of materials in the CycloneDX format: the Go modules
// listed in the programs, the models, ONNX Runtime, and the Debian libraries that
// the package depends on and the image contains.
func writeSBOM(r release, debian needs) error {
	var components []cdx.Component
	for _, m := range debian.modules {
		c, err := licensed(m, "pkg:golang/"+m.name+"@"+m.version)
		if err != nil {
			return err
		}
		components = append(components, c)
	}
	if r.name == full {
		materials, err := readMaterials(r)
		if err != nil {
			return err
		}
		components = append(components, part(cdx.ComponentTypeLibrary, materials.runtime))
		for _, model := range materials.models {
			components = append(components, part(cdx.ComponentTypeMachineLearningModel, model))
		}
	}
	for _, pkg := range debian.packages {
		url := "pkg:deb/" + debian.vendor + "/" + pkg.name + "@" + pkg.version + "?arch=" + r.arch
		c, err := licensed(dependency{pkg.name, pkg.version, "/usr/share/doc/" + pkg.name}, url)
		if err != nil {
			return err
		}
		components = append(components, c)
	}
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{
		Timestamp: r.time.Format("2006-01-02T15:04:05Z"),
		Component: &cdx.Component{
			Type: cdx.ComponentTypeApplication, BOMRef: r.name, Name: r.name, Version: r.version,
			Licenses: licences("Apache-2.0"),
		},
	}
	bom.Components = &components
	return write(r.path(".cdx.json"), func(out *os.File) error {
		return cdx.NewBOMEncoder(out, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
	})
}

// licensed returns a linked module or a package of Debian, with all licences that its
// files name.
func licensed(d dependency, url string) (cdx.Component, error) {
	ids, err := d.licenceIDs()
	if err != nil {
		return cdx.Component{}, err
	}
	return cdx.Component{Type: cdx.ComponentTypeLibrary, BOMRef: url, PackageURL: url, Name: d.name, Version: d.version,
		Licenses: licences(ids...)}, nil
}

func part(kind cdx.ComponentType, c component) cdx.Component {
	return cdx.Component{
		Type: kind, BOMRef: c.File, Name: c.File, Description: c.Source, Licenses: licences(c.Licence),
		Hashes: &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: c.SHA256}},
	}
}

// licences returns licences by their SPDX identifiers or by other words: those with
// spaces, and Go's grant of patents.
func licences(names ...string) *cdx.Licenses {
	var all cdx.Licenses
	for _, name := range names {
		if strings.Contains(name, " ") || name == "GooglePatentsFile" {
			all = append(all, cdx.LicenseChoice{License: &cdx.License{Name: name}})
		} else {
			all = append(all, cdx.LicenseChoice{License: &cdx.License{ID: name}})
		}
	}
	return &all
}

// writeSums writes SHA256SUMS for the files of this release, with models and without.
func writeSums(r release) error {
	r.name = full + "*" // and documents
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
