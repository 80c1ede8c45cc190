package webhook

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"code.dny.dev/ssrf"
)

// connectTimeout bounds the lookup and the TCP connection of one attempt.
const connectTimeout = 5 * time.Second

// azureHost answers metadata and control requests inside Azure. It is
// registered as a public address, so the guard's own list does not include it.
var azureHost = netip.MustParsePrefix("168.63.129.16/32")

// Refuses reports whether the host of a URL is an address or a name of this machine, and the client never connects
// to it.
func (c *Client) Refuses(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	host := strings.ToLower(u.Hostname())
	if strings.HasSuffix("."+host, ".localhost") { // see RFC 6761, section 6.3
		host = "127.0.0.1"
	}
	hostPort := net.JoinHostPort(host, "443")
	at, err := netip.ParseAddrPort(hostPort)
	network := map[bool]string{true: "tcp4", false: "tcp6"}[at.Addr().Is4()]
	return err == nil && c.dialer.Control(network, hostPort, nil) != nil
}

// lookupTimeout bounds one Unknown.
const lookupTimeout = 2 * time.Second

// Unknown reports whether name servers answer in time that the host of a URL does not exist. It connects to nothing.
func (c *Client) Unknown(ctx context.Context, address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || c.Refuses(address) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	_, err = c.dialer.Resolver.LookupNetIP(ctx, "ip", u.Hostname())
	answer, _ := errors.AsType[*net.DNSError](err)
	return answer != nil && answer.IsNotFound
}

// newDialer returns a dialer that refuses every address that is not public, except in the allowed networks. It checks
// the resolved address when it connects, so IP literals, names and changing DNS answers are all covered. An address
// below a NAT64 prefix (the well-known one, or one in nat64) is judged by the IPv4 address in it.
func newDialer(allow, nat64 []netip.Prefix) *net.Dialer {
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
	nat64 = append(slices.Clone(nat64), WellKnownNAT64)
	return &net.Dialer{Timeout: connectTimeout, KeepAlive: 30 * time.Second,
		Control: func(network, address string, conn syscall.RawConn) error {
			to, err := netip.ParseAddrPort(address)
			if err != nil {
				return ssrf.ErrInvalidHostPort
			}
			addr := translate(to.Addr(), nat64)
			if slices.ContainsFunc(tunnels, func(p netip.Prefix) bool { return p.Contains(addr) }) {
				return ssrf.ErrProhibitedIP
			}
			return guard.Safe(network, netip.AddrPortFrom(addr, to.Port()).String(), conn)
		}}
}
