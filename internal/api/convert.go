package api

import (
	"agegate/gen"
	"agegate/internal/session"
)

func toCreateRequest(req gen.CreateSessionRequestObject) session.CreateRequest {
	out := session.CreateRequest{
		TargetAge:  req.Body.TargetAge,
		SuccessURL: req.Body.SuccessURL,
		CancelURL:  req.Body.CancelURL,
	}
	if key := req.Params.IdempotencyKey; key != nil {
		out.IdempotencyKey = *key
	}
	return out
}

func fromCreated(c session.Created) gen.CreateSession201JSONResponse {
	return gen.CreateSession201JSONResponse{
		SessionID:       c.SessionID,
		VerificationURL: c.VerificationURL,
		ExpiresAt:       c.ExpiresAt.UTC(),
	}
}

func fromStatusView(v session.StatusView) gen.GetSessionStatus200JSONResponse {
	return gen.GetSessionStatus200JSONResponse{
		Status:   gen.SessionStatus(v.Status),
		StatusAt: v.At.UTC(),
	}
}

func fromEstimateView(v session.EstimateView) gen.GetDetectedAge200JSONResponse {
	return gen.GetDetectedAge200JSONResponse{
		SessionID:    v.SessionID,
		Availability: gen.AgeAvailability(v.Availability),
		DetectedAge:  v.DetectedAge,
	}
}
