package door

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// limitWindow is a session's life: until it ends, a live session holds a unit.
const limitWindow = 30 * time.Minute

// Limits are how many sessions the door creates in half an hour. Network is of the
// smallest network that one person may own; each larger one around it has twice as many.
type Limits struct{ All, Network, Browser int }

// limiter counts creations.
type limiter interface {
	// take counts a creation by each of a visitor's networks, or reports that a limit is
	// reached.
	take(ctx context.Context, limits Limits, networks []netip.Prefix, now time.Time) bool
}

// known is how much of Limits.All there is for networks that have created sessions. The
// rest is for those that have not: one person with many addresses keeps nobody out.
func (l Limits) known() int { return l.All - l.All/5 }

// localLimiter is the limiter of a single door. It holds at most three networks for each
// unit of Limits.All.
type localLimiter struct {
	mu       sync.Mutex
	began    time.Time
	all      int
	networks map[netip.Prefix]int
}

func (l *localLimiter) take(_ context.Context, limits Limits, networks []netip.Prefix, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.began) >= limitWindow {
		l.began, l.all, l.networks = now, 0, map[netip.Prefix]int{}
	}
	most := limits.All
	for i, n := range networks {
		if l.networks[n] > 0 {
			most = limits.known()
		}
		if l.networks[n] >= limits.Network<<i {
			return false
		}
	}
	if l.all >= most {
		return false
	}
	l.all++
	for _, n := range networks {
		l.networks[n]++
	}
	return true
}

// sharedLimiter is the limiter of several doors of a site. While Redis does not
// answer, each door counts for itself.
type sharedLimiter struct {
	client *redis.Client
	site   string
	alone  localLimiter
	log    *slog.Logger
}

// countOnce adds one to each of KEYS, the count of all and those of networks, unless a
// limit is reached. ARGV are the limits of all, of all for known networks, and of a
// network, and how long a count lasts from its beginning, in milliseconds.
var countOnce = redis.NewScript(`
local most = tonumber(ARGV[1])
for i = 2, #KEYS do
	local n = tonumber(redis.call('GET', KEYS[i]) or '0')
	if n > 0 then most = tonumber(ARGV[2]) end
	if n >= tonumber(ARGV[3]) * 2 ^ (i - 2) then return 0 end
end
if tonumber(redis.call('GET', KEYS[1]) or '0') >= most then return 0 end
for _, key in ipairs(KEYS) do
	if redis.call('INCR', key) == 1 then redis.call('PEXPIRE', key, ARGV[4]) end
end
return 1`)

// redisPatience is how long a visitor waits for Redis.
const redisPatience = 2 * time.Second

func (l *sharedLimiter) take(ctx context.Context, limits Limits, networks []netip.Prefix, now time.Time) bool {
	asked, cancel := context.WithTimeout(ctx, redisPatience)
	defer cancel()
	prefix := "door:{" + l.site + "}:" // braces keep all keys on one node of a cluster
	keys := []string{prefix + "all"}
	for _, n := range networks {
		keys = append(keys, prefix+n.String())
	}
	taken, err := countOnce.Run(asked, l.client, keys,
		limits.All, limits.known(), limits.Network, limitWindow.Milliseconds()).Int()
	if err != nil {
		l.log.LogAttrs(ctx, slog.LevelWarn, "DOOR_REDIS does not answer: this door counts sessions for itself",
			slog.Any("error", err))
		return l.alone.take(ctx, limits, networks, now)
	}
	return taken == 1
}

// visitorOf returns the visitor's address: the last one in X-Forwarded-For that is no
// trusted proxy's, if a trusted proxy sent the request.
func (c *Config) visitorOf(r *http.Request) netip.Addr {
	addr := remoteOf(r)
	named := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, text := range slices.Backward(named) {
		next := plainAddr(strings.TrimSpace(text))
		if !c.trusts(addr) || !next.IsValid() {
			break
		}
		addr = next
	}
	return addr
}

func (c *Config) trusts(addr netip.Addr) bool {
	return slices.ContainsFunc(c.Proxies, func(p netip.Prefix) bool { return p.Contains(addr) })
}

func remoteOf(r *http.Request) netip.Addr {
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	return plainAddr(host)
}

func plainAddr(text string) netip.Addr {
	addr, _ := netip.ParseAddr(text) // the zero address, if there is none
	return addr.Unmap().WithZone("")
}

// networksOf returns what one person may own: an IPv4 address, or the /64, the /56 and
// the /48 of an IPv6 address.
func (c *Config) networksOf(r *http.Request) (networks []netip.Prefix) {
	addr := c.visitorOf(r)
	sizes := []int{32}
	if addr.Is6() {
		sizes = []int{64, 56, 48}
	}
	for _, bits := range sizes {
		network, _ := addr.Prefix(bits) // no prefix without an address
		networks = append(networks, network)
	}
	return networks
}
