package webhook

import (
	"context"
	"errors"
	"time"

	"agegate/internal/rules/audit"

	"github.com/google/uuid"
)

// ErrLeaseLost is returned when the lease expired before the attempt ended:
// another replica may have made the next attempt.
var ErrLeaseLost = errors.New("webhook: the delivery's lease was lost")

// Queue is the part of the outbox that the Dispatcher uses. Every method is one transaction. "Now" is read from the
// database's clock if it has one, so that replicas whose clocks differ agree on what is due.
type Queue interface {
	// DueTenants returns the tenants that have a pending delivery due now, in no particular order.
	DueTenants(ctx context.Context) ([]uuid.UUID, error)
	// ClaimDeliveries leases due deliveries of the given tenants, up to each tenant's limit, starting with those that
	// have been due longest. Their next attempt moves to now + lease, so that no other replica claims them until then.
	// Deliveries that another replica is claiming are skipped.
	ClaimDeliveries(ctx context.Context, claims []Claim, lease time.Duration) ([]Delivery, error)
	// ReleaseDelivery returns an unused lease: the delivery is due again after the
	// wait, and the attempt's number can be used again. It returns ErrLeaseLost.
	ReleaseDelivery(ctx context.Context, lease Lease, after time.Duration) error
	// FinishDelivery records an attempt and updates the endpoint and the delivery. It takes the endpoint's new state
	// from Endpoint.After and the delivery's new status from Disposition.Status. If the delivery stays pending, its next
	// attempt is at now + RetryIn.
	//
	// After a failure at a disabled endpoint, FinishDelivery also sets the endpoint's other pending deliveries to
	// waiting. It changes a limited number at a time, so if there are very many, some are attempted once more.
	//
	// If the lease was lost, FinishDelivery records the attempt, updates the endpoint,
	// leaves the delivery to the new holder of the lease and returns ErrLeaseLost.
	FinishDelivery(ctx context.Context, d Delivery, a Attempt, o Disposition) error
	// PruneEvents deletes up to limit events that are older than keep and not
	// pending, with their attempts. It returns how many.
	PruneEvents(ctx context.Context, keep time.Duration, limit int) (int, error)
}

// Claim asks for deliveries of one tenant.
type Claim struct {
	TenantID uuid.UUID
	Limit    int
}

// Keys returns the keys that sign a tenant's deliveries now.
type Keys interface {
	// WebhookKeys returns the keys newest first; several while a secret rotates.
	WebhookKeys(ctx context.Context, tenantID uuid.UUID, livemode bool) ([][]byte, error)
}

// Scope limits an operation to the deliveries of one tenant, or of one of its
// modes, or allows all. The zero Scope allows none.
type Scope struct {
	all      bool
	tenant   uuid.UUID
	livemode *bool
}

// OfTenant is the scope of one tenant in both modes.
func OfTenant(id uuid.UUID) Scope { return Scope{tenant: id} }

// OfMode is the scope of one mode of a tenant, for its dashboard.
func OfMode(id uuid.UUID, livemode bool) Scope { return Scope{tenant: id, livemode: &livemode} }

// OfAll is the scope of the operator.
func OfAll() Scope { return Scope{all: true} }

// Tenant returns the tenant of the scope; all is true if it covers every tenant.
func (s Scope) Tenant() (id uuid.UUID, all bool) { return s.tenant, s.all }

// Livemode returns the mode that the scope is limited to, or nil.
func (s Scope) Livemode() *bool { return s.livemode }

// Filter selects events; zero fields select all.
type Filter struct {
	Scope   Scope
	Status  Status
	Session uuid.UUID
	Before  string // an event id: only events made before it, for the next page
	Limit   int    // 1 to MaxPage; 0 is MaxPage
}

// MaxPage is the largest number of events returned at once.
const MaxPage = 100

// Journal is the part of the outbox that operators use. Every method is one transaction, except that large changes
// take several transactions of bounded size; an error may then come with the number of events changed before it. For
// events and endpoints out of scope the methods return fault.NotFound, as for missing ones. An audit.Act is written
// in the first transaction of its change; one without a scope goes to the log of the tenant whose event or endpoint
// it is about.
type Journal interface {
	// Events returns the records the filter selects, newest first.
	Events(ctx context.Context, f Filter) ([]Record, error)
	// EventByID returns a record with its attempts, oldest first, or
	// fault.NotFound. The record is not older than any of them.
	EventByID(ctx context.Context, scope Scope, id string) (Record, []Attempt, error)
	// ResendEvent makes an event due now and restarts its schedule, whatever its status. At a disabled endpoint it gets
	// one attempt. An event with an attempt under way is not changed. It returns fault.NotFound, and fault.Conflict for
	// an event without a destination.
	ResendEvent(ctx context.Context, scope Scope, id string, act audit.Act) error
	// RetryEvent makes the next attempt of a pending test event due now instead of later; its schedule continues from
	// there. It returns fault.NotFound and the errors of MayRetry.
	RetryEvent(ctx context.Context, scope Scope, id string, act audit.Act) error
	// ResendFailedEvents resends, as ResendEvent does, every failed event created at or after since whose endpoint is
	// enabled, and returns how many. For waiting events, use EnableEndpoint.
	ResendFailedEvents(ctx context.Context, scope Scope, since time.Time, act audit.Act) (int, error)
	// CountFailedEvents returns how many events ResendFailedEvents would make due now, at most limit.
	CountFailedEvents(ctx context.Context, scope Scope, since time.Time, limit int) (int, error)
	// CountWaitingEvents returns how many events wait for an endpoint, at most limit.
	CountWaitingEvents(ctx context.Context, scope Scope, endpoint string, limit int) (int, error)
	// Endpoints returns the endpoints that are failing or disabled, in the order of their ids.
	Endpoints(ctx context.Context, scope Scope) ([]Failing, error)
	// EnableEndpoint enables an endpoint, clears its failures, and makes its waiting deliveries due now with a restarted
	// schedule. It returns how many, or fault.NotFound for an endpoint without a record. For an enabled endpoint it only
	// completes an earlier call that was interrupted.
	EnableEndpoint(ctx context.Context, scope Scope, id string, act audit.Act) (int, error)
}
