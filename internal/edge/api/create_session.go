package api

import (
	"context"
	"errors"
	"strings"

	"agegate/gen"
	"agegate/internal/edge/contract"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/session"
	"agegate/internal/rules/trail"

	"github.com/labstack/echo/v4"
)

// CreateSession creates a verification session (POST /api/v1/sessions/create).
func (a *API) CreateSession(
	ctx context.Context, req gen.CreateSessionRequestObject,
) (gen.CreateSessionResponseObject, error) {
	created, err := a.sessions.Create(ctx, callerFrom(ctx), toCreateRequest(req))
	if known, ok := errors.AsType[*fault.Error](err); ok && len(known.Fields) > 0 {
		return nil, contract.InvalidError(fromFieldErrors(known.Fields))
	}
	if err != nil {
		return nil, err
	}
	trail.Note(ctx, "session_id", created.SessionID.String())
	return fromCreated(created), nil
}

// CheckBody is the contract.BodyCheck. Creation is the only operation with domain
// rules for its body.
func (a *API) CheckBody(c echo.Context, body map[string]any) ([]contract.Violation, error) {
	if strings.HasPrefix(c.Path(), testPrefix) {
		return nil, nil
	}
	ctx := c.Request().Context()
	success, cancel := text(body[session.FieldSuccessURL]), text(body[session.FieldCancelURL])
	refused, err := a.sessions.CheckDestinations(ctx, callerFrom(ctx), success, cancel)
	return fromFieldErrors(refused), err
}

// text returns a member if it is a string, else nil.
func text(member any) *string {
	if s, ok := member.(string); ok {
		return &s
	}
	return nil
}
