package store

import (
	"strings"
	"time"

	"github.com/google/uuid"

	"agegate/internal/rules/account"
)

// The rows of the accounts, with the columns in the order of the migrations.

type userRow struct {
	ID          uuid.UUID `gorm:"primaryKey"`
	Email       string
	Name        string
	PasswordPHC *string `gorm:"column:password_phc"`
	TOTPSealed  []byte  `gorm:"column:totp_sealed"`
	TOTPStep    int64   `gorm:"column:totp_step"`
	Operator    bool
	DisabledAt  *time.Time
	Locale      string
	CreatedAt   time.Time
}

func (userRow) TableName() string { return "users" }

func fromUser(u account.User) userRow {
	row := userRow{
		ID: u.ID, Email: u.Email, Name: u.Name, TOTPSealed: u.TOTP, TOTPStep: u.TOTPStep, Operator: u.Operator,
		DisabledAt: atOrNil(u.DisabledAt), Locale: u.Locale, CreatedAt: at(u.CreatedAt),
	}
	if u.Password != "" {
		row.PasswordPHC = &u.Password
	}
	return row
}

func toUser(r userRow) account.User {
	u := account.User{
		ID: r.ID, Email: r.Email, Name: r.Name, TOTP: r.TOTPSealed, TOTPStep: r.TOTPStep, Operator: r.Operator,
		DisabledAt: atOrNil(r.DisabledAt), Locale: r.Locale, CreatedAt: at(r.CreatedAt),
	}
	if r.PasswordPHC != nil {
		u.Password = *r.PasswordPHC
	}
	return u
}

type membershipRow struct {
	TenantID  uuid.UUID `gorm:"primaryKey"`
	UserID    uuid.UUID `gorm:"primaryKey"`
	Role      string
	CreatedAt time.Time
}

func (membershipRow) TableName() string { return "memberships" }

func toMembership(r membershipRow) account.Membership {
	return account.Membership{TenantID: r.TenantID, UserID: r.UserID, Role: account.Role(r.Role), CreatedAt: at(r.CreatedAt)}
}

type linkRow struct {
	Hash      []byte `gorm:"primaryKey"`
	Kind      string
	TenantID  *uuid.UUID
	Role      *string
	UserID    *uuid.UUID
	CreatedBy *uuid.UUID
	CreatedAt time.Time
	ExpiresAt time.Time
}

func (linkRow) TableName() string { return "links" }

func fromLink(l account.Link) linkRow {
	row := linkRow{
		Hash: l.Hash, Kind: string(l.Kind), TenantID: l.TenantID, UserID: l.UserID, CreatedBy: l.CreatedBy,
		CreatedAt: at(l.CreatedAt), ExpiresAt: at(l.ExpiresAt),
	}
	if l.Role != "" {
		role := string(l.Role)
		row.Role = &role
	}
	return row
}

func toLink(r linkRow) account.Link {
	l := account.Link{
		Hash: r.Hash, Kind: account.LinkKind(r.Kind), TenantID: r.TenantID, UserID: r.UserID, CreatedBy: r.CreatedBy,
		CreatedAt: at(r.CreatedAt), ExpiresAt: at(r.ExpiresAt),
	}
	if r.Role != nil {
		l.Role = account.Role(*r.Role)
	}
	return l
}

type loginRow struct {
	Hash           []byte `gorm:"primaryKey"`
	UserID         uuid.UUID
	DeviceHash     []byte
	Methods        string // separated by spaces
	CreatedAt      time.Time
	SeenAt         time.Time
	EndsAt         time.Time
	SteppedUpUntil *time.Time
	EnteredTenant  *uuid.UUID
	EnteredUntil   *time.Time
}

func (loginRow) TableName() string { return "logins" }

// loginUserRow is a log-in joined with its user.
type loginUserRow struct {
	Login loginRow `gorm:"embedded"`
	User  userRow  `gorm:"foreignKey:UserID"`
}

func (loginUserRow) TableName() string { return "logins" }

func fromLogin(l account.Login) loginRow {
	methods := mapAll(l.Methods, func(m account.Method) string { return string(m) })
	return loginRow{
		Hash: l.Hash, UserID: l.UserID, DeviceHash: l.DeviceHash, Methods: strings.Join(methods, " "),
		CreatedAt: at(l.CreatedAt), SeenAt: at(l.SeenAt), EndsAt: at(l.EndsAt), SteppedUpUntil: atOrNil(l.SteppedUpUntil),
		EnteredTenant: l.EnteredTenant, EnteredUntil: atOrNil(l.EnteredUntil),
	}
}

func toLogin(r loginRow) account.Login {
	return account.Login{
		Hash: r.Hash, UserID: r.UserID, DeviceHash: r.DeviceHash,
		Methods:   mapAll(strings.Fields(r.Methods), func(m string) account.Method { return account.Method(m) }),
		CreatedAt: at(r.CreatedAt), SeenAt: at(r.SeenAt), EndsAt: at(r.EndsAt), SteppedUpUntil: atOrNil(r.SteppedUpUntil),
		EnteredTenant: r.EnteredTenant, EnteredUntil: atOrNil(r.EnteredUntil),
	}
}

type passkeyRow struct {
	ID           uuid.UUID `gorm:"primaryKey"`
	UserID       uuid.UUID
	CredentialID []byte
	PublicKey    []byte
	SignCount    int64
	Flags        int64
	Transports   string // separated by spaces
	AAGUID       []byte `gorm:"column:aaguid"`
	Name         string
	CreatedAt    time.Time
	LastUsedAt   *time.Time
}

func (passkeyRow) TableName() string { return "passkeys" }

func fromPasskey(k account.Passkey) passkeyRow {
	return passkeyRow{
		ID: k.ID, UserID: k.UserID, CredentialID: k.CredentialID, PublicKey: k.PublicKey,
		SignCount: int64(k.SignCount), Flags: int64(k.Flags), Transports: strings.Join(k.Transports, " "),
		AAGUID: k.AAGUID, Name: k.Name, CreatedAt: at(k.CreatedAt), LastUsedAt: atOrNil(k.LastUsedAt),
	}
}

func toPasskey(r passkeyRow) account.Passkey {
	return account.Passkey{
		ID: r.ID, UserID: r.UserID, CredentialID: r.CredentialID, PublicKey: r.PublicKey,
		SignCount: uint32(r.SignCount), Flags: byte(r.Flags), Transports: strings.Fields(r.Transports), //nolint:gosec // G115: as fromPasskey wrote them
		AAGUID: r.AAGUID, Name: r.Name, CreatedAt: at(r.CreatedAt), LastUsedAt: atOrNil(r.LastUsedAt),
	}
}

type codeRow struct {
	UserID uuid.UUID `gorm:"primaryKey"`
	Hash   []byte    `gorm:"primaryKey"`
	UsedAt *time.Time
}

func (codeRow) TableName() string { return "recovery_codes" }

// memberRow is a membership joined with its user.
type memberRow struct {
	Membership membershipRow `gorm:"embedded"`
	User       userRow       `gorm:"foreignKey:UserID"`
}

func (memberRow) TableName() string { return "memberships" }

type throttleRow struct {
	Bucket    []byte `gorm:"primaryKey"`
	Failures  int
	Until     time.Time
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
