//go:build linux

package chaos

import (
	"cmp"
	"context"
	cryptorand "crypto/rand"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sort"
	"sync"
	"testing"
	"time"

	"agegate/proof/table"
)

// load simulates shoppers. Each creates a session and completes it, retrying both
// until there is an answer, and looks it up.
type load struct {
	*client
	*account
	gateways []string // base URLs; each shopper uses one
	pages    string   // base URL of the hosted page; empty if it is the shopper's gateway
	keys     []string // of the tenants
	pause    time.Duration
}

// account records the answers that the load received.
type account struct {
	mu       sync.Mutex
	created  map[string]bool   // by session
	told     map[string]string // reported status, by session
	acks     []time.Time       // times of acknowledged creations and completions, in order
	answers  map[string]int    // by operation and status
	slowest  time.Duration
	cut      []cut    // requests that were sent but got no answer
	odd      []string // answers other than success and 503
	disputed []string // answers that contradict an acknowledgement
}

// cut is a request whose connection ended without an answer.
type cut struct {
	operation string
	wrote     time.Time
	took      time.Duration
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

// start runs shoppers. It returns a function that stops them and returns when the
// last one has finished.
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

// retryPause is the pause of a shopper after an attempt without an answer.
const retryPause = 20 * time.Millisecond

func (l *load) visit(ctx context.Context) {
	gateway, key := l.gateways[rand.N(len(l.gateways))], l.keys[rand.N(len(l.keys))]
	s, _, ok := l.insistOnCreate(ctx, gateway, key)
	if !ok {
		return
	}
	outcome := []string{"verified", "fallback", "verified", "fallback", "spoof"}[rand.N(5)]
	if _, ok := l.insistOnForce(ctx, cmp.Or(l.pages, gateway), s, outcome); !ok {
		return
	}
	status, r := l.status(gateway, s)
	l.noteStatus(s, outcomes[outcome], status, r)
}

// insistOnCreate creates a session and returns the reply that acknowledged it. ok
// is false if ctx ended first.
func (l *load) insistOnCreate(ctx context.Context, gateway, key string) (s session, r reply, ok bool) {
	order := cryptorand.Text()
	for {
		s, r, ok = l.create(gateway, key, order)
		l.noteCreate(s, r, ok)
		if ok || ctx.Err() != nil {
			return s, r, ok
		}
		rest(ctx, retryPause)
	}
}

// insistOnForce does the same for forcing an outcome.
func (l *load) insistOnForce(ctx context.Context, gateway string, s session, outcome string) (r reply, ok bool) {
	for {
		var told string
		told, r = l.force(gateway, s, outcome)
		l.noteForce(s, outcomes[outcome], told, r)
		if told != "" || ctx.Err() != nil {
			return r, told != ""
		}
		rest(ctx, retryPause)
	}
}

// complete lets a session end as PASSED, however busy the gateway is, and returns
// the replies that acknowledged the creation and the completion.
func (l *load) complete(t *testing.T, gateway, key string) (s session, created, completed reply) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), table.HangLimit)
	defer cancel()
	s, created, ok := l.insistOnCreate(ctx, gateway, key)
	if ok {
		completed, ok = l.insistOnForce(ctx, gateway, s, "verified")
	}
	if !ok {
		t.Errorf("no session could be completed in %s", table.HangLimit)
	}
	return s, created, completed
}

// completeMany lets n sessions end as PASSED, as fast as possible.
func (l *load) completeMany(t *testing.T, gateway string, keys []string, n int) {
	t.Helper()
	var all sync.WaitGroup
	work := make(chan int)
	for range 8 {
		all.Go(func() {
			for i := range work {
				l.complete(t, gateway, keys[i%len(keys)])
			}
		})
	}
	for i := range n {
		work <- i
	}
	close(work)
	all.Wait()
}

// note counts an answer. The caller has locked the account.
func (a *account) note(operation string, r reply, wanted ...int) {
	a.answers[fmt.Sprintf("%s %d", operation, r.status)]++
	a.slowest = max(a.slowest, r.took)
	switch {
	case r.status == 0 && !r.wrote.IsZero():
		a.cut = append(a.cut, cut{operation, r.wrote, r.took})
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
	case want, ended: // an earlier request without an answer may have ended it
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

// awaitCreations waits until n creations are acknowledged. It gives up only if
// there is no progress.
func (a *account) awaitCreations(t *testing.T, n int) {
	t.Helper()
	last, limit := 0, time.Now().Add(table.HangLimit)
	for ; ; time.Sleep(10 * time.Millisecond) {
		switch made, _ := a.acknowledged(); {
		case made >= n:
			return
		case made > last:
			last, limit = made, time.Now().Add(table.HangLimit)
		case time.Now().After(limit):
			t.Fatalf("%d creations, and no more for %s", made, table.HangLimit)
		}
	}
}

// longestGap returns the longest time without an acknowledgement.
func (a *account) longestGap() time.Duration { return a.longestGapSince(time.Time{}) }

// longestGapSince does the same for gaps that ended after a moment.
func (a *account) longestGapSince(moment time.Time) (longest time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := 1; i < len(a.acks); i++ {
		if a.acks[i].After(moment) {
			longest = max(longest, a.acks[i].Sub(a.acks[i-1]))
		}
	}
	return longest
}

// awaitAfter waits for an acknowledgement after a moment and returns how long
// after the moment the first one came.
func (a *account) awaitAfter(t *testing.T, moment time.Time) time.Duration {
	t.Helper()
	for limit := time.Now().Add(table.HangLimit); time.Now().Before(limit); time.Sleep(5 * time.Millisecond) {
		a.mu.Lock()
		acks := a.acks[sort.Search(len(a.acks), func(i int) bool { return a.acks[i].After(moment) }):]
		a.mu.Unlock()
		if len(acks) > 0 {
			return acks[0].Sub(moment)
		}
	}
	t.Fatalf("nothing was acknowledged for %s", table.HangLimit)
	return 0
}
