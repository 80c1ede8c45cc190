package httpd_test

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"agegate/internal/edge/contract"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/fault"
	"agegate/internal/store"
)

// liteError is an error like those of SQLite's driver.
type liteError int

func (liteError) Error() string { return canary }

func (c liteError) Code() int { return int(c) }

func TestFaults(t *testing.T) {
	secret := errors.New(canary)
	for name, tt := range map[string]struct {
		err    error
		status int
		want   string
	}{
		"credit": {fault.New(fault.InsufficientFunds, "Top up to resume verifications."), 402,
			`{"detail":{"code":"insufficient_credit","message":"Top up to resume verifications."}}`},
		"not found": {fmt.Errorf("store: %w", fault.Wrap(secret, fault.NotFound, "Session not found")), 404,
			detail("Session not found")},
		"conflict": {fault.New(fault.Conflict, "Session completion timestamp missing"), 409,
			detail("Session completion timestamp missing")},
		"invalid": {fmt.Errorf("api: %w",
			contract.InvalidError{{Type: "value_error", Loc: []any{"body", "success_url"}}}), 422,
			invalid("value_error body success_url")},
		"too many": {&fault.Error{Code: fault.TooMany, Message: "Test session daily cap reached",
			RetryAfter: 1500 * time.Millisecond}, 429, detail("Test session daily cap reached")},
		"unavailable": {fault.Wrap(secret, fault.Unavailable, "Database unavailable"), 503, detail("Service Unavailable")},
		"unavailable for a while": {&fault.Error{Code: fault.Unavailable, Message: "Too busy", RetryAfter: time.Second},
			503, detail("Service Unavailable")},
		"full":          {fault.Wrap(liteError(13), fault.Unavailable, store.Full), 503, detail("Service Unavailable")},
		"unforeseen":    {fmt.Errorf("reading %s: %w", canary, secret), 500, detail("Internal Server Error")},
		"sealed":        {fmt.Errorf("secret of %s: %w", canary, credential.ErrSealed), 500, detail("Internal Server Error")},
		"echo's 400":    {echo.NewHTTPError(400, canary), 400, detail("Bad Request")},
		"echo's 500":    {echo.NewHTTPError(500, canary), 500, detail("Internal Server Error")},
		"unknown fault": {fault.New("new", canary), 500, detail("Internal Server Error")},
	} {
		t.Run(name, func(t *testing.T) {
			e, log := newEdge(t, &stub{err: tt.err}, nil)
			rec := httptest.NewRecorder()
			e.ServeHTTP(rec, row{body: `{"target_age":18}`}.request())
			if got := strings.TrimSpace(rec.Body.String()); rec.Code != tt.status || got != tt.want {
				t.Errorf("got %d %s\nwant %d %s", rec.Code, got, tt.status, tt.want)
			}
			if name == "too many" && rec.Header().Get("Retry-After") != "2" {
				t.Errorf("Retry-After %q, want 2", rec.Header().Get("Retry-After"))
			}
			if strings.Contains(rec.Body.String(), canary) || name != "unknown fault" && strings.Contains(log.String(), canary) {
				t.Errorf("an error's text got out: %s %s", rec.Body, log)
			}
			if name == "sealed" && !strings.Contains(log.String(), "AGEGATE_SECRET_KEY is not the key") {
				t.Errorf("the log does not say why: %s", log)
			}
			if name == "full" {
				e.ServeHTTP(httptest.NewRecorder(), row{body: `{"target_age":18}`}.request())
				// two lines if a minute ends between the requests
				if n := strings.Count(log.String(), "full, so nothing is written: make room"); n < 1 || n > 2 ||
					strings.Contains(log.String(), "ERROR") || strings.Contains(log.String(), "liteError") {
					t.Errorf("the log does not say once what to do: %s", log)
				}
			}
			if failed := strings.Contains(log.String(), "request failed"); failed != (tt.status >= 500 && name != "full") {
				t.Errorf("log of a %d: %s", tt.status, log)
			}
			checkHelp(t, e, rec)
		})
	}
}
