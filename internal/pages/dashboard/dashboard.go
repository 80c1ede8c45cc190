package dashboard

import (
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"agegate/internal/backoffice/account"
	"agegate/internal/backoffice/certify"
	"agegate/internal/backoffice/drift"
	"agegate/internal/backoffice/evidence"
	"agegate/internal/backoffice/insight"
	"agegate/internal/pages/page"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/billing"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
	"agegate/internal/rules/webhook"
	"agegate/templates"

	"github.com/labstack/echo/v4"
)

// Config holds the dependencies and settings of the pages.
type Config struct {
	Accounts *account.Service
	Tenants  *tenant.Service
	Sessions *session.Service
	Records  *session.Records
	Impacts  *session.Impacts
	Clock    *session.TestClock
	Webhooks *webhook.Operations
	Insight  *insight.Service
	Certify  *certify.Background
	Cards    *session.Cards
	Billing  billing.Store
	Audit    audit.Store
	Lab      Lab
	Evidence *evidence.Service
	Drift    *drift.Service
	APIURL   string // public base of the API, without a trailing slash
	// URL is the public base of the pages, without a trailing slash. Its scheme
	// decides whether cookies are Secure.
	URL string
	// Proxies are trusted to report the client's address. Without any, the
	// address of no client is known.
	Proxies []netip.Prefix
	Now     func() time.Time
	Logger  *slog.Logger // nil discards
	Random  io.Reader    // nil means crypto/rand
}

// Pages are the handlers of the dashboard.
type Pages struct {
	cfg       Config
	set       *page.Set
	routes    []route
	byPattern map[string]route // the GET routes
	host      string           // the host and port of cfg.URL

	downloads downloads
}

// policy allows only the pages' own files, and forbids scripts to create markup
// from text.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

// New checks every template in every language. It fails on the first template
// that is missing or uses a text that the catalogues do not have.
func New(cfg Config) (*Pages, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Random == nil {
		cfg.Random = rand.Reader
	}
	p := &Pages{cfg: cfg, byPattern: map[string]route{}, host: hostOfURL(cfg.URL)}
	screens, keys := []string{}, composedKeys()
	for _, f := range p.features() {
		p.routes = append(p.routes, f.routes...)
		screens = append(screens, f.screens...)
		keys = append(keys, f.composed()...)
	}
	for _, r := range p.routes {
		if r.method == http.MethodGet {
			p.byPattern[r.path] = r
		}
	}
	var err error
	p.set, err = page.New(page.Config{
		Files: templates.Dashboard(), Screens: screens, Keys: keys, Funcs: funcs,
		StaticPath: "/dashboard/static", PublicURL: cfg.URL, ContentPolicy: policy,
		Permissions: "camera=(), microphone=(), geolocation=(), display-capture=()",
	})
	if err != nil {
		return nil, fmt.Errorf("dashboard: %w", err)
	}
	return p, nil
}

// Register mounts the pages and their static files.
func (p *Pages) Register(e *echo.Echo) {
	p.set.Assets().Register(e)
	for _, route := range p.routes {
		methods, middlewares := []string{route.method}, []echo.MiddlewareFunc{}
		if route.method == http.MethodGet {
			methods, middlewares = append(methods, http.MethodHead), append(middlewares, page.Compress)
		}
		e.Match(methods, route.path, p.guarded(route), middlewares...)
	}
}

// Owns reports whether a request's path belongs to the dashboard, whether or not
// the page exists.
func Owns(path string) bool {
	for _, root := range []string{homePath, operatorPath} {
		if path == root || strings.HasPrefix(path, root+"/") {
			return true
		}
	}
	return false
}
