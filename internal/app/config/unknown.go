package config

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// ignoreUnknownName is the variable that lists names, separated by commas, that begin
// with AGEGATE_ but belong to other programs. A * stands for any characters.
const ignoreUnknownName = "AGEGATE_IGNORE_UNKNOWN"

// otherNames are variables that the gateway itself does not read, but that may be set in the same environment: those of
// the demo, the door, the SDKs, compose.yaml, the commands in the documentation and the tests.
var otherNames = []string{
	ignoreUnknownName, "AGEGATE_SHOP_LISTEN", "AGEGATE_URL", "AGEGATE_API_KEY", "AGEGATE_REDIRECT_SECRET",
	"AGEGATE_WEBHOOK_SECRET", "AGEGATE_VERSION", "AGEGATE_DB", "AGEGATE_DB_PASSWORD", "AGEGATE_BIN",
	"AGEGATE_TEST_DATABASE", "AGEGATE_TEST_STORE",
}

// serviceLink matches what Kubernetes sets for each port of a Service whose name is or begins with agegate.
var serviceLink = regexp.MustCompile(
	`^AGEGATE(_\w+)?_(SERVICE_HOST|SERVICE_PORT\w*|PORT_\d+_(TCP|UDP|SCTP)\w*)=|^AGEGATE(_\w+)?_PORT=\w+://`)

// Unknown returns an error for each variable of an environment (NAME=VALUE) that begins with AGEGATE_ and that nothing
// reads. Otherwise nobody would notice that a misspelt AGEGATE_RETENTION leaves the default in force.
func Unknown(environ []string) []error {
	known := slices.Clone(otherNames)
	for _, v := range Variables {
		known = append(known, v.Name)
	}
	var given, ignored, links []string
	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		if name == ignoreUnknownName {
			ignored = strings.Split(value, ",")
		}
		switch {
		case !strings.HasPrefix(name, "AGEGATE_") || slices.Contains(known, name):
		case serviceLink.MatchString(variable):
			links = append(links, name)
		default:
			given = append(given, name)
		}
	}
	isIgnored := func(name string) bool {
		return slices.ContainsFunc(ignored, func(pattern string) bool {
			matches, err := path.Match(strings.TrimSpace(pattern), name)
			return matches && err == nil
		})
	}
	slices.Sort(given)
	var errs []error
	if links = slices.DeleteFunc(links, isIgnored); len(links) > 0 {
		errs = append(errs, fmt.Errorf("%s is a service link of Kubernetes, which names a Service so: set "+
			"enableServiceLinks: false for the pod, or rename the Service", slices.Min(links)))
	}
	for _, name := range slices.DeleteFunc(given, isIgnored) {
		errs = append(errs, fmt.Errorf("%s is not a variable of agegate%s (%s=%[1]s lets it be)", name,
			nearest(name, known), ignoreUnknownName))
	}
	return errs
}

// nearest says which name has the smallest edit distance, underscores aside, of those that begin so if any does. It
// says nothing if none begins so and more than a third of what follows AGEGATE_ differs: that would mislead.
func nearest(name string, names []string) string {
	bare := strings.NewReplacer("_", "").Replace
	name = bare(name)
	begun := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !strings.HasPrefix(bare(n), name) })
	if len(begun) > 0 {
		names = begun
	}
	near := slices.MinFunc(names, func(a, b string) int { return distance(name, bare(a)) - distance(name, bare(b)) })
	if len(begun) == 0 && 3*distance(name, bare(near)) > len(name)-len("AGEGATE") {
		return ""
	}
	return "; the nearest is " + near
}

// distance returns how many characters must be inserted, deleted or replaced to turn a into b (Levenshtein distance).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
