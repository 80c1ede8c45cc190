package app

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// named finds a path of the tree in a document: between backquotes, in a folder of the root.
var named = regexp.MustCompile("`(?:\\./)?((?:cmd|deploy|docs|gen|internal|models|proof|templates)/[A-Za-z0-9_./-]+)`")

// made are files that a command creates and git does not store.
var made = map[string]bool{"models/manifest.json": true}

// TestNamedPathsExist: every path of the tree that a document or a comment puts between backquotes exists.
func TestNamedPathsExist(t *testing.T) {
	const root = "../.."
	err := filepath.WalkDir(root, func(file string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := entry.Name(); entry.IsDir() &&
			(name == "node_modules" || name == "data" || len(name) > 2 && name[0] == '.') {
			return filepath.SkipDir
		}
		if !entry.Type().IsRegular() || entry.Name() == "CHANGELOG.md" ||
			!strings.Contains(".go .md .mjs .js .py .yaml", filepath.Ext(file)) || filepath.Ext(file) == "" {
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for _, m := range named.FindAllSubmatch(text, -1) {
			path := string(bytes.TrimRight(m[1], "./"))
			if _, err := os.Stat(filepath.Join(root, path)); err != nil && !made[path] {
				t.Errorf("%s names %s, which does not exist", strings.TrimPrefix(file, root+"/"), path)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
