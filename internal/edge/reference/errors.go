package reference

import (
	"strings"
	"sync"

	"agegate"
)

// Details returns what the errors of an answer are known by in the guide to
// errors: the detail itself, or its code, or the types of its violations. It
// returns nothing for a body that is no error of the API.
func Details(body []byte) []string {
	doc, err := readNode(body) // JSON is YAML
	if err != nil {
		return nil
	}
	return details(doc.get("detail"))
}

// HasHeading reports whether the guide to errors explains one of Details.
func HasHeading(name string) bool { return headings()[name] }

var headings = sync.OnceValue(func() map[string]bool {
	found := map[string]bool{}
	source, err := agegate.Docs.ReadFile("docs/guides/errors.md")
	if err != nil {
		return found // Mount fails on it
	}
	for line := range strings.Lines(string(source)) {
		if title, ok := strings.CutPrefix(line, "### "); ok {
			found[strings.TrimSpace(title)] = true
		}
	}
	return found
})
