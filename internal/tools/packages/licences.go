package main

import (
	"bytes"
	"cmp"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|copyright|notice|patents)([.-]|$)`)

// ownModules begins the paths of modules of this repository.
const ownModules = "github.com/agegate/agegate/"

// dependency is the work of others in a release, with a directory that has its licence.
type dependency struct{ name, version, dir string }

// linkedModules returns the modules of others, and Go itself as the module std, that
// are linked into the gateway or the door. A module that both contain in one version
// appears once.
func linkedModules(r release) ([]dependency, error) {
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	var modules []dependency
	for program, dir := range map[string]string{r.binary: r.root, r.door: filepath.Join(r.root, "sdk/door")} {
		info, err := buildinfo.ReadFile(program)
		if err != nil {
			return nil, err
		}
		std := dependency{"std", strings.TrimPrefix(info.GoVersion, "go"), strings.TrimSpace(string(goroot))}
		modules = append(modules, std)
		list := exec.Command("go", "list", "-m", "-f", "{{.Path}} {{.Version}} {{.Dir}}")
		list.Dir = dir
		for _, dep := range info.Deps {
			if !strings.HasPrefix(dep.Path, ownModules) {
				list.Args = append(list.Args, dep.Path)
			}
		}
		list.Stderr = os.Stderr
		lines, err := list.Output()
		if err != nil {
			return nil, fmt.Errorf("go list -m: %w", err)
		}
		for line := range strings.Lines(string(lines)) {
			var m dependency
			if _, err := fmt.Sscan(line, &m.name, &m.version, &m.dir); err != nil {
				return nil, fmt.Errorf("go list -m: %w", err)
			}
			modules = append(modules, m)
		}
	}
	slices.SortFunc(modules, func(a, b dependency) int {
		return cmp.Or(strings.Compare(a.name, b.name), strings.Compare(a.version, b.version))
	})
	return slices.Compact(modules), nil
}

// allLicences returns the licences of everything that is linked into the programs or
// shipped with them. Each text appears once, after the names of what it covers.
func allLicences(r release, modules []dependency) ([]byte, error) {
	names := map[string][]string{} // names of the works, by licence text
	var order []string
	works := []dependency{
		{name: "agegate", dir: r.root},
		{name: "The face models", dir: filepath.Join(r.root, "node_modules/@vladmandic/human")},
		{name: "The second age model and the face matcher", dir: filepath.Join(r.root, "node_modules/@vladmandic/face-api")},
		{name: "ONNX Runtime", dir: filepath.Join(r.root, "deploy/licences/onnxruntime")},
	}
	if r.name == documents {
		works = works[:1]
	}
	for _, work := range append(works, modules...) {
		texts, err := work.licenceTexts()
		if err != nil {
			return nil, err
		}
		for _, text := range texts {
			text = r.notice(text)
			if names[text] == nil {
				order = append(order, text)
			}
			names[text] = append(names[text], strings.TrimSpace(work.name+" "+work.version))
		}
	}
	var out bytes.Buffer
	for _, text := range order {
		fmt.Fprintf(&out, "%s\n\n%s\n\n%s\n\n", strings.Join(names[text], "\n"), text, strings.Repeat("-", 72))
	}
	return out.Bytes(), nil
}

// licenceTexts returns the texts of the licence files in the directory of d, of which
// there must be one.
func (d dependency) licenceTexts() ([]string, error) {
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		return nil, err
	}
	var texts []string
	for _, entry := range entries {
		if entry.IsDir() || !licenceFile.MatchString(entry.Name()) {
			continue
		}
		data, err := os.ReadFile(filepath.Join(d.dir, entry.Name()))
		if err != nil {
			return nil, err
		}
		texts = append(texts, string(bytes.TrimSpace(data)))
	}
	if texts == nil {
		return nil, fmt.Errorf("%s has no licence in %s", d.name, d.dir)
	}
	return texts, nil
}

// licenceIDs returns the SPDX identifiers of the licences in the directory of d,
// sorted. It must find one.
func (d dependency) licenceIDs() ([]string, error) {
	texts, err := d.licenceTexts()
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, match := range licensecheck.Scan([]byte(strings.Join(texts, "\n\n"))).Match {
		if !match.IsURL {
			ids = append(ids, match.ID)
		}
	}
	if ids == nil {
		return nil, fmt.Errorf("the licence of %s in %s is not one of SPDX", d.name, d.dir)
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}
