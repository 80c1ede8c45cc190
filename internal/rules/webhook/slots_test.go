package webhook

import (
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"
)

func TestShare(t *testing.T) {
	const half = laneSlots / 2
	for _, tc := range []struct{ free, known, untried int }{
		{-3, 0, 0}, {0, 0, 0}, {1, 1, 0}, {laneSlots / 8, 1, 0}, {laneSlots/8 + 1, 1, 1},
		{half, 1, 1}, {half + 1, 1, 1}, {half + 3, 3, 1}, {half + 8, 8, 1}, {laneSlots, 8, 1},
	} {
		if got := share(tc.free, false); got != tc.known {
			t.Errorf("share(%d) = %d, want %d", tc.free, got, tc.known)
		}
		if got := share(tc.free, true); got != tc.untried {
			t.Errorf("share(%d) of an untried tenant = %d, want %d", tc.free, got, tc.untried)
		}
	}
}

// trial is a tenant whose attempts the test lets hang or answers.
type trial struct {
	t      testing.TB
	slots  *slots
	tenant uuid.UUID
	held   []*slot
}

func newTrial(t testing.TB, p *slots) *trial { return &trial{t: t, slots: p, tenant: uuid.New()} }

// take starts as many attempts as the tenant may start now.
func (a *trial) take() int {
	taken := a.slots.take(a.tenant, a.slots.laneOf(a.tenant))
	a.held = append(a.held, taken...)
	return len(taken)
}

// hang lets every attempt become overdue.
func (a *trial) hang() {
	for _, taken := range a.held {
		a.slots.overdue(taken)
	}
}

// end ends every attempt, either with a prompt answer or by giving up.
func (a *trial) end(prompt bool) {
	for _, taken := range a.held {
		if prompt {
			a.slots.answered(taken)
		}
		a.slots.leave(taken)
	}
	a.held = nil
}

func (a *trial) want(what string, got, want int) {
	a.t.Helper()
	if got != want {
		a.t.Errorf("%s: %d slots, want %d", what, got, want)
	}
}

func TestStanding(t *testing.T) {
	p := newSlots()
	a := newTrial(t, p)
	a.want("new", a.take(), 1)
	a.want("new, one under way", a.take(), 0)
	a.end(true)
	a.want("answered", a.take(), maxTenantInFlight)
	a.hang()
	if p.laneOf(a.tenant) != slowLane || p.taken != [lanes]int{0, maxTenantInFlight} {
		t.Fatalf("after hanging: lane %d, taken %v", p.laneOf(a.tenant), p.taken)
	}
	a.want("hanging", a.take(), 0)
	a.end(false)
	a.want("hung", a.take(), maxTenantInFlight)
	for n := range promptToRegain {
		if p.laneOf(a.tenant) != slowLane {
			t.Fatalf("in good standing after %d answers", n)
		}
		p.answered(a.held[0])
	}
	if p.laneOf(a.tenant) != promptLane {
		t.Fatalf("not in good standing after %d answers", promptToRegain)
	}
	p.overdue(a.held[0])
	if p.laneOf(a.tenant) != slowLane {
		t.Fatal("in good standing while an attempt hangs")
	}
}

// Each tick is promptTime long: attempts that started earlier are overdue, and
// hang for 15 ticks. However many tenants let their attempts hang, and at
// whatever times, a tenant whose receiver answers gets a slot at every tick.
// While no more than 100 hang, so does a tenant whose receiver was never tried.
func TestHangingTenantsLeavePlaces(t *testing.T) {
	const hungFor, few = 15, 100
	for name, tc := range map[string]struct {
		tenants int
		prompt  func(tick int) bool // whether their receivers answer at this tick
	}{
		"1 tenant":                {1, func(int) bool { return false }},
		"7 tenants":               {7, func(int) bool { return false }},
		"100 tenants":             {few, func(int) bool { return false }},
		"5000 tenants":            {5000, func(int) bool { return false }},
		"100, every other tick":   {few, func(tick int) bool { return tick%2 == 0 }},
		"100, answering at first": {few, func(tick int) bool { return tick < 10 }},
		"100, nine times of ten":  {few, func(tick int) bool { return tick%10 != 0 }},
	} {
		t.Run(name, func(t *testing.T) {
			p := newSlots()
			hostile := make([]*trial, tc.tenants)
			for i := range hostile {
				hostile[i] = newTrial(t, p)
			}
			ends := map[int][]*slot{}
			known := newTrial(t, p)
			known.take()
			known.end(true)
			for tick := range 200 {
				for _, taken := range ends[tick] {
					p.leave(taken)
				}
				for _, a := range hostile {
					a.take()
				}
				honest := []*trial{known}
				if tc.tenants <= few {
					honest = append(honest, newTrial(t, p))
				}
				for _, a := range honest {
					if a.take() == 0 {
						t.Fatalf("tick %d: no slot, %v taken", tick, p.taken)
					}
					a.end(true)
				}
				for _, a := range hostile {
					if tc.prompt(tick) {
						a.end(true)
						continue
					}
					a.hang()
					ends[tick+hungFor] = append(ends[tick+hungFor], a.held...)
					a.held = nil
				}
			}
		})
	}
}

func TestPlacesProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newSlots()
		tenants := make([]uuid.UUID, rapid.IntRange(1, 300).Draw(t, "tenants"))
		for i := range tenants {
			tenants[i] = uuid.New()
		}
		var held []*slot
		pick := func() int { return rapid.IntRange(0, len(held)-1).Draw(t, "slot") }
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) {
				var total [lanes]int
				byTenant := map[uuid.UUID]int{}
				for _, taken := range held {
					total[taken.lane]++
					byTenant[taken.tenant]++
				}
				if total != p.taken || p.taken[promptLane] > laneSlots || len(held) > maxInFlight {
					t.Fatalf("held %v, accounted %v", total, p.taken)
				}
				for tenant, n := range byTenant {
					if s := p.tenants[tenant]; n > maxTenantInFlight || n != s.taken[promptLane]+s.taken[slowLane] {
						t.Fatalf("a tenant holds %d, accounted %v", n, s.taken)
					}
				}
			},
			"take": func(t *rapid.T) {
				for _, tenant := range tenants[:rapid.IntRange(1, len(tenants)).Draw(t, "n")] {
					l := p.laneOf(tenant)
					free := p.free(l)
					taken := p.take(tenant, l)
					if len(taken) > max(free, 0) {
						t.Fatalf("took %d of %d free", len(taken), free)
					}
					held = append(held, taken...)
				}
			},
			"give back": func(t *rapid.T) {
				if len(held) > 0 {
					i := pick()
					p.giveBack(held[i:])
					held = held[:i]
				}
			},
			"hang": func(t *rapid.T) {
				if len(held) > 0 {
					for _, taken := range held[pick():] {
						p.overdue(taken)
					}
				}
			},
			"answer": func(t *rapid.T) {
				if len(held) > 0 {
					i := pick()
					if rapid.Bool().Draw(t, "prompt") {
						p.answered(held[i])
						p.leave(held[i])
					} else { // the answer comes at the moment of its deadline
						p.leave(held[i])
						p.overdue(held[i])
					}
					held = append(held[:i], held[i+1:]...)
				}
			},
		})
		p.giveBack(held)
		if p.taken != [lanes]int{} {
			t.Fatalf("%v taken at the end", p.taken)
		}
	})
}
