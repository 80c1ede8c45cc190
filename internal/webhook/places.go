package webhook

import (
	"sync"
	"time"

	"github.com/google/uuid"
)

// A dispatcher makes a bounded number of attempts at once: it has so many
// places. They are in two lanes, so that receivers which hang, however many
// tenants they belong to, leave places for receivers that answer.
//
// An attempt is prompt while it is younger than promptTime. One that gets older
// moves to the slow lane, where it hinders nobody else, and from then on its
// tenant's new attempts start there too, until promptToRegain of its attempts
// in a row have been answered promptly. What the receiver answers is of no
// account: an error that comes at once holds no place.
type lane int

const (
	promptLane lane = iota // tenants whose receivers answer, or were not tried yet
	slowLane               // tenants whose receivers let attempts wait
	lanes
)

const (
	promptTime     = time.Second
	promptToRegain = 8

	// lanePlaces is the size of a lane. The slow lane holds more for a time when
	// many receivers begin to hang at once.
	lanePlaces = 256
	// maxInFlight bounds both lanes together, and with them sockets and memory.
	maxInFlight = 1000
	// maxTenantInFlight bounds the attempts of one tenant, in both lanes.
	maxTenantInFlight = 8
)

// places is the account of the attempts under way. It keeps the standing of
// every tenant that had an attempt since the process began.
type places struct {
	mu      sync.Mutex
	taken   [lanes]int
	tenants map[uuid.UUID]*standing
}

// standing is what is known of a tenant's receivers.
type standing struct {
	taken    [lanes]int
	slow     bool // new attempts start in the slow lane
	answered int  // attempts in a row that were answered promptly
	short    bool // it may have more due than it was given places for
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

// laneOf returns the lane in which the tenant's new attempts start.
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

// share is how many places of a lane one tenant may hold while free are left.
// Half of the lane is for whoever has much to send. The other half is for
// tenants that hold no place yet, one for each, so that no few can fill it. A
// tenant whose receiver was not tried yet has one place at most, and none of
// the last eighth: there may be any number of such tenants.
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

// move adds n to the accounts of the place's lane. p is locked.
func (p *places) move(pl *place, n int) {
	p.taken[pl.lane] += n
	p.of(pl.tenant).taken[pl.lane] += n
}

// overdue moves an attempt that is no longer prompt to the slow lane, and with
// it what its tenant starts from now on. The attempt may just have ended.
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

// answered notes that an attempt ended while it was prompt.
func (p *places) answered(pl *place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.of(pl.tenant)
	s.answered++
	if s.answered >= promptToRegain {
		s.slow = false
	}
}

// leave frees the place of an attempt that has ended. It reports whether an
// attempt may have been passed over for want of it.
func (p *places) leave(pl *place) (wanted bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	wanted = p.of(pl.tenant).short || p.free(pl.lane) <= 0
	p.move(pl, -1)
	pl.left = true
	return wanted
}

// giveBack frees places that found nothing due.
func (p *places) giveBack(unused []*place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, pl := range unused {
		p.of(pl.tenant).short = false
		p.move(pl, -1)
	}
}
