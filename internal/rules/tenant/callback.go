package tenant

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// MaxURLLength is the maximum length of a callback URL, in characters.
const MaxURLLength = 2048

// Endpoint is the part of a callback URL that must match a registered one: canonical host and effective port.
type Endpoint struct {
	Host string // lower-case ASCII, or a canonical IP address without brackets
	Port uint16
}

// CallbackRule decides which callback URLs are acceptable.
type CallbackRule struct {
	AllowInsecure bool // accept http as well as https
}

// Errors of CallbackRule.Parse, and ErrURLFragment. Their texts are for operators.
var (
	ErrURLTooLong  = fmt.Errorf("it is longer than %d characters", MaxURLLength)
	ErrURLSyntax   = errors.New("it is not an absolute URL with a valid host and port")
	ErrURLScheme   = errors.New("the scheme must be https (http needs AGEGATE_ALLOW_INSECURE_CALLBACKS=true)")
	ErrAnyScheme   = errors.New("the scheme must be https or http")
	ErrURLUserinfo = errors.New("it must not carry a user name or password")
	ErrURLHost     = errors.New("the host must be ASCII: write an internationalized name in punycode (xn--…)")
	ErrURLFragment = errors.New("it must not have a fragment")
	ErrLinkScheme  = errors.New("the scheme must be https (http is for localhost alone)")
)

// Parse checks raw as a callback URL and returns its endpoint, or one of the errors above for the first rule that it
// breaks. It never returns ErrURLFragment, which applies to webhook URLs only.
func (r CallbackRule) Parse(raw string) (Endpoint, error) {
	if utf8.RuneCountInString(raw) > MaxURLLength {
		return Endpoint{}, ErrURLTooLong
	}
	u, err := url.Parse(raw)
	switch {
	case hasForbiddenCharacter(raw) || err != nil || !u.IsAbs():
		return Endpoint{}, ErrURLSyntax
	case u.Scheme != "https" && u.Scheme != "http" && r.AllowInsecure:
		return Endpoint{}, ErrAnyScheme
	case u.Scheme != "https" && !r.AllowInsecure:
		return Endpoint{}, ErrURLScheme
	case u.Opaque != "" || u.Host == "":
		return Endpoint{}, ErrURLSyntax
	case u.User != nil:
		return Endpoint{}, ErrURLUserinfo
	case strings.ContainsFunc(u.Host, isNotASCII):
		return Endpoint{}, ErrURLHost
	}
	host, ok := canonicalHost(u)
	if !ok {
		return Endpoint{}, ErrURLSyntax
	}
	port, ok := effectivePort(u)
	if !ok {
		return Endpoint{}, ErrURLSyntax
	}
	return Endpoint{Host: host, Port: port}, nil
}

// CheckLink checks raw as the address of a link on the hosted page. It returns an error for the first rule that it
// breaks: those of Parse, or ErrLinkScheme. An empty address passes.
func (r CallbackRule) CheckLink(raw string) error {
	if raw == "" {
		return nil
	}
	e, err := r.Parse(raw)
	if err != nil && !errors.Is(err, ErrAnyScheme) {
		return err
	}
	if u, err := url.Parse(raw); err != nil || u.Scheme != "https" && !e.IsLocal() {
		return ErrLinkScheme
	}
	return nil
}

// IsLocal reports whether the host is localhost, a name under .localhost or a loopback
// address. Every machine takes such a host to mean itself.
func (e Endpoint) IsLocal() bool {
	addr, err := netip.ParseAddr(e.Host)
	return e.Host == "localhost" || strings.HasSuffix(e.Host, ".localhost") || err == nil && addr.IsLoopback()
}

// Registered reports whether e is the endpoint of one of the tenant's registered URLs. The comparison is exact.
func (r CallbackRule) Registered(e Endpoint, registered []string) bool {
	return slices.ContainsFunc(registered, func(raw string) bool {
		known, err := r.Parse(raw)
		return err == nil && known == e
	})
}

// HostPort returns the host and port of an address, or "" for any other text. It leaves
// out the port 443, the path and the query, which may hold a secret of the merchant.
func HostPort(raw string) string {
	e, err := CallbackRule{AllowInsecure: true}.Parse(raw)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port))), ":443")
}

// hasForbiddenCharacter reports characters that browsers strip or rewrite and Go does not: white space, control
// characters, the backslash, and invalid UTF-8.
func hasForbiddenCharacter(s string) bool {
	return !utf8.ValidString(s) || strings.ContainsFunc(s, func(c rune) bool {
		return c <= ' ' || c == '\\' || c >= 0x7f && c <= 0xa0 ||
			c == '\u2028' || c == '\u2029' || c == '\ufeff'
	})
}

func isNotASCII(c rune) bool { return c >= utf8.RuneSelf }

// canonicalHost returns an ASCII host in the form in which browsers compare it: names in lower case, IP addresses in
// their canonical form. A label in punycode must be one that browsers do not change.
func canonicalHost(u *url.URL) (string, bool) {
	host := u.Hostname()
	if strings.HasPrefix(u.Host, "[") {
		addr, err := netip.ParseAddr(host)
		if err != nil || addr.Zone() != "" || !addr.Is6() {
			return "", false
		}
		return addr.String(), true
	}
	host = strings.ToLower(host)
	if !isHostname(host) {
		return "", false
	}
	if strings.Contains(host, "xn--") {
		ascii, err := idna.Lookup.ToASCII(host)
		return host, err == nil && ascii == host
	}
	return host, true
}

// isHostname accepts dot-separated labels of letters, digits, hyphens and underscores. A last label that is a number
// must belong to a dotted-decimal IPv4 address: browsers read every other such host as an address too.
func isHostname(host string) bool {
	if len(host) == 0 || len(host) > 253 {
		return false
	}
	labels := strings.Split(host, ".")
	for _, label := range labels {
		if label == "" || len(label) > 63 || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	last := labels[len(labels)-1]
	if _, err := strconv.ParseUint(last, 0, 64); err == nil || last[0] >= '0' && last[0] <= '9' {
		return net.ParseIP(host).To4() != nil
	}
	return true
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
