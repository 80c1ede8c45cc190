package session

import (
	"context"
	"time"

	"agegate/internal/rules/billing"
	"agegate/internal/rules/tenant"
	"agegate/internal/rules/webhook"

	"github.com/google/uuid"
)

// Store stores sessions.
type Store interface {
	// UpdateSessions runs fn in one transaction, which is written completely or
	// not at all. If an error came from COMMIT, the transaction may still have
	// been committed.
	UpdateSessions(ctx context.Context, fn func(Tx) error) error

	// SessionByID returns the tenant's session. It returns fault.NotFound for a
	// missing session and for a session of another tenant.
	SessionByID(ctx context.Context, tenantID, id uuid.UUID) (Session, error)
	// Standings returns the standings of those of the sessions that exist.
	Standings(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]Standing, error)
	// SessionByLink returns the session whose verification link has one of the
	// hashes, or fault.NotFound.
	SessionByLink(ctx context.Context, linkHashes ...[]byte) (Session, error)
	// OrdersLinks reports whether new links are ordered, see credential.NewLink.
	OrdersLinks() bool

	// ClaimOf returns the idempotency claim of the request that created a session,
	// or fault.NotFound.
	ClaimOf(ctx context.Context, sessionID uuid.UUID) (IdempotencyClaim, error)

	// ClaimByKey returns the claim of an idempotency key's SHA-256, even if it
	// has expired, or fault.NotFound.
	ClaimByKey(ctx context.Context, tenantID uuid.UUID, livemode bool, keyHash []byte) (IdempotencyClaim, error)

	// ExpireSession writes EXPIRED if the session is PENDING and its expiry is
	// at or before now. It reports whether it did.
	ExpireSession(ctx context.Context, id uuid.UUID, now time.Time) (bool, error)
	// BindBrowser stores the browser's hash if none is stored yet and reports
	// whether it did.
	BindBrowser(ctx context.Context, id uuid.UUID, browserHash []byte) (bool, error)
	// MarkOpened stores when the session's link was opened, unless a time is
	// already stored.
	MarkOpened(ctx context.Context, id uuid.UUID, now time.Time) error
	// MarkRedirected stores when the success redirect was made, unless a time is
	// already stored.
	MarkRedirected(ctx context.Context, id uuid.UUID, now time.Time) error
	// TakeExpiredRedirect clears NextRedirectExpired and reports whether it was
	// set.
	TakeExpiredRedirect(ctx context.Context, id uuid.UUID) (bool, error)
}

// Tx is one transaction on sessions, their billing and their events. It is bound
// to the context of UpdateSessions.
type Tx interface {
	billing.Tx
	HandoverTx

	// LockSession returns the session, or fault.NotFound, and locks its row until
	// the transaction ends. If another transaction holds the lock, it waits and
	// returns what that transaction committed.
	LockSession(id uuid.UUID) (Session, error)
	// Tenant returns the current state of a tenant, or fault.NotFound.
	Tenant(id uuid.UUID) (tenant.Tenant, error)

	// Terms returns the current terms of a tenant, or fault.NotFound.
	Terms(tenantID uuid.UUID) (tenant.Terms, error)
	InsertSessions(sessions ...Session) error
	// DropUnpaid deletes sessions that were inserted in this transaction.
	DropUnpaid(sessions ...Session) error
	// SaveSession writes a session that was locked in this transaction, except
	// the fields fixed at creation, BrowserHash, RedirectedAt and
	// NextRedirectExpired. It returns fault.NotFound if the session is not
	// PENDING in the database.
	SaveSession(s Session) error
	// ReplaceWalletRequest replaces the session's request to a wallet by one with
	// the nonce, or by none if that is nil. It does nothing if the current
	// request has a final outcome. It reports whether it replaced the request.
	ReplaceWalletRequest(linkHash, nonce []byte) (bool, error)
	// TakeWalletRequest deletes the session's request to a wallet if it has this
	// nonce. It reports whether it did.
	TakeWalletRequest(linkHash, nonce []byte) (bool, error)
	InsertEvent(e webhook.Event) error

	// ClaimIdempotencyKey writes c and reports true, unless the tenant has used
	// the same key in the same mode and that claim has not expired at now: then
	// it returns that claim and false. It waits for a claim that another
	// transaction is writing.
	ClaimIdempotencyKey(c IdempotencyClaim, now time.Time) (IdempotencyClaim, bool, error)
}

// IdempotencyClaim ties an Idempotency-Key to the session that its first use
// created.
type IdempotencyClaim struct {
	TenantID    uuid.UUID
	Livemode    bool
	KeyHash     []byte // SHA-256 of the header
	RequestHash []byte // SHA-256 of the request's decoded fields
	SessionID   uuid.UUID
	SealedLink  []byte    // the sealed link token, to return the same URL again
	SessionEnd  time.Time // expires_at in the first answer
	ExpiresAt   time.Time
}

// Tenants is the part of the tenant service that sessions use.
type Tenants interface {
	// Tenant returns a tenant, or fault.NotFound.
	Tenant(ctx context.Context, id uuid.UUID) (tenant.Tenant, error)
	// RedirectKey returns the secret that signs the tenant's redirect tokens.
	RedirectKey(ctx context.Context, tenantID uuid.UUID, livemode bool) ([]byte, error)
}
