// Command contract keeps what is derived from the published contract in step
// with it: the code samples shown in README.md, openapi.yaml and the guides, whose
// sources are the SDKs and docs/samples, the OpenAPI 3.0.3 edition in gen, the operations
// and types of the SDKs in sdk, and the WordPress plug-in's copy of what verifies. It runs
// in the root of the repository; with -check it writes nothing and fails when a file
// differs from its source.
package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"agegate/internal/tools/settle"
)

const (
	document   = "openapi.yaml"
	edition30  = "gen/openapi-3.0.yaml"
	guideFiles = "docs/guides/*.md"
)

// samplePaths are the files that the documents show. Those of the SDKs are what
// merchants install.
var samplePaths = []string{
	"sdk/php/src/redirect.php", "sdk/php/src/webhook.php", "sdk/go/redirect.go", "sdk/go/webhook.go",
	"sdk/typescript/redirect.js", "sdk/typescript/webhook.js", "sdk/typescript/redirect.d.ts",
	"sdk/python/agegate/redirect.py", "sdk/python/agegate/webhook.py",
	"sdk/*/example/shop.*",
}

func main() {
	check := flag.Bool("check", false, "report differences instead of writing files")
	flag.Parse()
	if err := run(*check); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(check bool) error {
	samples, err := readSamples(samplePaths)
	if err != nil {
		return err
	}
	paths, err := filepath.Glob(guideFiles)
	if err != nil {
		return err
	}
	derived, shown := map[string][]byte{}, map[string]bool{}
	for _, name := range []string{"redirect.php", "webhook.php"} {
		derived["sdk/wordpress/"+name] = []byte(samples[name]) // the plug-in brings its own copy
	}
	for _, path := range append(paths, document, "README.md") {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var names []string
		if derived[path], names, err = insertSamples(text, samples); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		for _, name := range names {
			shown[name] = true
		}
	}
	for name := range samples {
		if !shown[name] {
			return fmt.Errorf("no document shows the sample %s", name)
		}
	}
	if derived[edition30], err = convert30(derived[document]); err != nil {
		return fmt.Errorf("%s: %w", document, err)
	}
	sdks, err := generateSDKs(derived[document])
	if err != nil {
		return fmt.Errorf("%s: %w", document, err)
	}
	maps.Copy(derived, sdks)
	if derived[vectorFile], err = vectors(); err != nil {
		return err
	}
	return settle.Files(derived, check)
}

// readSamples returns the text of each sample by file name. The folders in
// docs/samples hold whole programs, which the reference shows as they are.
func readSamples(patterns []string) (map[string]string, error) {
	samples := map[string]string{}
	for _, pattern := range patterns {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			return nil, err
		}
		if len(paths) == 0 {
			return nil, fmt.Errorf("there is no %s", pattern)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			if samples[filepath.Base(path)] != "" {
				return nil, fmt.Errorf("two samples have the name of %s", path)
			}
			samples[filepath.Base(path)] = string(text)
		}
	}
	return samples, nil
}
