package api

import (
	"context"

	"agegate/gen"
	"agegate/internal/rules/trail"
)

// GetSessionStatus looks a session up
// (GET /api/v1/sessions/{session_id}/status).
func (a *API) GetSessionStatus(
	ctx context.Context, req gen.GetSessionStatusRequestObject,
) (gen.GetSessionStatusResponseObject, error) {
	view, err := a.sessions.Status(ctx, callerFrom(ctx).TenantID, req.SessionID)
	if err != nil {
		return nil, err
	}
	trail.Note(ctx, "session_id", req.SessionID.String())
	return gen.GetSessionStatus200JSONResponse{Status: gen.SessionStatus(view.Status), StatusAt: view.At.UTC()}, nil
}
