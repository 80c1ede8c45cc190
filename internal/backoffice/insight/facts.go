package insight

import (
	"context"
	"slices"
	"strings"
	"time"

	"agegate/internal/rules/tenant"

	"github.com/google/uuid"
)

// Checklist says which steps before going live are done.
type Checklist struct {
	SuccessURL, CancelURL, WebhookURL bool // whether each is set
	Progress
	Allowance bool // a live session can be paid for
}

// Progress holds the steps of a checklist that are read from tables other than
// the tenant's. Sessions that were deleted after their hour was folded count too.
type Progress struct {
	Passed, FellBack, Spoofed bool // whether test mode has had a session with that result
	WebhookAnswered           bool // whether an event of test mode was answered with 2xx
	LiveKey                   bool // whether a live key is in force
}

// Complete reports whether nothing is missing.
func (c Checklist) Complete() bool {
	return c == Checklist{true, true, true, Progress{true, true, true, true, true}, true}
}

// Checklist returns a tenant's checklist. A complete one may be 15 s old. An
// incomplete one is never cached, so that a completed step shows at once.
func (s *Service) Checklist(ctx context.Context, t tenant.Tenant) (Checklist, error) {
	if kept, ok := s.ready.values.Get(t.ID); ok && s.ready.fresh(kept) {
		return kept.value, nil
	}
	at := s.now()
	list, err := s.check(ctx, t, at)
	if err == nil && list.Complete() {
		s.ready.values.Add(t.ID, cached[Checklist]{list, at})
	}
	return list, err
}

func (s *Service) check(ctx context.Context, t tenant.Tenant, now time.Time) (Checklist, error) {
	progress, funds, err := s.store.Progress(ctx, t.ID, now)
	return Checklist{
		SuccessURL: t.SuccessURL != "", CancelURL: t.CancelURL != "", WebhookURL: t.WebhookURL != "",
		Progress: progress, Allowance: !Remaining(s.limits, t, funds).Spent(),
	}, err
}

// KeyUse is a key and the number of sessions created with it.
type KeyUse struct {
	tenant.APIKey
	Sessions int64 // created with it in the last 24 hours, counted at most 15 s ago
}

// Keys returns the keys of a mode, oldest first, revoked ones included.
func (s *Service) Keys(ctx context.Context, scope Scope) ([]KeyUse, error) {
	keys, err := s.store.Keys(ctx, scope.TenantID)
	if err != nil {
		return nil, err
	}
	shared := context.WithoutCancel(ctx)
	counts, _, err := s.keyUse.get(scope.TenantID, scope.TenantID.String(), func() (map[uuid.UUID]int64, error) {
		return s.store.CountByKey(shared, scope.TenantID, s.now().Add(-day))
	})
	var list []KeyUse
	for _, k := range keys {
		if k.Livemode == scope.Livemode {
			list = append(list, KeyUse{APIKey: k, Sessions: counts[k.ID]})
		}
	}
	return list, err
}

// Replica is a gateway process. Replicas with different fingerprints may give different results.
type Replica struct {
	ID          uuid.UUID
	StartedAt   time.Time
	SeenAt      time.Time
	Version     string
	Models      string // fingerprint; empty without an estimator
	Calibration string // fingerprint; empty without one
	Config      string // fingerprint of the settings that replicas share
	Keys        string // names of the sealer's keys, with spaces; empty if an earlier release reports
}

// Lacks reports that a replica does not have a key of this name.
func (r Replica) Lacks(key string) bool {
	return r.Keys != "" && !slices.Contains(strings.Fields(r.Keys), key)
}

// ReplicaStore stores the replicas.
type ReplicaStore interface {
	// PutReplica stores a replica, or updates its SeenAt if it is stored already,
	// and deletes replicas not seen since before.
	PutReplica(ctx context.Context, r Replica, before time.Time) error
	// DeleteReplica forgets a replica that has ended.
	DeleteReplica(ctx context.Context, id uuid.UUID) error
	// Replicas returns the replicas seen at or after since, oldest first.
	Replicas(ctx context.Context, since time.Time) ([]Replica, error)
}

// How often a replica reports, and the time without a report after which it counts as gone.
const (
	HeartbeatEvery = 30 * time.Second
	GoneAfter      = 3 * HeartbeatEvery
)

// Heartbeat records that a replica is alive.
func (s *Service) Heartbeat(ctx context.Context, r Replica) error {
	r.SeenAt = s.now()
	return s.store.PutReplica(ctx, r, r.SeenAt.Add(-day))
}

// Leave records that a replica has ended.
func (s *Service) Leave(ctx context.Context, r Replica) error {
	return s.store.DeleteReplica(ctx, r.ID)
}

// Replicas returns the replicas that run now, oldest first.
func (s *Service) Replicas(ctx context.Context) ([]Replica, error) {
	return s.store.Replicas(ctx, s.now().Add(-GoneAfter))
}
