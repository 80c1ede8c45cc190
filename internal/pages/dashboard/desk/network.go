package desk

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Lengths of the prefixes whose addresses count as one client. A client that has one
// address of a prefix can often use the others.
const (
	networkBits4 = 24
	networkBits6 = 64
)

// network returns the network of the client that sent a request, or the zero prefix if it is unknown. Each
// proxy appends the address from which it was called to X-Forwarded-For, so the client is the last address that
// does not belong to a trusted proxy. The addresses before it were sent by the client and could be anything.
// Without trusted proxies nothing is known: the connection may come from a proxy that all clients share.
func network(req *http.Request, proxies []netip.Prefix) netip.Prefix {
	if len(proxies) == 0 {
		return netip.Prefix{}
	}
	hops := strings.Split(strings.Join(req.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(append(hops, req.RemoteAddr)) {
		addr, ok := parseHop(strings.TrimSpace(hop))
		if !ok {
			return netip.Prefix{}
		}
		if !slices.ContainsFunc(proxies, func(p netip.Prefix) bool { return p.Contains(addr) }) {
			return around(addr)
		}
	}
	return netip.Prefix{}
}

// parseHop reads an address, which some proxies write with a port.
func parseHop(hop string) (netip.Addr, bool) {
	addr, err := netip.ParseAddr(strings.Trim(hop, "[]"))
	if err != nil {
		with, err := netip.ParseAddrPort(hop)
		return with.Addr().Unmap().WithZone(""), err == nil
	}
	return addr.Unmap().WithZone(""), true
}

// around returns the network of an address.
func around(addr netip.Addr) netip.Prefix {
	bits := networkBits6
	if addr.Is4() {
		bits = networkBits4
	}
	prefix, err := addr.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return prefix
}
