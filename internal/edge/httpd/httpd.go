// Package httpd is the HTTP edge of the gateway: one echo instance with limits,
// headers, request IDs, the access log and the error handler, on which the API,
// the documentation and the pages are mounted.
package httpd

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"github.com/labstack/echo/v4"
	"go.opentelemetry.io/otel/trace"

	"agegate"
	"agegate/internal/edge/contract"
)

// Timeouts and limits of every connection. Echo sets none, so slow clients could hold connections for ever. The
// WebSocket of the hosted page hijacks its connection and sets its own deadlines.
const (
	readHeaderTimeout = 3 * time.Second
	// less than requestTimeout, so that a slow client does not look like a slow database.
	readTimeout    = 5 * time.Second
	writeTimeout   = 20 * time.Second
	idleTimeout    = 60 * time.Second
	requestTimeout = 5500 * time.Millisecond // for all database work of a request
	maxHeaderBytes = 16 << 10
	maxBodyBytes   = 64 << 10 // requests under /api/
)

// reading holds the methods of all reading routes except those of the API and the
// pages. Some load balancers and link checkers use HEAD.
var reading = []string{http.MethodGet, http.MethodHead}

// Config configures the edge.
type Config struct {
	// Logger receives the access log and unexpected errors.
	Logger *slog.Logger
	// Proxies are the networks of trusted proxies, whose request IDs are kept and whose traces are continued.
	Proxies []netip.Prefix
	// Tracer makes a span for each request; nil makes none.
	Tracer trace.Tracer
	// Authenticate identifies the caller of an API request and puts it into the request's context, or returns the
	// fault with which the request is refused.
	Authenticate func(echo.Context) error
	// CheckBody returns the domain's violations of a body that already violates the contract.
	CheckBody contract.BodyCheck
	// SecurityText is the text of /.well-known/security.txt (RFC 9116); empty: none is served.
	SecurityText string
	// Checks are the readiness checks by name. Each gets a deadline.
	Checks map[string]func(context.Context) error
	// Pages renders the error of a request outside /api/; nil writes plain text.
	// Headers that belong to the error, such as Retry-After, are already set.
	Pages func(c echo.Context, status int, err error)
	// Observe is called for every answered request, with a method and a route from closed sets. It may be nil.
	Observe func(method, route string, status int, took time.Duration)
	// Refused is called for every API request that is refused with a 4xx status,
	// before it is answered, once per violation. It may be nil.
	Refused func(req *http.Request, r Refusal)
	// Mounts register the routes of the API, the documentation and the pages.
	Mounts []func(*echo.Echo)
}

// New returns the handler of the gateway's public listener. It fails when a
// route under /api/ is not in the contract, or an operation has no route.
func New(cfg Config) (*echo.Echo, error) {
	doc, err := contract.Read(agegate.OpenAPI)
	if err != nil {
		return nil, err
	}
	guard, err := contract.New(doc)
	if err != nil {
		return nil, err
	}
	routes := routeNames{}
	e := newEcho(cfg, routes)
	e.Binder = contract.Binder{}
	e.Use(watchRefusals(routes, cfg.Refused), guard.Middleware(cfg.Authenticate, cfg.CheckBody))
	mount(e, cfg, routes)
	return e, guard.CheckRoutes(e)
}

// NewPages returns the handler of a listener without the API, with only the mounts and the health checks.
func NewPages(cfg Config) *echo.Echo {
	routes := routeNames{}
	e := newEcho(cfg, routes)
	mount(e, cfg, routes)
	return e
}

// newEcho returns an echo instance with the settings of every listener.
func newEcho(cfg Config, routes routeNames) *echo.Echo {
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	// Echo's own logger would print errors, and these may quote input.
	e.Logger.SetOutput(io.Discard)
	e.HTTPErrorHandler = (&errorHandler{log: cfg.Logger, routes: routes, pages: cfg.Pages}).handle
	e.Pre(slashless)
	e.Use(requestID(cfg.Proxies), traced(cfg.Tracer, cfg.Proxies, routes), accessLog(cfg.Logger, routes, cfg.Observe),
		recoverPanic, securityHeaders, allowedMethods, drainBody, limitBody, deadline)
	return e
}

// mount registers the health checks, security.txt and the mounts, and names all routes.
func mount(e *echo.Echo, cfg Config, routes routeNames) {
	mountHealth(e, cfg.Checks)
	if cfg.SecurityText != "" {
		e.Match(reading, "/.well-known/security.txt", func(c echo.Context) error {
			return c.String(http.StatusOK, cfg.SecurityText)
		})
	}
	for _, register := range cfg.Mounts {
		register(e)
	}
	for _, r := range e.Routes() {
		routes[r.Path] = true
	}
}
