package security

import (
	"bytes"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"agegate/internal/gatewaytest"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/tenant"
	"agegate/internal/store"
	"agegate/internal/store/dbtest"
	"agegate/internal/store/pgtest"
	"agegate/proof/table"

	"github.com/google/uuid"
)

// TestAbandonedSessions gives one tenant very many unfinished live sessions that
// hold all of its credit. Then it creates sessions for this tenant and for
// another one while the gateway returns the credit.
func TestAbandonedSessions(t *testing.T) {
	table.Beside(t)
	t.Run("sqlite", func(t *testing.T) { abandoned(t, "SQLite", dbtest.SQLiteOnDisk(t)) })
	t.Run("postgres", func(t *testing.T) { abandoned(t, "PostgreSQL", pgtest.URL(t)) })
}

func abandoned(t *testing.T, dialect, url string) {
	r := table.New(t, "Abandoned live sessions, "+dialect)
	holds, claims, each := table.Sized(1_000_000, 2_000), table.Sized(1_000_000, 2_000), table.Sized(1_500, 20)
	r.Didf("%d expired holds and %d expired claims of one tenant, then %d creations for it and for another", holds, claims,
		each)
	secret := make([]byte, credential.SecretLen)
	_, _ = rand.Read(secret) // Read never fails
	idle, other := twoShops(t, url, secret)
	db := beside(t, url)
	abandon(t, db, idle.Tenant.ID, holds, claims)

	g := gatewaytest.Start(t, url, "AGEGATE_SECRET_KEY="+base64.StdEncoding.EncodeToString(secret),
		"AGEGATE_FREE_CHECKS_PER_MONTH=0")
	r.None("sweeps that never began", begun(t, db))
	var clients sync.WaitGroup
	var mine, theirs creations
	clients.Go(func() { mine.make(t, g, idle.Live.APIKey, each) })
	clients.Go(func() { theirs.make(t, g, other.Live.APIKey, each) })
	clients.Wait()
	r.None("refused to the tenant", mine.refused)
	r.None("refused to the other tenant", theirs.refused)
	r.Within("the tenant's creations, p99", mine.p99(), 250*time.Millisecond)
	r.Within("the other tenant's creations, p99", theirs.p99(), 250*time.Millisecond)
	r.None("balances that the ledger does not explain", unexplained(t, db))
}

// twoShops migrates the database and registers two tenants. The second has
// credit; the first will have what its abandoned sessions return.
func twoShops(t *testing.T, url string, secret []byte) (idle, other tenant.Credentials) {
	t.Helper()
	s, err := store.Open(t.Context(), store.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	sealer, err := credential.NewSealer(secret, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tenants := tenant.NewService(s, sealer, tenant.CallbackRule{}, rand.Reader, time.Now().UTC)
	for _, shop := range []*tenant.Credentials{&idle, &other} {
		*shop, err = tenants.Create(t.Context(), audit.System("test"),
			tenant.Tenant{Name: "Shop", SuccessURL: "https://s.example/", CancelURL: "https://s.example/"})
		if err != nil {
			t.Fatal(err)
		}
	}
	return idle, other
}

// beside opens the database directly, next to the gateway.
func beside(t *testing.T, url string) *sql.DB {
	t.Helper()
	driver, dsn := "pgx", url
	if path, ok := strings.CutPrefix(url, "sqlite:"); ok {
		driver, dsn = "sqlite", "file:"+path+"?_pragma=busy_timeout(60000)&_pragma=synchronous(OFF)"
	} else {
		dsn = strings.Replace(dsn, "statement_timeout=60000", "statement_timeout=0", 1)
	}
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// abandon writes the rows of n live sessions that took all of a tenant's credit
// an hour ago, and expired claims of idempotency keys. The other tenants get the
// same credit without sessions. The statements work on both databases; dialect
// fills in the parts in braces.
func abandon(t *testing.T, db *sql.DB, tenantID uuid.UUID, holds, claims int) {
	t.Helper()
	for _, statement := range []string{
		`INSERT INTO sessions (id, tenant_id, livemode, target_age, success_url, cancel_url, webhook_url, link_hash, status,
			created_at, expires_at, attempts, strikes)
		SELECT {id 'a'}, '{tenant}', true, 18, '', '', '', {hash}, 'PENDING', {past}, {past}, 0, 0 FROM {numbers} AS series (n)`,
		`INSERT INTO holds (session_id, tenant_id, source, period, status, expires_at)
		SELECT {id 'a'}, '{tenant}', 'credit', '', 'open', {past} FROM {numbers} AS series (n)`,
		`INSERT INTO ledger_entries (id, tenant_id, session_id, kind, source, period, delta, created_at)
		SELECT {id 'b'}, '{tenant}', {id 'a'}, 'hold', 'credit', '', -1, {past} FROM {numbers} AS series (n)`,
		`INSERT INTO ledger_entries (id, tenant_id, kind, source, period, delta, created_at)
		SELECT {id 'c'}, t.id, 'top_up', 'credit', '', {holds}, {past} FROM
			(SELECT id, row_number() OVER (ORDER BY id) AS n FROM tenants) t`,
		`INSERT INTO credit_balances (tenant_id, units) SELECT id, CASE WHEN id = '{tenant}' THEN 0 ELSE {holds} END FROM tenants`,
		strings.ReplaceAll(`INSERT INTO idempotency_claims (tenant_id, livemode, key_hash, request_hash, session_id, sealed_link, session_end, expires_at)
		SELECT '{tenant}', true, {hash}, {hash}, {id 'd'}, {hash}, {past}, {past} FROM {numbers} AS series (n)`, "{numbers}", "{claims}"),
	} {
		if _, err := db.ExecContext(t.Context(), dialect(db, statement, tenantID, holds, claims)); err != nil {
			t.Fatal(err)
		}
	}
}

// dialect fills in the parts that differ between the databases, and the numbers.
func dialect(db *sql.DB, statement string, tenantID uuid.UUID, holds, claims int) string {
	past := time.Now().Add(-time.Hour).UTC().Format("2006-01-02 15:04:05+00:00")
	numbers := func(n int) string { return fmt.Sprintf("generate_series(1, %d)", n) }
	id := func(kind string) string {
		return fmt.Sprintf("CAST('%s0000000-0000-7000-8000-' || lpad(CAST(n AS text), 12, '0') AS uuid)", kind)
	}
	hash := "sha256(CAST(CAST(n AS text) AS bytea))"
	if strings.Contains(fmt.Sprintf("%T", db.Driver()), "sqlite") {
		numbers = func(n int) string {
			return fmt.Sprintf("(WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < %d) SELECT n FROM c)",
				n)
		}
		id = func(kind string) string { return fmt.Sprintf("printf('%s0000000-0000-7000-8000-%%012d', n)", kind) }
		hash = "CAST(printf('%032d', n) AS blob)"
		statement = strings.ReplaceAll(statement, "AS series (n)", "")
	}
	return strings.NewReplacer("{tenant}", tenantID.String(), "{past}", "'"+past+"'", "{holds}", fmt.Sprint(holds),
		"{numbers}", numbers(holds), "{claims}", numbers(claims), "{hash}", hash,
		"{id 'a'}", id("a"), "{id 'b'}", id("b"), "{id 'c'}", id("c"), "{id 'd'}", id("d")).Replace(statement)
}

// begun waits until the gateway returns holds by itself, without a creation.
func begun(t *testing.T, db *sql.DB) (never []string) {
	t.Helper()
	for limit := time.Now().Add(table.HangLimit); time.Now().Before(limit); time.Sleep(10 * time.Millisecond) {
		var released bool
		err := db.QueryRowContext(t.Context(),
			"SELECT EXISTS (SELECT 1 FROM holds WHERE status = 'released')").Scan(&released)
		if err != nil {
			t.Fatal(err)
		}
		if released {
			return nil
		}
	}
	return []string{"after " + table.HangLimit.String()}
}

// creations are the creations of one client, one after the other.
type creations struct {
	took    []time.Duration
	refused []string
}

func (c *creations) make(t *testing.T, g *gatewaytest.Gateway, key string, n int) {
	for range n {
		start := time.Now()
		status, body, err := create(t.Context(), g.URL, key)
		c.took = append(c.took, time.Since(start))
		if err != nil || status != http.StatusCreated {
			c.refused = append(c.refused, fmt.Sprint(status, " ", body, " ", err))
		}
	}
}

func create(ctx context.Context, url, key string) (int, string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/api/v1/sessions/create",
		bytes.NewBufferString(`{"target_age":18}`))
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("X-API-Key", key)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return res.StatusCode, string(body), err
}

func (c *creations) p99() time.Duration {
	slices.Sort(c.took)
	return c.took[len(c.took)*99/100]
}

// unexplained lists the tenants whose balance is not the sum of their ledger, and
// those whose sold units do not match the holds that were not returned.
func unexplained(t *testing.T, db *sql.DB) (found []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), `
		SELECT * FROM (
			SELECT CAST(b.tenant_id AS text) AS tenant, b.units AS units,
				(SELECT COALESCE(sum(delta), 0) FROM ledger_entries e WHERE e.tenant_id = b.tenant_id AND e.source = 'credit') AS ledger,
				(SELECT count(*) FROM holds h WHERE h.tenant_id = b.tenant_id AND h.status <> 'released') AS held,
				(SELECT COALESCE(sum(delta), 0) FROM ledger_entries e WHERE e.tenant_id = b.tenant_id AND kind = 'top_up') AS bought
			FROM credit_balances b
		) AS accounts WHERE units <> ledger OR units + held <> bought`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var tenant string
		var units, ledger, held, bought int64
		if err := rows.Scan(&tenant, &units, &ledger, &held, &bought); err != nil {
			t.Fatal(err)
		}
		found = append(found, fmt.Sprintf("tenant %s: balance %d, ledger %d, held %d, bought %d", tenant, units, ledger, held,
			bought))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return found
}
