package insight

import (
	"context"

	"agegate/internal/rules/session"
)

// Seen counts the camera's decisions in live sessions for one target age, over
// all tenants.
type Seen struct {
	TargetAge int
	Passed    int64
	// Sent counts the sessions that the camera did not pass and that went on to
	// the fallback or the document check, whatever their result.
	Sent  int64
	Spoof int64
}

// Decided returns the number of sessions counted.
func (s Seen) Decided() int64 { return s.Passed + s.Sent + s.Spoof }

// seenDays is how many days SeenByAge looks back.
const seenDays = 30

// SeenStore reads the sums of all tenants.
type SeenStore interface {
	// SumTargets returns the sums of live sessions from the hour from on, added
	// up over tenants and hours (0 in the result), in ascending order of target
	// age.
	SumTargets(ctx context.Context, from int64) ([]Group, error)
}

// SeenByAge returns the camera's decisions of the last 30 days by target age. A
// session counts once its hour is folded; see Fold. The figures are read at
// most every 15 s.
func (s *Service) SeenByAge(ctx context.Context) ([]Seen, error) {
	shared := context.WithoutCancel(ctx)
	list, _, err := s.seen.get(struct{}{}, "seen", func() ([]Seen, error) {
		groups, err := s.store.SumTargets(shared, number(s.now(), hour)-seenDays*24)
		return seenOf(groups), err
	})
	return list, err
}

// seenOf adds up groups. It leaves out forced results and sessions without a
// result, which say nothing about the camera.
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
