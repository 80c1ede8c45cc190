package storetest

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/google/uuid"

	"agegate/internal/backoffice/account"
	"agegate/internal/backoffice/certificate"
	"agegate/internal/backoffice/insight"
	"agegate/internal/check/document"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/billing"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
	"agegate/internal/store"
	"agegate/internal/store/dbtest"
	"agegate/internal/store/pgtest"
)

// Store lists what the tests need from a store.
type Store interface {
	tenant.Store
	audit.Store
	billing.Store
	session.Store
	session.HandoverStore
	session.ClaimStore
	session.ImpactStore
	session.ClockStore
	account.Store
	insight.Store
	document.TrustStore
	document.ListStore
	document.WalletStore
	document.VerifierStore
	certificate.Store
	Housekeeper
	// Reseal is (*store.Store).Reseal.
	Reseal(ctx context.Context, c store.SealedColumn, sealer *credential.Sealer) (credential.Resealing, error)
}

// Housekeeper deletes and releases what has expired.
type Housekeeper interface {
	// PruneAccounts deletes up to limit rows of each kind that are no longer
	// needed at now: log-ins 30 days after their end, links 7 days after theirs,
	// throttles after 24 hours, flows at their end. It returns the largest number
	// of rows that it deleted of one kind.
	PruneAccounts(ctx context.Context, now time.Time, limit int) (int, error)
	// PruneClaims deletes up to limit of the idempotency claims that expired at
	// or before now and returns how many.
	PruneClaims(ctx context.Context, now time.Time, limit int) (int, error)
	// ExpiredHolders returns the tenants with open holds that expired at or
	// before now.
	ExpiredHolders(ctx context.Context, now time.Time) ([]uuid.UUID, error)
}

// each runs body as a subtest on every database, each with an empty store.
// With AGEGATE_TEST_STORE=pooler it runs on PostgreSQL through PgBouncer alone,
// which refuses settings at start-up by default.
func each(t *testing.T, body func(t *testing.T, s Store)) {
	t.Helper()
	if os.Getenv("AGEGATE_TEST_STORE") == "pooler" {
		body(t, dbtest.Open(t, pgtest.NewPooler(t).URL(t)))
		return
	}
	dbtest.Each(t, func(t *testing.T, s *store.Store) { body(t, s) })
}
