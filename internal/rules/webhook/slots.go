package webhook

import (
	"sync"
	"time"

	"github.com/google/uuid"
)

// A dispatcher makes a bounded number of attempts at the same time; each takes
// a slot. The slots are divided into two lanes, so that hanging receivers, of
// however many tenants, leave slots for receivers that answer.
//
// An attempt is prompt while it is younger than promptTime. An older one moves
// to the slow lane, where it does not delay prompt receivers, and its tenant's
// new attempts start there too, until promptToRegain consecutive attempts have
// been answered promptly. Only the time matters, not the answer, because an
// immediate error frees its slot at once.
type lane int

const (
	promptLane lane = iota // tenants whose receivers answer promptly or have not been tried
	slowLane               // tenants whose receivers are slow
	lanes
)

const (
	promptTime     = time.Second
	promptToRegain = 8

	// laneSlots is the size of a lane. The slow lane exceeds it for a time when
	// many receivers start to hang at once.
	laneSlots = 256
	// maxInFlight bounds both lanes together, and with them sockets and memory.
	maxInFlight = 1000
	// maxTenantInFlight bounds the attempts of one tenant, in both lanes.
	maxTenantInFlight = 8
)

// slots keeps track of the attempts under way, and the standing of every
// tenant that had an attempt since the process started.
type slots struct {
	mu      sync.Mutex
	taken   [lanes]int
	tenants map[uuid.UUID]*standing
}

// standing is the dispatcher's knowledge of a tenant's receivers.
type standing struct {
	taken    [lanes]int
	slow     bool // new attempts start in the slow lane
	answered int  // consecutive attempts that were answered promptly
	short    bool // more deliveries may be due than it got slots for
}

// slot is the right to make one attempt.
type slot struct {
	tenant uuid.UUID
	lane   lane
	left   bool // the attempt has ended
}

func newSlots() *slots { return &slots{tenants: make(map[uuid.UUID]*standing)} }

// of returns the tenant's standing. p is locked.
func (p *slots) of(tenant uuid.UUID) *standing {
	s := p.tenants[tenant]
	if s == nil {
		s = new(standing)
		p.tenants[tenant] = s
	}
	return s
}

// laneOf returns the lane for the tenant's new attempts.
func (p *slots) laneOf(tenant uuid.UUID) lane {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.tenants[tenant]; s != nil && s.slow {
		return slowLane
	}
	return promptLane
}

// take gives the tenant as many slots in the lane as it may have now, and
// returns them.
func (p *slots) take(tenant uuid.UUID, l lane) []*slot {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.of(tenant)
	untried := l == promptLane && s.answered == 0
	n := min(share(p.free(l), untried)-s.taken[l], maxTenantInFlight-s.taken[promptLane]-s.taken[slowLane])
	s.short = true
	taken := make([]*slot, max(n, 0))
	for i := range taken {
		taken[i] = &slot{tenant: tenant, lane: l}
		p.move(taken[i], 1)
	}
	return taken
}

// free returns how many more attempts the lane can take. p is locked.
func (p *slots) free(l lane) int {
	return min(laneSlots-p.taken[l], maxInFlight-p.taken[promptLane]-p.taken[slowLane])
}

// share returns how many slots of a lane one tenant may hold while the given
// number is free. Half of the lane is for any tenant. The other half is for
// tenants that hold no slot yet, one each, so that a few tenants cannot fill
// it. A tenant whose receiver has not been tried gets at most one slot, and
// none of the last eighth of the lane, because there may be any number of such
// tenants.
func share(free int, untried bool) int {
	switch plenty := free - laneSlots/2; {
	case free <= 0, untried && free <= laneSlots/8:
		return 0
	case untried, plenty <= 0:
		return 1
	default:
		return min(maxTenantInFlight, plenty)
	}
}

// move adds n to the counts of the slot's lane. p is locked.
func (p *slots) move(held *slot, n int) {
	p.taken[held.lane] += n
	p.of(held.tenant).taken[held.lane] += n
}

// overdue moves an attempt that is no longer prompt, and its tenant's future
// attempts, to the slow lane. It does nothing if the attempt has ended
// meanwhile.
func (p *slots) overdue(held *slot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !held.left {
		p.move(held, -1)
		held.lane = slowLane
		p.move(held, 1)
	}
	s := p.of(held.tenant)
	s.slow, s.answered = true, 0
}

// answered records that an attempt ended while it was prompt.
func (p *slots) answered(held *slot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.of(held.tenant)
	s.answered++
	if s.answered >= promptToRegain {
		s.slow = false
	}
}

// leave frees the slot of an attempt that has ended. It reports whether due deliveries
// may be unclaimed because there was no slot for them.
func (p *slots) leave(held *slot) (wanted bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	wanted = p.of(held.tenant).short || p.free(held.lane) <= 0
	p.move(held, -1)
	held.left = true
	return wanted
}

// giveBack frees slots for which nothing was due.
func (p *slots) giveBack(unused []*slot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, held := range unused {
		p.of(held.tenant).short = false
		p.move(held, -1)
	}
}
