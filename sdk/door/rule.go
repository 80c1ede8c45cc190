package door

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
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
// pass. One that two servers could read in two ways always needs one.
func (c *Config) needsPass(method, target string, header http.Header) bool {
	path, plain := plainPath(target)
	if !plain || has(header, otherPath) {
		return true
	}
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if method != strings.ToUpper(method) || otherMethodIn(target) || has(header, otherMethod) {
		method = "" // may be any
	}
	for _, r := range c.Free {
		if r.covers(method, path) {
			return false
		}
	}
	for _, r := range c.Need {
		if method == "" {
			r.Method = ""
		}
		if (Rule{r.Method, fold(r.Path)}).covers(method, fold(path)) {
			return true
		}
	}
	return false
}

// fold makes those paths equal that a server may take for equal.
func fold(path string) string { return strings.ToLower(norm.NFKC.String(path)) }

// ambiguous matches what servers resolve, cut off, or decode once more.
var ambiguous = regexp.MustCompile(`//|[. ](/|$)|[\\%;#\x00-\x1f\x7f]`)

// plainPath returns the decoded path of a target, and whether every server reads
// it alike.
func plainPath(target string) (string, bool) {
	raw, _, _ := strings.Cut(target, "?")
	path, err := url.PathUnescape(raw)
	plain := err == nil && strings.HasPrefix(path, "/") && utf8.ValidString(path) &&
		!ambiguous.MatchString(norm.NFKC.String(path)) &&
		!strings.Contains(strings.ToLower(raw), "%2f") && !strings.Contains(strings.ToLower(raw), "%2e")
	return path, plain
}

// Headers by which some servers read another path, another method, or another age
// than the door. CGI takes any character between the words for the same.
var (
	otherPath   = regexp.MustCompile(`(?i)^x[^a-z](original|rewrite)[^a-z]url$`)
	otherMethod = regexp.MustCompile(`(?i)^x[^a-z](http[^a-z])?method([^a-z]override)?$`)
	otherAge    = regexp.MustCompile(`(?i)^x([^a-z]age[^a-z-]|[^a-z-]age[^a-z])over$`)
)

func has(header http.Header, name *regexp.Regexp) bool {
	for sent := range header {
		if name.MatchString(sent) {
			return true
		}
	}
	return false
}

// methodField matches the beginning of a query's field that names another method. PHP
// writes _ for punctuation.
var methodField = regexp.MustCompile(`(?i)(^|[&;])[^a-z0-9&;=]*method`)

func otherMethodIn(target string) bool {
	_, query, _ := strings.Cut(target, "?")
	plain, err := url.QueryUnescape(query)
	return err != nil || methodField.MatchString(plain)
}
