package api

import (
	"context"

	"agegate/gen"
)

// CreateSession makes a verification session (POST /api/v1/sessions/create).
func (a *API) CreateSession(ctx context.Context, req gen.CreateSessionRequestObject) (gen.CreateSessionResponseObject, error) {
	created, err := a.sessions.Create(ctx, callerFrom(ctx), toCreateRequest(req))
	if err != nil {
		return nil, err
	}
	return fromCreated(created), nil
}
