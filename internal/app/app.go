// Package app wires the gateway: it opens the store, builds the services, the HTTP edge and the workers, runs them
// and shuts them down in order. The binary and the tests use the same App.
package app

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"strings"
	"sync/atomic"
	"time"

	"agegate/internal/app/config"
	"agegate/internal/app/metrics"
	"agegate/internal/backoffice/account"
	"agegate/internal/backoffice/account/oidc"
	"agegate/internal/backoffice/account/passkey"
	"agegate/internal/backoffice/insight"
	"agegate/internal/backoffice/mail"
	"agegate/internal/check/document"
	"agegate/internal/check/inference"
	"agegate/internal/edge/api"
	"agegate/internal/edge/httpd"
	"agegate/internal/edge/reference"
	"agegate/internal/pages/dashboard"
	"agegate/internal/pages/shopper"
	"agegate/internal/rules/billing"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
	"agegate/internal/rules/trail"
	"agegate/internal/rules/webhook"
	"agegate/internal/store"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// App is a gateway process. It has only the parts of its role.
type App struct {
	Store    *store.Store
	Tenants  *tenant.Service
	Sessions *session.Service
	Insight  *insight.Service
	Accounts *account.Service // of the API's part

	replica   insight.Replica // this process
	log       *slog.Logger
	now       func() time.Time
	retention time.Duration // of finished sessions; 0: no end
	lameDuck  time.Duration // how long the process serves on when it is to end
	ending    atomic.Bool   // not ready, because the process is to end
	metrics   *metrics.Metrics
	traces    *sdktrace.TracerProvider // nil where no traces are sent
	tracer    trace.Tracer             // of traces, or nil
	routes    []*echo.Route
	servers   []server // the first is the gateway's own

	api     *apiPart   // nil in a process of the hosted page alone
	pages   *pagesPart // nil in a process of the API alone
	https   https      // nil where a reverse proxy serves https
	decides string     // fingerprint of the estimator's files; empty without an estimator
}

// apiPart holds what a process needs to serve the API and the dashboard.
type apiPart struct {
	refusals   *insight.Recorder
	dispatcher *webhook.Dispatcher
	lists      *document.Lists  // published lists of issuers
	dashboard  *dashboard.Pages // nil when it is off
	docs       *reference.Pages
	apart      bool            // the dashboard has its own listener
	mails      *mail.Deliverer // nil when no mail is sent
	alerts     *alerts         // nil when no mail is sent
	openID     *oidc.Client
}

// pagesPart holds what a process needs to serve the hosted page.
type pagesPart struct {
	shopper   *shopper.Pages
	drainTime time.Duration
	wallets   *document.Wallets // nil when the way is off
	photos    *document.Photos  // nil when the way is off
	pool      *inference.Pool   // nil when the estimator is off
}

// server is a listener with the name of what it serves, for the log.
type server struct {
	*httpd.Server
	serves string // what it serves; empty for the gateway itself
}

// New builds the parts of the configured role: it migrates the database, loads the models of the hosted page and
// opens the listeners. It serves nothing before Run. now must return UTC in whole microseconds. A second server on
// the same SQLite file is refused.
func New(ctx context.Context, cfg config.Config, log *slog.Logger, now func() time.Time) (_ *App, err error) {
	log = slog.New(trail.Handler{Handler: log.Handler()})
	a := &App{log: log, now: now, retention: cfg.Retention, lameDuck: cfg.LameDuck, metrics: newMetrics()}
	a.replica = insight.Replica{ID: uuid.New(), StartedAt: now(), Version: cfg.Version, Config: cfg.Fingerprint}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Close())
		}
	}()
	if err := a.openTraces(ctx, cfg.Traces); err != nil {
		return nil, err
	}
	if err := a.openStore(ctx, cfg); err != nil {
		return nil, err
	}
	sealer, err := NewSealer(cfg)
	if err != nil {
		return nil, err
	}
	a.replica.Keys = strings.Join(sealer.Names, " ")
	a.Tenants = tenant.NewService(a.Store, sealer, callbackRule(cfg), rand.Reader, now)
	a.Tenants.Margin = cfg.Margin
	if err := CheckSecretKey(ctx, a.Tenants); err != nil {
		return nil, err
	}
	a.Insight = insight.NewService(a.Store, limits(cfg), now)
	handler, err := a.buildParts(cfg, sealer)
	if err != nil {
		return nil, err
	}
	if err := a.beginDeciding(ctx, cfg); err != nil {
		return nil, err
	}
	a.routes = handler.Routes()
	if err := a.openHTTPS(ctx, cfg, sealer); err != nil {
		return nil, err
	}
	return a, a.openListeners(cfg, handler)
}

// openListeners opens the listeners of the parts. The first serves handler.
func (a *App) openListeners(cfg config.Config, handler http.Handler) error {
	if err := a.listen("", cfg.Listen, handler, cfg.TLS.On()); err != nil {
		return fmt.Errorf("AGEGATE_LISTEN: %w", err)
	}
	if a.api != nil && a.api.dashboard != nil && a.api.apart {
		secure := cfg.TLS.On() && strings.HasPrefix(cfg.DashboardURL, "https:")
		if err := a.listen(" the dashboard", cfg.DashboardListen, a.dashboardHandler(cfg), secure); err != nil {
			return fmt.Errorf("AGEGATE_DASHBOARD_LISTEN: %w", err)
		}
	}
	if a.https != nil {
		if err := a.listen(" redirects to https", cfg.TLS.HTTPListen, a.plainHandler(cfg), false); err != nil {
			return fmt.Errorf("AGEGATE_HTTP_LISTEN: %w", err)
		}
	}
	if cfg.MetricsListen == "" {
		return nil
	}
	a.watch()
	if err := a.listen(" metrics", cfg.MetricsListen, a.inside(), false); err != nil {
		return fmt.Errorf("AGEGATE_METRICS_LISTEN: %w", err)
	}
	return nil
}

// openStore opens the database as a server and migrates it. It warns if a newer version
// has migrated the database, for example during an upgrade or after a downgrade.
func (a *App) openStore(ctx context.Context, cfg config.Config) (err error) {
	if a.Store, err = store.Open(ctx, store.Config{URL: cfg.DatabaseURL, MigrationURL: cfg.MigrationURL,
		Now: a.now}); err != nil {
		return fmt.Errorf("AGEGATE_DATABASE_URL: %w", err)
	}
	if err := a.Store.LockServe(); err != nil {
		return fmt.Errorf("AGEGATE_DATABASE_URL: %w", err)
	}
	if err := a.Store.Migrate(ctx); err != nil {
		return err
	}
	x, err := a.Store.Examine(ctx)
	if len(x.Unknown) > 0 {
		a.log.Warn("a newer version of agegate has migrated the database: fine during an upgrade or after going back; "+
			"otherwise upgrade this machine", "unknown_migrations", len(x.Unknown))
	}
	return err
}

// inside returns the handler of the metrics listener: metrics and Go's profiles,
// except the profile that shows the command line.
func (a *App) inside() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", a.metrics.Handler())
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.Handle("GET /debug/pprof/cmdline", http.NotFoundHandler())
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return mux
}

// listen opens an address for a handler, with TLS if it is secure; Run serves it.
func (a *App) listen(serves, address string, handler http.Handler, secure bool) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	if secure {
		listener = tls.NewListener(listener, a.https.TLS())
	}
	a.servers = append(a.servers, server{httpd.NewServer(handler, listener), serves})
	return nil
}

// buildParts builds the parts of the role and returns the handler of their listener.
func (a *App) buildParts(cfg config.Config, sealer *credential.Sealer) (_ *echo.Echo, err error) {
	var eyes estimator
	if cfg.ServesPages() {
		a.pages = &pagesPart{drainTime: cfg.Drain}
		if eyes, err = a.openEstimator(cfg); err != nil {
			return nil, err
		}
	}
	wake := func() {} // replicas of the API find due deliveries by polling
	if cfg.ServesAPI() {
		a.buildServices(cfg, sealer)
		wake = a.api.dispatcher.Wake
	}
	a.buildSessions(cfg, sealer, wake)
	edge := httpd.Config{Logger: a.log, Checks: a.checks(cfg), Pages: a.showError, Observe: a.metrics.Request,
		Proxies: cfg.TrustedProxies, Tracer: a.tracer, SecurityText: securityText(cfg)}
	if cfg.ServesPages() {
		if err := a.buildPages(cfg, sealer, eyes); err != nil {
			return nil, err
		}
		edge.Mounts = append(edge.Mounts, a.pages.shopper.Register)
	}
	if !cfg.ServesAPI() {
		return httpd.NewPages(edge), nil
	}
	return a.buildAPI(cfg, sealer, edge)
}

// buildServices builds the services that the API's part needs.
func (a *App) buildServices(cfg config.Config, sealer *credential.Sealer) {
	a.api = new(apiPart)
	accounts := account.Config{Store: a.Store, URL: cfg.DashboardURL, Sealer: sealer, Random: rand.Reader, Now: a.now}
	if cfg.SMTP != nil {
		outbox := mail.NewOutbox(sealer, a.now)
		outbox.Operator, accounts.Outbox = cfg.OperatorName, outbox
		a.api.mails = mail.NewDeliverer(a.Store, outbox, *cfg.SMTP, a.log)
		a.api.alerts = &alerts{store: a.Store, tenants: a.Tenants, insight: a.Insight, outbox: outbox, url: cfg.DashboardURL,
			wake: outbox.Wake}
	}
	// Without passkeys, the dashboard says why there are none.
	if verifier, err := passkey.New(cfg.DashboardURL); err == nil {
		accounts.Passkeys = verifier
	}
	a.api.openID = oidc.New(cfg.SSO, a.now)
	accounts.Instance, accounts.OpenID = cfg.SSO, a.api.openID
	accounts.PasswordMemory = cfg.PasswordMemory
	a.Accounts = account.NewService(accounts)
	a.api.lists = NewLists(a.Store, cfg, a.now)
	a.api.refusals = insight.NewRecorder(a.Store, a.now)
	a.api.dispatcher = webhook.NewDispatcher(a.Store, a.Tenants, GuardedClient(cfg), webhook.Config{
		Live: cfg.WebhookRetryLive, Test: cfg.WebhookRetryTest, Logger: a.log,
		Observe: func(class webhook.Class, livemode bool) { a.metrics.WebhookAttempt(string(class), livemode) },
	})
}

func callbackRule(cfg config.Config) tenant.CallbackRule {
	return tenant.CallbackRule{AllowInsecure: cfg.AllowInsecureCallbacks}
}

func limits(cfg config.Config) billing.Limits {
	return billing.Limits{FreeChecksPerMonth: cfg.FreeChecksPerMonth, TestDailyCap: cfg.TestDailyCap}
}

// buildSessions builds the service of sessions. The service stores the calibration with
// each decision, and calls wake when an event is ready for delivery.
func (a *App) buildSessions(cfg config.Config, sealer *credential.Sealer, wake func()) {
	a.Sessions = session.NewService(session.Config{
		VerifyURL: cfg.VerifyURL, TTL: cfg.SessionTTL, TokenTTL: cfg.RedirectTokenTTL, Callbacks: callbackRule(cfg),
		Limits: limits(cfg), Calibration: a.replica.Calibration,
		Observe: func(ctx context.Context, s session.Session) {
			a.metrics.Session(string(s.Status), s.Livemode)
			a.log.InfoContext(ctx, "session", "session_id", s.ID, "status", s.Status, "livemode", s.Livemode,
				"tenant_id", s.TenantID)
		},
		ObserveDocument: func(e session.DocumentEvent, livemode bool) {
			a.metrics.Document(string(e.Way), string(e.Outcome), livemode)
		},
	}, a.Store, a.Tenants, sealer, rand.Reader, a.now, wake)
}

// buildPages builds the hosted page.
func (a *App) buildPages(cfg config.Config, sealer *credential.Sealer, e estimator) (err error) {
	if err := a.buildDocuments(cfg, sealer, e); err != nil {
		return err
	}
	a.pages.shopper, err = shopper.New(shopper.Config{
		Counted: a.metrics.Check, Sessions: a.Sessions, Tenants: a.Tenants, NewCapture: e.newCapture, Places: e.places,
		Handovers: session.NewHandovers(a.Sessions, a.Store), Ways: cfg.DocumentWays, Wallets: a.pages.wallets,
		Photos: a.pages.photos, DocumentPlaces: e.documentPlaces,
		VerifyURL: cfg.VerifyURL, Logger: a.log,
		Operator:  shopper.Operator{Name: cfg.OperatorName, Links: cfg.OperatorLinks, Imprint: cfg.ImprintURL},
		Retention: cfg.Retention,
	})
	return err
}

// buildAPI builds the API and the dashboard and adds them to edge, which may already have the hosted page.
func (a *App) buildAPI(cfg config.Config, sealer *credential.Sealer, edge httpd.Config) (*echo.Echo, error) {
	if err := a.buildDashboard(cfg, sealer); err != nil {
		return nil, err
	}
	operations := api.New(a.Sessions, api.TestMode{
		Feed:   webhook.NewFeed(a.Store, a.Tenants, a.now),
		Events: webhook.NewOperations(a.Store, a.now, a.api.dispatcher.Wake),
		Clock:  session.NewTestClock(a.Store, a.now),
	})
	edge.Authenticate = api.Authenticate(a.Tenants)
	edge.CheckBody = operations.CheckBody
	edge.Refused = a.recordRefusal
	if err := a.buildDocs(cfg); err != nil {
		return nil, err
	}
	edge.Mounts = append(edge.Mounts, operations.Register, a.api.docs.Register)
	if a.api.dashboard != nil && !a.api.apart {
		edge.Mounts = append(edge.Mounts, a.api.dashboard.Register)
	}
	return httpd.New(edge)
}

// checks returns the readiness checks.
func (a *App) checks(cfg config.Config) map[string]func(context.Context) error {
	checks := map[string]func(context.Context) error{
		"accepting": a.accepting, "database": a.Store.Ping, "database_writes": a.Store.Writable,
	}
	if cfg.ServesPages() {
		checks["models"] = func(context.Context) error { return nil } // New has already failed if required models are missing
	}
	return checks
}

// Addr is the address on which the gateway listens.
func (a *App) Addr() string { return a.servers[0].Addr() }

// Routes returns all routes served on Addr. The security tests send requests to each of them.
func (a *App) Routes() []*echo.Route { return a.routes }

// Close releases what New opened. Call it after Run has returned.
func (a *App) Close() error {
	var errs []error
	for _, s := range a.servers {
		errs = append(errs, s.Close())
	}
	if a.pages != nil && a.pages.pool != nil {
		errs = append(errs, a.pages.pool.Close())
	}
	if a.Store != nil {
		errs = append(errs, a.Store.Close())
	}
	return errors.Join(errs...)
}
