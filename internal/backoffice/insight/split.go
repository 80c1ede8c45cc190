package insight

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"agegate/internal/rules/session"
)

// MaxSplit is the longest time that a Split covers.
const MaxSplit = 366 * day

// Split counts the sessions that were created in a time.
type Split struct {
	From, To time.Time // whole hours
	Groups   []SplitGroup
}

// SplitGroup counts the sessions with the same target age, status, source and way.
type SplitGroup struct {
	TargetAge int
	Status    session.Status // effective
	Source    session.Source // empty without a result
	Way       session.Way    // in which a document was read; empty if none was or if that was not yet counted
	N         int64
}

type splitKey struct {
	Scope
	from, to int64
}

// Split counts the scope's sessions created at or after from and before to, in
// whole hours, by target age, status and source. Of a time longer than MaxSplit it
// counts the end. It may be 15 s old. Deleted sessions count if their hour had been
// folded before.
func (s *Service) Split(ctx context.Context, scope Scope, from, to time.Time) (Split, error) {
	last := number(to.Add(hour-time.Nanosecond), hour)
	key := splitKey{scope, max(number(from, hour), last-int64(MaxSplit/hour)), last}
	ctx = context.WithoutCancel(ctx) // as for Overview
	split, _, err := s.split.get(key, fmt.Sprint(key), func() (Split, error) { return s.countSplit(ctx, key) })
	return split, err
}

func (s *Service) countSplit(ctx context.Context, key splitKey) (Split, error) {
	upto, err := s.store.FoldedUpto(ctx, SumSessions, key.TenantID)
	if err != nil {
		return Split{}, err
	}
	upto = min(max(upto, key.from), key.to)
	groups, err := s.store.SumAges(ctx, key.Scope, key.from, upto)
	if err != nil {
		return Split{}, err
	}
	now := s.now()
	if to := min(key.to, number(now, hour)+2); upto < to {
		recent, err := s.store.CountSessions(ctx, key.TenantID, start(upto, hour), start(to, hour), now)
		if err != nil {
			return Split{}, err
		}
		groups = append(groups, slices.DeleteFunc(recent, func(g Group) bool { return g.Livemode != key.Livemode })...)
	}
	return Split{From: start(key.from, hour), To: start(key.to, hour), Groups: addUp(groups)}, nil
}

// addUp joins the groups that differ only in their hour.
func addUp(groups []Group) []SplitGroup {
	counts := map[SplitGroup]int64{}
	for _, g := range groups {
		of := SplitGroup{TargetAge: g.TargetAge, Status: g.Status, Source: g.Source}
		for way, n := range map[session.Way]int64{session.WayWallet: g.Wallet, session.WayPhoto: g.Photo,
			"": g.N - g.Wallet - g.Photo} {
			if of.Way = way; n != 0 {
				counts[of] += n
			}
		}
	}
	list := make([]SplitGroup, 0, len(counts))
	for g, n := range counts {
		g.N = n
		list = append(list, g)
	}
	slices.SortFunc(list, func(a, b SplitGroup) int {
		return cmp.Or(a.TargetAge-b.TargetAge, cmp.Compare(a.Status, b.Status), cmp.Compare(a.Source, b.Source),
			cmp.Compare(a.Way, b.Way))
	})
	return list
}
