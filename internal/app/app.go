// Package app wires the gateway: it opens the store, builds the services, the
// edge and the workers, runs them and takes them down in order. The binary and
// the tests use the same App.
package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"time"

	"agegate/internal/age"
	"agegate/internal/age/onnx"
	"agegate/internal/api"
	"agegate/internal/billing"
	"agegate/internal/config"
	"agegate/internal/httpd"
	"agegate/internal/session"
	"agegate/internal/signing"
	"agegate/internal/store"
	"agegate/internal/tenant"
	"agegate/internal/web"
	"agegate/internal/webhook"

	"github.com/labstack/echo/v4"
)

// shutdownTime bounds how long requests may go on after a shutdown began.
const shutdownTime = 10 * time.Second

// App is a gateway process.
type App struct {
	Store    *store.Store
	Tenants  *tenant.Service
	Sessions *session.Service

	log        *slog.Logger
	pool       *onnx.Pool // nil when the estimator is off
	pages      *web.Pages
	dispatcher *webhook.Dispatcher
	server     *http.Server
	listener   net.Listener
}

// New builds a gateway from its configuration: it migrates the database, loads
// the models and listens, but serves nothing before Run. now must return UTC
// in whole microseconds. A second server on the same SQLite file is refused.
func New(ctx context.Context, cfg config.Config, log *slog.Logger, now func() time.Time) (_ *App, err error) {
	a := &App{log: log}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Close())
		}
	}()
	if a.Store, err = store.Open(ctx, store.Config{URL: cfg.DatabaseURL}); err != nil {
		return nil, fmt.Errorf("AGEGATE_DATABASE_URL: %w", err)
	}
	if err := a.Store.LockServe(); err != nil {
		return nil, err
	}
	if err := a.Store.Migrate(ctx); err != nil {
		return nil, err
	}
	newCapture, err := a.openEstimator(cfg)
	if err != nil {
		return nil, err
	}
	if err := a.buildServices(cfg, now); err != nil {
		return nil, err
	}
	if a.listener, err = net.Listen("tcp", cfg.Listen); err != nil {
		return nil, fmt.Errorf("AGEGATE_LISTEN: %w", err)
	}
	return a, a.buildServer(cfg, newCapture)
}

// openEstimator loads the models and returns what starts a camera check, nil
// when the estimator is off.
func (a *App) openEstimator(cfg config.Config) (func(targetAge int, assisted bool) web.Capture, error) {
	if cfg.Estimator == config.EstimatorOff {
		a.log.Warn("the estimator is off: live sessions cannot be verified")
		return nil, nil
	}
	workers := cfg.InferenceWorkers
	if workers == 0 {
		workers = runtime.NumCPU()
	}
	pool, err := onnx.Open(cfg.ModelsDir, workers)
	if err != nil {
		return nil, err
	}
	a.pool = pool
	a.log.Warn("no calibration is loaded: the stock model flatters teenagers by years")
	engine := age.NewEngine(age.NewAnalyzer(pool), age.ExpectedValue{})
	return func(targetAge int, assisted bool) web.Capture {
		return engine.NewCapture(age.Options{TargetAge: targetAge, Margin: cfg.AgeMargin, Assisted: assisted})
	}, nil
}

func (a *App) buildServices(cfg config.Config, now func() time.Time) error {
	sealer, err := signing.NewSealer(cfg.SecretKey, rand.Reader)
	if err != nil {
		return fmt.Errorf("%s: %w", config.SecretKeyName, err)
	}
	rule := tenant.CallbackRule{AllowInsecure: cfg.AllowInsecureCallbacks}
	a.Tenants = tenant.NewService(a.Store, sealer, rule, rand.Reader, now)
	a.dispatcher = webhook.NewDispatcher(a.Store, a.Tenants, webhook.NewClient(cfg.WebhookAllowNets), webhook.Config{
		Live: cfg.WebhookRetryLive, Test: cfg.WebhookRetryTest, Logger: a.log,
	})
	a.Sessions = session.NewService(session.Config{
		VerifyURL: cfg.VerifyURL, TTL: cfg.SessionTTL, TokenTTL: cfg.RedirectTokenTTL, Rule: rule,
		Limits: billing.Limits{FreeChecksPerMonth: cfg.FreeChecksPerMonth, TestDailyCap: cfg.TestDailyCap},
	}, a.Store, a.Tenants, sealer, rand.Reader, now, a.dispatcher.Wake)
	return nil
}

func (a *App) buildServer(cfg config.Config, newCapture func(int, bool) web.Capture) (err error) {
	a.pages, err = web.New(web.Config{
		Sessions: a.Sessions, Tenants: a.Tenants, NewCapture: newCapture,
		VerifyURL: cfg.VerifyURL, Logger: a.log,
	})
	if err != nil {
		return err
	}
	handler, err := httpd.New(httpd.Config{
		BaseURL:      cfg.BaseURL,
		Logger:       a.log,
		Authenticate: api.Authenticate(a.Tenants),
		Checks:       map[string]func(context.Context) error{"database": a.Store.Ping},
		Pages:        a.pages.Error,
		Mounts:       []func(e *echo.Echo){api.New(a.Sessions).Register, a.pages.Register},
	})
	if err != nil {
		return err
	}
	a.server = httpd.NewServer(handler)
	return nil
}

// Addr is the address the gateway listens on.
func (a *App) Addr() string { return a.listener.Addr().String() }

// Run serves until ctx is done, then lets requests, captures and webhook
// attempts finish within bounds. It returns nil after an orderly end.
func (a *App) Run(ctx context.Context) error {
	delivering := make(chan struct{})
	go func() {
		defer close(delivering)
		a.dispatcher.Run(ctx)
	}()
	serving := make(chan error, 1)
	go func() { serving <- a.server.Serve(a.listener) }()
	a.log.Info("serving", "address", a.Addr())

	select {
	case err := <-serving:
		return err
	case <-ctx.Done():
	}
	a.log.Info("shutting down")
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
	defer cancel()
	err := errors.Join(a.pages.Close(ending), a.server.Shutdown(ending))
	<-delivering
	return err
}

// Close frees what New opened. Run has returned by then.
func (a *App) Close() error {
	var errs []error
	if a.listener != nil {
		// Run's Shutdown closes it too.
		if err := a.listener.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	if a.pool != nil {
		errs = append(errs, a.pool.Close())
	}
	if a.Store != nil {
		errs = append(errs, a.Store.Close())
	}
	return errors.Join(errs...)
}
