// Package httpd is the edge of the gateway: one echo instance with limits,
// headers, request ids, the access log and the one error handler, on which the
// API and the pages are mounted.
package httpd

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"agegate"
	"agegate/internal/contract"
)

// Timeouts and limits of every connection. Echo sets none, and 500 slow
// connections would stay open for ever. The WebSocket of the hosted page takes
// its connection over and keeps deadlines of its own.
const (
	readHeaderTimeout = 3 * time.Second
	readTimeout       = 5 * time.Second // less than requestTimeout, or a slow client would look like a slow database
	writeTimeout      = 20 * time.Second
	idleTimeout       = 60 * time.Second
	requestTimeout    = 5500 * time.Millisecond // for all that is asked of the database
	maxHeaderBytes    = 16 << 10
	maxBodyBytes      = 64 << 10 // requests under /api/
)

// reading are the methods of what is served beside the API and the pages. Some
// balancers and link checkers ask with HEAD.
var reading = []string{http.MethodGet, http.MethodHead}

// Config is what the edge needs from its surroundings.
type Config struct {
	// BaseURL is the gateway's public address, put into the published document.
	BaseURL string
	// Logger receives the access log and unforeseen errors.
	Logger *slog.Logger
	// Authenticate identifies the caller of an API request and puts it into the
	// request's context, or returns the fault that ends the request.
	Authenticate func(echo.Context) error
	// CheckBody reports what the domain has against a body that already violates
	// the contract.
	CheckBody contract.BodyCheck
	// Checks are the readiness checks by name. Each gets a deadline.
	Checks map[string]func(context.Context) error
	// Pages renders an error of a request outside /api/. Nil writes plain text.
	// Headers that belong to the error are already set.
	Pages func(c echo.Context, status int, err error)
	// Observe is told of every answered request; the method and the route are
	// from closed sets. Nil: nobody is.
	Observe func(method, route string, status int, took time.Duration)
	// Mounts register the routes of the API and the pages.
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
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	// Echo's own logger would write errors out with whatever they quote.
	e.Logger.SetOutput(io.Discard)
	e.Binder = contract.Binder{}
	routes := routeNames{}
	e.HTTPErrorHandler = (&errorHandler{log: cfg.Logger, routes: routes, pages: cfg.Pages}).handle
	e.Use(requestID, accessLog(cfg.Logger, routes, cfg.Observe), recoverPanic, securityHeaders,
		allowedMethods, limitBody, deadline, guard.Middleware(cfg.Authenticate, cfg.CheckBody))

	mountHealth(e, cfg.Checks)
	if err := mountDocs(e, cfg.BaseURL); err != nil {
		return nil, err
	}
	for _, mount := range cfg.Mounts {
		mount(e)
	}
	for _, r := range e.Routes() {
		routes[r.Path] = true
	}
	return e, guard.CheckRoutes(e)
}
