// Package shopper is the hosted page: the screens that a shopper's browser shows for a session, from the introduction
// through the camera to the result. The server holds all state; the browser only has a cookie that binds it to the
// session.
package shopper

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"html/template"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"agegate/internal/check/age"
	"agegate/internal/check/document"
	"agegate/internal/pages/page"
	"agegate/internal/rules/brand"
	"agegate/internal/rules/routine"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
	"agegate/templates"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"
)

// Config holds the dependencies and settings of the pages.
type Config struct {
	Sessions *session.Service
	Tenants  Tenants
	// NewCapture starts a camera check of a session. If it is nil, the estimator is off: pages of live sessions say so,
	// and outcomes of test sessions can still be forced.
	NewCapture func(sess session.Session, of tenant.Tenant, assisted bool) Capture
	// Counted is called when a camera check of a live session has ended, with one of Ends. It may be nil.
	Counted func(ended string)
	// Places returns how many camera checks can be served at a usable rate now,
	// at least one; the others wait in line. If nil, all can be.
	Places func() int
	Ways   []session.Way // of the document check, in the order in which they are offered
	// Wallets is the document check by wallet; nil turns it off. If no way is
	// left, the document check can only be declined.
	Wallets *document.Wallets
	// Photos is the document check by photographs; nil turns it off.
	Photos *document.Photos
	// DocumentPlaces returns how many documents can be photographed at a usable
	// rate now, at least one; the others wait in line. If nil, all can be.
	DocumentPlaces func() int
	// Handovers lets a phone make the camera check for a browser without a
	// camera. If nil, the hand-over is not offered.
	Handovers *session.Handovers
	// VerifyURL is the public base of the pages, without a trailing slash. Its
	// scheme decides whether cookies are Secure.
	VerifyURL string
	Operator  Operator
	Retention time.Duration // of finished sessions; 0: no end
	Logger    *slog.Logger  // nil discards
	Random    io.Reader     // nil means crypto/rand
}

// Tenants reads tenants.
type Tenants interface {
	// Tenant returns one tenant, or fault.NotFound.
	Tenant(ctx context.Context, id uuid.UUID) (tenant.Tenant, error)
	// Brand returns a tenant's brand; the zero Brand if nothing is set.
	Brand(ctx context.Context, tenantID uuid.UUID) (brand.Brand, error)
	// Logo returns the PNG with a hash, or fault.NotFound.
	Logo(ctx context.Context, hash string) ([]byte, error)
}

// Capture is one camera check, for one goroutine at a time; see age.Capture.
type Capture interface {
	Nonce() [16]byte
	// Add takes the next frame. Any error ends the capture.
	Add(ctx context.Context, f age.Frame) (age.Step, error)
	// MoreTime extends the time of the current prompt, a limited number of times, and reports whether it did.
	MoreTime() bool
}

// maxCaptures bounds the camera checks of a process, including those in line.
const maxCaptures = 256

// Pages are the handlers of the hosted page.
type Pages struct {
	cfg       Config
	pages     *page.Set
	captures  *captures
	documents *captures // checks of documents
	budget    budget    // of each camera stream
}

// New parses every template in every language. It fails if a template is missing or
// uses a text that the catalogues do not have.
func New(cfg Config) (*Pages, error) {
	cfg.Logger, cfg.Random = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler)), cmp.Or(cfg.Random, rand.Reader)
	if cfg.Counted == nil {
		cfg.Counted = func(string) {}
	}
	if cfg.Places == nil {
		cfg.Places = func() int { return maxCaptures }
	}
	if cfg.DocumentPlaces == nil {
		cfg.DocumentPlaces = func() int { return maxCaptures }
	}
	pages, err := loadPages(cfg.VerifyURL)
	if err != nil {
		return nil, err
	}
	return &Pages{
		cfg: cfg, pages: pages, budget: streamBudget,
		captures: newCaptures(maxCaptures, cfg.Places), documents: newCaptures(maxCaptures, cfg.DocumentPlaces),
	}, nil
}

// languageCookie differs from the name of the dashboard's cookie.
const languageCookie = "agegate-page-lang"

func loadPages(verifyURL string) (*page.Set, error) {
	public, err := url.Parse(verifyURL)
	if err != nil {
		return nil, fmt.Errorf("verify URL: %w", err)
	}
	return page.New(page.Config{
		Files: templates.Shopper(), Screens: screens, Keys: composedKeys(),
		Funcs: template.FuncMap{"trouble": troubleOf, "cameraFiles": func() []string { return cameraFiles },
			"local": tenant.Endpoint{Host: public.Hostname()}.IsLocal},
		StaticPath: "/static", PublicURL: verifyURL, LanguageCookie: languageCookie,
		Permissions:   "camera=(self), microphone=(), geolocation=(), display-capture=()",
		ContentPolicy: page.HostedPolicy(public),
	})
}

// Owns reports whether a request's path belongs to the hosted page, whether or not the page exists.
func Owns(path string) bool {
	root, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return slices.Contains([]string{"v", "h", "static", "brand", "privacy", "sample-wallet"}, root)
}

// Register mounts the pages and their static files.
func (p *Pages) Register(e *echo.Echo) {
	getOrHead := []string{http.MethodGet, http.MethodHead}
	p.pages.Assets().Register(e)
	e.Match(getOrHead, "/brand/:file", p.showBrand)
	e.Match(getOrHead, PrivacyPath, p.showPrivacy, page.Compress)
	e.GET(page.HandshakePath, p.answerHandshake)
	e.Match(getOrHead, "/v/:token", p.show, page.Compress)
	e.Match(getOrHead, "/v/:token/camera", p.at(p.capturable, p.renderCamera), page.Compress)
	// A browser may load the address of a form's POST again, for example with the
	// Back button. The GET then leads to the session's page.
	e.Match(getOrHead, "/v/:token/document", p.at(nil, p.toSession), page.Compress)
	e.Match(getOrHead, "/v/:token/consent", p.at(nil, p.toSession), page.Compress)
	e.GET("/v/:token/stream", p.at(nil, p.capture))
	e.POST("/v/:token/start", p.at(nil, p.start), p.pages.SameOrigin)
	e.POST("/v/:token/consent", p.at(p.on(screenConsent), p.consent), p.pages.SameOrigin)
	e.POST("/v/:token/without-camera", p.at(nil, p.goWithout), p.pages.SameOrigin)
	e.POST("/v/:token/trouble/:kind", p.at(nil, p.trouble), p.pages.SameOrigin)
	e.POST("/v/:token/document", p.at(p.on(screenDocument), p.document), p.pages.SameOrigin)
	if p.cfg.Handovers != nil {
		p.registerHandover(e)
	}
	if p.cfg.Wallets != nil {
		p.registerWallet(e)
	}
	if p.cfg.Photos != nil {
		// Its pictures arrive on the stream of the camera check.
		e.Match(getOrHead, "/v/:token/photo", p.at(p.agreeable, p.showPhoto), page.Compress)
		e.POST("/v/:token/photo", p.at(p.agreeable, p.agreePhoto), p.pages.SameOrigin)
	}
}

// Drain accepts no more camera checks, and asks the pages in line to connect again. It
// returns nil when the checks in front of the camera have ended, or ctx's error.
func (p *Pages) Drain(ctx context.Context) error { return p.eachLane(ctx, (*captures).drain) }

// Close ends the running camera checks and asks their pages to connect again. It waits for the checks until ctx ends.
func (p *Pages) Close(ctx context.Context) error { return p.eachLane(ctx, (*captures).close) }

func (p *Pages) eachLane(ctx context.Context, do func(*captures, context.Context) error) error {
	var lanes routine.Group
	for _, lane := range []*captures{p.captures, p.documents} {
		lanes.Start(func() error { return do(lane, ctx) })
	}
	return lanes.Wait()
}

// Load returns how many age checks are in front of the camera, how many wait in
// line, and how many can be in front of the camera now.
func (p *Pages) Load() (checks, line, places int) { return p.captures.load() }

// Recording returns how many camera checks have a place, those of documents included.
func (p *Pages) Recording() int {
	ages, _, _ := p.captures.load()
	documents, _, _ := p.documents.load()
	return ages + documents
}
