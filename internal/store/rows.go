package store

import (
	"time"

	"github.com/google/uuid"
)

// The rows of the tables, with the columns in the order of the migrations. The
// domain types document what they mean.

type tenantRow struct {
	ID            uuid.UUID `gorm:"primaryKey"`
	Name          string
	SuccessURL    string
	CancelURL     string
	WebhookURL    string
	DocumentCheck bool
	DocumentWays  string // separated by spaces
	AgeVisibility bool
	FreeChecks    *int64
	TestCap       *int64
	PrivacyURL    string
	HelpURL       string
	TermsURL      string
	ReviewURL     string
	Disabled      bool
	CreatedAt     time.Time
	Languages     string
	AlertBelow    *int64
}

func (tenantRow) TableName() string { return "tenants" }

type apiKeyRow struct {
	ID         uuid.UUID `gorm:"primaryKey"`
	TenantID   uuid.UUID
	Livemode   bool
	Hash       []byte
	LastFour   string
	CreatedAt  time.Time
	LastUsedAt *time.Time
	RevokedAt  *time.Time
	Name       string
	CreatedBy  *uuid.UUID
	ExpiresAt  *time.Time
}

func (apiKeyRow) TableName() string { return "api_keys" }

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

type secretRow struct {
	ID        uuid.UUID `gorm:"primaryKey"`
	TenantID  uuid.UUID
	Livemode  bool
	Kind      string
	State     string
	Sealed    []byte
	CreatedAt time.Time
	ExpiresAt *time.Time
}

func (secretRow) TableName() string { return "tenant_secrets" }

type sessionRow struct {
	ID               uuid.UUID `gorm:"primaryKey"`
	TenantID         uuid.UUID
	Livemode         bool
	TargetAge        int
	SuccessURL       string
	CancelURL        string
	WebhookURL       string
	LinkHash         []byte
	BrowserHash      []byte
	Status           string
	CreatedAt        time.Time
	ExpiresAt        time.Time
	CompletedAt      *time.Time
	ConsentedAt      *time.Time
	DetectedAge      *float64
	DocumentOpenedAt *time.Time
	Attempts         int
	Strikes          int
	OpenedAt         *time.Time
	BegunAt          *time.Time
	RedirectedAt     *time.Time
	Source           string
	Cutoff           *float64
	Calibration      string
	APIKeyID         *uuid.UUID
	DocumentWay      string
	DocumentAttempts int
	FaceMatchAt      *time.Time
	DocumentCameraMS int64 `gorm:"column:document_camera_ms"`
	// Test sessions only.
	NextRedirectExpired bool
}

func (sessionRow) TableName() string { return "sessions" }

type claimRow struct {
	TenantID    uuid.UUID `gorm:"primaryKey"`
	Livemode    bool      `gorm:"primaryKey"`
	KeyHash     []byte    `gorm:"primaryKey"`
	RequestHash []byte
	SessionID   uuid.UUID
	SealedLink  []byte
	SessionEnd  time.Time
	ExpiresAt   time.Time
}

func (claimRow) TableName() string { return "idempotency_claims" }

// The statuses of a hold.
const (
	holdOpen     = "open"
	holdSettled  = "settled"
	holdReleased = "released"
)

type holdRow struct {
	SessionID uuid.UUID `gorm:"primaryKey"`
	TenantID  uuid.UUID
	Source    string
	Period    string
	Status    string
	ExpiresAt time.Time
}

func (holdRow) TableName() string { return "holds" }

type entryRow struct {
	ID        uuid.UUID `gorm:"primaryKey"`
	TenantID  uuid.UUID
	SessionID *uuid.UUID
	Kind      string
	Source    string
	Period    string
	Delta     int64
	CreatedAt time.Time
}

func (entryRow) TableName() string { return "ledger_entries" }
