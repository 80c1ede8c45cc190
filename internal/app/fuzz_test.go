package app

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var fuzzTarget = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(`)

// TestFuzzTargets: every fuzz target has committed seeds, every set of seeds
// has a target, and make fuzz runs each target.
func TestFuzzTargets(t *testing.T) {
	root := os.DirFS(filepath.Join("..", ".."))
	var targets, seeded []string
	for _, room := range []string{"cmd", "internal"} {
		err := fs.WalkDir(root, room, func(name string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if dir, target := filepath.Split(name); entry.IsDir() && strings.HasSuffix(dir, "/testdata/fuzz/") {
				seeded = append(seeded, "./"+strings.TrimSuffix(dir, "/testdata/fuzz/")+":"+target)
			}
			if !strings.HasSuffix(name, "_test.go") {
				return nil
			}
			source, err := fs.ReadFile(root, name)
			for _, found := range fuzzTarget.FindAllSubmatch(source, -1) {
				targets = append(targets, "./"+filepath.Dir(name)+":"+string(found[1]))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(targets)
	slices.Sort(seeded)
	if len(targets) == 0 || !slices.Equal(targets, seeded) {
		t.Errorf("fuzz targets\n%s\nhave seeds in testdata/fuzz for\n%s", strings.Join(targets, "\n"),
			strings.Join(seeded, "\n"))
	}
	dryRun := exec.Command("make", "--no-print-directory", "--dry-run", "fuzz")
	dryRun.Dir = filepath.Join("..", "..")
	out, err := dryRun.CombinedOutput()
	if err != nil {
		t.Fatalf("make --dry-run fuzz: %v\n%s", err, out)
	}
	for _, target := range targets {
		if !slices.Contains(strings.Fields(string(out)), target) &&
			!slices.Contains(strings.Fields(string(out)), target+";") {
			t.Errorf("make fuzz does not run %s", target)
		}
	}
}
