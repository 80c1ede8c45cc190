package insight

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// cameraDays is how many days back the camera's decisions are counted.
const cameraDays = 30

// Decisions counts live sessions that the camera decided.
type Decisions struct {
	// Decided includes the sessions that went on to the document check, whatever their result.
	Decided int64
	Passed  int64 // by the camera
}

// Reach says what two cutoffs mean to a tenant's live sessions for a target age.
type Reach struct {
	Decisions       // without spoofs
	Of        int64 // stored estimates; 0 if there are fewer than leastCounted
	First     int64 // of them, how many reach the first cutoff
	Other     int64 // and the other one
}

// CameraStore counts what the camera decided.
type CameraStore interface {
	// SumDecisions adds up the live sessions of all tenants from the hour from on.
	SumDecisions(ctx context.Context, from int64) (Decisions, error)
	// CountReach counts among a tenant's newest limit sessions, those created at or after since.
	CountReach(ctx context.Context, tenantID uuid.UUID, since time.Time, target int, cutoffs [2]float64, limit int,
	) (Reach, error)
}

// Counts of fewer people could say something about one of them.
const leastCounted = 20

// mostReached bounds the sessions that ReachOf looks at.
const mostReached = 50_000

// ReachOf counts what two cutoffs for a target age mean to a tenant's sessions of the
// last 30 days, at most its newest 50,000.
func (s *Service) ReachOf(ctx context.Context, tenantID uuid.UUID, target int, cutoffs [2]float64) (Reach, error) {
	reach, err := s.store.CountReach(ctx, tenantID, s.now().AddDate(0, 0, -cameraDays), target, cutoffs, mostReached)
	if reach.Of < leastCounted {
		reach = Reach{Decisions: reach.Decisions}
	}
	return reach, err
}

// Decisions returns the camera's decisions of the last 30 days, of all tenants. A
// session counts once its hour is folded; see Fold. They are read at most every 15 s.
func (s *Service) Decisions(ctx context.Context) (Decisions, error) {
	shared := context.WithoutCancel(ctx)
	sum, _, err := s.decided.get(struct{}{}, "decided", func() (Decisions, error) {
		return s.store.SumDecisions(shared, number(s.now(), hour)-cameraDays*24)
	})
	return sum, err
}
