package app

import (
	"context"
	"slices"
	"strings"
	"sync"

	"agegate/internal/app/config"
	"agegate/internal/app/doctor"
	"agegate/internal/edge/httpd"
	"agegate/internal/edge/reference"
	"agegate/internal/pages/dashboard"
	"agegate/internal/pages/shopper"
	"agegate/internal/rules/brand"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
	"agegate/internal/rules/webhook"

	"github.com/labstack/echo/v4"
)

// buildDashboard builds the dashboard unless it is off.
func (a *App) buildDashboard(cfg config.Config, sealer *credential.Sealer) (err error) {
	if !a.servesDashboard(cfg) {
		return nil
	}
	a.api.apart = cfg.DashboardListen != ""
	evidence, err := a.evidence(cfg, sealer)
	if err != nil {
		return err
	}
	hooks := GuardedClient(cfg)
	a.api.dashboard, err = dashboard.New(dashboard.Config{
		Preview:  a.preview(cfg),
		Accounts: a.Accounts, Tenants: a.Tenants, Sessions: a.Sessions, Insight: a.Insight,
		Webhooks: webhook.NewOperations(a.Store, a.now, a.api.dispatcher.Wake),
		Proxies:  cfg.TrustedProxies,
		URL:      cfg.DashboardURL, APIURL: cfg.BaseURL, Now: a.now, Logger: a.log,
		Impacts: session.NewImpacts(a.Store, callbackRule(cfg), a.now), Records: session.NewRecords(a.Store, a.now),
		Clock: session.NewTestClock(a.Store, a.now), Retention: cfg.Retention,
		Billing: a.Store, Limits: limits(cfg), Audit: a.Store, Evidence: evidence, Sections: reference.Sections,
		Closed: func(ctx context.Context, of tenant.Tenant) (string, error) {
			return doctor.Closing(ctx, cfg, a.Store, a.now())(of)
		},
		Ways: func(ctx context.Context, of tenant.Tenant, livemode bool) ([]session.Way, error) {
			return doctor.Ways(ctx, cfg, a.Store, a.now())(of, livemode)
		},
		Health: a.health(cfg, sealer), Refuses: hooks.Refuses, Unknown: hooks.Unknown,
		HTTPS: !slices.ContainsFunc([]string{cfg.BaseURL, cfg.VerifyURL, cfg.DashboardURL}, func(address string) bool {
			return !strings.HasPrefix(address, "https://")
		}),
	})
	return err
}

// preview writes previews of the hosted page. A process of the API alone serves no
// hosted page, so it reads the templates, some megabytes, only for the first preview.
func (a *App) preview(cfg config.Config) dashboard.Preview {
	if a.pages != nil {
		return a.pages.shopper.Preview
	}
	pages := sync.OnceValues(func() (*shopper.Pages, error) {
		return shopper.New(shopper.Config{
			VerifyURL: cfg.VerifyURL,
			Operator:  shopper.Operator{Name: cfg.OperatorName, Links: cfg.OperatorLinks, Imprint: cfg.ImprintURL},
		})
	})
	return func(c echo.Context, of tenant.Tenant, with brand.Brand, logo []byte, dark bool) error {
		p, err := pages()
		if err != nil {
			return err
		}
		return p.Preview(c, of, with, logo, dark)
	}
}

// servesDashboard reports whether the dashboard is on and its address is allowed for it.
func (a *App) servesDashboard(cfg config.Config) bool {
	if err := cfg.CheckDashboard(); err != nil {
		a.log.Warn("no dashboard is served: " + err.Error())
		return false
	}
	return cfg.Dashboard
}

// dashboardHandler returns the handler of the dashboard's own listener.
func (a *App) dashboardHandler(cfg config.Config) *echo.Echo {
	return httpd.NewPages(httpd.Config{
		Logger: a.log, Checks: a.checks(cfg), Pages: a.api.dashboard.Error, Observe: a.metrics.Request,
		Proxies: cfg.TrustedProxies, Tracer: a.tracer, SecurityText: securityText(cfg),
		Mounts: []func(*echo.Echo){a.api.dashboard.Register},
	})
}

// securityText returns the text of security.txt, or nothing where no contact is set.
func securityText(cfg config.Config) string {
	if cfg.Security.URI == "" {
		return ""
	}
	origins := []string{cfg.BaseURL, cfg.VerifyURL, cfg.DashboardURL}
	slices.Sort(origins)
	return cfg.Security.Text(slices.Compact(origins)...)
}
