package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// heading begins a release in CHANGELOG.md: its version, and its day where it has one.
var heading = regexp.MustCompile(`^## \[([^\]]+)\](?: - (\d{4}-\d\d-\d\d))?$`)

// debianChangelog converts CHANGELOG.md to Debian's format. The first entry is
// that of this build: the changes under its own version, or else the unreleased
// ones.
func debianChangelog(r release) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(r.root, "CHANGELOG.md"))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	own := strings.TrimPrefix(r.version, "v")
	isReleased := bytes.Contains(text, []byte("\n## ["+own+"]"))
	at, open := r.time, false
	end := func() {
		if open {
			fmt.Fprintf(&out, "\n -- %s  %s\n\n", r.maintainer, at.Format(time.RFC1123Z))
		}
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		if release := heading.FindStringSubmatch(line); release != nil {
			end()
			version := release[1]
			if open = version != "Unreleased" || !isReleased; !open {
				continue
			}
			if version == "Unreleased" {
				version = debianVersion(r.version, r.time)
			}
			if day, err := time.Parse(time.DateOnly, release[2]); err == nil {
				at = day
			}
			fmt.Fprintf(&out, "agegate (%s) unstable; urgency=medium\n\n", version)
		} else if open {
			out.WriteString(changelogLine(line))
		}
	}
	end()
	return out.Bytes(), nil
}

// changelogLine converts a line below a release's heading.
func changelogLine(line string) string {
	if section, ok := strings.CutPrefix(line, "### "); ok {
		return "  [ " + section + " ]\n"
	}
	if item, ok := strings.CutPrefix(line, "- "); ok {
		return "  * " + item + "\n"
	}
	if line = strings.TrimSpace(line); line == "" {
		return ""
	}
	return "    " + line + "\n"
}

// compressed returns the text in gzip's format without a time, so that it is the
// same in every build.
func compressed(text []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	err = w.Close()
	return out.Bytes(), err
}
