package api

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"agegate/gen"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/session"
	"agegate/internal/rules/webhook"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// Refusals of the test mode's operations, with the texts of the contract.
var (
	errNoEvent       = fault.New(fault.NotFound, "Event not found")
	errNoDestination = fault.New(fault.Conflict, "Event has no destination")
	errNotOpen       = fault.New(fault.Conflict, "Session is no longer open")
	errNoRedirect    = fault.New(fault.Conflict, "Session makes no further redirect")
)

// ListTestEvents lists events of test sessions or waits for them (GET
// /api/v1/test/events).
func (a *API) ListTestEvents(
	ctx context.Context, req gen.ListTestEventsRequestObject,
) (gen.ListTestEventsResponseObject, error) {
	filter := webhook.FeedFilter{}
	if req.Params.SessionID != nil {
		filter.Session = *req.Params.SessionID
	}
	if req.Params.After != nil {
		filter.After = *req.Params.After
	}
	if req.Params.Wait != nil {
		filter.Wait = time.Duration(*req.Params.Wait) * time.Second
	}
	found, err := a.test.Feed.Events(ctx, callerFrom(ctx).TenantID, filter)
	if err != nil {
		return nil, err
	}
	out := gen.ListTestEvents200JSONResponse{Events: make([]gen.TestEvent, len(found))}
	for i, r := range found {
		if out.Events[i], err = fromSignedRecord(r); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func fromSignedRecord(r webhook.SignedRecord) (gen.TestEvent, error) {
	event := gen.TestEvent{
		EventID: r.ID, SessionID: r.SessionID, CreatedAt: r.CreatedAt.UTC(), Delivery: gen.DeliveryStatus(r.Status),
		Attempts: r.Attempts,
		Body:     string(r.Body),
		Headers: gen.TestEventHeaders{
			WebhookID:        r.Header.Get(standardwebhooks.HeaderWebhookID),
			WebhookTimestamp: r.Header.Get(standardwebhooks.HeaderWebhookTimestamp),
			WebhookSignature: r.Header.Get(standardwebhooks.HeaderWebhookSignature),
		},
	}
	if r.LastClass != "" {
		event.LastClass = new(string(r.LastClass))
	}
	if r.LastStatus != 0 {
		event.LastStatusCode = &r.LastStatus
	}
	err := json.Unmarshal(r.Body, &event.Event)
	return event, err
}

// ResendTestEvent sends an event of a test session again
// (POST /api/v1/test/events/{event_id}/resend).
func (a *API) ResendTestEvent(
	ctx context.Context, req gen.ResendTestEventRequestObject,
) (gen.ResendTestEventResponseObject, error) {
	err := a.test.Events.ResendEvent(ctx, audit.TestKey(callerFrom(ctx).KeyID), testScope(ctx), req.EventID)
	switch fault.CodeOf(err) {
	case fault.NotFound:
		return nil, errNoEvent
	case fault.Conflict:
		return nil, errNoDestination
	}
	if err != nil {
		return nil, err
	}
	return gen.ResendTestEvent200JSONResponse(req), nil
}

// MoveTestClock lets a test session or its next redirect expire
// (POST /api/v1/test/sessions/{session_id}/clock).
func (a *API) MoveTestClock(
	ctx context.Context, req gen.MoveTestClockRequestObject,
) (gen.MoveTestClockResponseObject, error) {
	move := a.test.Clock.Expire
	if req.Body.Expire == gen.ExpiringRedirect {
		move = a.test.Clock.ExpireNextRedirect
	}
	switch err := move(ctx, audit.TestKey(callerFrom(ctx).KeyID), testScope(ctx), req.SessionID); {
	case errors.Is(err, session.ErrNoRedirect):
		return nil, errNoRedirect
	case fault.CodeOf(err) == fault.Conflict: // the session has ended, perhaps only now
		return nil, errNotOpen
	case err != nil:
		return nil, err
	}
	return gen.MoveTestClock200JSONResponse{SessionID: req.SessionID, Expired: req.Body.Expire}, nil
}

// testScope is the test mode of the caller's tenant.
func testScope(ctx context.Context) webhook.Scope {
	return webhook.OfMode(callerFrom(ctx).TenantID, false)
}
