package account

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// Store keeps users, memberships, links and log-ins. Every method that names a
// row returns fault.NotFound when there is none.
type Store interface {
	// UpdateAccounts runs fn in one transaction, which may be run again after a
	// conflict with another: fn must not change anything outside tx.
	UpdateAccounts(ctx context.Context, fn func(tx Tx) error) error

	UserByEmail(ctx context.Context, email string) (User, error)
	// LoginByHash returns a log-in with its user, also when it has ended or the
	// user is disabled.
	LoginByHash(ctx context.Context, hash []byte) (Login, User, error)
	Membership(ctx context.Context, tenantID, userID uuid.UUID) (Membership, error)
	// MembershipsOf returns a user's memberships, oldest first.
	MembershipsOf(ctx context.Context, userID uuid.UUID) ([]Membership, error)
	// LinkByHash returns a link, also when it has expired.
	LinkByHash(ctx context.Context, hash []byte) (Link, error)
	// OperatorExists reports whether there is an operator, disabled or not.
	OperatorExists(ctx context.Context) (bool, error)
	// PruneAccounts deletes up to limit rows of each kind that are no longer
	// needed at now: log-ins 30 days after their end, links 7 days after theirs,
	// throttles after 24 hours, flows at their end. It returns the most that it
	// deleted of a kind.
	PruneAccounts(ctx context.Context, now time.Time, limit int) (int, error)
}

// Tx is a transaction of a Store.
type Tx interface {
	OperatorExists() (bool, error)
	// InsertUser returns fault.Conflict for a taken e-mail address.
	InsertUser(u User) error
	// PutMembership makes a user a member, or changes the role of one.
	PutMembership(m Membership) error

	// PutSetupLink stores a setup link, which replaces any earlier one.
	PutSetupLink(l Link) error
	// TakeLink deletes a link of a kind that has not expired at now and returns
	// it, or fault.NotFound. Of several that try, one gets it.
	TakeLink(kind LinkKind, hash []byte, now time.Time) (Link, error)

	InsertLogin(l Login) error
	// TouchLogin sets the time of last use, unless a later one is stored.
	TouchLogin(hash []byte, seen time.Time) error
	// EndLogin ends a log-in now, unless it has ended earlier. An unknown one is
	// no error.
	EndLogin(hash []byte, now time.Time) error

	// ClaimFlow stores a flow under a hash and reports whether it was the first
	// to do so.
	ClaimFlow(hash []byte, kind string, expires time.Time) (bool, error)
}
