package store

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"agegate/internal/backoffice/account"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/billing"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
	"agegate/internal/rules/webhook"
)

// A domain type whose fields are the columns of a table is read and written directly.
// The types below exist where GORM needs more information about a field. Each has the
// same fields as a domain type, so that one converts to the other, and the compiler
// reports a field that one of them lacks. The domain types document the fields.

type tenantRow struct {
	ID            uuid.UUID `gorm:"primaryKey"`
	Name          string
	SuccessURL    string
	CancelURL     string
	WebhookURL    string
	DocumentCheck bool
	DocumentOnly  bool
	DocumentWays  []string `gorm:"serializer:words"`
	WalletPID     bool     `gorm:"column:wallet_pid"`
	Margins       []string `gorm:"serializer:words"`
	AgeVisibility bool
	FreeChecks    *int64
	TestCap       *int64
	Links         tenant.Links `gorm:"embedded"`
	Languages     []string     `gorm:"serializer:words"`
	AlertBelow    *int64
	Disabled      bool
	CreatedAt     time.Time
}

func (tenantRow) TableName() string { return "tenants" }

func toTenant(r tenantRow) tenant.Tenant { return tenant.Tenant(r) }

type apiKeyRow struct {
	ID         uuid.UUID `gorm:"primaryKey"`
	TenantID   uuid.UUID
	Livemode   bool
	Hash       credential.KeyHash `gorm:"serializer:hash"`
	LastFour   string
	CreatedAt  time.Time
	LastUsedAt *time.Time
	RevokedAt  *time.Time
	Name       string
	CreatedBy  *uuid.UUID
	Creator    string `gorm:"-"`
	ExpiresAt  *time.Time
}

func (apiKeyRow) TableName() string { return "api_keys" }

func fromKey(k tenant.APIKey) apiKeyRow { return apiKeyRow(k) }

const secretTable = "tenant_secrets"

// apiKeyTenantRow is a key joined with its tenant.
type apiKeyTenantRow struct {
	Key    apiKeyRow `gorm:"embedded"`
	Tenant tenantRow `gorm:"foreignKey:TenantID"`
}

func (apiKeyTenantRow) TableName() string { return "api_keys" }

// apiKeyCreatorRow is a key with the name of the user who made it.
type apiKeyCreatorRow struct {
	Key     apiKeyRow `gorm:"embedded"`
	Creator string
}

func (apiKeyCreatorRow) TableName() string { return "api_keys" }

type sessionRow struct {
	ID                  uuid.UUID `gorm:"primaryKey"`
	TenantID            uuid.UUID
	Livemode            bool
	TargetAge           int
	SuccessURL          string
	CancelURL           string
	WebhookURL          string
	LinkHash            []byte
	BrowserHash         []byte
	Status              session.Status
	CreatedAt           time.Time
	ExpiresAt           time.Time
	CompletedAt         *time.Time
	ConsentedAt         *time.Time
	DetectedAge         *float64
	DocumentOpenedAt    *time.Time
	DocumentPreferred   bool
	DocumentWay         session.Way
	DocumentAttempts    int
	FaceMatchAt         *time.Time
	DocumentCamera      time.Duration `gorm:"column:document_camera_ms;serializer:milliseconds"`
	Attempts            int
	Strikes             int
	OpenedAt            *time.Time
	BegunAt             *time.Time
	RedirectedAt        *time.Time
	Source              session.Source
	Basis               session.Basis `gorm:"embedded"`
	APIKeyID            *uuid.UUID
	NextRedirectExpired bool
	Setbacks            []session.Setback `gorm:"serializer:json"`
	OrderRef            string
}

func (sessionRow) TableName() string { return "sessions" }

func fromSession(s session.Session) sessionRow { return sessionRow(s) }

type holdRow struct {
	billing.Hold
	Status string
}

func (holdRow) TableName() string { return "holds" }

// The statuses of a hold.
const (
	holdOpen     = "open"
	holdSettled  = "settled"
	holdReleased = "released"
)

type entryRow billing.Entry

func (entryRow) TableName() string { return "ledger_entries" }

func toEntry(r entryRow) billing.Entry { return billing.Entry(r) }

type userRow struct {
	ID         uuid.UUID `gorm:"primaryKey"`
	Email      string
	Name       string
	Password   string `gorm:"column:password_phc;serializer:optional"`
	TOTP       []byte `gorm:"column:totp_sealed"`
	TOTPStep   int64  `gorm:"column:totp_step"`
	Operator   bool
	DisabledAt *time.Time
	Locale     string
	Zone       string
	CreatedAt  time.Time
	Issuer     string `gorm:"serializer:optional"`
	Subject    string `gorm:"serializer:optional"`
}

func (userRow) TableName() string { return "users" }

func toUser(r userRow) account.User { return account.User(r) }

type linkRow struct {
	Hash      []byte `gorm:"primaryKey"`
	Kind      account.LinkKind
	TenantID  *uuid.UUID
	Role      account.Role `gorm:"serializer:optional"`
	Note      string       `gorm:"serializer:optional"`
	UserID    *uuid.UUID
	CreatedBy *uuid.UUID
	CreatedAt time.Time
	ExpiresAt time.Time
}

func (linkRow) TableName() string { return "links" }

func toLink(r linkRow) account.Link { return account.Link(r) }

type loginRow struct {
	Hash           []byte `gorm:"primaryKey"`
	UserID         uuid.UUID
	DeviceHash     []byte
	Methods        []account.Method `gorm:"serializer:words"`
	CreatedAt      time.Time
	SeenAt         time.Time
	EndsAt         time.Time
	SteppedUpUntil *time.Time
	EnteredTenant  *uuid.UUID
	EnteredUntil   *time.Time
}

func (loginRow) TableName() string { return "logins" }

func toLogin(r loginRow) account.Login { return account.Login(r) }

// loginUserRow is a log-in joined with its user.
type loginUserRow struct {
	Login loginRow `gorm:"embedded"`
	User  userRow  `gorm:"foreignKey:UserID"`
}

func (loginUserRow) TableName() string { return "logins" }

type passkeyRow struct {
	ID           uuid.UUID `gorm:"primaryKey"`
	UserID       uuid.UUID
	CredentialID []byte
	PublicKey    []byte
	SignCount    uint32
	Flags        byte
	Transports   []string `gorm:"serializer:words"`
	AAGUID       []byte   `gorm:"column:aaguid"`
	Name         string
	CreatedAt    time.Time
	LastUsedAt   *time.Time
}

func (passkeyRow) TableName() string { return "passkeys" }

func toPasskey(r passkeyRow) account.Passkey { return account.Passkey(r) }

// memberRow is a membership joined with its user.
type memberRow struct {
	account.Membership
	User userRow `gorm:"foreignKey:UserID"`
}

func (memberRow) TableName() string { return "memberships" }

type codeRow struct {
	UserID uuid.UUID `gorm:"primaryKey"`
	Hash   []byte    `gorm:"primaryKey"`
	UsedAt *time.Time
}

func (codeRow) TableName() string { return "recovery_codes" }

type throttleRow struct {
	account.Throttle
	UpdatedAt time.Time
}

func (throttleRow) TableName() string { return "throttles" }

type flowRow struct {
	Hash      []byte `gorm:"primaryKey"`
	Kind      string
	Data      []byte
	ExpiresAt time.Time
}

func (flowRow) TableName() string { return "login_flows" }

type auditRow struct {
	Scope    audit.Scope `gorm:"primaryKey"`
	Seq      int64       `gorm:"primaryKey;autoIncrement:false"`
	At       time.Time
	Actor    audit.Actor `gorm:"embedded;embeddedPrefix:actor_"`
	Action   audit.Action
	Target   string
	Detail   json.RawMessage `gorm:"serializer:text"`
	PrevHash audit.Hash      `gorm:"serializer:hash"`
	Hash     audit.Hash      `gorm:"serializer:hash"`
}

func (auditRow) TableName() string { return "audit_entries" }

func toAuditEntry(r auditRow) audit.Entry { return audit.Entry(r) }

// auditHeadRow is the end of the chain of a scope.
type auditHeadRow struct {
	Scope audit.Scope `gorm:"primaryKey"`
	Seq   int64
	Hash  audit.Hash `gorm:"serializer:hash"`
}

func (r auditHeadRow) head() audit.Head { return audit.Head{Seq: r.Seq, Hash: r.Hash} }

func (auditHeadRow) TableName() string { return "audit_heads" }

// eventRow is an event with its delivery.
type eventRow struct {
	webhook.Record
	LeaseToken *uuid.UUID
	Step       int
	Trace      string
}

func (eventRow) TableName() string { return "webhook_events" }

type attemptRow struct {
	Number     int
	At         time.Time
	Class      webhook.Class
	StatusCode int
	Latency    time.Duration `gorm:"column:latency_us;serializer:microseconds"`
	Excerpt    []byte
	NextAt     *time.Time
}

func (attemptRow) TableName() string { return "webhook_attempts" }

const endpointTable = "webhook_endpoints"

func mapAll[From, To any](from []From, convert func(From) To) []To {
	to := make([]To, len(from))
	for i, f := range from {
		to[i] = convert(f)
	}
	return to
}
