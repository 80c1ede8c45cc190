package tenant

import (
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
		kind string // violation; empty when accepted
	}{
		{"plain", strict, "https://shop.example/ok", Endpoint{"shop.example", 443}, ""},
		{"port", strict, "https://shop.example:8443", Endpoint{"shop.example", 8443}, ""},
		{"port with zeros", strict, "https://shop.example:0443/", Endpoint{"shop.example", 443}, ""},
		{"empty port", strict, "https://shop.example:/", Endpoint{"shop.example", 443}, ""},
		{"case", strict, "HTTPS://Shop.Example/OK", Endpoint{"shop.example", 443}, ""},
		{"underscore", strict, "https://my_shop.example/", Endpoint{"my_shop.example", 443}, ""},
		{"unicode", strict, "https://bücher.example/", Endpoint{"xn--bcher-kva.example", 443}, ""},
		{"unicode upper", strict, "https://BÜCHER.example/", Endpoint{"xn--bcher-kva.example", 443}, ""},
		{"punycode", strict, "https://xn--bcher-kva.example/", Endpoint{"xn--bcher-kva.example", 443}, ""},
		{"Kelvin sign", strict, "https://\u212a.example/", Endpoint{"k.example", 443}, ""},
		{"dotted capital I is no i", strict, "https://sh\u0130p.example/", Endpoint{"xn--ship-swc.example", 443}, ""},
		{"full-width dot", strict, "https://shop。example/", Endpoint{"shop.example", 443}, ""},
		{"IPv4", strict, "https://192.0.2.1/", Endpoint{"192.0.2.1", 443}, ""},
		{"IPv6", strict, "https://[2001:DB8:0:0::1]:444/", Endpoint{"2001:db8::1", 444}, ""},
		{"fragment", strict, "https://shop.example/#x", Endpoint{"shop.example", 443}, ""},
		{"http allowed", insecure, "http://localhost:3000/", Endpoint{"localhost", 3000}, ""},
		{"http default port", insecure, "http://localhost/", Endpoint{"localhost", 80}, ""},

		{"http", strict, "http://shop.example/", Endpoint{}, violationScheme},
		{"other scheme", insecure, "ftp://shop.example/", Endpoint{}, violationScheme},
		{"other scheme without a host", strict, "javascript:alert(1)", Endpoint{}, violationScheme},
		{"empty", strict, "", Endpoint{}, violationParsing},
		{"relative", strict, "/ok", Endpoint{}, violationParsing},
		{"scheme-relative", strict, "//shop.example/", Endpoint{}, violationParsing},
		{"opaque", strict, "https:shop.example", Endpoint{}, violationParsing},
		{"no host", strict, "https:///ok", Endpoint{}, violationParsing},
		{"user", strict, "https://u@shop.example/", Endpoint{}, violationValue},
		{"password", strict, "https://:p@shop.example/", Endpoint{}, violationValue},
		{"backslash", strict, `https://shop.example\@evil.example/`, Endpoint{}, violationParsing},
		{"space", strict, "https://shop.example /", Endpoint{}, violationParsing},
		{"tab", strict, "https://shop.\texample/", Endpoint{}, violationParsing},
		{"control", strict, "https://shop.example/\x01", Endpoint{}, violationParsing},
		{"line separator", strict, "https://shop.example/\u2028", Endpoint{}, violationParsing},
		{"invalid UTF-8", strict, "https://shop.example/\xff", Endpoint{}, violationParsing},
		{"trailing dot", strict, "https://shop.example./", Endpoint{}, violationParsing},
		{"empty label", strict, "https://shop..example/", Endpoint{}, violationParsing},
		{"octal address", strict, "https://0300.0.2.1/", Endpoint{}, violationParsing},
		{"short address", strict, "https://192.1/", Endpoint{}, violationParsing},
		{"hexadecimal address", strict, "https://0xc0000201/", Endpoint{}, violationParsing},
		{"decimal address", strict, "https://3221225985/", Endpoint{}, violationParsing},
		{"zone", strict, "https://[fe80::1%25eth0]/", Endpoint{}, violationParsing},
		{"port too large", strict, "https://shop.example:65536/", Endpoint{}, violationParsing},
		{"port zero", strict, "https://shop.example:0/", Endpoint{}, violationParsing},
		{"percent in the host", strict, "https://shop%2eexample/", Endpoint{}, violationParsing},
		{"host too long", strict, "https://" + strings.Repeat("\u4e00", 400) + "/", Endpoint{}, violationParsing},
		{"too long", strict, "https://shop.example/" + strings.Repeat("a", MaxURLLength), Endpoint{}, violationTooLong},
	} {
		got, kind, ok := tt.rule.Parse(tt.raw)
		if got != tt.want || kind != tt.kind || ok != (tt.kind == "") {
			t.Errorf("%s: got %v, %q, %t; want %v, %q", tt.name, got, kind, ok, tt.want, tt.kind)
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
	} {
		e, _, ok := rule.Parse(raw)
		if got := ok && rule.Registered(e, registered); got != want {
			t.Errorf("%s: %t, want %t", raw, got, want)
		}
	}
}

func FuzzCallbackRule(f *testing.F) {
	for _, seed := range []string{"https://shop.example/", "https://[::1]:1/", "https://a@b", "http://0x7f.1", "https://bücher.example"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		e, kind, ok := CallbackRule{}.Parse(raw)
		if ok != (kind == "") {
			t.Fatalf("%q: ok %t with violation %q", raw, ok, kind)
		}
		if !ok {
			return
		}
		host := e.Host
		if strings.Contains(host, ":") {
			host = "[" + host + "]"
		}
		again, _, ok := CallbackRule{}.Parse("https://" + host + "/")
		if !ok || again.Host != e.Host {
			t.Errorf("%q: canonical host %q reads back as %q, %t", raw, e.Host, again.Host, ok)
		}
	})
}
