package httpd

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"

	"agegate/internal/edge/contract"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/trail"
)

type requestIDKey struct{}

// RequestID returns the ID of the request that ctx belongs to, or "".
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}

func newRequestID() string { return rand.Text() }

// usableID matches the request IDs that are kept. Such an ID cannot be an address, and
// needs no quotes in a log.
var usableID = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z._-]{15,63}$`)

// requestID keeps the ID that a trusted proxy has given a request. All others get a
// random one; an ID sent by the client is ignored.
func requestID(proxies []netip.Prefix) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			req := c.Request()
			id := req.Header.Get(echo.HeaderXRequestID)
			if !usableID.MatchString(id) || !isProxy(req, proxies) {
				id = newRequestID()
			}
			ctx := context.WithValue(req.Context(), requestIDKey{}, id)
			c.SetRequest(req.WithContext(trail.Begin(ctx, slog.String("request_id", id))))
			c.Response().Header().Set(echo.HeaderXRequestID, id)
			return next(c)
		}
	}
}

// isProxy reports whether a trusted proxy has sent a request.
func isProxy(req *http.Request, proxies []netip.Prefix) bool {
	from, err := netip.ParseAddrPort(req.RemoteAddr)
	return err == nil && slices.ContainsFunc(proxies, func(p netip.Prefix) bool {
		return p.Contains(from.Addr().Unmap().WithZone(""))
	})
}

// accessLog writes one line per request and calls observe. It logs the route's
// pattern, never the path, which may contain a session's token. Successful probes,
// unchanged parts of open pages, which come every few seconds, and pages' files are logged at level debug.
func accessLog(
	log *slog.Logger, routes routeNames, observe func(string, string, int, time.Duration),
) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			start := time.Now()
			if err := next(c); err != nil {
				c.Error(err) // writes the response, whose status is logged
			}
			method, route := knownMethod(c.Request().Method), routes.of(c)
			status, took := c.Response().Status, time.Since(start)
			if observe != nil {
				observe(method, route, status, took)
			}
			level := slog.LevelInfo
			quiet := isProbe(route) || strings.HasSuffix(route, "/static/*")
			if status == http.StatusOK && quiet || status == http.StatusNotModified {
				level = slog.LevelDebug
			}
			log.LogAttrs(c.Request().Context(), level, "request",
				slog.String("method", method),
				slog.String("route", route),
				slog.Int("status", status),
				slog.Float64("latency_ms", float64(took.Microseconds())/1000),
				slog.String("request_id", RequestID(c.Request().Context())))
			return nil
		}
	}
}

// knownMethod replaces a method that is not a standard one.
func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete, http.MethodOptions, http.MethodConnect, http.MethodTrace:
		return method
	}
	return "other"
}

// routeNames is the set of registered patterns, filled before the first request.
type routeNames map[string]bool

// of returns the pattern of the request's route, or "none". Without a route,
// echo's path is the one that the client sent.
func (n routeNames) of(c echo.Context) string {
	if n[c.Path()] {
		return c.Path()
	}
	return "none"
}

// recoverPanic turns a panic of a handler into an error, so that the client gets a 500 and
// the log gets the stack.
func recoverPanic(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			switch r := recover(); r {
			case nil:
			case http.ErrAbortHandler: // net/http's way to drop a connection
				panic(r)
			default:
				err = fault.Recovered(r)
			}
		}()
		return next(c)
	}
}

// securityHeaders sets the headers of every response. Pages and the reference
// replace the Content-Security-Policy.
func securityHeaders(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		h := c.Response().Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		h.Set("Cache-Control", "no-store")
		return next(c)
	}
}

// slashless answers an address outside the API that ends with a slash like the one without it. A redirect would repeat
// what a browser sent.
var slashless = middleware.RemoveTrailingSlashWithConfig(middleware.TrailingSlashConfig{
	Skipper: func(c echo.Context) bool { return isAPI(c.Request()) },
})

// allowedMethods refuses OPTIONS like every method that a route does not
// support, and removes it from the Allow header. Echo would answer 204.
func allowedMethods(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		listed, ok := c.Get(echo.ContextKeyHeaderAllow).(string)
		if !ok {
			return next(c)
		}
		methods := slices.DeleteFunc(strings.Split(listed, ", "), func(m string) bool { return m == http.MethodOptions })
		c.Set(echo.ContextKeyHeaderAllow, strings.Join(methods, ", "))
		if c.Request().Method == http.MethodOptions {
			return echo.MethodNotAllowedHandler(c)
		}
		return next(c)
	}
}

// limitBody refuses API requests whose body exceeds maxBodyBytes, before
// authentication. A body without Content-Length is read to measure it.
func limitBody(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		req := c.Request()
		if !isAPI(req) || req.ContentLength == 0 {
			return next(c)
		}
		if req.ContentLength > maxBodyBytes {
			return errTooLarge
		}
		if req.ContentLength > 0 {
			req.Body = &lateBody{ReadCloser: req.Body, conn: http.NewResponseController(c.Response())}
			return next(c)
		}
		data, err := io.ReadAll(http.MaxBytesReader(c.Response(), req.Body, maxBodyBytes))
		if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
			return errTooLarge
		}
		if err != nil {
			return echo.NewHTTPError(http.StatusBadRequest)
		}
		req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
		return next(c)
	}
}

// lateBody is a body that the client must send within readTimeout of its first Read.
// The time before that, such as a wait for a slow database, does not count: otherwise a
// valid request would look like one that was cut off.
type lateBody struct {
	io.ReadCloser
	conn  *http.ResponseController
	begun bool
}

// Read implements io.Reader.
func (b *lateBody) Read(p []byte) (int, error) {
	if !b.begun {
		b.begun = true
		_ = b.conn.SetReadDeadline(time.Now().Add(readTimeout)) // fails without a connection, as in tests
	}
	return b.ReadCloser.Read(p)
}

// bodyTime is how long an answer waits for the rest of a body.
const bodyTime = time.Second

// drainBody reads the rest of a small body before the answer begins. If a larger body
// is not read to its end, it closes the connection slowly after the answer. Otherwise
// net/http may close the connection at once. Data that arrives then is answered with a
// reset, which can destroy the answer on its way. A client that waits for permission to
// send (Expect: 100-continue) is not drained.
func drainBody(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		req := c.Request()
		if req.ContentLength == 0 {
			return next(c)
		}
		body := &watchedBody{ReadCloser: req.Body}
		req.Body = body
		w, conn := c.Response().Writer, http.NewResponseController(c.Response())
		c.Response().Before(func() {
			if req.ContentLength <= maxBodyBytes && req.Header.Get("Expect") == "" {
				_ = conn.SetReadDeadline(time.Now().Add(bodyTime)) // fails without a connection, as in tests
				_, _ = io.CopyN(io.Discard, body, maxBodyBytes+1)  // the answer is sent even if this fails
				_ = conn.SetReadDeadline(time.Now().Add(readTimeout))
			}
			if !body.ended {
				// net/http is to send the answer, half-close the connection and wait for half a second before it
				// closes it. It always does so, unless the client has asked for the connection to be closed. The
				// only way to ask net/http for it is a MaxBytesReader that has reached its limit.
				_, _ = http.MaxBytesReader(w, io.NopCloser(strings.NewReader("x")), 0).Read(make([]byte, 1))
			}
		})
		return next(c)
	}
}

// watchedBody notes whether a body was read to its end.
type watchedBody struct {
	io.ReadCloser
	ended bool
}

// Read implements io.Reader.
func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.ended = b.ended || err == io.EOF
	return n, err
}

// deadline bounds the whole request. Each transaction has its own deadline, but
// if the database does not answer, a request with several transactions would
// take the sum of their deadlines. WebSocket handlers set their own deadlines.
func deadline(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		outer := c.Request()
		ctx, cancel := context.WithTimeout(outer.Context(), requestTimeout)
		defer cancel()
		defer c.SetRequest(outer) // its context ends when the client disconnects
		c.SetRequest(outer.WithContext(ctx))
		return next(c)
	}
}

var errTooLarge = echo.NewHTTPError(http.StatusRequestEntityTooLarge)

// isAPI reports whether a request is for the API. Paths in wrong case or with doubled
// slashes count too, so that such requests get a JSON error.
func isAPI(req *http.Request) bool {
	return strings.HasPrefix(strings.ToLower(path.Clean(req.URL.Path))+"/", contract.Prefix)
}
