package api

import (
	"context"

	"agegate/gen"
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
	return fromEstimateView(view), nil
}
