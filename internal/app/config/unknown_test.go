package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestUnknownVariables(t *testing.T) {
	for _, tt := range []struct {
		environ []string
		want    []string // the beginnings of the errors
	}{
		{[]string{"PATH=/bin", "AGEGATE_RETENTION=90d", "AGEGATE_API_KEY=x", "AGEGATE=x", "agegate_x=x"}, nil},
		{[]string{"AGEGATE_RETENTON=canary"},
			[]string{"AGEGATE_RETENTON is not a variable of agegate; the nearest is AGEGATE_RETENTION ("}},
		{[]string{"AGEGATE_SECRETKEY=canary", "AGEGATE_LISTENER="}, []string{
			"AGEGATE_LISTENER is not a variable of agegate; the nearest is AGEGATE_LISTEN (",
			"AGEGATE_SECRETKEY is not a variable of agegate; the nearest is AGEGATE_SECRET_KEY (",
		}},
		{[]string{"AGEGATE_FREE_CHECKS=5", "AGEGATE_OPERATOR=x"}, []string{
			"AGEGATE_FREE_CHECKS is not a variable of agegate; the nearest is AGEGATE_FREE_CHECKS_PER_MONTH (",
			"AGEGATE_OPERATOR is not a variable of agegate; the nearest is AGEGATE_OPERATOR_NAME (",
		}},
		{[]string{"AGEGATE_FREECHECKS=5"}, []string{
			"AGEGATE_FREECHECKS is not a variable of agegate; the nearest is AGEGATE_FREE_CHECKS_PER_MONTH ("}},
		{[]string{"AGEGATE_PORT_80_TCP=x", "AGEGATE_OTHER=x", "AGEGATE_IGNORE_UNKNOWN=AGEGATE_PORT*, AGEGATE_OTHER"}, nil},
		{[]string{"AGEGATE_PORT=tcp://10.0.0.7:8080", "AGEGATE_SERVICE_HOST=10.0.0.7", "AGEGATE_SERVICE_PORT_HTTP=80",
			"AGEGATE_PORT_8080_TCP_ADDR=10.0.0.7", "AGEGATE_PAGES_PORT_8080_TCP=tcp://10.0.0.8:8080"},
			[]string{"AGEGATE_PAGES_PORT_8080_TCP is a service link of Kubernetes"}},
		{[]string{"AGEGATE_PORT=8080"}, []string{"AGEGATE_PORT is not a variable of agegate (AGEGATE_IGNORE_UNKNOWN="}},
		{[]string{"AGEGATE_COLOUR_SCHEME=x", "AGEGATE_XYZ=8080"}, []string{
			"AGEGATE_COLOUR_SCHEME is not a variable of agegate (", "AGEGATE_XYZ is not a variable of agegate ("}},
		{[]string{"AGEGATE_OTHERS=x", "AGEGATE_IGNORE_UNKNOWN=AGEGATE_OTHER,["}, []string{"AGEGATE_OTHERS is not"}},
	} {
		errs := Unknown(tt.environ)
		if len(errs) != len(tt.want) {
			t.Fatalf("%q: %v", tt.environ, errs)
		}
		for i, err := range errs {
			if !strings.HasPrefix(err.Error(), tt.want[i]) || strings.Contains(err.Error(), "canary") {
				t.Errorf("%q: %v", tt.environ, err)
			}
		}
	}
}

// misspelt are the unknown variables that tests set.
var misspelt = []string{"AGEGATE_RETENTON"}

// TestFilesNameKnownVariables: what any file of the project sets is not refused.
func TestFilesNameKnownVariables(t *testing.T) {
	root := "../../.."
	mention := regexp.MustCompile(`\bAGEGATE_[A-Z0-9_]*\*?`)
	skip := []string{".git", ".tools", "node_modules", "models", "bin", "data", "dist", "proof/notes", "CHANGELOG.md",
		"internal/app/config/unknown_test.go", "internal/app/config/unknown.go"}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		name, _ := filepath.Rel(root, path)
		switch {
		case err != nil:
			return err
		case slices.Contains(skip, name) || slices.Contains(skip, entry.Name()):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case !entry.Type().IsRegular():
			return nil
		}
		text, err := os.ReadFile(path)
		for _, found := range mention.FindAllString(string(text), -1) {
			if strings.HasSuffix(found, "_") || strings.HasSuffix(found, "*") || slices.Contains(misspelt, found) {
				continue
			}
			if unknown := Unknown([]string{found + "="}); unknown != nil {
				t.Errorf("%s: %v", name, errors.Join(unknown...))
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
