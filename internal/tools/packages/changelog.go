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
	"unicode/utf8"
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
	item := "" // an entry of several lines, so far
	end := func() {
		item = addLine(&out, item, "")
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
			item = addLine(&out, item, line)
		}
	}
	end()
	return out.Bytes(), nil
}

// addLine converts a line below a release's heading. It returns the entry to which the
// next line may belong, and writes the one before.
func addLine(out *bytes.Buffer, item, line string) string {
	if line != "" && item != "" && !strings.HasPrefix(line, "- ") && !strings.HasPrefix(line, "#") {
		return item + " " + strings.TrimSpace(line)
	}
	if item != "" {
		out.WriteString(wrap("  * ", "    ", item))
	}
	if section, ok := strings.CutPrefix(line, "### "); ok {
		fmt.Fprintf(out, "  [ %s ]\n", section)
		return ""
	}
	return strings.TrimPrefix(line, "- ")
}

// wrap fills lines of at most 80 columns: first begins the first one, and rest the
// others.
func wrap(first, rest, text string) string {
	var out strings.Builder
	line := first
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
			line += word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > 80:
			out.WriteString(line + "\n")
			line = rest + word
		default:
			line += " " + word
		}
	}
	return out.String() + line + "\n"
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
