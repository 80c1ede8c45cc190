package security

import (
	"math/rand/v2"
	"net/url"
	"regexp"
	"strings"
)

// canary is a text that no answer and no log line may contain. memberCanary is
// used in the names of JSON members, which the contract allows a 422 to repeat in
// a loc.
const (
	canary       = "zqcanary7x"
	memberCanary = "zqmember7x"
)

// hostile returns the canary in one of the usual forms of an injection.
func hostile(rng *rand.Rand) string {
	return pick(rng, []string{
		canary, strings.ToUpper(canary), `"><script>alert('` + canary + `')</script>`, `' OR 1=1; DROP TABLE sessions; -- ` +
			canary,
		"../../../../etc/" + canary, "${jndi:ldap://" + canary + "}", "{{" + canary + "}}", "%s%n%d" + canary, "\x00" +
			canary,
		"\r\nX-Injected: " + canary, canary + "\xff\xfe", "\u202e" + canary, strings.Repeat(canary, 60), "javascript:" +
			canary,
		"https://" + canary + ".example/?" + canary, "svc_test_" + canary, "svc_live_" + strings.Repeat("0", 28) + canary,
	})
}

// visible converts s to a value that a header line or a request target can
// contain.
func visible(s string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f {
			return '_'
		}
		return c
	}, s)
}

// escaped converts s to a value for a path or query, sometimes with as little
// escaping as possible.
func escaped(rng *rand.Rand, s string) string {
	if rng.IntN(3) == 0 {
		return strings.NewReplacer(" ", "+", "#", "_").Replace(visible(s))
	}
	return url.PathEscape(s)
}

func pick[T any](rng *rand.Rand, list []T) T { return list[rng.IntN(len(list))] }

var memberLoc = regexp.MustCompile(`"loc":\["body","(?:[^"\\]|\\.)*` + memberCanary + `(?:[^"\\]|\\.)*"\]`)

// repeats reports whether an answer or a log contains a canary. Names of unknown
// members are allowed in the place that the contract names: the loc of a 422.
func repeats(status int, text string) bool {
	if status == 422 {
		text = memberLoc.ReplaceAllString(text, "")
	}
	text = strings.ToLower(text)
	return strings.Contains(text, canary) || strings.Contains(text, memberCanary)
}
