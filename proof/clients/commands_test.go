package clients

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agegate/internal/check/vision/visiontest"
)

// follow does what sections of a guide say, in their order: it writes the files into
// dir, named by the comment that each begins with, and runs the commands but the last.
// It returns the last, which starts a shop.
func follow(t *testing.T, dir, guide string, env []string, sections ...string) []string {
	t.Helper()
	env = append([]string{"env"}, env...)
	steps, start := blocks(readFile(t, filepath.Join(visiontest.Root(), guide)), sections), ""
	for i, block := range slices.Backward(steps) {
		if commands, ok := strings.CutPrefix(strings.TrimSpace(block), "sh\n"); ok {
			last := strings.LastIndex(commands, "\n") + 1
			steps[i], start = "sh\n"+commands[:last], commands[last:]
			break
		}
	}
	if start == "" {
		t.Fatalf("%s has no commands under %s", guide, sections)
	}
	for _, block := range steps {
		language, text, _ := strings.Cut(block, "\n")
		if language == "sh" {
			run(t, dir, nil, append(env, "sh", "-ec", text)...)
			continue
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(text, "<?php\n"), "\n")
		path := filepath.Join(dir, strings.TrimLeft(name, "#/ "))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, path, text)
	}
	return append(env, "sh", "-c", start)
}

// blocks returns the code blocks under the headings named, each with its language as
// the first line.
func blocks(guide string, sections []string) (found []string) {
	inside, fenced := false, false
	for line := range strings.SplitAfterSeq(guide, "\n") {
		switch {
		case strings.HasPrefix(line, "```"):
			fenced = !fenced
			if inside && fenced {
				found = append(found, strings.TrimPrefix(line, "```"))
			}
		case fenced && inside:
			found[len(found)-1] += line
		case !fenced && strings.HasPrefix(line, "#"):
			inside = slices.Contains(sections, strings.TrimSpace(strings.TrimLeft(line, "#")))
		}
	}
	return found
}

// composerShop installs the package by Composer, as the guide says for a checkout in
// ../agegate. Guzzle comes from Debian instead of from Packagist.
func composerShop(t *testing.T, dir string) []string {
	t.Helper()
	shop, guzzle, home := filepath.Join(dir, "shop"), filepath.Join(dir, "guzzle"), filepath.Join(dir, "composer")
	for _, path := range []string{shop, guzzle, home} {
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(visiontest.Root(), filepath.Join(dir, "agegate")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(guzzle, "composer.json"),
		`{"name": "guzzlehttp/guzzle", "version": "7.0.0", "autoload": {"files": ["load.php"]}}`)
	write(t, filepath.Join(guzzle, "load.php"), `<?php require "GuzzleHttp/autoload.php";`)
	write(t, filepath.Join(home, "config.json"),
		`{"repositories": {"packagist": false, "debian": {"type": "path", "url": "`+guzzle+`"}}}`)
	env := []string{"--chdir=" + shop, "COMPOSER_ALLOW_SUPERUSER=1", "COMPOSER_HOME=" + home, "COMPOSER_NO_INTERACTION=1"}
	return follow(t, shop, "docs/guides/clients.md", env, "PHP")
}
