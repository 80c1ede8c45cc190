package door

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Rule names a path with everything below it, and a method, or all methods.
type Rule struct {
	Method string
	Path   string  // decoded; empty: any path, in DOOR_FREE, for parameters that change nothing
	Alone  bool    // without what is below it
	Query  []Param // in DOOR_NEED all that gate, in DOOR_FREE all that may be there
	// In DOOR_FREE, the signs of other servers, for requests that only they make.
	Types  []string // all that a request may accept; none: anything
	Signed bool     // it has a Signature, which the site verifies
}

// Param is a parameter of a query, with a value or with any.
type Param struct {
	Name, Value string
	Any         bool
}

// methods are those that a rule may name. HEAD is as GET.
var methods = []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch,
	http.MethodDelete, http.MethodOptions}

// parseRule reads a rule such as "/adult", "POST /forum", "/viewforum.php?f=12" or "?page".
func parseRule(text string) (r Rule, err error) {
	text, signs, signed := strings.Cut(text, "[")
	address := strings.TrimSpace(text)
	if signed && (!r.parseSigns(signs) || strings.HasPrefix(address, "?")) {
		return r, errors.New("has brackets without types such as application/activity+json, or Signature, or without a path")
	}
	if method, rest, ok := strings.Cut(address, " "); ok {
		if !slices.Contains(methods, method) {
			return r, errors.New("begins with none of GET, POST, PUT, PATCH, DELETE and OPTIONS, or has a space: write %20")
		}
		r.Method, address = method, strings.TrimSpace(rest)
	}
	path, query, asked := strings.Cut(address, "?")
	plain := true
	if r.Path = path; path != "" {
		r.Path, plain = plainPath(path)
	}
	switch {
	case strings.Contains(path, "*"):
		return r, errors.New("has a *, which stands for nothing: a path covers everything below it")
	case strings.Contains(address, "#"):
		return r, errors.New("has a #, and browsers do not send what follows it")
	case !strings.HasPrefix(path, "/") && (path != "" || !asked):
		return r, errors.New("lacks a path that begins with /")
	case !plain:
		return r, errors.New("has a path that servers read in different ways: such a request always needs a pass")
	case asked:
		r.Query, err = parseParams(query)
	}
	return r, err
}

// mediaType matches those that no browser accepts alone to show a page.
var mediaType = regexp.MustCompile(`^application/[a-z0-9.+-]*json$`)

func (r *Rule) parseSigns(text string) bool {
	signs, good := strings.CutSuffix(strings.TrimSpace(text), "]")
	for sign := range strings.FieldsSeq(signs) {
		if r.Signed = r.Signed || sign == "Signature"; sign != "Signature" {
			r.Types = append(r.Types, sign)
			good = good && mediaType.MatchString(sign)
		}
	}
	return good && (r.Signed || len(r.Types) > 0)
}

// signedBy reports whether a request has the rule's signs. They are its sender's word.
func (r Rule) signedBy(header http.Header) bool {
	accepted := strings.ToLower(strings.Join(header.Values("Accept"), ","))
	for part := range strings.SplitSeq(accepted, ",") {
		kind, _, _ := strings.Cut(part, ";")
		if len(r.Types) > 0 && !slices.Contains(r.Types, strings.TrimSpace(kind)) {
			return false
		}
	}
	return !r.Signed || header.Get("Signature") != ""
}

func parseParams(query string) (params []Param, err error) {
	for part := range strings.SplitSeq(query, "&") {
		name, value, given := strings.Cut(part, "=")
		value, err := url.QueryUnescape(value)
		if err != nil || !paramName.MatchString(name) {
			return nil, errors.New("has a query that is not such as ?f=12 or ?f&page")
		}
		params = append(params, Param{name, value, !given})
	}
	return params, nil
}

func (r Rule) covers(method, path string) bool {
	below := strings.TrimSuffix(r.Path, "/")
	return (r.Method == "" || r.Method == method) &&
		(path == below || path == r.Path || !r.Alone && strings.HasPrefix(path, below+"/"))
}

// frees reports whether a rule of DOOR_FREE names all parameters of a request.
func (r Rule) frees(asked map[string]string) bool {
	for name, value := range asked {
		if !slices.ContainsFunc(r.Query, func(p Param) bool { return p.Name == name && (p.Any || p.Value == value) }) {
			return false
		}
	}
	return true
}

// gates reports whether a request could have all parameters of a rule of DOOR_NEED.
func (r Rule) gates(asked map[string]string) bool {
	for _, p := range r.Query {
		if value, ok := asked[p.Name]; !ok || !p.Any && p.isNot(value) {
			return false
		}
	}
	return true
}

// Values that no server takes for another one. Servers read 12 from "012" and "12x" too.
var (
	number = regexp.MustCompile(`^(0|[1-9][0-9]{0,14})$`)
	digits = regexp.MustCompile(`^-?[0-9]+$`)
	word   = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)
)

func (p Param) isNot(value string) bool {
	if digits.MatchString(p.Value) {
		return number.MatchString(p.Value) && number.MatchString(value) && value != p.Value
	}
	return word.MatchString(value) && fold(value) != fold(p.Value)
}

// needsPass reports whether a request for the target of a request line needs a
// pass. One that two servers could read in two ways always needs one. So does one
// with a parameter that no rule names: software that routes by its query shows any
// page under any path.
func (c *Config) needsPass(method, target string, header http.Header) bool {
	path, plain := plainPath(target)
	asked, readable := c.parameters(target)
	if !plain || !readable || has(header, otherPath) {
		return true
	}
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if method != strings.ToUpper(method) || otherMethodIn(target) || has(header, otherMethod) {
		method = "" // may be any
	}
	needed := c.needed(method, path, asked)
	for _, r := range c.Free {
		named := r.Path != "" && (r.Method != "" || reads(method))
		if needed != byQuery && named && r.covers(method, path) && r.frees(asked) && r.signedBy(header) {
			return false
		}
	}
	return needed != free
}

// need is why a request needs a pass.
type need int

const (
	free    need = iota
	byPath       // or by an unknown parameter
	byQuery      // which a rule names, so that DOOR_FREE does not end it
)

func (c *Config) needed(method, path string, asked map[string]string) need {
	found := free
	for _, r := range c.Need {
		if method == "" {
			r.Method = ""
		}
		if r.Method != "" && r.Method != method {
			continue
		}
		covered := Rule{Path: fold(r.Path)}.covers("", fold(path))
		if covered && len(r.Query) > 0 && (r.gates(asked) || !reads(method)) {
			return byQuery
		}
		if len(asked) > 0 || covered && len(r.Query) == 0 {
			found = byPath
		}
	}
	return found
}

// reads reports whether a method's requests have no body, in which a site could find
// further parameters.
func reads(method string) bool { return method == http.MethodGet || method == http.MethodOptions }

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

// paramName matches names that no server changes. PHP writes _ for punctuation.
var paramName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// parameters returns those of a target's query that may change what is shown, and
// whether every server reads the query alike.
func (c *Config) parameters(target string) (map[string]string, bool) {
	asked := map[string]string{}
	_, query, _ := strings.Cut(target, "?")
	for part := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(part, "=")
		value, err := url.QueryUnescape(value)
		_, twice := asked[name]
		if part != "" && (err != nil || twice || !paramName.MatchString(name) || strings.Contains(part, ";")) {
			return nil, false
		}
		if part != "" && !slices.ContainsFunc(c.Free, func(r Rule) bool {
			return r.Path == "" && r.frees(map[string]string{name: value})
		}) {
			asked[name] = value
		}
	}
	return asked, true
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

// samples are addresses of a rule, to show its owner what it does.
func (r Rule) samples() []string {
	path := (&url.URL{Path: r.Path}).EscapedPath()
	if len(r.Query) == 0 {
		return []string{path, strings.TrimSuffix(path, "/") + "/page", path + "?any=1"}
	}
	query := url.Values{}
	for _, p := range r.Query {
		query.Set(p.Name, p.Value)
		if p.Any {
			query.Set(p.Name, "1")
		}
	}
	if path == "" {
		path = "/"
	}
	return []string{path, path + "?" + query.Encode(), path + "?" + query.Encode() + "&any=1"}
}

// Effect says of each rule what comes of three addresses, for its owner.
func (c *Config) Effect() (lines []string) {
	for _, list := range []struct {
		name  string
		rules []Rule
	}{{"DOOR_NEED", c.Need}, {"DOOR_FREE", c.Free}} {
		for i, r := range list.rules {
			var results []string
			for _, address := range r.samples() {
				result := "free"
				if c.needsPass(r.sampleMethod(), address, r.sampleHeader()) {
					result = "needs a pass"
				}
				results = append(results, fmt.Sprintf("%s %s: %s.", r.sampleMethod(), address, result))
			}
			lines = append(lines, fmt.Sprintf("%s, rule %d: %s", list.name, i+1, strings.Join(results, " ")))
		}
	}
	if c.Regions != nil {
		lines = append(lines, c.Regions.effect())
	}
	return lines
}

func (r Rule) sampleHeader() http.Header {
	return http.Header{"Accept": {strings.Join(r.Types, ", ")}, "Signature": {"of another server"}}
}

func (r Rule) sampleMethod() string { return cmp.Or(r.Method, http.MethodGet) }
