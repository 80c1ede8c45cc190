// Package evidence writes what a merchant can show a regulator: a pack of files
// about one tenant and period, made from the configuration, the measurements that
// belong to the models in use, the sums of outcomes and the audit log, and signed
// by a key of the installation. Verify checks a pack without the gateway.
//
// Nothing in a pack is about a single person: no estimate, no picture, no name of
// staff, and no count below MinCount. What the gateway cannot know is left blank
// and marked as blank.
package evidence

import (
	"context"
	"time"

	"agegate/internal/rules/audit"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/insight"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"

	"github.com/google/uuid"
)

// MinCount is the smallest count of sessions or pictures that a pack states.
const MinCount = 20

// Languages are the languages of a pack's statements.
var Languages = []string{"en", "de"}

// Limits of a request.
const (
	MaxDays     = 400 // days of a period
	MaxReceipts = 100 // receipts of a pack
)

// The requests that Write refuses.
var (
	ErrPeriod   = fault.New(fault.Invalid, "the period must begin before it ends, be at most 400 days long and not end in the future")
	ErrLanguage = fault.New(fault.Invalid, "the language must be en or de")
	ErrTarget   = fault.New(fault.Invalid, "the target age must be from 13 to 60")
	ErrReceipts = fault.New(fault.Invalid, "at most 100 receipts can be made at once")
	ErrNoResult = fault.New(fault.Invalid, "a session without a result has no receipt")
)

// Model is a file that the age check computes with.
type Model struct {
	Role   string `json:"role"`
	SHA256 string `json:"sha256"`
}

// Installation is what the configuration and the models directory say, the same
// for all tenants.
type Installation struct {
	Release       string
	Configuration string // fingerprint of the settings that all replicas share
	BaseURL       string
	Operator      string // who runs the gateway; empty when not set
	Links         tenant.Links
	Margin        float64 // years added to the target age
	SessionTTL    time.Duration
	Retention     time.Duration // of finished sessions; 0: no end
	DocumentWays  []session.Way // that the operator has turned on
	Governor      string        // what the drift governor does: off or on
	// EstimatorOff and NoModels say why there may be no models: the estimator is
	// switched off, or this process cannot read them.
	EstimatorOff, NoModels bool
	Estimator              string // fingerprint of the files that estimate; empty without models
	Models                 []Model
	Calibration            string // fingerprint; empty without one
	Fairness               *Fairness
	FairnessGap            string // why there is no Fairness: missing, other or broken
}

// Store reads what a pack is made from.
type Store interface {
	audit.Store
	// TenantByID returns a tenant, or fault.NotFound.
	TenantByID(ctx context.Context, id uuid.UUID) (tenant.Tenant, error)
	// SessionByID returns the tenant's session, or fault.NotFound.
	SessionByID(ctx context.Context, tenantID, id uuid.UUID) (session.Session, error)
}

// Counter counts outcomes, as insight.Service does.
type Counter interface {
	Outcomes(ctx context.Context, scope insight.Scope, from, to time.Time) ([]insight.Outcome, error)
}

// Service makes packs. It is safe for concurrent use.
type Service struct {
	store   Store
	counter Counter
	key     Key
	about   Installation
	now     func() time.Time
}

// NewService returns a service. now must return UTC.
func NewService(store Store, counter Counter, key Key, about Installation, now func() time.Time) *Service {
	return &Service{store: store, counter: counter, key: key, about: about, now: now}
}

// Key returns the public key that the service's packs verify with.
func (s *Service) Key() PublicKey { return s.key.Public() }

// Request asks for a pack.
type Request struct {
	TenantID  uuid.UUID
	From, To  time.Time // UTC days; To is the day after the last
	Language  string    // of Languages
	TargetAge int       // that the accuracy is about
	Receipts  []uuid.UUID
}

// check returns what is wrong with a request.
func (r Request) check(now time.Time) error {
	switch days := r.To.Sub(r.From).Hours() / 24; {
	case r.Language != "en" && r.Language != "de":
		return ErrLanguage
	case !r.From.Before(r.To) || days > MaxDays || r.To.After(now.UTC().Truncate(24*time.Hour).AddDate(0, 0, 1)):
		return ErrPeriod
	case r.TargetAge < 13 || r.TargetAge > 60:
		return ErrTarget
	case len(r.Receipts) > MaxReceipts:
		return ErrReceipts
	}
	return nil
}
