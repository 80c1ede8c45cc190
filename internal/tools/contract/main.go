// Command contract keeps what is derived from the published contract in step
// with it: the code samples shown in README.md and openapi.yaml, whose source
// is docs/samples, and the OpenAPI 3.0.3 edition in gen. It runs in
// the root of the repository; with -check it writes nothing and fails when a
// file differs from its source.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

const (
	document   = "openapi.yaml"
	edition30  = "gen/openapi-3.0.yaml"
	sampleDir  = "docs/samples"
	publicFile = 0o644
)

func main() {
	check := flag.Bool("check", false, "report differences instead of writing files")
	flag.Parse()
	if err := run(*check); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(check bool) error {
	samples, err := readSamples(sampleDir)
	if err != nil {
		return err
	}
	derived := map[string][]byte{}
	for _, path := range []string{document, "README.md"} {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if derived[path], err = insertSamples(text, samples); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	if derived[edition30], err = convert30(derived[document]); err != nil {
		return fmt.Errorf("%s: %w", document, err)
	}
	return settle(derived, check)
}

// settle writes the files that differ from their sources, or with -check
// reports them.
func settle(derived map[string][]byte, check bool) error {
	var errs []error
	for path, want := range derived {
		got, err := os.ReadFile(path)
		switch {
		case err != nil && !errors.Is(err, os.ErrNotExist):
			errs = append(errs, err)
		case err == nil && bytes.Equal(got, want):
		case check:
			errs = append(errs, fmt.Errorf("%s differs from its source: run make generate", path))
		default:
			errs = append(errs, os.WriteFile(path, want, publicFile))
		}
	}
	return errors.Join(errs...)
}

// readSamples returns the text of each sample by file name.
func readSamples(dir string) (map[string]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	samples := map[string]string{}
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			return nil, err
		}
		samples[entry.Name()] = string(text)
	}
	return samples, nil
}
