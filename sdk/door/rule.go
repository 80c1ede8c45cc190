package door

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
)

// Rule names a path with everything below it, and a method, or all methods.
type Rule struct{ Method, Path string }

var ruleText = regexp.MustCompile(`^(?:([A-Z]+) +)?(/[^\s,]*)$`)

func parseRule(text string) (Rule, bool) {
	parts := ruleText.FindStringSubmatch(text)
	if parts == nil {
		return Rule{}, false
	}
	return Rule{parts[1], parts[2]}, true
}

func (r Rule) covers(method, path string) bool {
	below := strings.TrimSuffix(r.Path, "/")
	return (r.Method == "" || r.Method == method) && (path == below || strings.HasPrefix(path, below+"/"))
}

// needsPass reports whether a request for the target of a request line needs a
// pass. A target that two servers could read in two ways always needs one.
func (c *Config) needsPass(method, target string) bool {
	path, plain := plainPath(target)
	if !plain {
		return true
	}
	if method == http.MethodHead {
		method = http.MethodGet
	}
	for _, r := range c.Free {
		if r.covers(method, path) {
			return false
		}
	}
	for _, r := range c.Need { // a server may not mind the case
		if (Rule{r.Method, strings.ToLower(r.Path)}).covers(method, strings.ToLower(path)) {
			return true
		}
	}
	return false
}

var ambiguous = regexp.MustCompile(`//|/\.\.?(/|$)|[\\%;#\x00-\x1f\x7f]`)

// plainPath returns the decoded path of a target, and whether every server reads
// it alike.
func plainPath(target string) (string, bool) {
	raw, _, _ := strings.Cut(target, "?")
	path, err := url.PathUnescape(raw)
	plain := err == nil && strings.HasPrefix(path, "/") && !ambiguous.MatchString(path) &&
		!strings.Contains(strings.ToLower(raw), "%2f") && !strings.Contains(strings.ToLower(raw), "%2e")
	return path, plain
}
