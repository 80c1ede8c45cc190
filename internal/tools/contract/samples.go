package main

import (
	"fmt"
	"strings"
)

// fence opens and closes a code block in Markdown.
const fence = "```"

// insertSamples puts each sample into the code block of text that begins with
// a comment of the sample's file name, indented like the block. It is an error
// when a sample does not appear exactly once.
func insertSamples(text []byte, samples map[string]string) ([]byte, error) {
	var out []string
	seen := map[string]int{}
	lines := strings.Split(string(text), "\n")
	for i := 0; i < len(lines); i++ {
		out = append(out, lines[i])
		indent, language, ok := strings.Cut(lines[i], fence)
		if !ok || language == "" || strings.TrimSpace(indent) != "" || i+1 == len(lines) {
			continue
		}
		name := strings.TrimLeft(strings.TrimSpace(lines[i+1]), "#/ ")
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
	for name := range samples {
		if seen[name] != 1 {
			return nil, fmt.Errorf("%d code blocks begin with a comment %q, want 1", seen[name], name)
		}
	}
	return []byte(strings.Join(out, "\n")), nil
}
