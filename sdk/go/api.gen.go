// Code generated from openapi.yaml by make generate. DO NOT EDIT.

package agegate

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// CreateSessionRequest is part of the contract. What to verify and where to send the browser
// afterwards. Unknown fields are refused.
type CreateSessionRequest struct {
	// The age to verify, in years. The shopper passes when the estimated age reaches this age plus the
	// gateway's safety margin.
	TargetAge int `json:"target_age"`
	// Where a VERIFIED result sends the browser. An absolute https URL without user information, its
	// host in ASCII. Omitted: your registered Success URL.
	SuccessURL string `json:"success_url,omitempty"`
	// Where the fallback page's return action sends the browser. An absolute https URL without user
	// information, its host in ASCII. Omitted: your registered Cancel URL.
	CancelURL string `json:"cancel_url,omitempty"`
}

// CreateSessionOut is part of the contract.
type CreateSessionOut struct {
	// Identifies the session. The ID alone grants no access.
	SessionID string `json:"session_id"`
	// Where to send the shopper's browser. Returned only here and when the request is repeated with the
	// same `Idempotency-Key`; treat it as a secret between you and the shopper.
	VerificationURL string    `json:"verification_url"`
	ExpiresAt       Timestamp `json:"expires_at"`
}

// SessionStatus is one of the values below.
type SessionStatus string

// Values of SessionStatus.
const (
	// Created; the shopper has not completed verification
	SessionStatusPending SessionStatus = "PENDING"
	// The estimated age met the cutoff, or the document check passed
	SessionStatusPassed SessionStatus = "PASSED"
	// The cutoff was not met, and no document check made up for it. The cutoff counts as not met also
	// without an estimate: when the shopper used up the attempts at the camera or went on without it
	SessionStatusFallback SessionStatus = "FALLBACK"
	// The camera input did not look like a live person
	SessionStatusSpoof SessionStatus = "SPOOF"
	// Not completed before it expired
	SessionStatusExpired SessionStatus = "EXPIRED"
)

// SessionStatusOut is part of the contract.
type SessionStatusOut struct {
	Status   SessionStatus `json:"status"`
	StatusAt Timestamp     `json:"status_at"`
}

// AgeAvailability is one of the values below.
type AgeAvailability string

// Values of AgeAvailability.
const (
	// The shopper did not accept the disclosure for this session
	AgeAvailabilityNotConsented AgeAvailability = "not_consented"
	// Accepted, but verification has not ended
	AgeAvailabilityPending AgeAvailability = "pending"
	// Accepted and ended, but no estimate was stored, for example because the shopper used up the
	// attempts at the camera or went on without it
	AgeAvailabilityNotEstimated AgeAvailability = "not_estimated"
	// `detected_age` holds the estimate
	AgeAvailabilityAvailable AgeAvailability = "available"
)

// DetectedAgeOut is part of the contract.
type DetectedAgeOut struct {
	// The requested session.
	SessionID string `json:"session_id"`
	// The estimated age in years with one decimal, or null where there is none.
	DetectedAge  *float64        `json:"detected_age"`
	Availability AgeAvailability `json:"availability"`
}

// CompletionEvent is part of the contract. The webhook's payload, the same bytes on every attempt.
// Further members may be added; ignore those you do not know.
type CompletionEvent struct {
	Type      EventType `json:"type"`
	Timestamp Timestamp `json:"timestamp"`
	// The session that ended.
	SessionID string       `json:"session_id"`
	Status    ResultStatus `json:"status"`
	// True exactly when `status` is `VERIFIED`.
	IsAdult bool `json:"is_adult"`
	// False for sessions of a test key, true for those of a live key. This, and no URL or redirect
	// parameter, decides whether to process an event as real.
	Livemode bool `json:"livemode"`
}

// EventType is one of the values below. The kind of event. The only one is that a session ended.
type EventType string

// Values of EventType.
const (
	EventTypeSessionCompleted EventType = "session.completed"
)

// ResultStatus is one of the values below. `VERIFIED` is the session status PASSED,
// `ROUTED_TO_FALLBACK` is FALLBACK.
type ResultStatus string

// Values of ResultStatus.
const (
	ResultStatusVerified         ResultStatus = "VERIFIED"
	ResultStatusRoutedToFallback ResultStatus = "ROUTED_TO_FALLBACK"
)

// TestEventsOut is part of the contract. Events of test sessions.
type TestEventsOut struct {
	// The events.
	Events []TestEvent `json:"events"`
}

// TestEvent is part of the contract. An event of a test session, and how far its delivery is.
type TestEvent struct {
	// The event's ID, which each delivery has as `webhook-id`.
	EventID string `json:"event_id"`
	// The session that ended.
	SessionID string         `json:"session_id"`
	CreatedAt Timestamp      `json:"created_at"`
	Delivery  DeliveryStatus `json:"delivery"`
	// How many attempts were made.
	Attempts int `json:"attempts"`
	// The HTTP status of the last attempt's answer, or null without an answer.
	LastStatusCode *int `json:"last_status_code"`
	// The bytes that are delivered and signed. Do not parse and write them again before you verify.
	Body    string           `json:"body"`
	Headers TestEventHeaders `json:"headers"`
}

// TestEventHeaders is part of the contract. The headers of a delivery made now.
type TestEventHeaders struct {
	// The event's ID.
	WebhookID string `json:"webhook-id"`
	// Now, in Unix seconds.
	WebhookTimestamp string `json:"webhook-timestamp"`
	// One or more signatures under your test mode's webhook secrets.
	WebhookSignature string `json:"webhook-signature"`
}

// DeliveryStatus is one of the values below.
type DeliveryStatus string

// Values of DeliveryStatus.
const (
	// An attempt is scheduled or under way
	DeliveryStatusPending DeliveryStatus = "pending"
	// Your receiver answered 2xx
	DeliveryStatusDelivered DeliveryStatus = "delivered"
	// All attempts failed
	DeliveryStatusFailed DeliveryStatus = "failed"
	// Your endpoint is disabled
	DeliveryStatusWaiting DeliveryStatus = "waiting"
	// No Webhook URL was registered when the session was created
	DeliveryStatusNoDestination DeliveryStatus = "no_destination"
)

// ResentOut is part of the contract. Which event is sent again.
type ResentOut struct {
	// The event's ID.
	EventID string `json:"event_id"`
}

// TestClockRequest is part of the contract. What expires.
type TestClockRequest struct {
	Expire Expiring `json:"expire"`
}

// TestClockOut is part of the contract. What has expired.
type TestClockOut struct {
	// The session.
	SessionID string   `json:"session_id"`
	Expired   Expiring `json:"expired"`
}

// Expiring is one of the values below. `session`, or its next success `redirect`.
type Expiring string

// Values of Expiring.
const (
	ExpiringSession  Expiring = "session"
	ExpiringRedirect Expiring = "redirect"
)

// Timestamp: RFC 3339 in UTC with a `Z` and up to six decimals of a second. Trailing zeros are left
// out.
type Timestamp = time.Time

// Violation is part of the contract.
type Violation struct {
	// The kind of violation: `missing`, `json_invalid`, `model_attributes_type`, `int_type`,
	// `int_from_float`, `string_type`, `greater_than_equal`, `less_than_equal`, `extra_forbidden`,
	// `uuid_parsing`, `url_parsing`, `url_scheme`, `url_too_long`, `string_too_short`,
	// `string_too_long`, `string_pattern_mismatch`, `literal_error` or `value_error`. New ones may be
	// added.
	Type string `json:"type"`
	// The location: `body`, `path`, `header` or `query`, then the name of the field or parameter as
	// written in this document.
	Loc []any            `json:"loc"`
	Msg ViolationMessage `json:"msg"`
}

// ViolationMessage is one of the values below. Always the same, so that nothing from the request is
// repeated.
type ViolationMessage string

// Values of ViolationMessage.
const (
	ViolationMessageValidationFailed ViolationMessage = "validation failed"
)

// CreateSessionParams are the optional parameters of CreateSession. What is zero is not sent.
type CreateSessionParams struct {
	// Makes it safe to repeat this request: 1 to 255 visible ASCII characters (no spaces), remembered
	// for 24 hours per tenant and mode. Same key and same body: the same session, no second charge.
	// Same key and another body: 409. Make a new one, such as a random UUID, for every session you
	// want; never copy one from an example.
	IdempotencyKey string
}

// CreateSession is POST /api/v1/sessions/create: create a verification session.
//
// Creates a session in status PENDING and returns the address to send the shopper's browser to. The
// session is test or live as your key is. A URL given here may have any path and query, but its
// host and port must be exactly those of one of your registered Success, Cancel or Webhook URLs. An
// omitted one is taken from your settings and must be registered there. Both are frozen for the
// life of the session. The webhook destination is always your registered Webhook URL; `webhook_url`
// is not accepted here. Requests are checked in this order: size (413), key (401), tenant (403),
// request (422), then the test cap (429) or the allowance and credit (402).
func (c *Client) CreateSession(ctx context.Context, body CreateSessionRequest, params CreateSessionParams) (*CreateSessionOut, error) {
	query, header := url.Values{}, http.Header{}
	if params.IdempotencyKey != "" {
		header.Set("Idempotency-Key", params.IdempotencyKey)
	}
	out := &CreateSessionOut{}
	if err := c.call(ctx, http.MethodPost, "/api/v1/sessions/create", query, header, body, out); err != nil {
		return nil, err
	}
	return out, nil
}

// GetSessionStatus is GET /api/v1/sessions/{session_id}/status: look up a session's status.
//
// Returns the current status and when it took effect. To confirm a pass, require `PASSED`. A
// session still PENDING past its `expires_at` is reported as EXPIRED from then on; no webhook is
// sent for it. Poll after 1, 2, 4, 8 and then every 15 seconds, and stop at a terminal status or
// after five minutes.
func (c *Client) GetSessionStatus(ctx context.Context, sessionID string) (*SessionStatusOut, error) {
	query, header := url.Values{}, http.Header{}
	out := &SessionStatusOut{}
	if err := c.call(ctx, http.MethodGet, "/api/v1/sessions/"+url.PathEscape(sessionID)+"/status", query, header, nil, out); err != nil {
		return nil, err
	}
	return out, nil
}

// GetDetectedAge is GET /api/v1/sessions/{session_id}/detected-age: fetch the estimated age of a consenting shopper.
//
// Useful only to tenants with estimated-age visibility turned on. An estimate is stored when the
// setting is on **and** the shopper accepted the disclosure on the hosted page; it is deleted with
// its session record. All four values of `availability` are successful answers. Call this after a
// verified webhook, with a key of the tenant that created the session.
func (c *Client) GetDetectedAge(ctx context.Context, sessionID string) (*DetectedAgeOut, error) {
	query, header := url.Values{}, http.Header{}
	out := &DetectedAgeOut{}
	if err := c.call(ctx, http.MethodGet, "/api/v1/sessions/"+url.PathEscape(sessionID)+"/detected-age", query, header, nil, out); err != nil {
		return nil, err
	}
	return out, nil
}

// ListTestEventsParams are the optional parameters of ListTestEvents. What is zero is not sent.
type ListTestEventsParams struct {
	// Only events of this session.
	SessionID string
	// Only events made after this one. `evt_` and a UUID of zeros stands before all.
	After string
	// How many seconds to wait for an event. Not at all by default.
	Wait int
}

// ListTestEvents is GET /api/v1/test/events: list the events of test sessions, or wait for the next.
//
// Returns the events of your test sessions, newest first and at most 50, each with its body and
// with headers that are signed now, as a delivery's are. A receiver that gets them verifies them as
// usual. An event is listed whether or not a Webhook URL is registered. With `after` the answer has
// the events made after that one, oldest first; with `wait` it comes as soon as there is one, or
// empty after that many seconds. At most three requests of a tenant may wait at a time. `agegate
// listen` passes these events to a server on your machine.
func (c *Client) ListTestEvents(ctx context.Context, params ListTestEventsParams) (*TestEventsOut, error) {
	query, header := url.Values{}, http.Header{}
	if params.SessionID != "" {
		query.Set("session_id", params.SessionID)
	}
	if params.After != "" {
		query.Set("after", params.After)
	}
	if params.Wait != 0 {
		query.Set("wait", strconv.Itoa(params.Wait))
	}
	out := &TestEventsOut{}
	if err := c.call(ctx, http.MethodGet, "/api/v1/test/events", query, header, nil, out); err != nil {
		return nil, err
	}
	return out, nil
}

// ResendTestEvent is POST /api/v1/test/events/{event_id}/resend: send an event of a test session again.
//
// Sends the event to its Webhook URL again, with the same `webhook-id` and body, and restarts its
// schedule of attempts. Use it to see that your receiver ignores a `webhook-id` that it has seen.
func (c *Client) ResendTestEvent(ctx context.Context, eventID string) (*ResentOut, error) {
	query, header := url.Values{}, http.Header{}
	out := &ResentOut{}
	if err := c.call(ctx, http.MethodPost, "/api/v1/test/events/"+url.PathEscape(eventID)+"/resend", query, header, nil, out); err != nil {
		return nil, err
	}
	return out, nil
}

// MoveTestClock is POST /api/v1/test/sessions/{session_id}/clock: let a test session, or its next redirect, expire.
//
// Does at once what time would do: `session` lets an open session expire now, which the next lookup
// reports as EXPIRED, and `redirect` lets the token of its next success redirect be one that has
// expired.
func (c *Client) MoveTestClock(ctx context.Context, sessionID string, body TestClockRequest) (*TestClockOut, error) {
	query, header := url.Values{}, http.Header{}
	out := &TestClockOut{}
	if err := c.call(ctx, http.MethodPost, "/api/v1/test/sessions/"+url.PathEscape(sessionID)+"/clock", query, header, body, out); err != nil {
		return nil, err
	}
	return out, nil
}
