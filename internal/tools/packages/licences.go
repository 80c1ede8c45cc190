package main

import (
	"bytes"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|copyright|notice|patents)([.-]|$)`)

// ownModules begins the paths of modules of this repository.
const ownModules = "github.com/agegate/agegate/"

// linkedModules returns the modules of others that are linked into a program which
// was built in a directory: a line for each with its name, a tab and its directory.
func linkedModules(program, dir string) (version, lines string, err error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return "", "", err
	}
	list := exec.Command("go", "list", "-m", "-f", "{{.Path}} {{.Version}}\t{{.Dir}}")
	list.Dir = dir
	for _, dep := range info.Deps {
		if !strings.HasPrefix(dep.Path, ownModules) {
			list.Args = append(list.Args, dep.Path)
		}
	}
	list.Stderr = os.Stderr
	modules, err := list.Output()
	if err != nil {
		return "", "", fmt.Errorf("go list -m: %w", err)
	}
	return info.GoVersion, string(modules), nil
}

// moduleLicences returns the licences of everything that is linked into the
// programs or shipped with them. Each text appears once, after the names of what
// it covers.
func moduleLicences(r release) ([]byte, error) {
	version, modules, err := linkedModules(r.binary, r.root)
	if err != nil {
		return nil, err
	}
	_, ofDoor, err := linkedModules(r.door, filepath.Join(r.root, "sdk/door"))
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(ofDoor) {
		if !strings.Contains(modules, line) {
			modules += line
		}
	}
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	lines := "agegate\t" + r.root + "\n" + "Go " + version + "\t" + strings.TrimSpace(string(goroot)) + "\n" +
		"The face models\t" + filepath.Join(r.root, "node_modules/@vladmandic/human") + "\n" +
		"The second age model and the face matcher\t" + filepath.Join(r.root, "node_modules/@vladmandic/face-api") + "\n" +
		"ONNX Runtime\t" + filepath.Join(r.root, "deploy/licences/onnxruntime") + "\n" + modules
	return gatherLicences(lines)
}

// gatherLicences reads lines that consist of a name, a tab and a directory.
func gatherLicences(lines string) ([]byte, error) {
	names := map[string][]string{} // names of the components, by licence text
	var texts []string
	for line := range strings.Lines(lines) {
		name, dir, _ := strings.Cut(strings.TrimSpace(line), "\t")
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		found := false
		for _, entry := range entries {
			if entry.IsDir() || !licenceFile.MatchString(entry.Name()) {
				continue
			}
			data, err := os.ReadFile(filepath.Join(dir, entry.Name()))
			if err != nil {
				return nil, err
			}
			text := string(bytes.TrimSpace(data))
			if names[text] == nil {
				texts = append(texts, text)
			}
			names[text] = append(names[text], name)
			found = true
		}
		if !found {
			return nil, fmt.Errorf("%s has no licence in %s", name, dir)
		}
	}
	var out bytes.Buffer
	for _, text := range texts {
		fmt.Fprintf(&out, "%s\n\n%s\n\n%s\n\n", strings.Join(names[text], "\n"), text, strings.Repeat("-", 72))
	}
	return out.Bytes(), nil
}
