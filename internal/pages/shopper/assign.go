package shopper

import (
	"cmp"
	"slices"
	"time"

	"github.com/google/uuid"
)

// waiter is a check in line.
type waiter struct {
	tenant uuid.UUID
	since  time.Time
	lost   bool // its connection was lost: it keeps its turn and gets no slot
}

// assign shares the free slots among waiting checks. It returns the place in line of
// each: 0 for a check that gets a slot, then 1, 2 and so on. held is how many slots
// each tenant with a check holds, 0 included.
//
// The next slot goes to the tenant with the fewest slots, and within a tenant to the
// check that has waited longest. A tenant with fewer slots than its share gets one even
// while others hold more than theirs, so those cannot keep it waiting.
func assign(held map[uuid.UUID]int, waiting []waiter, slots int) []int {
	ranks := rank(held, waiting)
	order := make([]int, len(waiting))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(ranks[a], ranks[b]), waiting[a].since.Compare(waiting[b].since))
	})
	share := max(1, slots/max(4, len(held)))
	taken, inShares := 0, 0 // slots held; those of them within a tenant's share
	for _, n := range held {
		taken += n
		inShares += min(n, share)
	}
	places, last := make([]int, len(waiting)), 0
	for _, i := range order {
		inShare := ranks[i] < share
		free := taken < slots || inShare && inShares < slots
		if waiting[i].lost || !free {
			last++
			places[i] = last
			continue
		}
		taken++
		if inShare {
			inShares++
		}
	}
	return places
}

// rank returns, for each waiting check, how many checks of its tenant come before it:
// those with a slot, and those that have waited longer and are not lost. A rank stays
// the same while slots are assigned in the order of ranks.
func rank(held map[uuid.UUID]int, waiting []waiter) []int {
	ranks := make([]int, len(waiting))
	for i, w := range waiting {
		ranks[i] = held[w.tenant]
		for _, other := range waiting {
			if other.tenant == w.tenant && !other.lost && other.since.Before(w.since) {
				ranks[i]++
			}
		}
	}
	return ranks
}
