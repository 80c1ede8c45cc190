package reference

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"agegate"
)

// Help returns the Link header of an error: for each name, which is its detail, its
// code or the type of a violation, the place in the guide to errors that explains it,
// or the whole guide for a name without a place.
func Help(names []string) string {
	links := make([]string, 0, len(names))
	for _, name := range names {
		address := Path + "/" + errorGuide
		if at := headings()[name]; at != "" {
			address += "#" + at
		}
		if link := "<" + address + `>; rel="help"`; !slices.Contains(links, link) {
			links = append(links, link)
		}
	}
	return strings.Join(links, ", ")
}

var headings = sync.OnceValue(func() map[string]string { return maps.Collect(Headings) })

// Headings yields the headings of the guide to errors that explain one of these names, with their anchors.
func Headings(yield func(title, anchor string) bool) {
	source, err := agegate.Docs.ReadFile("docs/guides/errors.md")
	if err != nil {
		return // the pages cannot be made either
	}
	for line := range strings.Lines(string(source)) {
		title, ok := strings.CutPrefix(strings.TrimSpace(line), "### ")
		if ok && !yield(title, anchor(title)) {
			return
		}
	}
}
