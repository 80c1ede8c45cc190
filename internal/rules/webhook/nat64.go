package webhook

import (
	"errors"
	"net/netip"
	"slices"
)

// WellKnownNAT64 is the prefix by which hosts that have only IPv6 reach IPv4, unless
// their network has a prefix of its own (RFC 6052, 2.1).
var WellKnownNAT64 = netip.MustParsePrefix("64:ff9b::/96")

// tunnels are prefixes of addresses that carry an IPv4 address for a local translator
// (RFC 8215), 6to4 or Teredo. No public host has such an address.
var tunnels = []netip.Prefix{
	netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("2002::/16"), netip.MustParsePrefix("2001::/32"),
}

// CheckNAT64 returns an error unless a network can have the prefix for NAT64 (RFC
// 6052, 2.2).
func CheckNAT64(prefix netip.Prefix) error {
	if !prefix.Addr().Is6() || prefix.Addr().Is4In6() ||
		!slices.Contains([]int{32, 40, 48, 56, 64, 96}, prefix.Bits()) {
		return errors.New("must be IPv6 with a length of 32, 40, 48, 56, 64 or 96")
	}
	return nil
}

// translate returns the IPv4 address that an address in a prefix of NAT64 stands for,
// and any other address unchanged (RFC 6052, 2.2).
func translate(addr netip.Addr, prefixes []netip.Prefix) netip.Addr {
	for _, prefix := range prefixes {
		if !prefix.Contains(addr) {
			continue
		}
		all := addr.As16()
		bytes := all[:]
		if prefix.Bits() < 96 {
			bytes = slices.Delete(bytes, 8, 9) // reserved
		}
		inside := bytes[prefix.Bits()/8:]
		return netip.AddrFrom4([4]byte(inside[:4]))
	}
	return addr
}
