// Package app wires the gateway: it opens the store, builds the services, the
// HTTP edge and the workers, runs them and shuts them down in order. The binary
// and the tests use the same App.
package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"agegate/internal/account"
	"agegate/internal/account/passkey"
	"agegate/internal/api"
	"agegate/internal/billing"
	"agegate/internal/certify"
	"agegate/internal/config"
	"agegate/internal/credential"
	"agegate/internal/dashboard"
	"agegate/internal/document"
	"agegate/internal/httpd"
	"agegate/internal/inference"
	"agegate/internal/insight"
	"agegate/internal/metrics"
	"agegate/internal/session"
	"agegate/internal/shopper"
	"agegate/internal/store"
	"agegate/internal/tenant"
	"agegate/internal/webhook"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"
	"golang.org/x/sync/errgroup"
)

// shutdownTime is how long running requests may take after a shutdown has
// begun.
const shutdownTime = 10 * time.Second

// App is a gateway process.
type App struct {
	Store    *store.Store
	Tenants  *tenant.Service
	Sessions *session.Service
	Accounts *account.Service
	Insight  *insight.Service

	replica    insight.Replica // this process
	refusals   *insight.Recorder
	log        *slog.Logger
	now        func() time.Time
	retention  time.Duration // of finished sessions; 0: no end
	metrics    *metrics.Metrics
	wallets    *document.Wallets // nil when the way is off
	photos     *document.Photos  // likewise
	pool       *inference.Pool   // nil when the estimator is off
	pages      *shopper.Pages
	dashboard  *dashboard.Pages // nil when it is off
	apart      bool             // the dashboard has a listener of its own
	lab        dashboard.Lab
	dispatcher *webhook.Dispatcher
	certifier  *certify.Background // of the dashboard; nil when that is off
	routes     []*echo.Route
	servers    []server // the gateway's first
}

// server is a listener and what it serves, for the log.
type server struct {
	*httpd.Server
	serves string // empty for the gateway itself
}

// New builds a gateway from its configuration: it migrates the database, loads
// the models and opens the listeners, but serves nothing before Run. now must
// return UTC in whole microseconds. A second server on the same SQLite file is
// refused.
func New(ctx context.Context, cfg config.Config, log *slog.Logger, now func() time.Time) (_ *App, err error) {
	a := &App{log: log, now: now, retention: cfg.Retention, metrics: newMetrics()}
	a.replica = insight.Replica{ID: uuid.New(), StartedAt: now(), Version: cfg.Version, Config: cfg.Fingerprint()}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Close())
		}
	}()
	if a.Store, err = store.Open(ctx, store.Config{URL: cfg.DatabaseURL, Now: now}); err != nil {
		return nil, fmt.Errorf("AGEGATE_DATABASE_URL: %w", err)
	}
	if err := a.Store.LockServe(); err != nil {
		return nil, fmt.Errorf("AGEGATE_DATABASE_URL: %w", err)
	}
	if err := a.Store.Migrate(ctx); err != nil {
		return nil, err
	}
	sealer, err := a.buildServices(cfg)
	if err != nil {
		return nil, err
	}
	if err := CheckSecretKey(ctx, a.Tenants); err != nil {
		return nil, err
	}
	estimator, err := a.openEstimator(cfg)
	if err != nil {
		return nil, err
	}
	a.buildSessions(cfg, sealer)
	if err := a.buildDocuments(cfg, sealer, estimator); err != nil {
		return nil, err
	}
	handler, err := a.buildHandler(cfg, estimator)
	if err != nil {
		return nil, err
	}
	a.routes = handler.Routes()
	if err := a.listen("", cfg.Listen, handler); err != nil {
		return nil, fmt.Errorf("AGEGATE_LISTEN: %w", err)
	}
	if a.dashboard != nil && a.apart {
		if err := a.listen(" the dashboard", cfg.DashboardListen, a.dashboardHandler()); err != nil {
			return nil, fmt.Errorf("AGEGATE_DASHBOARD_LISTEN: %w", err)
		}
	}
	if cfg.MetricsListen == "" {
		return a, nil
	}
	a.metrics.WatchDatabase(a.Store.Stats)
	a.metrics.WatchQueue(a.Store)
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", a.metrics.Handler())
	if err := a.listen(" metrics", cfg.MetricsListen, mux); err != nil {
		return nil, fmt.Errorf("AGEGATE_METRICS_LISTEN: %w", err)
	}
	return a, nil
}

// listen opens an address for a handler; Run serves it.
func (a *App) listen(serves, address string, handler http.Handler) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	a.servers = append(a.servers, server{httpd.NewServer(handler, listener), serves})
	return nil
}

// buildServices builds the services that need no models.
func (a *App) buildServices(cfg config.Config) (*credential.Sealer, error) {
	sealer, err := NewSealer(cfg)
	if err != nil {
		return nil, err
	}
	accounts := account.Config{Store: a.Store, URL: cfg.DashboardURL, Sealer: sealer, Random: rand.Reader, Now: a.now}
	// Where there are no passkeys, the dashboard says why.
	if verifier, err := passkey.New(cfg.DashboardURL); err == nil {
		accounts.Passkeys = verifier
	}
	a.Accounts = account.NewService(accounts)
	a.Tenants = tenant.NewService(a.Store, sealer, callbackRule(cfg), rand.Reader, a.now)
	a.Insight = insight.NewService(a.Store, limits(cfg), a.now)
	a.refusals = insight.NewRecorder(a.Store, a.now)
	a.dispatcher = webhook.NewDispatcher(a.Store, a.Tenants, webhook.NewClient(cfg.WebhookAllowNets), webhook.Config{
		Live: cfg.WebhookRetryLive, Test: cfg.WebhookRetryTest, Logger: a.log,
		Observe: func(class webhook.Class, livemode bool) { a.metrics.WebhookAttempt(string(class), livemode) },
	})
	return sealer, nil
}

func callbackRule(cfg config.Config) tenant.CallbackRule {
	return tenant.CallbackRule{AllowInsecure: cfg.AllowInsecureCallbacks}
}

func limits(cfg config.Config) billing.Limits {
	return billing.Limits{FreeChecksPerMonth: cfg.FreeChecksPerMonth, TestDailyCap: cfg.TestDailyCap}
}

// buildSessions builds the service of sessions, which records by what calibration
// each is decided.
func (a *App) buildSessions(cfg config.Config, sealer *credential.Sealer) {
	a.Sessions = session.NewService(session.Config{
		VerifyURL: cfg.VerifyURL, TTL: cfg.SessionTTL, TokenTTL: cfg.RedirectTokenTTL, Callbacks: callbackRule(cfg),
		Limits: limits(cfg), AgeMargin: cfg.AgeMargin, Calibration: a.replica.Calibration,
		Observe: func(id uuid.UUID, entered session.Status, livemode bool) {
			a.metrics.Session(string(entered), livemode)
			a.log.Info("session", "session_id", id, "status", entered, "livemode", livemode)
		},
		ObserveDocument: func(e session.DocumentEvent, livemode bool) {
			a.metrics.Document(string(e.Way), string(e.Outcome), livemode)
		},
	}, a.Store, a.Tenants, sealer, rand.Reader, a.now, a.dispatcher.Wake)
}

func (a *App) buildHandler(cfg config.Config, e estimator) (_ *echo.Echo, err error) {
	a.pages, err = shopper.New(shopper.Config{
		Sessions: a.Sessions, Tenants: a.Tenants, NewCapture: e.newCapture, Places: e.places,
		Handovers: session.NewHandovers(a.Sessions, a.Store), Wallets: a.wallets,
		Photos: a.photos, DocumentPlaces: e.documentPlaces,
		VerifyURL: cfg.VerifyURL, Logger: a.log,
		Operator: shopper.Operator{Name: cfg.OperatorName, Links: cfg.OperatorLinks},
	})
	if err != nil {
		return nil, err
	}
	operations := api.New(a.Sessions)
	mounts := []func(e *echo.Echo){operations.Register, a.pages.Register}
	if err := a.buildDashboard(cfg); err != nil {
		return nil, err
	}
	if a.dashboard != nil && !a.apart {
		mounts = append(mounts, a.dashboard.Register)
	}
	return httpd.New(httpd.Config{
		BaseURL:      cfg.BaseURL,
		Logger:       a.log,
		Authenticate: api.Authenticate(a.Tenants),
		CheckBody:    operations.CheckBody,
		Checks:       a.checks(),
		Pages:        a.showError,
		Observe:      a.metrics.Request,
		Mounts:       mounts,
		Refused:      a.recordRefusal,
	})
}

// checks are the readiness checks.
func (a *App) checks() map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"database": a.Store.Ping,
		"models":   func(context.Context) error { return nil }, // New fails without those it needs
	}
}

// showError writes the error page of the set that a request's path belongs to.
func (a *App) showError(c echo.Context, status int, cause error) {
	if a.dashboard != nil && !a.apart && dashboard.Owns(c.Request().URL.Path) {
		a.dashboard.Error(c, status, cause)
		return
	}
	a.pages.Error(c, status, cause)
}

// Addr is the address the gateway listens on.
func (a *App) Addr() string { return a.servers[0].Addr() }

// Routes returns all routes served on Addr. The security tests send requests to
// each of them.
func (a *App) Routes() []*echo.Route { return a.routes }

// Run serves until ctx is done, then lets requests, captures and webhook
// attempts finish within limits. It returns nil after an orderly shutdown.
func (a *App) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var workers sync.WaitGroup
	workers.Go(func() { a.dispatcher.Run(ctx) })
	workers.Go(func() { a.keepHouse(ctx) })
	failed := make(chan error, len(a.servers))
	for _, s := range a.servers {
		go func() { failed <- s.Serve() }()
	}
	for _, s := range a.servers {
		a.log.Info("serving"+s.serves, "address", s.Addr())
	}

	var err error
	select {
	case err = <-failed:
		cancel()
	case <-ctx.Done():
	}
	a.log.Info("shutting down")
	err = errors.Join(err, a.shutDown(context.WithoutCancel(ctx)))
	if a.certifier != nil {
		a.certifier.Close()
	}
	workers.Wait()
	return errors.Join(err, a.flushRefusals(context.WithoutCancel(ctx)))
}

// shutDown ends the captures and lets requests finish.
func (a *App) shutDown(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, shutdownTime)
	defer cancel()
	var parts errgroup.Group
	parts.Go(func() error { return a.pages.Close(ctx) })
	for _, s := range a.servers {
		parts.Go(func() error { return s.Shutdown(ctx) })
	}
	return parts.Wait()
}

// Close releases what New opened. Call it after Run has returned.
func (a *App) Close() error {
	var errs []error
	for _, s := range a.servers {
		errs = append(errs, s.Close())
	}
	if a.pool != nil {
		errs = append(errs, a.pool.Close())
	}
	if a.Store != nil {
		errs = append(errs, a.Store.Close())
	}
	return errors.Join(errs...)
}
