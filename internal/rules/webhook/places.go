package webhook

import (
	"sync"
	"time"

	"github.com/google/uuid"
)

// A dispatcher makes a bounded number of attempts at the same time; each takes
// a place. The places are divided into two lanes, so that hanging receivers, of
// however many tenants, leave places for receivers that answer.
//
// An attempt is prompt while it is younger than promptTime. An older one moves
// to the slow lane, where it does not delay prompt receivers, and its tenant's
// new attempts start there too, until promptToRegain consecutive attempts have
// been answered promptly. Only the time matters, not the answer, because an
// immediate error frees its place at once.
type lane int

const (
	promptLane lane = iota // tenants whose receivers answer promptly or have not been tried
	slowLane               // tenants whose receivers are slow
	lanes
)

const (
	promptTime     = time.Second
	promptToRegain = 8

	// lanePlaces is the size of a lane. The slow lane exceeds it for a time when
	// many receivers start to hang at once.
	lanePlaces = 256
	// maxInFlight bounds both lanes together, and with them sockets and memory.
	maxInFlight = 1000
	// maxTenantInFlight bounds the attempts of one tenant, in both lanes.
	maxTenantInFlight = 8
)

// places keeps track of the attempts under way, and the standing of every
// tenant that had an attempt since the process started.
type places struct {
	mu      sync.Mutex
	taken   [lanes]int
	tenants map[uuid.UUID]*standing
}

// standing is the dispatcher's knowledge of a tenant's receivers.
type standing struct {
	taken    [lanes]int
	slow     bool // new attempts start in the slow lane
	answered int  // consecutive attempts that were answered promptly
	short    bool // more deliveries may be due than it got places for
}

// place is the right to make one attempt.
type place struct {
	tenant uuid.UUID
	lane   lane
	left   bool // the attempt has ended
}

func newPlaces() *places { return &places{tenants: make(map[uuid.UUID]*standing)} }

// of returns the tenant's standing. p is locked.
func (p *places) of(tenant uuid.UUID) *standing {
	s := p.tenants[tenant]
	if s == nil {
		s = new(standing)
		p.tenants[tenant] = s
	}
	return s
}

// laneOf returns the lane for the tenant's new attempts.
func (p *places) laneOf(tenant uuid.UUID) lane {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.tenants[tenant]; s != nil && s.slow {
		return slowLane
	}
	return promptLane
}

// take gives the tenant as many places in the lane as it may have now, and
// returns them.
func (p *places) take(tenant uuid.UUID, l lane) []*place {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.of(tenant)
	untried := l == promptLane && s.answered == 0
	n := min(share(p.free(l), untried)-s.taken[l], maxTenantInFlight-s.taken[promptLane]-s.taken[slowLane])
	s.short = true
	taken := make([]*place, max(n, 0))
	for i := range taken {
		taken[i] = &place{tenant: tenant, lane: l}
		p.move(taken[i], 1)
	}
	return taken
}

// free returns how many more attempts the lane can take. p is locked.
func (p *places) free(l lane) int {
	return min(lanePlaces-p.taken[l], maxInFlight-p.taken[promptLane]-p.taken[slowLane])
}

// share returns how many places of a lane one tenant may hold while the given
// number is free. Half of the lane is for any tenant. The other half is for
// tenants that hold no place yet, one each, so that a few tenants cannot fill
// it. A tenant whose receiver has not been tried gets at most one place, and
// none of the last eighth of the lane, because there may be any number of such
// tenants.
func share(free int, untried bool) int {
	switch plenty := free - lanePlaces/2; {
	case free <= 0, untried && free <= lanePlaces/8:
		return 0
	case untried, plenty <= 0:
		return 1
	default:
		return min(maxTenantInFlight, plenty)
	}
}

// move adds n to the counts of the place's lane. p is locked.
func (p *places) move(pl *place, n int) {
	p.taken[pl.lane] += n
	p.of(pl.tenant).taken[pl.lane] += n
}

// overdue moves an attempt that is no longer prompt, and its tenant's future
// attempts, to the slow lane. It does nothing if the attempt has ended
// meanwhile.
func (p *places) overdue(pl *place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !pl.left {
		p.move(pl, -1)
		pl.lane = slowLane
		p.move(pl, 1)
	}
	s := p.of(pl.tenant)
	s.slow, s.answered = true, 0
}

// answered records that an attempt ended while it was prompt.
func (p *places) answered(pl *place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.of(pl.tenant)
	s.answered++
	if s.answered >= promptToRegain {
		s.slow = false
	}
}

// leave frees the place of an attempt that has ended. It reports whether a due
// delivery may have been left unclaimed because no place was free.
func (p *places) leave(pl *place) (wanted bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	wanted = p.of(pl.tenant).short || p.free(pl.lane) <= 0
	p.move(pl, -1)
	pl.left = true
	return wanted
}

// giveBack frees places for which nothing was due.
func (p *places) giveBack(unused []*place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, pl := range unused {
		p.of(pl.tenant).short = false
		p.move(pl, -1)
	}
}
