package api

import (
	"context"
	"net/http"
	"strings"

	"agegate/internal/edge/contract"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/tenant"
	"agegate/internal/rules/trail"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"
)

// KeyHeader carries the API key.
const KeyHeader = "X-API-Key"

// testPrefix is the beginning of the paths of operations for test keys.
const testPrefix = contract.Prefix + "v1/test/"

var errLiveKey = fault.New(fault.LiveKey, "A test key is needed here")

type callerKey struct{}

// Authenticator turns an API key into its caller, or a fault. For a refused key
// it may return a caller too: the key's owner.
type Authenticator interface {
	Authenticate(ctx context.Context, key string) (tenant.Caller, error)
}

// Authenticate returns the guard's authentication step. It stores the caller of the
// X-API-Key header in the request's context, or returns the fault that refuses the key.
// A repeated header counts as malformed.
func Authenticate(tenants Authenticator) func(echo.Context) error {
	return func(c echo.Context) error {
		req := c.Request()
		var key string
		if values := req.Header.Values(KeyHeader); len(values) == 1 {
			key = values[0]
		}
		caller, err := tenants.Authenticate(req.Context(), key)
		if err == nil || caller.TenantID != uuid.Nil {
			c.SetRequest(req.WithContext(context.WithValue(req.Context(), callerKey{}, caller)))
			trail.Note(req.Context(), "tenant_id", caller.TenantID.String())
		}
		if err == nil && caller.Livemode && strings.HasPrefix(c.Path(), testPrefix) {
			return errLiveKey
		}
		return err
	}
}

// CallerOf returns the caller that a request authenticated as, or false.
func CallerOf(req *http.Request) (tenant.Caller, bool) {
	caller, ok := req.Context().Value(callerKey{}).(tenant.Caller)
	return caller, ok
}

// callerFrom returns the authenticated caller. The contract's guard lets no
// request through without one, so its absence is a bug.
func callerFrom(ctx context.Context) tenant.Caller {
	caller, ok := ctx.Value(callerKey{}).(tenant.Caller)
	if !ok {
		panic("api: an operation ran without authentication")
	}
	return caller
}
