package tenant

import (
	"errors"
	"strings"
	"testing"
)

func TestCallbackRuleParse(t *testing.T) {
	strict, insecure := CallbackRule{}, CallbackRule{AllowInsecure: true}
	for _, tt := range []struct {
		name string
		rule CallbackRule
		raw  string
		want Endpoint
		err  error
	}{
		{"plain", strict, "https://shop.example/ok", Endpoint{"shop.example", 443}, nil},
		{"port", strict, "https://shop.example:8443", Endpoint{"shop.example", 8443}, nil},
		{"port with zeros", strict, "https://shop.example:0443/", Endpoint{"shop.example", 443}, nil},
		{"empty port", strict, "https://shop.example:/", Endpoint{"shop.example", 443}, nil},
		{"case", strict, "HTTPS://Shop.Example/OK", Endpoint{"shop.example", 443}, nil},
		{"underscore", strict, "https://my_shop.example/", Endpoint{"my_shop.example", 443}, nil},
		{"punycode", strict, "https://xn--bcher-kva.example/", Endpoint{"xn--bcher-kva.example", 443}, nil},
		{"IPv4", strict, "https://192.0.2.1/", Endpoint{"192.0.2.1", 443}, nil},
		{"IPv6", strict, "https://[2001:DB8:0:0::1]:444/", Endpoint{"2001:db8::1", 444}, nil},
		{"fragment", strict, "https://shop.example/#x", Endpoint{"shop.example", 443}, nil},
		{"http allowed", insecure, "http://localhost:3000/", Endpoint{"localhost", 3000}, nil},
		{"http default port", insecure, "http://localhost/", Endpoint{"localhost", 80}, nil},

		{"http", strict, "http://shop.example/", Endpoint{}, ErrURLScheme},
		{"other scheme", insecure, "ftp://shop.example/", Endpoint{}, ErrAnyScheme},
		{"other scheme without a host", strict, "javascript:alert(1)", Endpoint{}, ErrURLScheme},
		{"empty", strict, "", Endpoint{}, ErrURLSyntax},
		{"relative", strict, "/ok", Endpoint{}, ErrURLSyntax},
		{"scheme-relative", strict, "//shop.example/", Endpoint{}, ErrURLSyntax},
		{"opaque", strict, "https:shop.example", Endpoint{}, ErrURLSyntax},
		{"no host", strict, "https:///ok", Endpoint{}, ErrURLSyntax},
		{"user", strict, "https://u@shop.example/", Endpoint{}, ErrURLUserinfo},
		{"password", strict, "https://:p@shop.example/", Endpoint{}, ErrURLUserinfo},
		{"backslash", strict, `https://shop.example\@evil.example/`, Endpoint{}, ErrURLSyntax},
		{"space", strict, "https://shop.example /", Endpoint{}, ErrURLSyntax},
		{"tab", strict, "https://shop.\texample/", Endpoint{}, ErrURLSyntax},
		{"control", strict, "https://shop.example/\x01", Endpoint{}, ErrURLSyntax},
		{"line separator", strict, "https://shop.example/\u2028", Endpoint{}, ErrURLSyntax},
		{"invalid UTF-8", strict, "https://shop.example/\xff", Endpoint{}, ErrURLSyntax},
		{"trailing dot", strict, "https://shop.example./", Endpoint{}, ErrURLSyntax},
		{"empty label", strict, "https://shop..example/", Endpoint{}, ErrURLSyntax},
		{"octal address", strict, "https://0300.0.2.1/", Endpoint{}, ErrURLSyntax},
		{"short address", strict, "https://192.1/", Endpoint{}, ErrURLSyntax},
		{"hexadecimal address", strict, "https://0xc0000201/", Endpoint{}, ErrURLSyntax},
		{"decimal address", strict, "https://3221225985/", Endpoint{}, ErrURLSyntax},
		{"zone", strict, "https://[fe80::1%25eth0]/", Endpoint{}, ErrURLSyntax},
		{"port too large", strict, "https://shop.example:65536/", Endpoint{}, ErrURLSyntax},
		{"port zero", strict, "https://shop.example:0/", Endpoint{}, ErrURLSyntax},
		{"unicode", strict, "https://bücher.example/", Endpoint{}, ErrURLHost},
		{"unicode upper", strict, "https://BÜCHER.example/", Endpoint{}, ErrURLHost},
		{"full-width letter", strict, "https://\uff53hop.example/", Endpoint{}, ErrURLHost},
		{"full-width letter, escaped", strict, "https://%EF%BD%93hop.example/", Endpoint{}, ErrURLHost},
		{"Kelvin sign", strict, "https://\u212a.example/", Endpoint{}, ErrURLHost},
		{"dotted capital I", strict, "https://sh\u0130p.example/", Endpoint{}, ErrURLHost},
		{"full-width dot", strict, "https://shop。example/", Endpoint{}, ErrURLHost},
		{"soft hyphen", strict, "https://sh\u00adop.example/", Endpoint{}, ErrURLHost},
		{"full-width digit in an address", strict, "https://192.0.2.\uff11/", Endpoint{}, ErrURLHost},
		{"punycode of nothing", strict, "https://xn--/", Endpoint{}, ErrURLSyntax},
		{"punycode of ASCII", strict, "https://xn--shop-.example/", Endpoint{}, ErrURLSyntax},
		{"punycode of a full-width letter", strict, "https://xn--hop-p96s.example/", Endpoint{}, ErrURLSyntax},
		{"trailing dot of an address", strict, "https://192.0.2.1./", Endpoint{}, ErrURLSyntax},
		{"IPv4 in brackets", strict, "https://[192.0.2.1]/", Endpoint{}, ErrURLSyntax},
		{"padded address", strict, "https://192.000.002.001/", Endpoint{}, ErrURLSyntax},
		{"percent in the host", strict, "https://shop%2eexample/", Endpoint{}, ErrURLSyntax},
		{"host too long", strict, "https://" + strings.Repeat("a.", 127) + "a/", Endpoint{}, ErrURLSyntax},
		{"too long", strict, "https://shop.example/" + strings.Repeat("a", MaxURLLength), Endpoint{}, ErrURLTooLong},
	} {
		got, err := tt.rule.Parse(tt.raw)
		if got != tt.want || err != tt.err {
			t.Errorf("%s: got %v, %v; want %v, %v", tt.name, got, err, tt.want, tt.err)
		}
	}
}

func TestRegisteredIsExact(t *testing.T) {
	rule := CallbackRule{}
	registered := []string{"https://shop.example/ok", "https://hooks.example:8443/"}
	for raw, want := range map[string]bool{
		"https://shop.example/other":        true,
		"https://shop.example:443/":         true,
		"https://hooks.example:8443/x":      true,
		"https://shop.example:8443/":        false,
		"https://hooks.example/":            false,
		"https://www.shop.example/":         false,
		"https://shop.example.evil/":        false,
		"https://evilshop.example/":         false,
		"https://sh%6fp.example/":           false,
		"https://evil.example/shop.example": false,
		"https://\uff53hop.example/":        false,
	} {
		e, err := rule.Parse(raw)
		if got := err == nil && rule.Registered(e, registered); got != want {
			t.Errorf("%s: %t, want %t", raw, got, want)
		}
	}
}

func FuzzCallbackRule(f *testing.F) {
	f.Fuzz(func(t *testing.T, raw string) {
		e, err := CallbackRule{}.Parse(raw)
		if err != nil {
			return
		}
		if strings.ContainsFunc(e.Host, isNotASCII) {
			t.Errorf("%q: the host %q is not ASCII", raw, e.Host)
		}
		host := e.Host
		if strings.Contains(host, ":") {
			host = "[" + host + "]"
		}
		again, err := CallbackRule{}.Parse("https://" + host + "/")
		if err != nil || again.Host != e.Host {
			t.Errorf("%q: canonical host %q reads back as %q, %v", raw, e.Host, again.Host, err)
		}
	})
}

func TestCheckLink(t *testing.T) {
	strict, insecure := CallbackRule{}, CallbackRule{AllowInsecure: true}
	for _, tt := range []struct {
		rule CallbackRule
		raw  string
		err  error
	}{
		{strict, "", nil},
		{strict, "https://shop.example/privacy#top", nil},
		{strict, "http://localhost/", ErrURLScheme},
		{strict, "https://u@shop.example/", ErrURLUserinfo},
		{strict, "javascript:alert(1)", ErrURLScheme},
		{strict, "/privacy", ErrURLSyntax},
		{strict, "https://shop.example/\x01", ErrURLSyntax},
		{insecure, "http://localhost:8081/", nil},
		{insecure, "http://shop.localhost/", nil},
		{insecure, "http://127.0.0.2/", nil},
		{insecure, "http://[::1]/", nil},
		{insecure, "HTTPS://shop.example/", nil},
		{insecure, "http://shop.example/", ErrLinkScheme},
		{insecure, "http://localhost.shop.example/", ErrLinkScheme},
		{insecure, "http://192.168.0.1/", ErrLinkScheme},
		{insecure, "http://u@localhost/", ErrURLUserinfo},
	} {
		if err := tt.rule.CheckLink(tt.raw); !errors.Is(err, tt.err) {
			t.Errorf("%q (insecure %t): %v, want %v", tt.raw, tt.rule.AllowInsecure, err, tt.err)
		}
	}
}
