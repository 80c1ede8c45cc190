package api

import (
	"context"

	"agegate/gen"
	"agegate/internal/rules/trail"
)

// GetDetectedAge fetches the estimate of a consented session
// (GET /api/v1/sessions/{session_id}/detected-age).
func (a *API) GetDetectedAge(
	ctx context.Context, req gen.GetDetectedAgeRequestObject,
) (gen.GetDetectedAgeResponseObject, error) {
	view, err := a.sessions.DetectedAge(ctx, callerFrom(ctx).TenantID, req.SessionID)
	if err != nil {
		return nil, err
	}
	trail.Note(ctx, "session_id", req.SessionID.String())
	return gen.GetDetectedAge200JSONResponse{
		SessionID: view.SessionID, Availability: gen.AgeAvailability(view.Availability), DetectedAge: view.DetectedAge,
	}, nil
}
