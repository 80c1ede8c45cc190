package bench

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"agegate/internal/account"
	"agegate/internal/audit"
	"agegate/internal/billing"
	"agegate/internal/credential"
	"agegate/internal/insight"
	"agegate/internal/proof/harness"
	"agegate/internal/session"
	"agegate/internal/store"
	"agegate/internal/store/pgtest"
	"agegate/internal/tenant"
	"agegate/internal/webhook"

	"github.com/google/uuid"
)

// crowd is how many sessions the tenant of BenchmarkInsight has, made over
// crowdDays days, and most of them with an event.
const (
	crowd     = 1_000_000
	crowdDays = 30
)

// BenchmarkInsight prints how long what the dashboard reads takes (95th
// percentile) for a tenant with a million sessions, beside the mark for it.
func BenchmarkInsight(b *testing.B) {
	b.Run("sqlite", func(b *testing.B) { benchmarkInsight(b, harness.SQLite(b)) })
	b.Run("postgres", func(b *testing.B) { benchmarkInsight(b, pgtest.URL(b)) })
}

func benchmarkInsight(b *testing.B, databaseURL string) {
	ctx := b.Context()
	now := time.Now().UTC().Truncate(time.Millisecond)
	db, err := store.Open(ctx, store.Config{URL: databaseURL, Timeout: 10 * time.Minute})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	if err := db.Migrate(ctx); err != nil {
		b.Fatal(err)
	}
	scope := insight.Scope{TenantID: uuid.Must(uuid.NewV7()), Livemode: true}
	owner := tenant.Tenant{ID: scope.TenantID, Name: "Crowd", CreatedAt: now.AddDate(-1, 0, 0)}
	var keys []tenant.APIKey
	for i := range 3 {
		key := tenant.APIKey{ID: uuid.Must(uuid.NewV7()), TenantID: owner.ID, Livemode: true, LastFour: "abcd", CreatedAt: now}
		key.Hash[0] = byte(i)
		keys = append(keys, key)
	}
	made := audit.Act{Scope: audit.Instance, At: now, Actor: audit.System("test"), Action: audit.TenantCreate}
	if err := db.CreateTenant(ctx, owner, keys, nil, made); err != nil {
		b.Fatal(err)
	}
	began := time.Now()
	fill(b, databaseURL, owner.ID, keys, now)
	b.Logf("filled in %s", time.Since(began).Round(time.Second))
	began = time.Now()
	fresh := func() *insight.Service {
		return insight.NewService(db, billing.Limits{FreeChecksPerMonth: 500}, func() time.Time { return now })
	}
	if err := fresh().Fold(ctx, func(time.Time) {}); err != nil {
		b.Fatal(err)
	}
	b.Logf("folded %d days in %s", crowdDays, time.Since(began).Round(time.Millisecond))
	measure(b, fresh, scope, logIns(b, db))
}

// logIns returns a log-in with a password, as often as it is called.
func logIns(b *testing.B, db *store.Store) func(ctx context.Context) error {
	sealer, err := credential.NewSealer(make([]byte, credential.SecretLen), rand.Reader)
	if err != nil {
		b.Fatal(err)
	}
	now := time.Now().UTC().Truncate(time.Millisecond)
	accounts := account.NewService(account.Config{Store: db, Sealer: sealer, Random: rand.Reader, Now: func() time.Time { return now }})
	link, err := accounts.NewSetupLink(b.Context(), nil)
	if err != nil {
		b.Fatal(err)
	}
	const email, password = "ada@shop.example", "four owls under a blue moon"
	ada := account.Person{Name: "Ada", Email: email, Factor: account.Factor{Password: password}}
	if _, err := accounts.SetUp(b.Context(), strings.TrimPrefix(link, account.LinkPath), ada, account.Browser{}); err != nil {
		b.Fatal(err)
	}
	return func(ctx context.Context) error {
		now = now.Add(time.Second) // the instance takes no more than some in a second
		_, err := accounts.LogIn(ctx, email, password, account.Browser{})
		return err
	}
}

// fill inserts the crowd with two statements.
func fill(b testing.TB, databaseURL string, tenantID uuid.UUID, keys []tenant.APIKey, now time.Time) {
	b.Helper()
	first := now.AddDate(0, 0, -crowdDays).UnixMilli()
	replace := strings.NewReplacer(
		"$FIRST", fmt.Sprint(first), "$EVERY", fmt.Sprint(crowdDays*24*3600*1000/crowd), "$N", fmt.Sprint(crowd),
		"$TENANT", tenantID.String(), "$KEY0", keys[0].ID.String(), "$KEY1", keys[1].ID.String(), "$KEY2", keys[2].ID.String())
	path, isSQLite := strings.CutPrefix(databaseURL, "sqlite:")
	var db *sql.DB
	words := []string{
		"SERIES", "generate_series(0, $N - 1) AS s (i)", "HASH", "sha256(i::text::bytea)",
		"TIME(", "to_timestamp(0.001 * (", ")EMIT", "))", "BODY", "'{}'::bytea", "UUID", "uuid ",
		"ID(", "cast(format('%s-%s-7%s-8%s-%s', substr(lpad(to_hex(", ")DI", "), 12, '0'), 1, 8), " +
			"substr(lpad(to_hex(ms), 12, '0'), 9, 4), lpad(to_hex(i & 4095), 3, '0'), lpad(to_hex((i >> 12) & 4095), 3, '0'), lpad(to_hex(i), 12, '0')) AS uuid)",
	}
	if isSQLite {
		db = openDB(b, "sqlite", "file:"+path+"?"+url.Values{"_pragma": {"busy_timeout(5000)", "synchronous(OFF)"}}.Encode(), 1)
		words = []string{
			"SERIES", "(WITH RECURSIVE c (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM c WHERE i < $N - 1) SELECT i FROM c)", "HASH", "randomblob(32)",
			"TIME(", "strftime('%Y-%m-%d %H:%M:%f+00:00', 0.001 * (", ")EMIT", "), 'unixepoch')", "BODY", "x'7b7d'", "UUID", "",
			"ID(", "printf('%08x-%04x-7%03x-8%03x-%012x', (", ")DI", ") >> 16, ms & 65535, i & 4095, (i >> 12) & 4095, i)",
		}
	} else {
		db = openDB(b, "pgx", databaseURL+"&statement_timeout=0", 1)
	}
	dialect := strings.NewReplacer(words...)
	for _, statement := range []string{sessionsSQL, eventsSQL} {
		if _, err := db.ExecContext(b.Context(), replace.Replace(dialect.Replace(statement))); err != nil {
			b.Fatal(err)
		}
	}
	if !isSQLite { // as the server itself does some time after
		if _, err := db.ExecContext(b.Context(), "VACUUM ANALYZE"); err != nil {
			b.Fatal(err)
		}
	}
}

// Of a hundred sessions, 62 pass, 12 fall back, 2 are spoofs, 14 are known to
// have expired and 10 have without anybody looking. One in ten is a test.
const (
	sessionsSQL = `INSERT INTO sessions (id, tenant_id, livemode, target_age, success_url, cancel_url, webhook_url, link_hash,
		status, created_at, expires_at, completed_at, attempts, strikes, opened_at, begun_at, source, api_key_id)
		SELECT ID(ms)DI, UUID'$TENANT', i % 10 <> 7, CASE WHEN i % 9 = 0 THEN 16 ELSE 18 END,
			'https://shop.example/checkout/age', 'https://shop.example/basket', 'https://shop.example/hooks/age', HASH,
			CASE WHEN p < 62 THEN 'PASSED' WHEN p < 74 THEN 'FALLBACK' WHEN p < 76 THEN 'SPOOF' WHEN p < 90 THEN 'EXPIRED' ELSE 'PENDING' END,
			TIME(ms)EMIT, TIME(ms + 1800000)EMIT, CASE WHEN p < 76 THEN TIME(ms + 2000 + i % 97 * 1000)EMIT END, 1, 0,
			CASE WHEN p < 85 THEN TIME(ms + 2000)EMIT END, CASE WHEN p < 80 THEN TIME(ms + 9000)EMIT END,
			CASE WHEN p < 76 THEN 'camera' ELSE '' END,
			CASE i % 3 WHEN 0 THEN UUID'$KEY0' WHEN 1 THEN UUID'$KEY1' ELSE UUID'$KEY2' END
		FROM (SELECT i, $FIRST + i * CAST($EVERY AS bigint) AS ms, i * 37 % 100 AS p FROM SERIES) AS rows`
	eventsSQL = `INSERT INTO webhook_events (id, tenant_id, session_id, livemode, destination, endpoint_id, body, status, created_at,
		attempts, step, last_at, last_class, last_status)
		SELECT 'evt_' || ID(ms)DI, UUID'$TENANT', ID(ms)DI, i % 10 <> 7, 'https://shop.example/hooks/age',
			'ep_00000000000000000000000000000000', BODY, CASE WHEN p < 73 THEN 'delivered' ELSE 'failed' END, TIME(ms + 9000)EMIT,
			CASE WHEN p < 70 THEN 1 ELSE 3 END, 0, TIME(ms + 9100)EMIT, CASE WHEN p < 73 THEN 'delivered' ELSE 'timeout' END, 200
		FROM (SELECT i, $FIRST + i * CAST($EVERY AS bigint) AS ms, i * 37 % 100 AS p FROM SERIES) AS rows WHERE p < 74`
)

// measure prints the percentiles.
func measure(b *testing.B, fresh func() *insight.Service, scope insight.Scope, logIn func(ctx context.Context) error) {
	warm := fresh()
	ctx := b.Context()
	var some []insight.SessionRow
	for _, f := range []insight.SessionFilter{{}, {Status: session.StatusSpoof}, {To: warm.Now().AddDate(0, 0, -20)}} {
		page, err := warm.Sessions(ctx, scope, f, uuid.Nil)
		if err != nil || len(page.Rows) != insight.PageSize {
			b.Fatalf("%d sessions, %v", len(page.Rows), err)
		}
		some = append(some, page.Rows...)
	}
	filters := []insight.SessionFilter{
		{}, {Status: session.StatusPassed}, {Status: session.StatusSpoof}, {Status: session.StatusExpired}, {Status: session.StatusPending},
		{TargetAge: 16}, {TargetAge: 77}, {To: warm.Now().AddDate(0, 0, -15)},
	}
	events := []insight.DeliveryFilter{{}, {Status: webhook.StatusFailed}, {Class: webhook.ClassTimeout}, {Class: webhook.ClassTLS}}
	windows := []insight.Window{insight.WindowDay, insight.WindowWeek, insight.WindowMonth}
	for _, row := range []struct {
		name string
		mark float64 // milliseconds; 0 for none
		read func(ctx context.Context, i int) error
	}{
		{"list", 15, func(ctx context.Context, i int) error {
			_, err := warm.Sessions(ctx, scope, filters[i%len(filters)], uuid.Nil)
			return err
		}},
		{"one session", 15, func(ctx context.Context, i int) error {
			_, err := warm.Session(ctx, scope, some[i%len(some)].ID)
			return err
		}},
		{"deliveries", 15, func(ctx context.Context, i int) error {
			_, err := warm.Deliveries(ctx, scope, events[i%len(events)], "")
			return err
		}},
		{"keys", 15, func(ctx context.Context, _ int) error {
			_, err := warm.Keys(ctx, scope)
			return err
		}},
		{"keys, cold", 0, func(ctx context.Context, _ int) error {
			_, err := fresh().Keys(ctx, scope)
			return err
		}},
		{"checklist", 15, func(ctx context.Context, _ int) error {
			_, err := warm.Checklist(ctx, scope.TenantID)
			return err
		}},
		{"overview, cold", 60, func(ctx context.Context, i int) error {
			_, err := fresh().Overview(ctx, scope, windows[i%len(windows)])
			return err
		}},
		{"overview, cached", 5, func(ctx context.Context, i int) error {
			_, err := warm.Overview(ctx, scope, windows[i%len(windows)])
			return err
		}},
		{"log-in", 80, func(ctx context.Context, _ int) error { return logIn(ctx) }},
	} {
		b.Run(row.name, func(b *testing.B) {
			var took []time.Duration
			before := cpuTime(b)
			for i := 0; b.Loop(); i++ {
				start := time.Now()
				if err := row.read(b.Context(), i); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(start))
			}
			// What this process took of the processors, which others on the machine do
			// not lengthen. PostgreSQL's own is not in it.
			b.ReportMetric(float64((cpuTime(b)-before).Microseconds())/1000/float64(len(took)), "cpu_ms")
			slices.Sort(took)
			for name, q := range map[string]float64{"p50_ms": 0.50, "p95_ms": 0.95} {
				b.ReportMetric(float64(took[int(q*float64(len(took)-1))].Microseconds())/1000, name)
			}
			if row.mark > 0 {
				b.ReportMetric(row.mark, "mark_ms")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// cpuTime returns how long this process has run on the processors.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
