// Package desk is what the pages of the dashboard are built with: routes and the guard in front of them,
// requests, forms and questions, and the frame around every page. It does not know the pages. What it needs
// from them is in Config.
//
// A Feature declares the pages of one file (feature.go). Desk registers their routes (desk.go, route.go). The guard
// admits or refuses a request (guard.go, host.go, errors.go) and gives the handler a Request (request.go). Handlers
// show a page in its frame (layout.go), with a Form (form.go, upload.go), and carry out acts by a Question (ask.go).
package desk

import (
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"agegate/internal/backoffice/account"
	"agegate/internal/pages/page"
	"agegate/internal/rules/tenant"
	"agegate/templates"

	"github.com/labstack/echo/v4"
)

// Config holds the dependencies and settings of the desk, and what it needs of the pages.
type Config struct {
	Accounts *account.Service
	Tenants  *tenant.Service
	APIURL   string // these three are as in the package dashboard's Config
	URL      string
	Proxies  []netip.Prefix
	Now      func() time.Time
	Logger   *slog.Logger // nil discards

	Features []Feature
	Home     string // path of the first page
	LogIn    string // path of the page to log in
	// Frame fills in Nav, Tenant, Account, and Low of the frame of a page.
	Frame func(r *Request, l *Layout)
	// StepUp answers a request that needs a recent confirmation, or a second factor, with the page on which the
	// user gives it. It returns cause if cause has its own page.
	StepUp func(r *Request, cause error) error
}

// Desk serves the pages of its features.
type Desk struct {
	// Set are the templates and texts of the pages.
	Set       *page.Set
	cfg       Config
	routes    []Route
	byPattern map[string]Route // the GET routes
	host      string           // the host and port of cfg.URL
	failed    []string         // see feature
	downloads downloads
}

// policy allows only the pages' own files and frames. It forbids scripts to create markup from text.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

// New checks every template in every language. It fails if a template is missing or
// uses a text that the catalogues do not have.
func New(cfg Config) (*Desk, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	d := &Desk{cfg: cfg, byPattern: map[string]Route{}}
	if u, err := url.Parse(cfg.URL); err == nil {
		d.host = plainHost(u.Scheme, u.Host)
	}
	screens := []string{}
	keys := []string{"form.missing", "form.choice", "form.unreadable"}
	for _, name := range failures {
		keys = append(keys, "error."+name+".title", "error."+name+".body")
	}
	funcs := maps.Clone(blocks)
	for _, f := range cfg.Features {
		d.routes = append(d.routes, f.Routes...)
		screens = append(screens, f.Screens...)
		keys = append(keys, f.composed()...)
		d.failed = append(d.failed, f.Failed...)
		maps.Copy(funcs, f.Funcs)
	}
	for _, r := range d.routes {
		if r.Method == http.MethodGet {
			d.byPattern[r.Path] = r
		}
	}
	var err error
	d.Set, err = page.New(page.Config{
		Files: templates.Dashboard(), Screens: screens, Keys: keys, Funcs: funcs,
		StaticPath: cfg.Home + "/static", PublicURL: cfg.URL, ContentPolicy: policy, LanguageCookie: "agegate-lang",
		Permissions: "camera=(), microphone=(), geolocation=(), display-capture=()",
	})
	if err != nil {
		return nil, fmt.Errorf("dashboard: %w", err)
	}
	return d, nil
}

// Register mounts the pages and their static files.
func (d *Desk) Register(e *echo.Echo) {
	d.Set.Assets().Register(e)
	for _, route := range d.routes {
		methods, middlewares := []string{route.Method}, []echo.MiddlewareFunc{}
		if route.Method == http.MethodGet {
			methods, middlewares = append(methods, http.MethodHead), append(middlewares, page.Compress)
		}
		e.Match(methods, route.Path, d.guarded(route), middlewares...)
	}
}
