package webhook

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
)

// ErrLeaseLost says that the lease ended before the attempt did: somebody else
// makes, or has made, the next one.
var ErrLeaseLost = errors.New("webhook: the delivery's lease was lost")

// Queue is the outbox as the Dispatcher works on it. Every method is one
// transaction. "Now" is the database's clock where it has one, so that
// replicas whose clocks differ agree on what is due.
type Queue interface {
	// DueTenants returns the tenants that have a pending delivery due now, in
	// no order.
	DueTenants(ctx context.Context) ([]uuid.UUID, error)
	// ClaimDeliveries leases due deliveries of the given tenants, of each up to
	// its limit and the longest due first: their next attempt moves to
	// now + lease, so nobody else claims one until then. Deliveries being claimed
	// by another replica are passed over, not waited for.
	ClaimDeliveries(ctx context.Context, claims []Claim, lease time.Duration) ([]Delivery, error)
	// ReleaseDelivery gives a lease back unused; the delivery is due again
	// after the wait and the attempt's number is free again. ErrLeaseLost.
	ReleaseDelivery(ctx context.Context, lease Lease, after time.Duration) error
	// FinishDelivery records an attempt and what follows from it, as policy.go
	// decides on the locked rows: Endpoint.After for the endpoint, Disposition.Status
	// for the delivery, whose next attempt moves to now + RetryIn. A failure at a
	// disabled endpoint lets its other pending deliveries wait too, a bounded
	// number each time: of very many, some are attempted once more. With
	// ErrLeaseLost the attempt and the endpoint are recorded, and the delivery is
	// left to whoever holds the lease.
	FinishDelivery(ctx context.Context, d Delivery, a Attempt, o Disposition) error
	// PruneEvents deletes up to limit events older than keep, with their
	// attempts, that no attempt is pending for. It returns how many.
	PruneEvents(ctx context.Context, keep time.Duration, limit int) (int, error)
}

// Claim asks for deliveries of one tenant.
type Claim struct {
	TenantID uuid.UUID
	Limit    int
}

// Keys finds the keys that sign a tenant's deliveries at this moment.
type Keys interface {
	// WebhookKeys returns the keys newest first; several while a secret
	// rotates.
	WebhookKeys(ctx context.Context, tenantID uuid.UUID, livemode bool) ([][]byte, error)
}

// Scope is whose deliveries an operation may touch: one tenant's, or all. The
// zero Scope is nobody's.
type Scope struct {
	all    bool
	tenant uuid.UUID
}

// OfTenant is the scope of one tenant, for its dashboard.
func OfTenant(id uuid.UUID) Scope { return Scope{tenant: id} }

// OfAll is the scope of the operator.
func OfAll() Scope { return Scope{all: true} }

// Tenant returns the tenant to look for, or all.
func (s Scope) Tenant() (id uuid.UUID, all bool) { return s.tenant, s.all }

// Filter selects events; zero fields select all.
type Filter struct {
	Scope    Scope
	Livemode *bool
	Status   Status
	Session  uuid.UUID
	Before   string // an event id: only events made before it, for the next page
	Limit    int    // 1 to MaxPage; 0 is MaxPage
}

// MaxPage is the longest list of events returned at once.
const MaxPage = 100

// Journal is the outbox as operators and merchants see it. Every method is one
// transaction, except that many events are moved in several, each of a bounded
// number; an error may then come with a count of those moved before. What is out of scope is fault.NotFound, as what is missing.
type Journal interface {
	// Events returns the records the filter selects, newest first.
	Events(ctx context.Context, f Filter) ([]Record, error)
	// EventByID returns a record with its attempts, oldest first, or
	// fault.NotFound.
	EventByID(ctx context.Context, scope Scope, id string) (Record, []Attempt, error)
	// ResendEvent makes an event due now on a fresh schedule, whatever its
	// status, also when its endpoint is disabled (for one attempt). An event
	// whose attempt is being made stays as it is. fault.NotFound, or
	// fault.Conflict when it has no destination.
	ResendEvent(ctx context.Context, scope Scope, id string) error
	// ResendFailedEvents does the same for every failed event made at or after
	// since whose endpoint is enabled, and returns how many. Waiting events
	// come with EnableEndpoint.
	ResendFailedEvents(ctx context.Context, scope Scope, since time.Time) (int, error)
	// Endpoints returns the endpoints that are failing or disabled, in the
	// order of their ids.
	Endpoints(ctx context.Context, scope Scope) ([]Endpoint, error)
	// EnableEndpoint enables an endpoint, forgets its failures and makes its
	// waiting deliveries due now on a fresh schedule; it returns how many.
	// fault.NotFound for an endpoint without a record; enabling an enabled one
	// changes nothing but what an interrupted call left waiting.
	EnableEndpoint(ctx context.Context, scope Scope, id string) (int, error)
}
