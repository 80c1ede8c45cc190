//go:build linux

package chaos

import (
	"context"
	cryptorand "crypto/rand"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"
)

// load is shoppers: each creates a session, completes it, insisting on both
// until they are answered, and looks it up.
type load struct {
	*client
	*account
	gateways []string // base URLs; each shopper uses one
	keys     []string // of the tenants
	pause    time.Duration
}

// account is what the load was told.
type account struct {
	mu       sync.Mutex
	created  map[string]bool   // by session
	told     map[string]string // status by session
	acks     []time.Time       // of creations and completions
	answers  map[string]int    // by operation and status
	slowest  time.Duration
	cut      []string // requests that were sent and got no answer
	odd      []string // answers other than success and 503
	disputed []string // answers that contradict an acknowledgement
}

func newAccount() *account {
	return &account{created: map[string]bool{}, told: map[string]string{}, answers: map[string]int{}}
}

func newLoad(keys []string, pause time.Duration, gateways ...*gateway) *load {
	l := &load{client: newClient(), account: newAccount(), keys: keys, pause: pause}
	for _, g := range gateways {
		l.gateways = append(l.gateways, g.url)
	}
	return l
}

// start lets shoppers come until stop is called, which returns when the last
// one has left.
func (l *load) start(shoppers int) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for range shoppers {
		all.Go(func() {
			for ctx.Err() == nil {
				l.visit(ctx)
				rest(ctx, l.pause)
			}
		})
	}
	return func() {
		cancel()
		all.Wait()
	}
}

// rest waits about d, or until ctx is done.
func rest(ctx context.Context, d time.Duration) {
	if d == 0 {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(d/2 + rand.N(d)):
	}
}

// retryPause is between tries of a shopper who got no answer.
const retryPause = 20 * time.Millisecond

func (l *load) visit(ctx context.Context) {
	gateway, key, order := l.gateways[rand.N(len(l.gateways))], l.keys[rand.N(len(l.keys))], cryptorand.Text()
	s, r, ok := l.create(gateway, key, order)
	l.noteCreate(s, r, ok)
	for ; !ok; l.noteCreate(s, r, ok) {
		if ctx.Err() != nil {
			return
		}
		rest(ctx, retryPause)
		s, r, ok = l.create(gateway, key, order)
	}
	outcome := []string{"verified", "fallback", "verified", "fallback", "spoof"}[rand.N(5)]
	for told := ""; told == ""; {
		told, r = l.force(gateway, s, outcome)
		l.noteForce(s, outcomes[outcome], told, r)
		if told == "" {
			if ctx.Err() != nil {
				return
			}
			rest(ctx, retryPause)
		}
	}
	status, r := l.status(gateway, s)
	l.noteStatus(s, outcomes[outcome], status, r)
}

// note counts an answer. The account is locked.
func (a *account) note(operation string, r reply, wanted ...int) {
	a.answers[fmt.Sprintf("%s %d", operation, r.status)]++
	a.slowest = max(a.slowest, r.took)
	switch {
	case r.cut:
		a.cut = append(a.cut, fmt.Sprintf("%s after %s", operation, r.took))
	case r.status != 0 && r.status != http.StatusServiceUnavailable && !slices.Contains(wanted, r.status):
		a.odd = append(a.odd, fmt.Sprintf("%s: %d %.100s", operation, r.status, r.body))
	}
}

func (a *account) noteCreate(s session, r reply, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.note("create", r, http.StatusCreated)
	if ok {
		a.created[s.id] = true
		a.acks = append(a.acks, time.Now())
	}
}

func (a *account) noteForce(s session, want, told string, r reply) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.note("complete", r, http.StatusOK, http.StatusSeeOther)
	switch told {
	case "":
	case want, ended: // an earlier, unanswered request may have ended it
		a.told[s.id] = want
		a.acks = append(a.acks, time.Now())
	default:
		a.disputed = append(a.disputed, fmt.Sprintf("session %s: forced to %s, shown %s", s.id, want, told))
	}
}

func (a *account) noteStatus(s session, want, told string, r reply) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.note("status", r, http.StatusOK)
	if told != "" && told != want {
		a.disputed = append(a.disputed, fmt.Sprintf("session %s: acknowledged as %s, looked up as %s", s.id, want, told))
	}
}

// acknowledged returns how many creations and completions were acknowledged.
func (a *account) acknowledged() (creations, completions int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.created), len(a.told)
}

// longestGap returns the longest time without an acknowledgement.
func (a *account) longestGap() (longest time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	slices.SortFunc(a.acks, time.Time.Compare)
	for i := 1; i < len(a.acks); i++ {
		longest = max(longest, a.acks[i].Sub(a.acks[i-1]))
	}
	return longest
}

// firstAfter returns how long after a moment the next acknowledgement came.
func (a *account) firstAfter(moment time.Time) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	first := time.Hour
	for _, ack := range a.acks {
		if d := ack.Sub(moment); d > 0 {
			first = min(first, d)
		}
	}
	return first
}
