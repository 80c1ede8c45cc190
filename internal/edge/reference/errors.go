package reference

import (
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
		if at := Headings()[name]; at != "" {
			address += "#" + at
		}
		if link := "<" + address + `>; rel="help"`; !slices.Contains(links, link) {
			links = append(links, link)
		}
	}
	return strings.Join(links, ", ")
}

// Headings returns the anchors of the headings of the guide to errors.
var Headings = sync.OnceValue(func() map[string]string {
	all := map[string]string{}
	for _, s := range Sections(errorGuide, "###") {
		all[s[0]] = s[1]
	}
	return all
})

// Sections returns the title, the anchor and the text of each section of a guide whose heading begins with a mark, such
// as "##", to which deeper ones belong. A section ends at the next heading.
func Sections(guide, mark string) (all [][3]string) {
	source, _ := agegate.Docs.ReadFile(guidesFolder + guide + ".md") // without it the pages cannot be made either
	for _, part := range strings.Split("\n"+string(source), "\n#")[1:] {
		heading, text, _ := strings.Cut(part, "\n")
		if level, title, _ := strings.Cut("#"+heading, " "); strings.HasPrefix(level, mark) {
			all = append(all, [3]string{title, anchor(title), text})
		}
	}
	return all
}
