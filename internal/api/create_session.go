package api

import (
	"context"

	"agegate/gen"
	"agegate/internal/fault"

	"github.com/labstack/echo/v4"
)

// CreateSession makes a verification session (POST /api/v1/sessions/create).
func (a *API) CreateSession(ctx context.Context, req gen.CreateSessionRequestObject) (gen.CreateSessionResponseObject, error) {
	created, err := a.sessions.Create(ctx, callerFrom(ctx), toCreateRequest(req))
	if err != nil {
		return nil, err
	}
	return fromCreated(created), nil
}

// Rule is the contract.Rule of the operations with a body, of which creation is
// the only one.
func (a *API) Rule(c echo.Context, body map[string]any) ([]fault.Violation, error) {
	ctx := c.Request().Context()
	return a.sessions.CheckDestinations(ctx, callerFrom(ctx), text(body["success_url"]), text(body["cancel_url"]))
}

// text returns a member that is a string, or nil.
func text(member any) *string {
	if s, ok := member.(string); ok {
		return &s
	}
	return nil
}
