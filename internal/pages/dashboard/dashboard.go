package dashboard

import (
	"context"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"agegate/internal/backoffice/account"
	"agegate/internal/backoffice/evidence"
	"agegate/internal/backoffice/insight"
	"agegate/internal/pages/dashboard/desk"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/billing"
	"agegate/internal/rules/brand"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
	"agegate/internal/rules/webhook"

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
	Billing  billing.Store
	Limits   billing.Limits // those of tenants without limits of their own
	Audit    audit.Store
	Evidence *evidence.Service
	Preview  Preview
	Sections func(guide, mark string) [][3]string                 // see reference.Sections
	Health   func(context.Context) (Health, error)                // see Health
	Closed   func(context.Context, tenant.Tenant) (string, error) // see doctor.Closing
	// Ways is doctor.Ways.
	Ways    func(ctx context.Context, of tenant.Tenant, livemode bool) ([]session.Way, error)
	HTTPS   bool                                           // all public addresses are https
	Refuses func(address string) bool                      // see webhook.Client
	Unknown func(ctx context.Context, address string) bool // see webhook.Client
	APIURL  string                                         // public base of the API, without a trailing slash
	// URL is the public base of the pages, without a trailing slash. Its scheme decides whether cookies are Secure.
	URL string
	// Retention is how long after its creation a session is deleted; 0 for never.
	Retention time.Duration
	// Proxies are networks of proxies that are trusted to report the client's address.
	// Without any, no client's address is known.
	Proxies []netip.Prefix
	Now     func() time.Time
	Logger  *slog.Logger // nil discards
}

// Preview writes the hosted page of a tenant with a brand and its logo, a PNG or nil,
// for a frame; see shopper.Pages.Preview.
type Preview func(c echo.Context, of tenant.Tenant, with brand.Brand, logo []byte, dark bool) error

// Pages are the handlers of the dashboard. The desk serves them.
type Pages struct {
	*desk.Desk
	cfg     Config
	replies replies
	topics  func() topics // of support's guide
}

// New checks every template in every language. It fails if a template is missing or
// uses a text that the catalogues do not have.
func New(cfg Config) (*Pages, error) {
	replies, err := readReplies()
	if err != nil {
		return nil, err
	}
	p := &Pages{cfg: cfg, replies: replies}
	p.topics = sync.OnceValue(p.readTopics)
	return p, p.serve(p.features())
}

// serve makes the desk that serves the features.
func (p *Pages) serve(features []desk.Feature) (err error) {
	cfg := p.cfg
	p.Desk, err = desk.New(desk.Config{
		Accounts: cfg.Accounts, Tenants: cfg.Tenants, APIURL: cfg.APIURL, URL: cfg.URL, Proxies: cfg.Proxies,
		Now: cfg.Now, Logger: cfg.Logger,
		Features: features, Home: homePath, LogIn: loginPath, Frame: p.frame, StepUp: p.askStepUp,
	})
	return err
}

// Owns reports whether a request's path belongs to the dashboard, whether or not the page exists.
func Owns(path string) bool {
	return slices.ContainsFunc([]string{homePath, operatorPath}, func(root string) bool {
		return path == root || strings.HasPrefix(path, root+"/")
	})
}

// features lists every file of pages, in alphabetical order.
func (p *Pages) features() []desk.Feature {
	return []desk.Feature{
		p.account(), p.audit(), p.billing(), p.branding(), p.delivery(), p.evidence(), p.factors(), p.home(),
		p.keys(), p.links(), p.login(), p.navigation(), p.operator(), p.operatorFind(), p.operatorTenant(),
		p.operatorUsers(), p.overview(), p.paste(), p.playground(), p.returned(), p.redirectSecret(), p.refusals(),
		p.session(), p.sessions(), p.settings(), p.sso(), p.stepUp(), p.system(), p.team(), p.testClock(), p.urls(),
		p.webhookSecret(), p.webhooks(),
	}
}
