// Package evidence writes packs of files that a merchant can show to a regulator. A pack is about one tenant and
// period. It is made from the configuration, the measurements of the models in use, sums of outcomes and the audit
// log, and is signed with a key of the installation. Verify checks a pack without the gateway. A pack contains
// nothing about a single person: no estimate, no picture, no name of staff, and no count of sessions below MinCount.
// What the gateway cannot know is left blank and marked as blank.
package evidence

import (
	"context"
	"time"

	"agegate/internal/backoffice/insight"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"

	"github.com/google/uuid"
)

// MinCount is the smallest count of sessions that a pack contains; fewer pictures say little.
const MinCount = 20

// Languages are the languages of a pack's statements.
var Languages = []string{"en", "de"}

// Limits of a request.
const (
	MaxDays     = 400 // days of a period
	MaxReceipts = 100 // receipts of a pack
)

// Requests that Pack refuses.
var (
	ErrPeriod = fault.New(fault.Invalid, "the period must begin before it ends, be at most 400 days long and not end "+
		"in the future")
	ErrLanguage = fault.New(fault.Invalid, "the language must be en or de")
	ErrTarget   = fault.New(fault.Invalid, "the target age must be from 13 to 60")
	ErrReceipts = fault.New(fault.Invalid, "at most 100 receipts can be made at once")
	ErrNoResult = fault.New(fault.Invalid, "a session without a result has no receipt")
)

// Model is a model file that the age check uses.
type Model struct {
	Role   string `json:"role"`
	SHA256 string `json:"sha256"`
}

// Installation is the data of the configuration and the models directory. It is the same for all tenants.
type Installation struct {
	Release       string
	Configuration string // fingerprint of the settings that all replicas share
	BaseURL       string
	Operator      string // who runs the gateway; empty if not set
	Links         tenant.Links
	Margin        tenant.MarginRule
	SessionTTL    time.Duration
	Retention     time.Duration // of finished sessions; 0: no end
	DocumentWays  []session.Way // those that the operator has enabled
	// EstimatorOff and NoModels are reasons why there are no models: the
	// estimator is switched off, or this process cannot read them.
	EstimatorOff, NoModels bool
	Estimator              string // fingerprint of the estimator's files; empty without models
	Models                 []Model
	Calibration            string // fingerprint; empty without one
	Research               bool   // the estimate was fitted on data for research only
	Accuracy               *Accuracy
	AccuracyGap            string // why there is no Accuracy: missing, other or broken
	Targets                []byte // TargetsFile; nil without Accuracy
}

// Store reads the data for a pack.
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

// Service creates packs. It is safe for concurrent use.
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

// Key returns the public key that verifies the service's packs.
func (s *Service) Key() PublicKey { return s.key.Public() }

// Request describes a pack.
type Request struct {
	TenantID  uuid.UUID
	From, To  time.Time // UTC days; To is the day after the last
	Language  string    // of Languages
	TargetAge int       // for the accuracy figures
	Receipts  []uuid.UUID
}

// check returns what is wrong with a request.
func (r Request) check(now time.Time) error {
	switch days := r.To.Sub(r.From).Hours() / 24; {
	case r.Language != "en" && r.Language != "de":
		return ErrLanguage
	case !r.From.Before(r.To) || days > MaxDays || r.To.After(now.UTC().Truncate(24*time.Hour).AddDate(0, 0, 1)):
		return ErrPeriod
	case r.TargetAge < tenant.MinTarget || r.TargetAge > tenant.MaxTarget:
		return ErrTarget
	case len(r.Receipts) > MaxReceipts:
		return ErrReceipts
	}
	return nil
}
