package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/cpuguy83/go-md2man/v2/md2man"
)

// A table is wider than a terminal, so its rows become a list in a manual page.
var (
	tableHead = regexp.MustCompile(`\n\|.*\|\n\|[-| ]+\|\n`)
	tableRow  = regexp.MustCompile(`(?m)^\|.*\|$`)
)

// listItem converts a row of a table.
func listItem(row []byte) []byte {
	cells := strings.Split(strings.Trim(string(row), "| "), " | ")
	return []byte("- " + cells[0] + ": " + strings.Join(cells[1:], ", "))
}

// manualFiles returns the compressed manual pages. The agegate program built for this
// machine writes the pages of its commands. The page of agegate-door is made from
// docs/guides/door.md.
func manualFiles(r release) ([]file, error) {
	dir, err := os.MkdirTemp("", "agegate-manual-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	cmd := exec.Command(filepath.Join(r.root, "bin/agegate"), "manual", dir)
	cmd.Env = append(os.Environ(), fmt.Sprintf("SOURCE_DATE_EPOCH=%d", r.time.Unix()))
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s manual: %w", cmd.Path, err)
	}
	guide, err := os.ReadFile(filepath.Join(r.root, "docs/guides/door.md"))
	if err != nil {
		return nil, err
	}
	const name = "%% agegate-door 1 %q %q agegate\n\n# NAME\n\nagegate-door - age gate before a site\n\n%s"
	guide = tableHead.ReplaceAll(guide, []byte("\n"))
	guide = tableRow.ReplaceAllFunc(guide, listItem)
	guide = fmt.Appendf(nil, name, r.time.Format(time.DateOnly), "agegate "+r.version, guide)
	if err := os.WriteFile(filepath.Join(dir, "agegate-door.1"), md2man.Render(guide), 0o600); err != nil {
		return nil, err
	}
	pages, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var files []file
	for _, page := range pages {
		text, err := os.ReadFile(filepath.Join(dir, page.Name()))
		if err != nil {
			return nil, err
		}
		if text, err = compressed(text); err != nil {
			return nil, err
		}
		files = append(files, file{path: "/usr/share/man/man1/" + page.Name() + ".gz", mode: 0o644, data: text})
	}
	return files, nil
}

// documentFiles returns the documents and the files of deploy/ for what an operator
// runs around the gateway. In docDir, links between them work as in the repository.
func documentFiles(r release) ([]file, error) {
	documents := []string{"NOTICE"}
	for _, pattern := range []string{"docs/*.md", "docs/guides/*.md", "docs/operations/*.md"} {
		found, err := fs.Glob(os.DirFS(r.root), pattern)
		if err != nil {
			return nil, err
		}
		documents = append(documents, found...)
	}
	var files []file
	for _, source := range documents {
		text, err := os.ReadFile(filepath.Join(r.root, source))
		if err != nil {
			return nil, err
		}
		at, deeper := strings.TrimPrefix(source, "docs/"), "](../" // out of docs/
		if strings.Contains(at, "/") {
			deeper += "../"
		}
		text = bytes.ReplaceAll(text, []byte(deeper), []byte(strings.TrimSuffix(deeper, "../")))
		files = append(files, file{path: docDir + "/" + at, mode: 0o644, data: []byte(r.notice(string(text)))})
	}
	deploy := os.DirFS(filepath.Join(r.root, "deploy"))
	err := fs.WalkDir(deploy, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name == "debian" || name == "licences" {
			return fs.SkipDir // are in the package elsewhere
		}
		if entry.IsDir() || strings.Contains(name, "_test.") {
			return nil
		}
		files, err = addFile(files, path.Join(docDir, "deploy", name), 0o644, r.root, "deploy", name)
		return err
	})
	return files, err
}
