package api

import (
	"cmp"

	"agegate/gen"
	"agegate/internal/edge/contract"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
)

func toCreateRequest(req gen.CreateSessionRequestObject) session.CreateRequest {
	out := session.CreateRequest{
		TargetAge: req.Body.TargetAge, SuccessURL: req.Body.SuccessURL, CancelURL: req.Body.CancelURL,
	}
	if key := req.Params.IdempotencyKey; key != nil {
		out.IdempotencyKey = *key
	}
	return out
}

func fromCreated(c session.Created) gen.CreateSession201JSONResponse {
	out := gen.CreateSession201JSONResponse{Body: gen.CreateSessionOut{
		SessionID: c.SessionID, VerificationURL: c.VerificationURL, ExpiresAt: c.ExpiresAt.UTC(),
	}}
	if c.Replayed {
		out.Headers.IdempotentReplayed = &c.Replayed
	}
	return out
}

// violationTypes maps errors of the domain to the contract's violation types, with a cause where a type has several.
// Any other error is a value_error.
var violationTypes = map[error]string{
	session.ErrNoURLRegistered: "missing",
	tenant.ErrURLTooLong:       "url_too_long",
	tenant.ErrURLScheme:        "url_scheme",
	tenant.ErrAnyScheme:        "url_scheme",
	tenant.ErrURLSyntax:        "url_parsing",
	tenant.ErrURLHost:          "url_parsing.host",
	tenant.ErrURLUserinfo:      "value_error.userinfo",
}

// fromFieldErrors returns the violations for refused members of a body.
func fromFieldErrors(refused []fault.FieldError) []contract.Violation {
	found := make([]contract.Violation, len(refused))
	for i, r := range refused {
		found[i] = contract.NewViolation(cmp.Or(violationTypes[r.Err], "value_error"), "body", r.Field)
	}
	return found
}
