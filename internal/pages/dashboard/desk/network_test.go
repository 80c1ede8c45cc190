package desk

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
)

// TestNetwork: the network of a client is the one that a trusted proxy saw,
// whatever headers the client sends.
func TestNetwork(t *testing.T) {
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24"), netip.MustParsePrefix("fd00::/64")}
	for _, tt := range []struct {
		name      string
		from      string   // address of the connection
		forwarded []string // lines of X-Forwarded-For
		want      string   // empty if unknown
	}{
		{"a proxy's client", "10.0.0.1:5000", []string{"203.0.113.7"}, "203.0.113.0/24"},
		{"the client's own header before it", "10.0.0.1:5000", []string{"198.51.100.1, 203.0.113.7"}, "203.0.113.0/24"},
		{"in a separate line", "10.0.0.1:5000", []string{"198.51.100.1", "203.0.113.7"}, "203.0.113.0/24"},
		{"that names a proxy", "10.0.0.1:5000", []string{"10.0.0.9, 203.0.113.7"}, "203.0.113.0/24"},
		{"that is no address", "10.0.0.1:5000", []string{"<script>,, ,203.0.113.7"}, "203.0.113.0/24"},
		{"two proxies", "[fd00::1]:5000", []string{"198.51.100.1, 203.0.113.7, 10.0.0.2"}, "203.0.113.0/24"},
		{"no proxy", "203.0.113.7:5000", []string{"198.51.100.1"}, "203.0.113.0/24"},
		{"no proxy, pretending to be behind one", "203.0.113.7:5000", []string{"198.51.100.1, 10.0.0.1"}, "203.0.113.0/24"},
		{"no proxy, over IPv6", "[2001:db8:1:2:3:4:5:6]:5000", nil, "2001:db8:1:2::/64"},
		{"another address of the same network", "10.0.0.1:5000", []string{"2001:db8:1:2:ffff::1"}, "2001:db8:1:2::/64"},
		{"the next network", "10.0.0.1:5000", []string{"2001:db8:1:3::1"}, "2001:db8:1:3::/64"},
		{"IPv4 in IPv6", "[::ffff:10.0.0.1]:5000", []string{"::ffff:203.0.113.7"}, "203.0.113.0/24"},
		{"with a zone", "10.0.0.1:5000", []string{"fe80::1%eth0"}, "fe80::/64"},
		{"with a port", "10.0.0.1:5000", []string{"203.0.113.7:41000"}, "203.0.113.0/24"},
		{"in brackets", "10.0.0.1:5000", []string{"[2001:db8::1]"}, "2001:db8::/64"},
		{"in brackets with a port", "10.0.0.1:5000", []string{"[2001:db8::1]:41000"}, "2001:db8::/64"},
		{"the proxy says nothing", "10.0.0.1:5000", nil, ""},
		{"the proxy says something else", "10.0.0.1:5000", []string{"203.0.113.7, unknown"}, ""},
		{"only proxies", "10.0.0.1:5000", []string{"10.0.0.2, 10.0.0.3"}, ""},
		{"a connection without an address", "@", []string{"203.0.113.7"}, ""},
	} {
		req := httptest.NewRequest(http.MethodPost, "/dashboard/login", nil)
		req.RemoteAddr, req.Header["X-Forwarded-For"] = tt.from, tt.forwarded
		req.Header.Set("X-Real-IP", "192.0.2.1") // this header must be ignored
		req.Header.Set("Forwarded", "for=192.0.2.1")
		got := ""
		if found := network(req, proxies); found.IsValid() {
			got = found.String()
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
		if found := network(req, nil); found.IsValid() {
			t.Errorf("%s, without trusted proxies: %s", tt.name, found)
		}
	}
}
