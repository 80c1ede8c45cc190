package tenant

import (
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// MaxURLLength is the longest callback URL accepted, in characters.
const MaxURLLength = 2048

// Endpoint is the part of a callback URL that the registration rule compares:
// canonical host and effective port.
type Endpoint struct {
	Host string // lower-case ASCII, or a canonical IP address without brackets
	Port uint16
}

// CallbackRule says which callback URLs are acceptable at all.
type CallbackRule struct {
	AllowInsecure bool // accept http beside https
}

// Violation types of a callback URL, in the Pydantic v2 vocabulary.
const (
	violationTooLong = "url_too_long"
	violationParsing = "url_parsing"
	violationScheme  = "url_scheme"
	violationValue   = "value_error"
)

// Parse checks raw as a callback URL and returns its endpoint. On refusal it
// returns the violation type and false: url_too_long, url_parsing, url_scheme,
// or value_error for userinfo.
func (r CallbackRule) Parse(raw string) (Endpoint, string, bool) {
	if utf8.RuneCountInString(raw) > MaxURLLength {
		return Endpoint{}, violationTooLong, false
	}
	if hasForbiddenCharacter(raw) {
		return Endpoint{}, violationParsing, false
	}
	u, err := url.Parse(raw)
	if err != nil || !u.IsAbs() {
		return Endpoint{}, violationParsing, false
	}
	if u.Scheme != "https" && (u.Scheme != "http" || !r.AllowInsecure) {
		return Endpoint{}, violationScheme, false
	}
	if u.Opaque != "" || u.Host == "" {
		return Endpoint{}, violationParsing, false
	}
	if u.User != nil {
		return Endpoint{}, violationValue, false
	}
	host, ok := canonicalHost(u)
	if !ok {
		return Endpoint{}, violationParsing, false
	}
	port, ok := effectivePort(u)
	if !ok {
		return Endpoint{}, violationParsing, false
	}
	return Endpoint{Host: host, Port: port}, "", true
}

// Registered reports whether e is the endpoint of one of the tenant's
// registered URLs. The comparison is exact.
func (r CallbackRule) Registered(e Endpoint, registered []string) bool {
	for _, raw := range registered {
		if known, _, ok := r.Parse(raw); ok && known == e {
			return true
		}
	}
	return false
}

// hasForbiddenCharacter finds what browsers strip or rewrite but Go does not:
// white space, control characters and the backslash, and invalid UTF-8.
func hasForbiddenCharacter(s string) bool {
	return !utf8.ValidString(s) || strings.ContainsFunc(s, func(c rune) bool {
		return c <= ' ' || c == '\\' || c >= 0x7f && c <= 0xa0 ||
			c == '\u2028' || c == '\u2029' || c == '\ufeff'
	})
}

// canonicalHost returns the host as browsers compare it: IP literals in their
// canonical form, names lower-case and internationalised ones in punycode.
func canonicalHost(u *url.URL) (string, bool) {
	host := u.Hostname()
	if strings.HasPrefix(u.Host, "[") {
		addr, err := netip.ParseAddr(host)
		if err != nil || addr.Zone() != "" || !addr.Is6() {
			return "", false
		}
		return addr.String(), true
	}
	if len(host) > maxHostBytes {
		return "", false
	}
	// Only ASCII is lowered here: strings.ToLower makes an i of the dotted İ,
	// which is another host to browsers. The IDNA mapping knows better.
	if isPlainASCII(host) {
		host = strings.ToLower(host)
	}
	if !isPlainASCII(host) || strings.Contains(host, "xn--") {
		ascii, err := idna.Lookup.ToASCII(host)
		if err != nil {
			return "", false
		}
		host = ascii
	}
	return host, isHostname(host)
}

// maxHostBytes is more than any spelling of a name of 253 characters needs. It
// bounds the work of the IDNA mapping.
const maxHostBytes = 1024

func isPlainASCII(s string) bool {
	return !strings.ContainsFunc(s, func(c rune) bool { return c >= utf8.RuneSelf })
}

// isHostname accepts dot-separated labels of letters, digits, hyphens and
// underscores. A last label that is a number must belong to a dotted-decimal
// IPv4 address: browsers read every other such host as an address too.
func isHostname(host string) bool {
	if len(host) == 0 || len(host) > 253 {
		return false
	}
	labels := strings.Split(host, ".")
	for _, label := range labels {
		if label == "" || len(label) > 63 || strings.ContainsFunc(label, isNotHostCharacter) {
			return false
		}
	}
	last := labels[len(labels)-1]
	if _, err := strconv.ParseUint(last, 0, 64); err == nil || last[0] >= '0' && last[0] <= '9' {
		return net.ParseIP(host).To4() != nil
	}
	return true
}

func isNotHostCharacter(c rune) bool {
	return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_'
}

func effectivePort(u *url.URL) (uint16, bool) {
	switch port := u.Port(); {
	case port != "":
		n, err := strconv.ParseUint(port, 10, 16)
		return uint16(n), err == nil && n > 0
	case u.Scheme == "https":
		return 443, true
	default:
		return 80, true
	}
}
