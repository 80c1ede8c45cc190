package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// fence opens and closes a code block in Markdown.
const fence = "```"

// opening is the first line of a PHP sample, before the comment with its file
// name.
const opening = "<?php"

// insertSamples puts each sample into the code block of text that begins with a
// comment of the sample's file name, indented like the block, and returns the
// names of the samples found. A sample that appears twice is an error.
func insertSamples(text []byte, samples map[string]string) ([]byte, []string, error) {
	var out []string
	seen := map[string]int{}
	lines := strings.Split(string(text), "\n")
	for i := 0; i < len(lines); i++ {
		out = append(out, lines[i])
		indent, language, ok := strings.Cut(lines[i], fence)
		if !ok || language == "" || strings.TrimSpace(indent) != "" || i+1 == len(lines) {
			continue
		}
		first := i + 1
		if strings.TrimSpace(lines[first]) == opening && first+1 < len(lines) {
			first++
		}
		name := strings.TrimLeft(strings.TrimSpace(lines[first]), "#/ ")
		sample, ok := samples[name]
		if !ok {
			continue
		}
		seen[name]++
		for line := range strings.SplitSeq(strings.TrimSuffix(sample, "\n"), "\n") {
			out = append(out, strings.TrimRight(indent+line, " "))
		}
		for i+1 < len(lines) && strings.TrimSpace(lines[i+1]) != fence {
			i++
		}
	}
	names := slices.Sorted(maps.Keys(seen))
	for _, name := range names {
		if seen[name] != 1 {
			return nil, nil, fmt.Errorf("%d code blocks begin with a comment %q, want 1", seen[name], name)
		}
	}
	return []byte(strings.Join(out, "\n")), names, nil
}
