package certify

import (
	"context"
	"time"

	"agegate/internal/rules/audit"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
	"agegate/internal/rules/webhook"

	"github.com/google/uuid"
)

// Pause is the shortest time between two runs of a tenant against one host.
const Pause = 10 * time.Minute

// MaxKept is how many runs of a tenant are stored; older ones are deleted.
const MaxKept = 20

// ErrTooSoon refuses a run against a host that the tenant attacked less than
// Pause ago.
var ErrTooSoon = fault.New(fault.TooMany, "this host was tested less than ten minutes ago")

// ErrDisabled refuses a run for a disabled tenant.
var ErrDisabled = fault.New(fault.TenantDisabled, "the tenant is disabled")

// Run is a stored run.
type Run struct {
	ID         uuid.UUID
	TenantID   uuid.UUID
	EndpointID string // of the Webhook URL in test mode, see webhook.EndpointID
	StartedAt  time.Time
	FinishedAt *time.Time // nil while it runs; stays nil if its process was killed
	Passed     bool       // every case was tried, and passed
	Results    []Result   // empty for a finished run that could not be carried out
}

// MaxTime is the longest that a run of Background takes.
const MaxTime = 6 * time.Minute

// Running reports whether the run may still be under way.
func (r Run) Running(now time.Time) bool {
	return r.FinishedAt == nil && now.Sub(r.StartedAt) < MaxTime
}

// Store keeps the runs of all tenants.
type Store interface {
	// StartCertification stores a run that begins, and its entry of the audit
	// log, and deletes the tenant's oldest runs beyond MaxKept. It locks the
	// tenant's row. It returns fault.NotFound, ErrDisabled, or ErrTooSoon if this
	// tenant had a run against one of the hosts less than Pause before.
	StartCertification(ctx context.Context, r Run, hosts []string, act audit.Act) error
	// FinishCertification stores the results of an unfinished run. It reports
	// false if there is no such run.
	FinishCertification(ctx context.Context, r Run) (bool, error)
	// LastCertification returns the newest run against a tenant's endpoint, or
	// fault.NotFound.
	LastCertification(ctx context.Context, tenantID uuid.UUID, endpointID string) (Run, error)
}

// Tenants looks up tenants and their webhook secrets.
type Tenants interface {
	Tenant(ctx context.Context, id uuid.UUID) (tenant.Tenant, error)
	WebhookKeys(ctx context.Context, tenantID uuid.UUID, livemode bool) ([][]byte, error)
}

// Sessions finds and creates the sessions of a run.
type Sessions interface {
	ByLink(ctx context.Context, link string) (session.Session, error)
	Create(ctx context.Context, caller tenant.Caller, req session.CreateRequest) (session.Created, error)
}

// Clock makes the sessions of a run expire. It is session.TestClock.
type Clock interface {
	Expire(ctx context.Context, actor audit.Actor, scope webhook.Scope, id uuid.UUID) error
}
