// Package tenant holds a merchant account: its settings, its API keys, its
// signing secrets, and the rule for its callback URLs.
package tenant

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"agegate/internal/rules/audit"
	"agegate/internal/rules/brand"
	"agegate/internal/rules/credential"

	"github.com/google/uuid"
)

// Tenant is a merchant account and its settings.
type Tenant struct {
	ID            uuid.UUID
	Name          string
	SuccessURL    string // default destination after VERIFIED; empty when unset
	CancelURL     string // default destination of the fallback page's return action
	WebhookURL    string // the only destination of completion webhooks
	DocumentCheck bool   // offer a document check instead of the camera, and after an age refusal
	// DocumentOnly takes no estimate at all: shoppers show a document. It needs no DocumentCheck, see OffersDocument.
	DocumentOnly bool
	// DocumentWays are the ways of the document check that shoppers may use; empty: all ways of the gateway.
	DocumentWays []string `gorm:"serializer:words"`
	// WalletPID asks wallets also for identification data (PID), of which the birth date may be read.
	WalletPID bool `gorm:"column:wallet_pid"`
	// Margins are the years by which an estimate must exceed the target age, such as
	// "18=9" for 18. For other target ages the gateway's margin applies.
	Margins       []string `gorm:"serializer:words"`
	AgeVisibility bool     // store estimates of consenting shoppers
	FreeChecks    *int64   // monthly free allowance; nil for the operator's default, -1 unlimited
	TestCap       *int64   // test sessions a day; nil for the operator's default, -1 unlimited
	Links         Links    `gorm:"embedded"`
	// Languages are those of the hosted page, the default first; empty: all, see Languages.
	Languages  []string `gorm:"serializer:words"`
	AlertBelow *int64   // warn staff when fewer checks are left, free and paid together; nil for never
	Disabled   bool
	CreatedAt  time.Time
}

// DocumentWays are the ways of the document check, with the names in session.Way.
var DocumentWays = []string{"wallet", "photo"}

// Allows reports whether shoppers may use a way of the document check. A change
// of the setting applies at once, even to open document checks.
func (t Tenant) Allows(way string) bool {
	return len(t.DocumentWays) == 0 || slices.Contains(t.DocumentWays, way)
}

// OffersDocument reports whether shoppers can come to a document check.
func (t Tenant) OffersDocument() bool { return t.DocumentCheck || t.DocumentOnly }

// Links are addresses to which the hosted page links; empty ones are not shown.
type Links struct {
	PrivacyURL, HelpURL, TermsURL string // in the footer
	ReviewURL                     string // after a refusal: where a shopper can request a review
}

// Or returns the links, with empty ones replaced by those of other.
func (l Links) Or(other Links) Links {
	return Links{
		PrivacyURL: cmp.Or(l.PrivacyURL, other.PrivacyURL), HelpURL: cmp.Or(l.HelpURL, other.HelpURL),
		TermsURL: cmp.Or(l.TermsURL, other.TermsURL), ReviewURL: cmp.Or(l.ReviewURL, other.ReviewURL),
	}
}

// Terms are the settings of a tenant that a new session depends on.
type Terms struct {
	SuccessURL, CancelURL, WebhookURL string
	FreeChecks, TestCap               *int64
}

// Terms returns the settings that a new session depends on.
func (t Tenant) Terms() Terms {
	return Terms{t.SuccessURL, t.CancelURL, t.WebhookURL, t.FreeChecks, t.TestCap}
}

// CallbackURLs returns the registered URLs, see Terms.CallbackURLs.
func (t Tenant) CallbackURLs() []string { return t.Terms().CallbackURLs() }

// CallbackURLs returns the registered URLs. A URL of a session must have the host and port of one of them.
func (t Terms) CallbackURLs() []string {
	all := []string{t.SuccessURL, t.CancelURL, t.WebhookURL}
	return slices.DeleteFunc(all, func(u string) bool { return u == "" })
}

// SecretKind is what a secret signs.
type SecretKind string

// The kinds of secret.
const (
	SecretWebhook  SecretKind = "webhook"
	SecretRedirect SecretKind = "redirect"
)

// SecretState is the state of a secret in its rotation.
type SecretState string

// The states of a secret. A redirect secret is staged, then promoted to active, and its predecessor becomes retiring.
// A new webhook secret is active at once, and its predecessor becomes retiring.
const (
	SecretStaged   SecretState = "staged"
	SecretActive   SecretState = "active"
	SecretRetiring SecretState = "retiring" // until ExpiresAt
)

// Secret is one signing secret, sealed.
type Secret struct {
	ID        uuid.UUID
	TenantID  uuid.UUID
	Livemode  bool
	Kind      SecretKind
	State     SecretState
	Sealed    []byte
	CreatedAt time.Time
	ExpiresAt *time.Time // set while retiring
}

// Caller is an authenticated merchant backend.
type Caller struct {
	TenantID uuid.UUID
	Livemode bool
	KeyID    uuid.UUID // the key it used; the zero UUID for a caller without one
}

// Changes are the settings that staff or an operator change. Nil leaves a setting
// unchanged; an empty URL or list clears it.
type Changes struct {
	Name          *string
	SuccessURL    *string
	CancelURL     *string
	WebhookURL    *string
	DocumentCheck *bool
	DocumentOnly  *bool
	DocumentWays  *[]string // see Allows
	WalletPID     *bool
	Margins       *[]string // see Tenant.Margins
	Margin        *TargetMargin
	AgeVisibility *bool
	FreeChecks    *int64 // DefaultLimit for the operator's default
	TestCap       *int64 // DefaultLimit for the operator's default
	PrivacyURL    *string
	HelpURL       *string
	TermsURL      *string
	ReviewURL     *string
	Languages     *[]string // see Tenant.Languages
	AlertBelow    *int64    // NoAlert for never
	Brand         *BrandChanges
}

// Values in Changes that clear a number.
const (
	DefaultLimit = math.MinInt64 // the operator's limit instead of the tenant's own
	NoAlert      = -1
)

// Store stores tenants, keys and secrets. Every method that names a row returns fault.NotFound if it does not exist;
// every write is atomic. A method that takes an audit.Act writes the change and the act in one transaction.
type Store interface {
	// CreateTenant writes the tenant, its first keys and its secrets together.
	CreateTenant(ctx context.Context, t Tenant, keys []APIKey, secrets []Secret, act audit.Act) error
	// UpdateTenant applies the non-nil changes, with the brand in its stored form, and returns the tenant's new state.
	// It compares with the locked row by Settings.ChangesTo and adds the result to the act's detail.
	UpdateTenant(ctx context.Context, id uuid.UUID, c Changes, act audit.Act) (Tenant, error)
	SetTenantDisabled(ctx context.Context, id uuid.UUID, disabled bool, act audit.Act) error
	TenantByID(ctx context.Context, id uuid.UUID) (Tenant, error)
	// Brand returns a tenant's brand; the zero Brand if nothing is set.
	Brand(ctx context.Context, tenantID uuid.UUID) (brand.Brand, error)
	// Logo returns a logo by its hash.
	Logo(ctx context.Context, hash string) ([]byte, error)
	// Tenants returns at most limit tenants, oldest first, starting after the one
	// with the given ID, which must exist; uuid.Nil starts at the oldest.
	Tenants(ctx context.Context, after uuid.UUID, limit int) ([]Tenant, error)
	// FindTenants returns at most limit tenants oldest first, whose name contains a text or whose ID equals it. The
	// case of ASCII letters does not matter.
	FindTenants(ctx context.Context, text string, limit int) ([]Tenant, error)
	// HasTwin is Service.HasTwin.
	HasTwin(ctx context.Context, t Tenant) (bool, error)
	// TenantNames is Service.Names.
	TenantNames(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]string, error)
	// DeleteTenant deletes a disabled tenant without sessions and everything that belongs to it, the ledger included,
	// in small transactions. It returns fault.Conflict for an enabled tenant and for one with sessions. An interrupted
	// run can be repeated. The act is written with the first deletion. The tenant's audit log is kept.
	DeleteTenant(ctx context.Context, id uuid.UUID, act audit.Act) error

	InsertKey(ctx context.Context, k APIKey, act audit.Act) error
	// ReplaceKey stores next and makes the tenant's key old expire at expires. It returns fault.Conflict for a key that
	// is revoked or already has an end. For another tenant's key it returns fault.NotFound.
	ReplaceKey(ctx context.Context, tenantID, old uuid.UUID, expires time.Time, next APIKey, act audit.Act) error
	// KeyByID returns a key of any tenant, revoked or not.
	KeyByID(ctx context.Context, keyID uuid.UUID) (APIKey, error)
	// RevokeKey sets the time of revocation unless it is set already. For
	// another tenant's key it returns fault.NotFound.
	RevokeKey(ctx context.Context, tenantID, keyID uuid.UUID, at time.Time, act audit.Act) error
	// Keys returns a tenant's keys, oldest first, including keys that are no longer in force.
	Keys(ctx context.Context, tenantID uuid.UUID) ([]APIKey, error)
	// KeyByHash returns the key and its tenant, even if the key is not in force or the tenant is disabled.
	KeyByHash(ctx context.Context, hash credential.KeyHash) (APIKey, Tenant, error)
	// TouchKey sets the time of last use to at, unless a later one is stored.
	TouchKey(ctx context.Context, keyID uuid.UUID, at time.Time) error

	// Secrets returns a tenant's secrets of a mode and kind that have not expired at now, newest first.
	Secrets(ctx context.Context, tenantID uuid.UUID, livemode bool, kind SecretKind, now time.Time) ([]Secret, error)
	// RotateSecret stores next as the active secret. The previous active secret, and any that would retire later,
	// retire at expires. A staged secret of the same kind is deleted.
	RotateSecret(ctx context.Context, next Secret, expires time.Time, act audit.Act) error
	// StageSecret stores next as the staged secret and replaces an earlier one.
	StageSecret(ctx context.Context, next Secret, act audit.Act) error
	// PromoteSecret makes the staged secret active. The previous active secret, and any that would retire later, retire
	// at expires. Without a staged secret it returns fault.NotFound and changes nothing.
	PromoteSecret(ctx context.Context, tenantID uuid.UUID, livemode bool, kind SecretKind, expires time.Time,
		act audit.Act) error
	// RetireSecrets makes every retiring secret expire at at. If none expires
	// later than at, it returns fault.NotFound and changes nothing.
	RetireSecrets(ctx context.Context, tenantID uuid.UUID, livemode bool, kind SecretKind, at time.Time,
		act audit.Act) error

	// AppendAct writes an act that changes nothing, such as showing a secret.
	AppendAct(ctx context.Context, act audit.Act) error

	// OuterSecrets returns the active secrets of the tenants with the lowest and
	// the highest ID, and none when there is no tenant. It reads only these rows.
	OuterSecrets(ctx context.Context) ([]Secret, error)
	// SecretsBefore returns at most limit secrets of all tenants that have not expired at now, in descending order of
	// tenant and ID, starting after the given tenant and ID.
	SecretsBefore(ctx context.Context, tenantID, id uuid.UUID, now time.Time, limit int) ([]Secret, error)
	// ReplaceSealed writes each new sealed value if the stored one is still the old one, and returns how many it wrote.
	// The act is written if it is not nil and a value was.
	ReplaceSealed(ctx context.Context, secrets []ResealedSecret, act *audit.Act) (int, error)
}
