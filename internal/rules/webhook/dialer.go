package webhook

import (
	"net"
	"net/netip"
	"time"

	"code.dny.dev/ssrf"
)

// connectTimeout bounds the lookup and the TCP connection of one attempt.
const connectTimeout = 5 * time.Second

// azureHost answers metadata and control requests inside Azure. It is
// registered as a public address, so the guard's own list does not include it.
var azureHost = netip.MustParsePrefix("168.63.129.16/32")

// newDialer returns a dialer that refuses every address that is not public,
// except in the allowed networks. It checks the resolved address when it
// connects, so IP literals, names and changing DNS answers are all covered.
func newDialer(allow []netip.Prefix) *net.Dialer {
	var v4, v6 []netip.Prefix
	for _, prefix := range allow {
		if prefix.Addr().Is4() {
			v4 = append(v4, prefix)
		} else {
			v6 = append(v6, prefix)
		}
	}
	guard := ssrf.New(
		ssrf.WithAnyPort(), // a merchant's receiver may listen anywhere
		ssrf.WithAllowedV4Prefixes(v4...),
		ssrf.WithAllowedV6Prefixes(v6...),
		ssrf.WithDeniedV4Prefixes(azureHost),
	)
	return &net.Dialer{Timeout: connectTimeout, KeepAlive: 30 * time.Second, Control: guard.Safe}
}
