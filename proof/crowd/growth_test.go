package crowd_test

import (
	"context"
	"database/sql"
	"flag"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agegate/internal/rules/audit"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
	"agegate/internal/rules/webhook"
	"agegate/internal/store"
	"agegate/internal/store/pgtest"
	"agegate/proof/crowd"

	"github.com/google/uuid"
	"github.com/pressly/goose/v3"
)

var sessions = flag.Int("sessions", 200_000, "how many sessions the tables have")

// release is the number of the last migration in release 0.1.0.
const release = 4

// guard makes the server refuse a migration that reads rows of a large table (to
// rewrite it, to check it or to build an index) under a lock for which writers
// would have to wait. The server reports what a connection has read at most once
// a second, so the counts of one migration would still appear in the next:
// therefore they are reported after each command.
const guard = `
CREATE FUNCTION check_locks() RETURNS event_trigger LANGUAGE plpgsql AS $$
DECLARE
	held record;
BEGIN
	FOR held IN
		SELECT s.relname, l.mode, s.seq_tup_read FROM pg_locks l JOIN pg_stat_xact_user_tables s ON s.relid = l.relation
		WHERE l.pid = pg_backend_pid() AND s.seq_tup_read > 0 AND s.relname IN ({large})
			AND l.mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
	LOOP
		RAISE EXCEPTION 'a migration reads % rows of % under %', held.seq_tup_read, held.relname, held.mode;
	END LOOP;
	PERFORM pg_stat_force_next_flush();
END $$;
CREATE EVENT TRIGGER check_locks ON ddl_command_end EXECUTE FUNCTION check_locks()`

// TestMigrationsBesideWrites upgrades a large database of release 0.1.0 while
// others write to it.
func TestMigrationsBesideWrites(t *testing.T) {
	url := pgtest.EmptyURL(t)
	db := connect(t, url, 8)
	provider, err := goose.NewProvider(goose.DialectPostgres, db, os.DirFS("../../internal/store/migrations/postgres"),
		goose.WithLogger(goose.NopLogger()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := provider.UpTo(t.Context(), release); err != nil {
		t.Fatal(err)
	}
	shops := make([]crowd.Shop, 10)
	for i := range shops {
		shops[i].TenantID = uuid.Must(uuid.NewV7())
		exec(t, db, `INSERT INTO tenants (id, name, success_url, cancel_url, webhook_url, document_check, age_visibility, disabled, created_at)
			VALUES ($1, 'Shop', '', '', '', false, false, false, now())`, shops[i].TenantID)
	}
	fill(t, url, crowd.Crowd{Shops: shops, Over: 30 * 24 * time.Hour, Old: true})
	exec(t, db, strings.Replace(guard, "{large}", "'"+strings.Join(crowd.Tables, "', '")+"'", 1))

	ctx, stop := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	var written atomic.Int64
	for n := range 4 {
		writers.Go(func() {
			for ctx.Err() == nil {
				if err := write(t.Context(), db, shops[n].TenantID); err != nil {
					t.Errorf("a writer: %v", err)
					return
				}
				written.Add(1)
			}
		})
	}
	s := open(t, url)
	started := time.Now()
	err = s.Migrate(t.Context())
	took := time.Since(started)
	stop()
	writers.Wait()
	if err != nil || written.Load() == 0 {
		t.Fatalf("%v; %d sessions were written meanwhile", err, written.Load())
	}
	t.Logf("migrated %d sessions in %s; %d were made and completed meanwhile", *sessions, took.Round(time.Millisecond),
		written.Load())
}

// write creates a session and completes it, as release 0.1.0 did.
func write(ctx context.Context, db *sql.DB, tenantID uuid.UUID) error {
	id := uuid.Must(uuid.NewV7())
	hash := strings.Repeat(strings.ReplaceAll(id.String(), "-", ""), 2)
	for _, statement := range []string{
		`INSERT INTO sessions (id, tenant_id, livemode, target_age, success_url, cancel_url, webhook_url, link_hash,
			status, created_at, expires_at, attempts, strikes)
			VALUES ('{id}', '{tenant}', true, 18, '', '', '', '\x{hash}', 'PENDING', now(), now(), 0, 0)`,
		`INSERT INTO holds (session_id, tenant_id, source, period, status, expires_at)
			VALUES ('{id}', '{tenant}', 'free', '2026-01', 'open', now())`,
		`UPDATE sessions SET status = 'PASSED', completed_at = now() WHERE id = '{id}' AND status = 'PENDING'`,
		`UPDATE holds SET status = 'settled' WHERE session_id = '{id}'`,
		`INSERT INTO webhook_events (id, tenant_id, session_id, livemode, destination, endpoint_id, body, status, created_at, attempts, step,
			last_class, last_status)
			VALUES ('evt_{id}', '{tenant}', '{id}', true, '', '', '', 'no_destination', now(), 0, 0, '', 0)`,
	} {
		statement = strings.NewReplacer("{id}", id.String(), "{tenant}", tenantID.String(), "{hash}", hash).Replace(statement)
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// TestPruningReadsNoWholeTable deletes old rows from large tables, and lets the
// server count what it reads without an index.
func TestPruningReadsNoWholeTable(t *testing.T) {
	url := pgtest.URL(t)
	db := connect(t, url, 1)
	shops := make([]crowd.Shop, 10)
	s := open(t, url)
	for i := range shops {
		shops[i] = newShop(t, s)
	}
	fill(t, url, crowd.Crowd{Shops: shops, Over: 60 * 24 * time.Hour})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	before := scanned(t, db)
	s = open(t, url)
	now := time.Now().UTC()
	var total int
	for _, shop := range shops {
		n, err := session.NewRecords(s, time.Now).Prune(t.Context(), audit.System("test"), shop.TenantID,
			now.Add(-61*24*time.Hour), func(session.Pruned) {})
		if err != nil {
			t.Fatal(err)
		}
		total += n.Deleted
	}
	// There are few claims of a day here: to find 500 of them, the server would
	// read the whole table.
	claims, err := s.PruneClaims(t.Context(), now.Add(time.Hour), 10)
	if err != nil {
		t.Fatal(err)
	}
	events, err := s.PruneEvents(t.Context(), webhook.Retention, 500)
	if err != nil {
		t.Fatal(err)
	}
	if due, err := s.ExpiredHolders(t.Context(), now); err != nil || len(due) > 0 {
		t.Errorf("holds of %v have expired: %v", due, err)
	}
	if err := s.Close(); err != nil { // the server updates its counts when a connection ends
		t.Fatal(err)
	}
	if want := *sessions / 60; total < want*9/10 || claims == 0 || events == 0 {
		t.Errorf("deleted %d sessions, %d claims and %d events, want some %d sessions", total, claims, events, want)
	}
	for table, rows := range scanned(t, db) {
		if rows != before[table] {
			t.Errorf("%d rows of %s were read without an index", rows-before[table], table)
		}
	}
	var open int
	query := `SELECT count(*) FROM (SELECT tenant_id, sum(delta) FROM ledger_entries GROUP BY tenant_id) AS ledger (tenant_id, sum)
		JOIN (SELECT tenant_id, sum(used) FROM usage_counters GROUP BY tenant_id) AS counters (tenant_id, used) USING (tenant_id) WHERE sum <> -used`
	if err := db.QueryRowContext(t.Context(), query).Scan(&open); err != nil || open > 0 {
		t.Errorf("the ledgers of %d tenants do not balance: %v", open, err)
	}
}

// scanned returns how many rows of each large table the server has read without
// an index. It waits for the end of the other connections, when the server
// updates its counts.
func scanned(t *testing.T, db *sql.DB) map[string]int64 {
	t.Helper()
	others := "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client " +
		"backend' AND pid <> pg_backend_pid()"
	for n := -1; n != 0; time.Sleep(10 * time.Millisecond) {
		if err := db.QueryRowContext(t.Context(), others).Scan(&n); err != nil {
			t.Fatal(err)
		}
	}
	tables := map[string]int64{}
	for _, name := range []string{"sessions", "holds", "ledger_entries", "webhook_events", "webhook_attempts", "handovers",
		"idempotency_claims"} {
		var read int64
		if err := db.QueryRowContext(t.Context(), "SELECT seq_tup_read FROM pg_stat_user_tables WHERE relname = $1",
			name).Scan(&read); err != nil {
			t.Fatal(err)
		}
		tables[name] = read
	}
	return tables
}

func fill(t *testing.T, url string, c crowd.Crowd) {
	t.Helper()
	started := time.Now()
	// moves the sessions into the past, so that some rows must be deleted
	c.Sessions, c.Until = *sessions, time.Now().Add(-48*time.Hour)
	if err := crowd.Fill(t.Context(), url, c); err != nil {
		t.Fatal(err)
	}
	t.Logf("filled with %d sessions in %s", *sessions, time.Since(started).Round(time.Second))
}

func open(t *testing.T, url string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), store.Config{URL: url, Timeout: 2 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // one test closes it twice
	return s
}

func connect(t *testing.T, url string, conns int) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(conns)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func exec(t *testing.T, db *sql.DB, statement string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement, args...); err != nil {
		t.Fatal(err)
	}
}

// newShop registers a tenant with a live key.
func newShop(t *testing.T, s *store.Store) crowd.Shop {
	t.Helper()
	now := time.Now().UTC()
	owner := tenant.Tenant{
		ID: uuid.Must(uuid.NewV7()), Name: "Shop", SuccessURL: "https://shop.example/ok", CancelURL: "https://shop.example/",
		CreatedAt: now,
	}
	key := tenant.APIKey{ID: uuid.Must(uuid.NewV7()), TenantID: owner.ID, Livemode: true, LastFour: "abcd", CreatedAt: now}
	copy(key.Hash[:], owner.ID[:])
	act := audit.Act{Scope: audit.Instance, At: now, Actor: audit.System("test"), Action: audit.TenantCreate}
	if err := s.CreateTenant(t.Context(), owner, []tenant.APIKey{key}, nil, act); err != nil {
		t.Fatal(err)
	}
	return crowd.Shop{TenantID: owner.ID, KeyID: key.ID}
}
