package account

import (
	"context"
	"time"

	"agegate/internal/backoffice/mail"
	"agegate/internal/rules/audit"

	"github.com/google/uuid"
)

// Directory reads users and their memberships. UserByID returns fault.NotFound.
type Directory interface {
	UserByID(ctx context.Context, id uuid.UUID) (User, error)
	// UsersByID returns the users with these IDs that exist, in no order.
	UsersByID(ctx context.Context, ids []uuid.UUID) ([]User, error)
	// Users returns at most limit users, oldest first, after the one with the given ID.
	Users(ctx context.Context, after uuid.UUID, limit int) ([]User, error)
	// FindUsers returns at most limit users, oldest first, with a name or an e-mail
	// address that contains a text in any case.
	FindUsers(ctx context.Context, text string, limit int) ([]User, error)
	// LockedOut reports that there are operators, and that all of them are disabled.
	LockedOut(ctx context.Context) (bool, error)
	// Members returns the members of tenants, oldest first.
	Members(ctx context.Context, tenantIDs ...uuid.UUID) ([]Member, error)
	// FirstMemberships returns at most `each` memberships of each of the users, oldest first.
	FirstMemberships(ctx context.Context, users []uuid.UUID, each int) ([]Membership, error)
	// MembershipsOf returns a user's memberships, oldest first.
	MembershipsOf(ctx context.Context, userID uuid.UUID) ([]Membership, error)
}

// Store stores users, memberships, links and log-ins. Every method that names a
// row returns fault.NotFound if it does not exist.
type Store interface {
	Directory
	// UpdateAccounts runs fn in one transaction. After a conflict with another
	// transaction fn runs again, so it must not change anything outside tx.
	UpdateAccounts(ctx context.Context, fn func(tx Tx) error) error

	// UserByEmail returns a user whom no provider manages, by their address.
	UserByEmail(ctx context.Context, email string) (User, error)
	// UserByProvider returns the user whom a provider knows by a subject.
	UserByProvider(ctx context.Context, issuer, subject string) (User, error)
	// Passkeys returns a user's passkeys, oldest first.
	Passkeys(ctx context.Context, userID uuid.UUID) ([]Passkey, error)
	PasskeyByCredential(ctx context.Context, credentialID []byte) (Passkey, error)
	// CodesLeft returns how many recovery codes of a user are unused.
	CodesLeft(ctx context.Context, userID uuid.UUID) (int, error)
	// LoginsOf returns a user's log-ins that have not ended at now, newest first.
	LoginsOf(ctx context.Context, userID uuid.UUID, now time.Time) ([]Login, error)
	// OpenLinks returns the links of kinds and the invitations to tenants that are valid at now, newest first.
	OpenLinks(ctx context.Context, kinds []LinkKind, tenantIDs []uuid.UUID, now time.Time) ([]OpenLink, error)
	// LoginByHash returns a log-in with its user, even if it has ended or the user is disabled.
	LoginByHash(ctx context.Context, hash []byte) (Login, User, error)
	Membership(ctx context.Context, tenantID, userID uuid.UUID) (Membership, error)
	// LinkByHash returns a link, even if it has expired.
	LinkByHash(ctx context.Context, hash []byte) (Link, error)
	// OperatorExists reports whether there is an operator with an account of their own, disabled or not.
	OperatorExists(ctx context.Context) (bool, error)
}

// Tx is a transaction of a Store.
type Tx interface {
	audit.Tx

	OperatorExists() (bool, error)
	// InsertUser returns fault.Conflict for an e-mail address that is in use.
	InsertUser(u User) error
	// SetUser stores the named fields of a user.
	SetUser(u User, fields ...string) error
	// InsertMail stores a mail, or returns mail.ErrTooMany.
	InsertMail(m mail.Mail) error
	// SetDisabled disables a user, or enables one with nil, and reports whether that changed anything.
	SetDisabled(userID uuid.UUID, at *time.Time) (bool, error)
	// UseTOTPStep reports whether the step is later than every step used before.
	// If several transactions try, it succeeds for one.
	UseTOTPStep(userID uuid.UUID, step int64) (bool, error)
	// ReplaceCodes replaces all recovery codes of a user.
	ReplaceCodes(userID uuid.UUID, hashes [][]byte) error
	// UseCode reports whether an unused recovery code has the hash, and marks it as used.
	UseCode(userID uuid.UUID, hash []byte, now time.Time) (bool, error)
	// LockUser returns a user. Other transactions that call it for this user wait.
	LockUser(id uuid.UUID) (User, error)
	// Passkeys is Store.Passkeys.
	Passkeys(userID uuid.UUID) ([]Passkey, error)
	// InsertPasskey returns fault.Conflict for a credential that is already stored.
	InsertPasskey(k Passkey) error
	// UsePasskey stores a passkey's counter and flags after a use. It reports
	// false for a counter that did not increase, and for the loss of BackupEligible.
	UsePasskey(k Passkey, now time.Time) (bool, error)
	// DeletePasskey deletes a passkey of a user.
	DeletePasskey(userID, id uuid.UUID) error
	DeletePasskeys(userID uuid.UUID) error

	// InsertMembership returns fault.Conflict if the user is already a member.
	InsertMembership(m Membership) error
	// MembershipsOf is Store.MembershipsOf.
	MembershipsOf(userID uuid.UUID) ([]Membership, error)
	Membership(tenantID, userID uuid.UUID) (Membership, error)
	// LockOwners makes other transactions that lock the tenant's owners wait,
	// even if it has none. It returns fault.NotFound for an unknown tenant.
	LockOwners(tenantID uuid.UUID) error
	// SetRole changes the role of a member. It returns fault.Conflict for the
	// last enabled owner with an account of their own. Call LockOwners first.
	SetRole(tenantID, userID uuid.UUID, role Role) error
	// DeleteMembership removes a member. Its errors are those of SetRole.
	DeleteMembership(tenantID, userID uuid.UUID) error
	// OwnerExists reports whether a tenant has an owner with an account of their own.
	OwnerExists(tenantID uuid.UUID) (bool, error)

	// PutSetupLink stores a setup link, which replaces any earlier one.
	PutSetupLink(l Link) error
	// TakeLink deletes and returns a link of a kind that has not expired at now, or returns fault.NotFound. If
	// several transactions try, it succeeds for one.
	TakeLink(kind LinkKind, hash []byte, now time.Time) (Link, error)

	InsertLink(l Link) error
	// DeleteLinks deletes and returns all links that have the fields that are set in a link.
	DeleteLinks(of Link) ([]Link, error)

	InsertLogin(l Login) error
	// RenewLogin gives a log-in that has not ended at now another hash, more
	// methods and a new confirmation time. It returns fault.NotFound.
	RenewLogin(hash []byte, l Login, now time.Time) error
	// EndLogins ends all log-ins of a user except the one with a hash, which may be nil, and returns how many.
	EndLogins(userID uuid.UUID, except []byte, now time.Time) (int, error)
	// EndLoginSince ends the log-ins of a user that began at a time, and returns how many.
	EndLoginSince(userID uuid.UUID, since, now time.Time) (int, error)
	// TouchLogin sets the time of last use, unless a later one is stored.
	TouchLogin(hash []byte, seen time.Time) error
	// EndLogin ends a log-in now, unless it has already ended. An unknown log-in is no error.
	EndLogin(hash []byte, now time.Time) error

	// SetEntered sets the tenant that a log-in looks into, until a time; nil for
	// none. It returns fault.NotFound for a log-in that has ended at now.
	SetEntered(hash []byte, tenantID *uuid.UUID, until *time.Time, now time.Time) error

	// ClaimFlow stores a flow's hash and reports whether it was new.
	ClaimFlow(hash []byte, kind string, expires time.Time) (bool, error)

	// LockThrottle locks and returns a bucket; a new one is empty.
	LockThrottle(bucket []byte, now time.Time) (Throttle, error)
	PutThrottle(t Throttle, now time.Time) error
	DropThrottle(bucket []byte) error
}
