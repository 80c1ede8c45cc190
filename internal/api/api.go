// Package api fills the generated server interface: one short method per
// operation, which hands a checked request to a domain service and converts
// its answer. Faults are returned as they are; the HTTP edge renders them.
package api

import (
	"context"

	"agegate/gen"
	"agegate/internal/fault"
	"agegate/internal/session"
	"agegate/internal/tenant"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"
)

// Sessions is what the operations need of the session service.
type Sessions interface {
	Create(ctx context.Context, caller tenant.Caller, req session.CreateRequest) (session.Created, error)
	CheckDestinations(ctx context.Context, caller tenant.Caller, success, cancel *string) ([]fault.FieldError, error)
	Status(ctx context.Context, tenantID, id uuid.UUID) (session.StatusView, error)
	DetectedAge(ctx context.Context, tenantID, id uuid.UUID) (session.EstimateView, error)
}

// API implements gen.StrictServerInterface.
type API struct {
	sessions Sessions
}

// New returns the operations over a session service.
func New(sessions Sessions) *API { return &API{sessions: sessions} }

// Register adds the operations to e. Every request must have passed
// Authenticate.
func (a *API) Register(e *echo.Echo) {
	gen.RegisterHandlers(e, gen.NewStrictHandler(a, nil))
}
