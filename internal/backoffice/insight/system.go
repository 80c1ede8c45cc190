package insight

import (
	"cmp"
	"context"
	"slices"
	"time"

	"agegate/internal/rules/audit"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
	"agegate/internal/rules/webhook"

	"github.com/google/uuid"
)

// System is the state of the instance, for its operators.
type System struct {
	Replicas []Replica // the running replicas, oldest first
	Queue    Queue
	Database Database
	// FoldedUpto is the start of the newest hour of sessions that is not folded; zero before the first fold.
	FoldedUpto time.Time
	AsOf       time.Time
}

// Queue describes the state of the webhook outbox.
type Queue struct {
	Pending   int64
	OldestDue time.Duration     // how long the oldest due delivery has been due
	Endpoints []FailingEndpoint // those of live mode first; at most MaxFailing
	Failing   []TenantFailed    // as Endpoints, then the most failed events first
}

// FailingEndpoint is a webhook URL that fails or is disabled: a registered one, or a former one for which events wait.
type FailingEndpoint struct {
	webhook.Failing
	Name   string // of the tenant
	Former bool
}

// Mode is "live" or "test".
func (e FailingEndpoint) Mode() string { return audit.Mode(e.Livemode) }

// Since is when it was disabled or, of one that is not, began to fail.
func (e FailingEndpoint) Since() *time.Time { return cmp.Or(e.DisabledAt, e.FirstFailureAt) }

// TenantFailed is a tenant and the number of its failed events in a mode.
type TenantFailed struct {
	TenantID uuid.UUID
	Name     string
	Livemode bool
	Failed   int64 // counted up to MaxFailed
}

// Mode is "live" or "test".
func (f TenantFailed) Mode() string { return audit.Mode(f.Livemode) }

// Most reports that there may be more.
func (f TenantFailed) Most() bool { return f.Failed >= MaxFailed }

// Limits of System.
const (
	MaxFailing = 20
	MaxFailed  = 1000
)

// Database is the state of the database.
type Database struct {
	Dialect   string // postgres or sqlite
	Bytes     int64
	Migration int64 // number of the newest applied migration
}

// SystemStore reads the state of the instance.
type SystemStore interface {
	// QueueState returns how many deliveries are pending and how long the oldest due one has been due.
	QueueState(ctx context.Context) (pending int64, oldestDue time.Duration, err error)
	// FailedByTenant returns at most limit tenants and modes with failed events, as in
	// Queue, counting at most atMost events of each.
	FailedByTenant(ctx context.Context, limit, atMost int) ([]TenantFailed, error)
	// FailingEndpoints returns at most limit, those of live mode first: of the tenants, or of all if there are none.
	FailingEndpoints(ctx context.Context, limit int, tenants ...uuid.UUID) ([]FailingEndpoint, error)
	DatabaseState(ctx context.Context) (Database, error)
	// NewestFold returns the latest hour up to which any tenant's sessions are folded, or 0.
	NewestFold(ctx context.Context) (int64, error)
	// LastCalls returns the last API call by a key of each of the tenants, to the minute;
	// those without one are missing.
	LastCalls(ctx context.Context, tenantIDs []uuid.UUID) (map[uuid.UUID]*time.Time, error)
	// Setup returns what the database says of an instance's set-up.
	Setup(ctx context.Context) (Setup, error)
}

// Setup is what the database says of an instance's set-up.
type Setup struct {
	Tenant        bool // there is a tenant
	SecondFactors bool // every operator who can log in without a provider has a second factor
}

// TenantUse is how a tenant uses the gateway.
type TenantUse struct {
	Allowance            // without PerDay and DaysLeft
	Live      int64      // live sessions of WindowMonth, as in Overview
	PassRate  Rate       // of them, as in Overview
	LastCall  *time.Time // the last API call by a key of either mode, to the minute; nil for none
	Failing   []FailingEndpoint
}

// UseOf returns the use of tenants, with the days of a zone.
func (s *Service) UseOf(
	ctx context.Context, tenants []tenant.Tenant, zone *time.Location,
) (map[uuid.UUID]TenantUse, error) {
	ids, now, used := make([]uuid.UUID, len(tenants)), s.now(), map[uuid.UUID]TenantUse{}
	for i, t := range tenants {
		ids[i] = t.ID
	}
	last, err := s.store.LastCalls(ctx, ids)
	if err != nil {
		return nil, err
	}
	funds, err := s.store.Funds(ctx, ids, now)
	if err != nil {
		return nil, err
	}
	failing, err := s.store.FailingEndpoints(ctx, MaxFailing*len(ids), ids...)
	if err != nil {
		return nil, err
	}
	points := starts(now, 30, zone)[:1]
	for _, t := range tenants {
		o := Overview{Sources: map[session.Source]int64{}}
		groups, err := s.countFrom(ctx, Scope{TenantID: t.ID, Livemode: true}, points, now)
		if err != nil {
			return nil, err
		}
		o.fill(groups, points)
		used[t.ID] = TenantUse{Remaining(s.limits, t, funds[t.ID]), o.Counts.Created, o.PassRate, last[t.ID],
			slices.DeleteFunc(slices.Clone(failing), func(e FailingEndpoint) bool { return e.TenantID != t.ID })}
	}
	return used, nil
}

// Setup returns what the database says of the instance's set-up.
func (s *Service) Setup(ctx context.Context) (Setup, error) { return s.store.Setup(ctx) }

// System returns the state of the instance.
func (s *Service) System(ctx context.Context) (System, error) {
	v := System{AsOf: s.now()}
	folded := int64(0)
	for _, read := range []func() error{
		func() (err error) { v.Replicas, err = s.Replicas(ctx); return err },
		func() (err error) { v.Queue.Pending, v.Queue.OldestDue, err = s.store.QueueState(ctx); return err },
		func() (err error) { v.Queue.Endpoints, err = s.store.FailingEndpoints(ctx, MaxFailing); return err },
		func() (err error) {
			v.Queue.Failing, err = s.store.FailedByTenant(ctx, MaxFailing, MaxFailed)
			return err
		},
		func() (err error) { v.Database, err = s.store.DatabaseState(ctx); return err },
		func() (err error) { folded, err = s.store.NewestFold(ctx); return err },
	} {
		if err := read(); err != nil {
			return System{}, err
		}
	}
	if folded > 0 {
		v.FoldedUpto = start(folded, hour)
	}
	return v, nil
}
