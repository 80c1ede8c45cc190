package main

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"agegate/internal/rules/audit"
	"agegate/internal/rules/billing"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
	"agegate/internal/rules/webhook"
	"agegate/internal/store"
	"agegate/internal/store/dbtest"

	"github.com/google/uuid"
)

// retentionTest is a console together with a gateway's services, whose clock can be set back.
type retentionTest struct {
	*console
	store    *store.Store
	db       *sql.DB
	sessions *session.Service
	clock    time.Time
}

// eachDatabase runs test on SQLite and on PostgreSQL.
func eachDatabase(t *testing.T, test func(t *testing.T, o *retentionTest)) {
	for dialect, url := range dbtest.URLs(t) {
		t.Run(dialect, func(t *testing.T) {
			o := &retentionTest{console: newConsole(t), clock: now()}
			o.env["AGEGATE_DATABASE_URL"] = url(t)
			o.store = dbtest.Open(t, o.env["AGEGATE_DATABASE_URL"])
			driver, dsn := "pgx", o.env["AGEGATE_DATABASE_URL"]
			if path, ok := strings.CutPrefix(dsn, "sqlite:"); ok {
				driver, dsn = "sqlite", "file:"+path+"?_pragma=busy_timeout(60000)"
			}
			var err error
			if o.db, err = sql.Open(driver, dsn); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = o.db.Close() })
			key, _ := base64.StdEncoding.DecodeString(o.env["AGEGATE_SECRET_KEY"])
			sealer, err := credential.NewSealer(key, rand.Reader)
			if err != nil {
				t.Fatal(err)
			}
			clock := func() time.Time { return o.clock }
			tenants := tenant.NewService(o.store, sealer, tenant.CallbackRule{}, rand.Reader, clock)
			o.sessions = session.NewService(session.Config{
				VerifyURL: "https://v.example", TTL: 30 * time.Minute, TokenTTL: time.Minute,
				Limits: billing.Limits{FreeChecksPerMonth: 0, TestDailyCap: billing.Unlimited},
			}, o.store, tenants, sealer, rand.Reader, clock, func() {})
			test(t, o)
		})
	}
}

// tenant registers a tenant with credit.
func (o *retentionTest) tenant() uuid.UUID {
	o.t.Helper()
	return parsed[createdTenant](o.console, "tenant", "create", "--name", "Shop", "--success-url", "https://s.example/",
		"--cancel-url", "https://s.example/", "--webhook-url", "https://s.example/hook", "--credit", "1000",
		"--json").TenantID
}

// session creates a live session some time ago, under an idempotency key, with a hand-over and a request to a wallet.
func (o *retentionTest) session(owner uuid.UUID, ago time.Duration) session.Session {
	o.t.Helper()
	o.clock = now().Add(-ago)
	created, err := o.sessions.Create(o.t.Context(), tenant.Caller{TenantID: owner, Livemode: true},
		session.CreateRequest{TargetAge: 18, IdempotencyKey: rand.Text()})
	o.must(err)
	s, err := o.sessions.ByLink(o.t.Context(), strings.TrimPrefix(created.VerificationURL, "https://v.example/v/"))
	o.must(err)
	o.must(session.NewHandovers(o.sessions, o.store).Offer(o.t.Context(), s, "cookie"))
	o.must(o.store.UpdateSessions(o.t.Context(), func(tx session.Tx) error {
		_, err := tx.ReplaceWalletRequest(s.LinkHash, make([]byte, 16))
		return err
	}))
	return s
}

// passed creates a session that passed some time ago. Its event is due.
func (o *retentionTest) passed(owner uuid.UUID, ago time.Duration) session.Session {
	o.t.Helper()
	s, err := o.sessions.Resolve(o.t.Context(), o.session(owner, ago), session.CheckResult{Result: session.ResultVerified})
	o.must(err)
	return s
}

// deliver delivers all due events of a tenant.
func (o *retentionTest) deliver(owner uuid.UUID) {
	o.t.Helper()
	deliveries, err := o.store.ClaimDeliveries(o.t.Context(), []webhook.Claim{{TenantID: owner, Limit: 1000}}, time.Minute)
	o.must(err)
	for _, d := range deliveries {
		o.must(o.store.FinishDelivery(o.t.Context(), d,
			webhook.Attempt{Number: 1, At: now(), Class: webhook.ClassDelivered, StatusCode: 200},
			webhook.Disposition{Action: webhook.ActionFinish}))
	}
}

func (o *retentionTest) must(err error) {
	o.t.Helper()
	if err != nil {
		o.t.Fatal(err)
	}
}

func (o *retentionTest) exec(statement string) {
	o.t.Helper()
	_, err := o.db.ExecContext(context.Background(), statement)
	o.must(err)
}

// want checks the numbers of rows of tables.
func (o *retentionTest) want(when string, rows map[string]int) {
	o.t.Helper()
	for table, want := range rows {
		var got int
		o.must(o.db.QueryRowContext(context.Background(), "SELECT count(*) FROM "+table).Scan(&got))
		if got != want {
			o.t.Errorf("%s: %d rows in %s, want %d", when, got, table, want)
		}
	}
}

// refused checks that a command fails with a message.
func (o *retentionTest) refused(want string, args ...string) {
	o.t.Helper()
	if _, err := o.try(args...); err == nil || !strings.Contains(err.Error(), want) {
		o.t.Errorf("agegate %s: %v, want %q", strings.Join(args, " "), err, want)
	}
}

func TestSessionDelete(t *testing.T) {
	eachDatabase(t, func(t *testing.T, o *retentionTest) {
		owner := o.tenant()
		open := o.session(owner, 0)
		abandoned := o.session(owner, time.Hour)
		spoof := o.session(owner, time.Hour)
		done := o.passed(owner, time.Hour)
		_, err := o.sessions.Resolve(t.Context(), spoof, session.CheckResult{Result: session.ResultSpoof})
		o.must(err)
		o.refused("the session is open until "+open.ExpiresAt.Format(time.RFC3339), "session", "delete", open.ID.String())
		o.refused("webhook is still to be delivered", "session", "delete", done.ID.String())
		o.exec("UPDATE webhook_events SET status = 'waiting', next_attempt_at = NULL")
		o.refused("webhook is still to be delivered", "session", "delete", done.ID.String())
		o.exec("UPDATE webhook_events SET status = 'pending', next_attempt_at = created_at")
		o.deliver(owner)
		o.want("before", map[string]int{"sessions": 4, "holds": 4, "idempotency_claims": 4, "handovers": 4,
			"wallet_requests": 4, "webhook_events": 1, "webhook_attempts": 1, "ledger_entries": 7})

		for _, s := range []session.Session{done, abandoned, spoof} {
			o.run("session", "delete", s.ID.String())
			o.refused("session not found", "session", "delete", s.ID.String())
		}
		// The unit of the abandoned session was returned.
		o.want("after", map[string]int{"sessions": 1, "holds": 1, "idempotency_claims": 1, "handovers": 1,
			"wallet_requests": 1, "webhook_events": 0, "webhook_attempts": 0, "ledger_entries": 8})
		if left, err := o.store.Credit(t.Context(), owner); err != nil || left != 997 {
			t.Errorf("credit %d, %v; want 997", left, err)
		}
	})
}

func TestPrune(t *testing.T) {
	eachDatabase(t, func(t *testing.T, o *retentionTest) {
		const many, day = 120, 24 * time.Hour
		one, other := o.tenant(), o.tenant()
		for i := range many {
			if s := o.session(one, 3*day); i%2 == 0 {
				_, err := o.sessions.Resolve(t.Context(), s, session.CheckResult{Result: session.ResultSpoof})
				o.must(err)
			}
		}
		o.passed(one, 3*day)
		o.exec("UPDATE webhook_events SET status = 'failed', next_attempt_at = NULL")
		o.passed(one, 3*day)
		o.session(one, 3*day)
		o.session(one, time.Minute) // too recent to be deleted
		o.session(other, 3*day)
		before := now().Add(-2 * day).Format(time.RFC3339)

		if got := parsed[session.Pruned](o.console, "prune", "--before", before, "--tenant", other.String(),
			"--json"); got != (session.Pruned{Deleted: 1}) {
			t.Errorf("of one tenant: %+v", got)
		}
		if got := parsed[session.Pruned](o.console, "prune", "--before", before,
			"--json"); got != (session.Pruned{Deleted: many + 2, Undelivered: 1}) {
			t.Errorf("of all: %+v", got)
		}
		if out := o.run("prune", "--before", before); !strings.Contains(out, "sessions deleted: 0; kept: 0 open, 1 with") {
			t.Errorf("again: %s", out)
		}
		o.want("after", map[string]int{"sessions": 2, "holds": 2, "webhook_events": 1})
		for owner, want := range map[uuid.UUID]int64{one: 1000 - many/2 - 3, other: 1000} {
			if left, err := o.store.Credit(t.Context(), owner); err != nil || left != want {
				t.Errorf("credit %d, %v; want %d", left, err, want)
			}
		}
	})
}

func TestPruneKeepsWhatIsOpen(t *testing.T) {
	eachDatabase(t, func(t *testing.T, o *retentionTest) {
		owner := o.tenant()
		o.session(owner, 10*time.Minute)
		o.session(owner, time.Hour)
		before := now().Add(-time.Minute).Format(time.RFC3339)
		if got := parsed[session.Pruned](o.console, "prune", "--before", before,
			"--json"); got != (session.Pruned{Deleted: 1, Open: 1}) {
			t.Errorf("%+v", got)
		}
	})
}

// A run that is stopped reports its progress, and what it deleted remains deleted.
func TestPruneIsStopped(t *testing.T) {
	eachDatabase(t, func(t *testing.T, o *retentionTest) {
		owner := o.tenant()
		for range 120 {
			o.session(owner, time.Hour)
		}
		ctx, cancel := context.WithCancel(t.Context())
		total, err := session.NewRecords(o.store, now).Prune(ctx, audit.System("test"), owner, now(),
			func(session.Pruned) { cancel() })
		if err == nil || total.Deleted == 0 || total.Deleted >= 120 {
			t.Errorf("stopped after %+v: %v", total, err)
		}
		o.want("stopped", map[string]int{"sessions": 120 - total.Deleted})
		if got := parsed[session.Pruned](o.console, "prune", "--before", now().Format(time.RFC3339),
			"--json"); got.Deleted != 120-total.Deleted {
			t.Errorf("then %+v", got)
		}
	})
}

func TestTenantDelete(t *testing.T) {
	eachDatabase(t, func(t *testing.T, o *retentionTest) {
		gone, stays := o.tenant(), o.tenant()
		o.passed(stays, time.Hour)
		o.deliver(stays)
		open := o.session(gone, 0)
		o.passed(gone, time.Hour)
		o.passed(gone, time.Hour)
		remove := []string{"tenant", "delete", gone.String(), "--yes"}
		o.refused("the tenant is enabled: disable it first", remove...)
		o.run("tenant", "disable", gone.String())
		o.refused("still in use: sessions open: 1, webhooks to be delivered: 2; the last session expires at 20", remove...)
		o.refused("; each is tried for three days, or at a disabled endpoint once", remove...)
		o.deliver(gone)
		o.refused("still in use: sessions open: 1, webhooks to be delivered: 0; the last session expires at 20", remove...)
		o.run("tenant", "enable", gone.String())
		_, err := o.sessions.Resolve(t.Context(), open, session.CheckResult{Result: session.ResultSpoof})
		o.must(err)
		o.run("tenant", "disable", gone.String())
		o.refused("give --yes to confirm", remove[:3]...)
		o.want("before", map[string]int{"sessions": 4, "tenants": 2, "webhook_events": 3})

		o.run(remove...)
		o.want("after", map[string]int{
			"tenants": 1, "sessions": 1, "holds": 1, "idempotency_claims": 1, "handovers": 1, "wallet_requests": 1,
			"webhook_events": 1, "webhook_attempts": 1,
			"ledger_entries": 3, "credit_balances": 1, "api_keys": 2, "tenant_secrets": 4,
		})
		o.refused("tenant not found", remove...)
	})
}
