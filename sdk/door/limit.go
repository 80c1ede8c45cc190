package door

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"
)

// limitWindow is a session's life: until it ends, a live session holds a unit.
const limitWindow = 30 * time.Minute

// Limits are how many sessions the door creates in half an hour.
type Limits struct{ All, Network, Browser int }

// limiter counts creations. It holds at most Limits.All networks.
type limiter struct {
	mu       sync.Mutex
	began    time.Time
	all      int
	networks map[netip.Prefix]int
}

// take counts a creation, or reports that a limit is reached.
func (l *limiter) take(limits Limits, network netip.Prefix, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.began) >= limitWindow {
		l.began, l.all, l.networks = now, 0, map[netip.Prefix]int{}
	}
	if l.all >= limits.All || l.networks[network] >= limits.Network {
		return false
	}
	l.all++
	l.networks[network]++
	return true
}

// networkOf returns the visitor's network: an IPv4 address or the /64 of an IPv6
// address. A proxy on this machine or in a private network names the visitor as
// the last in X-Forwarded-For.
func networkOf(r *http.Request) netip.Prefix {
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Prefix{}
	}
	if forwarded := r.Header.Values("X-Forwarded-For"); len(forwarded) > 0 && (addr.IsLoopback() || addr.IsPrivate()) {
		all := strings.Split(strings.Join(forwarded, ","), ",")
		if named, err := netip.ParseAddr(strings.TrimSpace(all[len(all)-1])); err == nil {
			addr = named
		}
	}
	addr = addr.Unmap().WithZone("")
	bits := 32
	if addr.Is6() {
		bits = 64
	}
	prefix, _ := addr.Prefix(bits) // both are valid lengths
	return prefix
}
