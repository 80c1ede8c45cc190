// Package insight answers a merchant's questions about what the gateway did: lists and records of sessions and
// deliveries, figures over time, refused requests, and missing steps before going live. It changes no session and
// never shows an estimated age.
//
// Figures over weeks are read from sums: every hour whose sessions can no longer
// change is counted once (see Fold), and only younger ones are counted from rows.
package insight

import (
	"context"
	"time"

	"agegate/internal/rules/billing"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
	"agegate/internal/rules/webhook"

	"github.com/google/uuid"
)

// PageSize is the maximum number of rows on a page of a list.
const PageSize = 50

// Scope is one mode of one tenant. Anything outside it is reported as not found.
type Scope struct {
	TenantID uuid.UUID
	Livemode bool
}

// Service answers questions. It is safe for concurrent use.
type Service struct {
	store    Store
	limits   billing.Limits
	now      func() time.Time
	overview *cache[overviewKey, Overview]
	keyUse   *cache[uuid.UUID, map[uuid.UUID]int64]
	decided  *cache[struct{}, Decisions]
	ready    *cache[uuid.UUID, Checklist] // only complete checklists
}

// NewService returns a service over a store. limits are the operator's; now must return UTC in whole microseconds.
func NewService(store Store, limits billing.Limits, now func() time.Time) *Service {
	return &Service{
		store: store, limits: limits, now: now,
		overview: newCache[overviewKey, Overview](now),
		keyUse:   newCache[uuid.UUID, map[uuid.UUID]int64](now),
		decided:  newCache[struct{}, Decisions](now), ready: newCache[uuid.UUID, Checklist](now),
	}
}

// Now returns the time of the service's clock, for pages that show ages of things.
func (s *Service) Now() time.Time { return s.now() }

var errNotFound = fault.New(fault.NotFound, "Not found")

// Store reads what the gateway has written, and keeps the sums, the refusals and the list of replicas.
type Store interface {
	FoldStore
	RefusalStore
	ReplicaStore
	SystemStore
	CameraStore

	// ListSessions returns the newest sessions that a query selects. With After, it
	// returns those just newer than After instead. The order is newest first.
	ListSessions(ctx context.Context, q SessionQuery) (Found[SessionRow], error)
	// FindSessions returns at most limit sessions of a scope with a name, the newest first; those with the beginning
	// of an order are sorted by the order. It finds them by an index, however many there are.
	FindSessions(ctx context.Context, scope Scope, by Name, text string, now time.Time, limit int) ([]SessionRow, error)
	// FindEvents returns the IDs of at most limit webhook events of a tenant that end with
	// 3 characters or more, the newest first.
	FindEvents(ctx context.Context, tenantID uuid.UUID, end string, limit int) ([]string, error)
	// ListEvents does what ListSessions does for webhook events. The records have no body.
	ListEvents(ctx context.Context, q EventQuery) (Found[EventRow], error)
	// SessionByID returns the tenant's session, or fault.NotFound.
	SessionByID(ctx context.Context, tenantID, id uuid.UUID) (session.Session, error)
	// HandoverOf returns the handover of a session, or fault.NotFound.
	HandoverOf(ctx context.Context, linkHash []byte) (session.Handover, error)
	// Related reports which data about a session other tables hold.
	Related(ctx context.Context, sess session.Session) (Related, error)
	// Events, EventByID and Endpoints have the contracts of webhook.Journal.
	Events(ctx context.Context, f webhook.Filter) ([]webhook.Record, error)
	EventByID(ctx context.Context, scope webhook.Scope, id string) (webhook.Record, []webhook.Attempt, error)
	Endpoints(ctx context.Context, scope webhook.Scope) ([]webhook.Failing, error)

	// SumHours returns the sums of the folded hours from from to before (hours since 1970), added up over steps of
	// the given number of hours and over all target ages (0 in the result).
	SumHours(ctx context.Context, scope Scope, from, before, step int64) ([]Group, error)
	// CountEvents counts a scope's events by status: at most limit of each status. Of delivered and failed events it
	// counts the newest, created at or after since.
	CountEvents(ctx context.Context, scope Scope, since string, limit int) (EventCounts, error)
	// CountByKey counts a tenant's sessions created at or after since by the key that created them.
	CountByKey(ctx context.Context, tenantID uuid.UUID, since time.Time) (map[uuid.UUID]int64, error)
	// Progress returns a tenant's progress and funds.
	Progress(ctx context.Context, tenantID uuid.UUID, now time.Time) (Progress, Funds, error)

	// TenantByID returns a tenant, or fault.NotFound.
	TenantByID(ctx context.Context, id uuid.UUID) (tenant.Tenant, error)
	// Keys returns a tenant's keys, oldest first, revoked ones included.
	Keys(ctx context.Context, tenantID uuid.UUID) ([]tenant.APIKey, error)
	// Funds returns the funds of tenants.
	Funds(ctx context.Context, tenantIDs []uuid.UUID, now time.Time) (map[uuid.UUID]Funds, error)
}
