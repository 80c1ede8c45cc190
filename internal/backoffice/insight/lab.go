package insight

import (
	"context"
	"time"

	"agegate/internal/rules/session"

	"github.com/google/uuid"
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
	// CountEstimates counts the stored estimates of a tenant's live sessions for a
	// target age, created at or after since, and how many of them reach each of two
	// cutoffs. It looks at the tenant's newest limit sessions.
	CountEstimates(ctx context.Context, tenantID uuid.UUID, since time.Time, target int, cutoffs [2]float64, limit int,
	) (Reach, error)
}

// Reach is how many of some stored estimates reach two cutoffs.
type Reach struct {
	Of           int64
	First, Other int64
}

// Counts of fewer people could say something about one of them.
const leastCounted = 20

// mostEstimates bounds the sessions that ReachOf looks at.
const mostEstimates = 50_000

// ReachOf counts how many of the estimates that a tenant's shoppers let it store in
// the last 30 days reach two cutoffs for a target age. It is zero if there are fewer
// than 20 estimates, and looks at the newest 50,000 sessions.
func (s *Service) ReachOf(ctx context.Context, tenantID uuid.UUID, target int, cutoffs [2]float64) (Reach, error) {
	since := s.now().AddDate(0, 0, -seenDays)
	reach, err := s.store.CountEstimates(ctx, tenantID, since, target, cutoffs, mostEstimates)
	if reach.Of < leastCounted {
		reach = Reach{}
	}
	return reach, err
}

// SeenOf returns a tenant's own camera decisions of the last 30 days for a target
// age.
func (s *Service) SeenOf(ctx context.Context, tenantID uuid.UUID, target int) (Seen, error) {
	now := s.now()
	split, err := s.Split(ctx, Scope{TenantID: tenantID, Livemode: true}, now.AddDate(0, 0, -seenDays), now)
	seen := Seen{TargetAge: target}
	for _, g := range split.Groups {
		if g.TargetAge == target {
			seen.add(g.Status, g.Source, g.N)
		}
	}
	return seen, err
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
		if !decidedByCamera(g.Source) {
			continue
		}
		if len(list) == 0 || list[len(list)-1].TargetAge != g.TargetAge {
			list = append(list, Seen{TargetAge: g.TargetAge})
		}
		list[len(list)-1].add(g.Status, g.Source, g.N)
	}
	return list
}

// decidedByCamera reports whether the camera decided, even if it sent the shopper on
// to a document.
func decidedByCamera(source session.Source) bool {
	return source == session.SourceCamera || source == session.SourceDocument
}

// add counts n sessions with a status and source, unless the camera did not decide.
func (s *Seen) add(status session.Status, source session.Source, n int64) {
	switch {
	case !decidedByCamera(source):
	case source == session.SourceDocument || status == session.StatusFallback:
		s.Sent += n
	case status == session.StatusPassed:
		s.Passed += n
	case status == session.StatusSpoof:
		s.Spoof += n
	}
}
