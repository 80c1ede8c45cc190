// Package account holds the people who use the dashboard: users, their memberships of tenants, the links that admit
// them, their log-ins, and the rule for what a signed-in user may open.
package account

import (
	"time"

	"github.com/google/uuid"
)

// User is a person who signs in.
type User struct {
	ID         uuid.UUID
	Email      string // the log-in name, in lower case; not verified. Of a provider's user: verified by it, or NoEmail
	Name       string
	Password   string `gorm:"column:password_phc;serializer:optional"` // PHC string; empty if the user has none
	TOTP       []byte `gorm:"column:totp_sealed"`                      // sealed secret of an authenticator app, or nil
	TOTPStep   int64  `gorm:"column:totp_step"`                        // the last step whose code was accepted
	Operator   bool   // of the instance; implies no role in any tenant
	DisabledAt *time.Time
	Locale     string // BCP 47, or empty: the browser's
	Zone       string // the IANA name of a time zone, or empty: UTC
	CreatedAt  time.Time
	// Issuer and Subject identify the user at the identity provider. Both are empty if
	// no provider manages the account. See Provider.
	Issuer  string `gorm:"serializer:optional"`
	Subject string `gorm:"serializer:optional"`
}

// Membership ties a user to a tenant.
type Membership struct {
	TenantID  uuid.UUID
	UserID    uuid.UUID
	Role      Role
	CreatedAt time.Time
}

// Member is a user with their membership of a tenant.
type Member struct {
	Membership
	User User `gorm:"foreignKey:UserID"`
}

// BackupEligible is the flag of a passkey that may be on more than one device. Once set, it stays set.
const BackupEligible = 0x08

// Passkey is a public key credential of Web Authentication.
type Passkey struct {
	ID           uuid.UUID
	UserID       uuid.UUID
	CredentialID []byte   // chosen by the authenticator
	PublicKey    []byte   // COSE
	SignCount    uint32   // 0 if the authenticator does not count
	Flags        byte     // of the authenticator data
	Transports   []string `gorm:"serializer:words"`
	AAGUID       []byte   `gorm:"column:aaguid"` // the authenticator's model, 16 bytes
	Name         string   // given by the user
	CreatedAt    time.Time
	LastUsedAt   *time.Time
}

// Throttle counts the failed attempts of a bucket.
type Throttle struct {
	Bucket   []byte
	Failures int
	Until    time.Time // no attempt before this time
}

// LinkKind is the purpose of a link.
type LinkKind string

// The kinds of link. GET shows a link any number of times; one POST uses it up.
const (
	LinkSetup      LinkKind = "setup"      // makes the first operator, or another
	LinkInvitation LinkKind = "invitation" // makes a member of a tenant
	LinkRecovery   LinkKind = "recovery"   // replaces all factors of a user
)

// Lifetimes of links.
const (
	SetupTTL      = time.Hour
	InvitationTTL = 72 * time.Hour
	RecoveryTTL   = time.Hour
)

// Link is a stored link. The token in its address is not stored.
type Link struct {
	Hash     []byte `gorm:"primaryKey"` // SHA-256 of the token
	Kind     LinkKind
	TenantID *uuid.UUID // of an invitation; for a setup link, the tenant that the operator will own
	Role     Role       `gorm:"serializer:optional"` // of an invitation
	// Note says of an invitation for whom it is, as its maker calls them; of a recovery link the user's address; of a
	// setup link, see another.
	Note      string     `gorm:"serializer:optional"`
	UserID    *uuid.UUID // the user of a recovery link
	CreatedBy *uuid.UUID // nil: the server or a command
	CreatedAt time.Time
	ExpiresAt time.Time
}

// OpenLink is a link that can be used.
type OpenLink struct {
	Link  `gorm:"embedded"`
	Waits bool // the mail with it was not sent yet
}

// Method is a way in which a user proved their identity.
type Method string

// The methods. A passkey is used with user verification, which makes it two factors.
const (
	ByPassword Method = "password"
	ByTOTP     Method = "totp"
	ByCode     Method = "code" // a recovery code
	ByPasskey  Method = "passkey"
	ByProvider Method = "provider" // who asks for the factors itself
)

// Limits of a log-in.
const (
	LoginIdle         = 24 * time.Hour
	LoginIdleOperator = time.Hour // on pages for operators
	LoginTTL          = 7 * 24 * time.Hour
	StepUpTTL         = 10 * time.Minute
	EntryTTL          = 30 * time.Minute // how long an operator may look into a tenant
)

// seenEvery is the shortest time between two writes of the time of last use.
const seenEvery = time.Minute

// Login is a browser in which a user is signed in.
type Login struct {
	Hash           []byte `gorm:"primaryKey"` // SHA-256 of the cookie
	UserID         uuid.UUID
	DeviceHash     []byte   // of the browser's device cookie, or nil
	Methods        []Method `gorm:"serializer:words"`
	CreatedAt      time.Time
	SeenAt         time.Time // accurate to about a minute
	EndsAt         time.Time
	SteppedUpUntil *time.Time
	// EnteredTenant is the tenant that an operator looks into, until EnteredUntil.
	EnteredTenant *uuid.UUID
	EnteredUntil  *time.Time
}
