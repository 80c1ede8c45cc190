package insight

import (
	"context"

	"agegate/internal/rules/session"
)

// Seen says what the camera decided in live sessions for one target age, of all
// tenants.
type Seen struct {
	TargetAge int
	Passed    int64
	// Sent are those that the camera did not let pass and that went on to the
	// fallback or the document check, whatever came of that.
	Sent  int64
	Spoof int64
}

// Decided is how many there are.
func (s Seen) Decided() int64 { return s.Passed + s.Sent + s.Spoof }

// seenDays is how many days SeenByAge looks back.
const seenDays = 30

// SeenStore reads the sums of all tenants.
type SeenStore interface {
	// SumTargets returns the sums of the live hours from from on, added up over
	// tenants and hours (0 in the result), ascending by target age.
	SumTargets(ctx context.Context, from int64) ([]Group, error)
}

// SeenByAge returns what was seen of the last 30 days, by target age. Sessions
// count once their hour is folded; see Fold. It is read at most every 15 s.
func (s *Service) SeenByAge(ctx context.Context) ([]Seen, error) {
	shared := context.WithoutCancel(ctx)
	list, _, err := s.seen.get(struct{}{}, "seen", func() ([]Seen, error) {
		groups, err := s.store.SumTargets(shared, number(s.now(), hour)-seenDays*24)
		return seenOf(groups), err
	})
	return list, err
}

// seenOf adds groups up. What was forced, or has no result, says nothing about
// the camera.
func seenOf(groups []Group) []Seen {
	var list []Seen
	for _, g := range groups {
		if g.Source != session.SourceCamera && g.Source != session.SourceDocument {
			continue
		}
		if len(list) == 0 || list[len(list)-1].TargetAge != g.TargetAge {
			list = append(list, Seen{TargetAge: g.TargetAge})
		}
		of := &list[len(list)-1]
		switch {
		case g.Source == session.SourceDocument || g.Status == session.StatusFallback:
			of.Sent += g.N
		case g.Status == session.StatusPassed:
			of.Passed += g.N
		case g.Status == session.StatusSpoof:
			of.Spoof += g.N
		}
	}
	return list
}
