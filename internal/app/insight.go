package app

import (
	"context"
	"net/http"

	"agegate/internal/backoffice/insight"
	"agegate/internal/edge/api"
	"agegate/internal/edge/httpd"
)

// recordRefusal counts a refused API request for the tenant whose key it used. If
// the key is not known, it counts for no tenant.
func (a *App) recordRefusal(req *http.Request, r httpd.Refusal) {
	caller, ok := api.CallerOf(req)
	if !ok {
		return
	}
	a.api.refusals.Record(insight.Refusal{
		Scope: insight.Scope{TenantID: caller.TenantID, Livemode: caller.Livemode}, KeyID: caller.KeyID,
		Route: r.Method + " " + r.Route, Status: r.Status, Type: r.Type, Loc: r.Loc,
	}, r.RequestID)
}

// WriteRefusals writes the refusals that were counted since the last write. A process
// of the API's part calls it every few seconds.
func (a *App) WriteRefusals(ctx context.Context) error { return a.api.refusals.Flush(ctx) }

func (a *App) heartbeat(ctx context.Context) error { return a.Insight.Heartbeat(ctx, a.replica) }
