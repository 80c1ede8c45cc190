package insight

import (
	"context"
	"time"

	"agegate/internal/rules/session"
)

// Outcome counts a day's sessions with the same status and source.
type Outcome struct {
	Start  time.Time // of the UTC day in which the sessions were created
	Status session.Status
	Source session.Source // empty without a result
	N      int64
}

// Outcomes counts the scope's sessions by the UTC day of their creation, status and source, from the day of from to
// the day before that of to, in no particular order. A deleted session still counts if its hour was folded before the
// deletion.
func (s *Service) Outcomes(ctx context.Context, scope Scope, from, to time.Time) ([]Outcome, error) {
	first, end := number(from, day), number(to, day)
	groups, err := s.count(ctx, scope, start(first, day), s.now(), int64(day/hour))
	if err != nil {
		return nil, err
	}
	type key struct {
		day    int64
		status session.Status
		source session.Source
	}
	counts := map[key]int64{}
	for _, g := range groups {
		if on := number(start(g.Hour, hour), day); on < end {
			counts[key{on, g.Status, g.Source}] += g.N
		}
	}
	var list []Outcome
	for k, n := range counts {
		list = append(list, Outcome{Start: start(k.day, day), Status: k.status, Source: k.source, N: n})
	}
	return list, nil
}
