package store

import (
	"time"

	"github.com/google/uuid"

	"agegate/internal/backoffice/account"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/billing"
	"agegate/internal/rules/tenant"
	"agegate/internal/rules/webhook"
)

// A domain type whose fields are the columns of a table is read and written directly. Tags of its fields say
// what GORM cannot tell from them. The types below are rows that no domain type is, and joined rows.

const secretTable = "tenant_secrets"

// apiKeyTenantRow is a key joined with its tenant.
type apiKeyTenantRow struct {
	Key    tenant.APIKey `gorm:"embedded"`
	Tenant tenant.Tenant `gorm:"foreignKey:TenantID"`
}

func (apiKeyTenantRow) TableName() string { return "api_keys" }

// apiKeyCreatorRow is a key with the name of the user who made it.
type apiKeyCreatorRow struct {
	Key     tenant.APIKey `gorm:"embedded"`
	Creator string
}

func (apiKeyCreatorRow) TableName() string { return "api_keys" }

type holdRow struct {
	billing.Hold
	Status string
}

func (holdRow) TableName() string { return "holds" }

// The statuses of a hold.
const (
	holdOpen    = "open"
	holdSettled = "settled" // the third, released, is in SQL only
)

// loginUserRow is a log-in joined with its user.
type loginUserRow struct {
	Login account.Login `gorm:"embedded"`
	User  account.User  `gorm:"foreignKey:UserID"`
}

func (loginUserRow) TableName() string { return "logins" }

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

const endpointTable = "webhook_endpoints"

func mapAll[From, To any](from []From, convert func(From) To) []To {
	to := make([]To, len(from))
	for i, f := range from {
		to[i] = convert(f)
	}
	return to
}
