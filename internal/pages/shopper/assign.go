package shopper

import (
	"cmp"
	"slices"
	"time"

	"github.com/google/uuid"
)

// turn is a check that has a slot or waits for one.
type turn struct {
	tenant uuid.UUID
	since  time.Time // in line since then
	placed bool      // it has a slot
	lost   bool      // its connection was lost: it keeps its turn and gets no slot
}

// assign shares the free slots among the checks in line. It returns the place of each
// check: 0 if it has a slot or gets one, then 1, 2 and so on.
//
// The next slot goes to the tenant with the fewest slots, and within a tenant to the
// check that has waited longest. A tenant with fewer slots than its share gets one even
// while others hold more than theirs, so those cannot keep it waiting.
func assign(turns []turn, slots int) []int {
	order := make([]int, len(turns)) // of the indices in turns: checks with a slot, then those that wait
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		switch {
		case turns[a].placed == turns[b].placed:
			return turns[a].since.Compare(turns[b].since)
		case turns[a].placed:
			return -1
		}
		return 1
	})
	// A check's rank is the number of slots that its tenant has when its turn comes.
	ranks, given := make([]int, len(turns)), map[uuid.UUID]int{}
	for _, i := range order {
		rank := given[turns[i].tenant]
		ranks[i] = rank
		if !turns[i].lost {
			rank++
		}
		given[turns[i].tenant] = rank
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(ranks[a], ranks[b]) })
	share := max(1, slots/max(4, len(given)))
	taken, inShares := 0, 0 // slots held; those of them within a tenant's share
	take := func(i int) {
		taken++
		if ranks[i] < share {
			inShares++
		}
	}
	for i, t := range turns {
		if t.placed {
			take(i)
		}
	}
	places, last := make([]int, len(turns)), 0
	for _, i := range order {
		free := taken < slots || ranks[i] < share && inShares < slots
		switch {
		case turns[i].placed:
		case free && !turns[i].lost:
			take(i)
		default:
			last++
			places[i] = last
		}
	}
	return places
}
