// Package api fills the generated server interface: one short method per
// operation, which calls a domain service with a validated request and converts
// the result. Faults are returned unchanged; internal/edge/httpd renders them.
package api

import (
	"context"

	"agegate/gen"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
	"agegate/internal/rules/webhook"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"
)

// Sessions is the part of the session service that the operations use.
type Sessions interface {
	Create(ctx context.Context, caller tenant.Caller, req session.CreateRequest) (session.Created, error)
	CheckDestinations(ctx context.Context, caller tenant.Caller, success, cancel *string) ([]fault.FieldError, error)
	Status(ctx context.Context, tenantID, id uuid.UUID) (session.StatusView, error)
	DetectedAge(ctx context.Context, tenantID, id uuid.UUID) (session.EstimateView, error)
}

// API implements gen.StrictServerInterface.
type API struct {
	sessions Sessions
	test     TestMode
}

// TestMode is what the operations for test keys use.
type TestMode struct {
	Feed interface {
		Events(ctx context.Context, tenantID uuid.UUID, f webhook.FeedFilter) ([]webhook.SignedRecord, error)
	}
	Events interface {
		ResendEvent(ctx context.Context, actor audit.Actor, scope webhook.Scope, id string) error
	}
	Clock interface {
		Expire(ctx context.Context, actor audit.Actor, scope webhook.Scope, id uuid.UUID) error
		ExpireNextRedirect(ctx context.Context, actor audit.Actor, scope webhook.Scope, id uuid.UUID) error
	}
}

// New returns the operations over a session service and the test mode's parts.
func New(sessions Sessions, test TestMode) *API { return &API{sessions: sessions, test: test} }

// Register adds the operations to e. Every request must have passed
// Authenticate.
func (a *API) Register(e *echo.Echo) {
	gen.RegisterHandlers(e, gen.NewStrictHandler(a, nil))
}
