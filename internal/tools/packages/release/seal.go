package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// statement is an in-toto statement, v1, about files.
type statement struct {
	Type          string     `json:"_type"`
	Subject       []subject  `json:"subject"`
	PredicateType string     `json:"predicateType"`
	Predicate     provenance `json:"predicate"`
}

type subject struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

// provenance is the predicate of SLSA, v1, without times, so that the same commit gives
// the same statement.
type provenance struct {
	Definition struct {
		Type     string            `json:"buildType"`
		External map[string]string `json:"externalParameters"`
		Internal map[string]string `json:"internalParameters"`
		Resolved []resolved        `json:"resolvedDependencies"`
	} `json:"buildDefinition"`
	Run struct {
		Builder map[string]string `json:"builder"`
	} `json:"runDetails"`
}

type resolved struct {
	URI    string            `json:"uri"`
	Digest map[string]string `json:"digest"`
}

const (
	statementType  = "https://in-toto.io/Statement/v1"
	predicateType  = "https://slsa.dev/provenance/v1"
	repository     = "https://github.com/agegate/agegate"
	releasingGuide = repository + "/blob/main/docs/releasing.md"
)

// seal writes the statement and the checksums of all files in dir, and signs the checksums.
func seal(dir, version, revision, key string) error {
	files, err := digests(dir)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("%s holds no files to seal", dir)
	}
	s := statement{Type: statementType, PredicateType: predicateType}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		s.Subject = append(s.Subject, subject{name, map[string]string{"sha256": files[name]}})
	}
	d := &s.Predicate.Definition
	d.Type, d.External = releasingGuide, map[string]string{"target": "release", "version": version}
	d.Internal = map[string]string{"go": runtime.Version(), "system": system()}
	d.Resolved = []resolved{{"git+" + repository, map[string]string{"gitCommit": revision}}}
	s.Predicate.Run.Builder = map[string]string{"id": releasingGuide + "#local"}
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, Provenance), append(text, '\n'), 0o644); err != nil {
		return err
	}
	files[Provenance] = digestOf(append(text, '\n'))
	var sums strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&sums, "%s  %s\n", files[name], name)
	}
	path := filepath.Join(dir, Sums)
	if err := os.WriteFile(path, []byte(sums.String()), 0o644); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(dir, Signature)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err // ssh-keygen would ask whether to replace it
	}
	return keygen(nil, "-Y", "sign", "-f", key, "-n", namespace, path)
}

// keygen runs ssh-keygen and returns what it says if it fails.
func keygen(stdin io.Reader, args ...string) error {
	cmd := exec.Command("ssh-keygen", args...)
	cmd.Stdin = stdin
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("ssh-keygen: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

// digests returns the SHA-256 of every file in dir that is no seal, by its path there.
func digests(dir string) (map[string]string, error) {
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil || slices.Contains([]string{Sums, Signature, Provenance}, name) {
			return err
		}
		if !entry.Type().IsRegular() {
			return fmt.Errorf("%s is not a regular file", name)
		}
		data, err := os.ReadFile(path)
		files[filepath.ToSlash(name)] = digestOf(data)
		return err
	})
	return files, err
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// system returns the name of the operating system on which the packages were made.
func system() string {
	text, _ := os.ReadFile("/etc/os-release") // without it, the kernel's name is all there is
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "PRETTY_NAME="); ok {
			return strings.Trim(name, `"`)
		}
	}
	return runtime.GOOS
}
