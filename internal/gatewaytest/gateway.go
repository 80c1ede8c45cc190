// Package gatewaytest runs the real gateway on a real database and checks it from
// the outside, as a merchant's backend, a shopper's browser and a webhook
// receiver see it. Every API response is also checked against the contract.
package gatewaytest

import (
	"bytes"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/base64"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"agegate/internal/app"
	"agegate/internal/app/config"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/tenant"
	"agegate/internal/store/dbtest"
	"agegate/internal/store/pgtest"
)

// Clock is the gateway's clock in tests: real time plus the time by which it was
// advanced.
type Clock struct {
	mu     sync.Mutex
	offset time.Duration
}

// Now returns UTC in whole microseconds.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.offset).UTC().Truncate(time.Microsecond)
}

// Set sets the clock to t; it continues from there.
func (c *Clock) Set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset = time.Until(t)
}

// Advance moves the clock forward.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset += d
}

// Begin moves the clock back to where its unit of time began: a test that sets it to
// an hour so ends in this hour, on this day and in this month. That is also the day in
// the IDs of sessions, which are of real time.
func (c *Clock) Begin(unit time.Duration) { c.Set(c.Now().Truncate(unit)) }

// Gateway is a running gateway.
type Gateway struct {
	URL   string
	DB    string // the database's URL
	App   *app.App
	Clock *Clock
	Log   *Log
	stop  func()
	env   map[string]string

	dashboardHost string // host of its public address
}

// Log collects the gateway's log, for tests that search it for input and
// secrets.
type Log struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

// String returns everything logged so far.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// Each runs test against a fresh gateway on SQLite and on PostgreSQL.
func Each(t *testing.T, test func(t *testing.T, g *Gateway), settings ...string) {
	t.Run("sqlite", func(t *testing.T) { test(t, Start(t, SQLite(t), settings...)) })
	t.Run("postgres", func(t *testing.T) { test(t, Start(t, pgtest.URL(t), settings...)) })
}

// Page is Each for tests of pages, on SQLite alone, because the store's own tests
// cover on both databases what pages need from it. `make test-all` runs figures, lists
// and searches again on PostgreSQL: AGEGATE_TEST_DATABASE=postgres.
func Page(t *testing.T, test func(t *testing.T, g *Gateway), settings ...string) {
	if os.Getenv("AGEGATE_TEST_DATABASE") == "postgres" {
		t.Run("postgres", func(t *testing.T) { test(t, Start(t, pgtest.URL(t), settings...)) })
		return
	}
	t.Run("sqlite", func(t *testing.T) { test(t, Start(t, SQLite(t), settings...)) })
}

// SQLite returns the URL of a new, migrated SQLite database.
func SQLite(t testing.TB) string { return dbtest.SQLite(t) }

// PasswordMemory is how much memory the gateways of Start use to hash a password, in
// KiB: so little that it takes nearly no time. What measures costs sets it to 0, for
// as much as in production.
var PasswordMemory uint32 = 64

// Start runs a gateway without an estimator on a database until the test
// ends. settings are further NAME=VALUE variables.
func Start(t testing.TB, databaseURL string, settings ...string) *Gateway {
	t.Helper()
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{
		"AGEGATE_LISTEN":                   "127.0.0.1:0",
		"AGEGATE_DATABASE_URL":             databaseURL,
		"AGEGATE_SECRET_KEY":               base64.StdEncoding.EncodeToString(key),
		"AGEGATE_BASE_URL":                 "https://api.gateway.example",
		"AGEGATE_VERIFY_URL":               "http://verify.gateway.example",
		"AGEGATE_DASHBOARD_URL":            "http://localhost:8080",
		"AGEGATE_ESTIMATOR":                "off",
		"AGEGATE_LAME_DUCK":                "0s",
		"AGEGATE_ALLOW_INSECURE_CALLBACKS": "true",
		"AGEGATE_WEBHOOK_ALLOW_NETS":       netip.MustParsePrefix("127.0.0.0/8").String(),
		"AGEGATE_LOG_LEVEL":                "debug",
	}
	for _, s := range settings {
		name, value, _ := strings.Cut(s, "=")
		env[name] = value
	}
	cfg, err := config.Load(func(name string) (string, bool) { v, ok := env[name]; return v, ok })
	if err != nil {
		t.Fatal(err)
	}
	cfg.PasswordMemory = PasswordMemory
	public, err := url.Parse(cfg.DashboardURL)
	if err != nil {
		t.Fatal(err)
	}
	g := &Gateway{DB: databaseURL, env: env, Clock: &Clock{}, Log: &Log{}, dashboardHost: public.Host}
	logger := slog.New(slog.NewTextHandler(g.Log, &slog.HandlerOptions{Level: cfg.LogLevel}))
	if g.App, err = app.New(t.Context(), cfg, logger, g.Clock.Now); err != nil {
		t.Fatal(err)
	}
	g.URL = "http://" + g.App.Addr()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- g.App.Run(ctx) }()
	g.stop = sync.OnceFunc(func() {
		cancel()
		http.DefaultClient.CloseIdleConnections() // otherwise the gateway waits for their last request
		if err := <-ended; err != nil {
			t.Errorf("gateway: %v", err)
		}
		if err := g.App.Close(); err != nil {
			t.Errorf("close gateway: %v", err)
		}
	})
	t.Cleanup(g.stop)
	// Only now may a test keep the database busy: the gateway's first write is done.
	res, err := http.Get(g.URL + "/healthz")
	if err != nil {
		t.Fatalf("the gateway did not start: %v", err)
	}
	_ = res.Body.Close()
	return g
}

// Restart stops the gateway and starts another one on its database, with further
// settings.
func (g *Gateway) Restart(t testing.TB, settings ...string) *Gateway {
	t.Helper()
	g.stop()
	var all []string
	for name, value := range g.env {
		all = append(all, name+"="+value)
	}
	return Start(t, g.DB, append(all, settings...)...)
}

// Stop ends the gateway in order, as SIGTERM does. The end of the test does the
// same.
func (g *Gateway) Stop() { g.stop() }

// Shop registers a tenant with callback URLs on shop.example and a webhook
// receiver, and returns its credentials.
func (g *Gateway) Shop(t testing.TB, webhookURL string, edit func(*tenant.Tenant)) tenant.Credentials {
	t.Helper()
	shop := tenant.Tenant{
		Name: "Shop", SuccessURL: "https://shop.example/ok?order=1", CancelURL: "https://shop.example/back",
		WebhookURL: webhookURL,
	}
	if edit != nil {
		edit(&shop)
	}
	c, err := g.App.Tenants.Create(t.Context(), audit.System("test"), shop)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Exec runs a statement on the database behind the gateway's back.
func (g *Gateway) Exec(t testing.TB, statement string) {
	t.Helper()
	db := g.connect(t)
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

// Count returns the number of rows in a table, or in the part of it that a WHERE
// clause selects.
func (g *Gateway) Count(t testing.TB, rows string) (n int) {
	t.Helper()
	db := g.connect(t)
	defer db.Close()
	if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM "+rows).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func (g *Gateway) connect(t testing.TB) *sql.DB {
	t.Helper()
	driver, dsn := "pgx", g.DB
	if path, ok := strings.CutPrefix(g.DB, "sqlite:"); ok {
		driver, dsn = "sqlite", "file:"+path+"?_pragma=busy_timeout(5000)"
	}
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// Path converts a public verification URL to the gateway's local address.
func (g *Gateway) Path(verificationURL string) string {
	return g.URL + strings.TrimPrefix(verificationURL, "http://verify.gateway.example")
}

// Browser is an HTTP client that keeps cookies and follows no redirect. Each of its
// requests has a connection of its own: where a test closes idle connections that all
// share, a request whose answer has no body may fail although it was answered.
func Browser() *http.Client {
	return &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		Jar:           newJar(),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// read reads a response to its end and returns the body.
func read(t testing.TB, res *http.Response) string {
	t.Helper()
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// WriteRefusals writes the refusals that the gateway has counted now, and not within
// a few seconds.
func (g *Gateway) WriteRefusals(t testing.TB) {
	t.Helper()
	if err := g.App.WriteRefusals(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// WaitFor waits until a condition holds.
func WaitFor(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for limit := time.Now().Add(2 * time.Minute); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("%s: not within two minutes", what)
		}
	}
}
