package door

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// limitWindow is a session's life: until it ends, a live session holds a unit.
const limitWindow = 30 * time.Minute

// Limits are how many sessions the door creates in half an hour.
type Limits struct{ All, Network, Browser int }

// limiter counts creations.
type limiter interface {
	// take counts a creation, or reports that a limit is reached.
	take(ctx context.Context, limits Limits, network netip.Prefix, now time.Time) bool
}

// localLimiter is the limiter of a single door. It holds at most Limits.All networks.
type localLimiter struct {
	mu       sync.Mutex
	began    time.Time
	all      int
	networks map[netip.Prefix]int
}

func (l *localLimiter) take(_ context.Context, limits Limits, network netip.Prefix, now time.Time) bool {
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

// sharedLimiter is the limiter of several doors of a site. While Redis does not
// answer, each door counts for itself.
type sharedLimiter struct {
	client *redis.Client
	site   string
	alone  localLimiter
	log    *slog.Logger
}

// countOnce adds one to each of KEYS, unless one of them has reached its limit in
// ARGV. A count ends by itself, the last of ARGV after it began, in milliseconds.
var countOnce = redis.NewScript(`
for i, key in ipairs(KEYS) do
	if tonumber(redis.call('GET', key) or '0') >= tonumber(ARGV[i]) then return 0 end
end
for _, key in ipairs(KEYS) do
	if redis.call('INCR', key) == 1 then redis.call('PEXPIRE', key, ARGV[#ARGV]) end
end
return 1`)

// redisPatience is how long a visitor waits for Redis.
const redisPatience = 2 * time.Second

func (l *sharedLimiter) take(ctx context.Context, limits Limits, network netip.Prefix, now time.Time) bool {
	asked, cancel := context.WithTimeout(ctx, redisPatience)
	defer cancel()
	prefix := "door:{" + l.site + "}:" // braces keep both keys on one node of a cluster
	taken, err := countOnce.Run(asked, l.client, []string{prefix + "all", prefix + network.String()},
		limits.All, limits.Network, limitWindow.Milliseconds()).Int()
	if err != nil {
		l.log.LogAttrs(ctx, slog.LevelWarn, "DOOR_REDIS does not answer: this door counts sessions for itself",
			slog.Any("error", err))
		return l.alone.take(ctx, limits, network, now)
	}
	return taken == 1
}

// visitorOf returns the visitor's address. A proxy on this machine or in a private
// network names the visitor as the last in X-Forwarded-For.
func visitorOf(r *http.Request) netip.Addr {
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	addr, _ := netip.ParseAddr(host)
	if forwarded := r.Header.Values("X-Forwarded-For"); len(forwarded) > 0 && (addr.IsLoopback() || addr.IsPrivate()) {
		all := strings.Split(strings.Join(forwarded, ","), ",")
		if named, err := netip.ParseAddr(strings.TrimSpace(all[len(all)-1])); err == nil {
			addr = named
		}
	}
	return addr.Unmap().WithZone("")
}

// networkOf returns the visitor's network: an IPv4 address or the /64 of an IPv6
// address.
func networkOf(r *http.Request) netip.Prefix {
	addr, bits := visitorOf(r), 32
	if addr.Is6() {
		bits = 64
	}
	prefix, _ := addr.Prefix(bits) // no prefix without an address
	return prefix
}
