// Code generated from openapi.yaml by make generate. DO NOT EDIT.

package agegate

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// CreateSessionRequest is part of the contract. The age to verify, and where to send the browser
// afterwards. Unknown fields are refused.
type CreateSessionRequest struct {
	// The age to verify, in years. The shopper passes if the estimated age is at least this age plus
	// the safety margin, or if a document shows this age.
	TargetAge int `json:"target_age"`
	// Where a VERIFIED result sends the browser. An absolute https URL without user information, with
	// its host in ASCII. If you omit it, your registered Success URL is used.
	SuccessURL string `json:"success_url,omitempty"`
	// Where the button leads on the page of a shopper who did not pass. An absolute https URL without
	// user information, with its host in ASCII. If you omit it, your registered Cancel URL is used.
	CancelURL string `json:"cancel_url,omitempty"`
}

// CreateSessionOut is part of the contract. The new session.
type CreateSessionOut struct {
	// The session's ID. The ID alone grants no access.
	SessionID string `json:"session_id"`
	// Where to send the shopper's browser. You get it only here, and when you repeat the request with
	// the same `Idempotency-Key`. Show it to nobody but this shopper.
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
	// The estimated age did not meet the cutoff, and no document check passed. Also when there is no
	// estimate, because the shopper used all attempts at the camera or continued without it
	SessionStatusFallback SessionStatus = "FALLBACK"
	// The camera input did not look like a live person
	SessionStatusSpoof SessionStatus = "SPOOF"
	// The session expired before it was completed
	SessionStatusExpired SessionStatus = "EXPIRED"
)

// SessionStatusOut is part of the contract. A session's current status. `status_at` is when it took
// effect: the creation for `PENDING`, the expiry for `EXPIRED`, and the completion for the others.
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
	// The shopper accepted it, but the session has not ended
	AgeAvailabilityPending AgeAvailability = "pending"
	// The shopper accepted it and the session has ended, but no estimate was stored, for example
	// because the shopper used all attempts at the camera or continued without it
	AgeAvailabilityNotEstimated AgeAvailability = "not_estimated"
	// `detected_age` holds the estimate
	AgeAvailabilityAvailable AgeAvailability = "available"
)

// DetectedAgeOut is part of the contract. The estimated age of a session's shopper, or the reason
// why there is none.
type DetectedAgeOut struct {
	// The session's ID.
	SessionID string `json:"session_id"`
	// The estimated age in years with one decimal, or null if there is none.
	DetectedAge  *float64        `json:"detected_age"`
	Availability AgeAvailability `json:"availability"`
}

// CompletionEvent is part of the contract. The webhook's payload. It has the same bytes on every
// attempt. Members may be added later, so ignore those that you do not know.
type CompletionEvent struct {
	Type      EventType `json:"type"`
	Timestamp Timestamp `json:"timestamp"`
	// The ID of the session that ended.
	SessionID string       `json:"session_id"`
	Status    ResultStatus `json:"status"`
	// True if `status` is `VERIFIED`, and false otherwise. It says that the check for the session's
	// `target_age` was passed: where that is under 18, true does not mean an adult.
	IsAdult bool `json:"is_adult"`
	// False for sessions of a test key, and true for sessions of a live key. Use only this member, not
	// a URL or a redirect parameter, to decide whether an event is real.
	Livemode bool `json:"livemode"`
}

// EventType is one of the values below. The kind of event. `session.completed`, a session has
// ended, is the only kind.
type EventType string

// Values of EventType.
const (
	EventTypeSessionCompleted EventType = "session.completed"
)

// ResultStatus is one of the values below. `VERIFIED` stands for the session status PASSED, and
// `ROUTED_TO_FALLBACK` for FALLBACK.
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

// TestEvent is part of the contract. An event of a test session, and the state of its delivery.
type TestEvent struct {
	// The event's ID. Each delivery has it as `webhook-id`.
	EventID string `json:"event_id"`
	// The ID of the session that ended.
	SessionID string         `json:"session_id"`
	CreatedAt Timestamp      `json:"created_at"`
	Delivery  DeliveryStatus `json:"delivery"`
	// The number of attempts so far.
	Attempts int `json:"attempts"`
	// The result of the last attempt, or null if there was none.
	LastClass *string `json:"last_class"`
	// The HTTP status of the answer to the last attempt, or null if there was no answer.
	LastStatusCode *int            `json:"last_status_code"`
	Event          CompletionEvent `json:"event"`
	// The text that is delivered and signed. To verify the signature, use it unchanged.
	Body    string           `json:"body"`
	Headers TestEventHeaders `json:"headers"`
}

// TestEventHeaders is part of the contract. The headers of a delivery that is made now.
type TestEventHeaders struct {
	// The event's ID.
	WebhookID string `json:"webhook-id"`
	// The present time in Unix seconds.
	WebhookTimestamp string `json:"webhook-timestamp"`
	// One or more signatures, made with the webhook secrets of your test mode.
	WebhookSignature string `json:"webhook-signature"`
}

// DeliveryStatus is one of the values below.
type DeliveryStatus string

// Values of DeliveryStatus.
const (
	// An attempt is planned or in progress
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

// ResentOut is part of the contract. The event that is sent again.
type ResentOut struct {
	// The event's ID.
	EventID string `json:"event_id"`
}

// TestClockRequest is part of the contract. What to make expire.
type TestClockRequest struct {
	Expire Expiring `json:"expire"`
}

// TestClockOut is part of the contract. What has expired.
type TestClockOut struct {
	// The session's ID.
	SessionID string   `json:"session_id"`
	Expired   Expiring `json:"expired"`
}

// Expiring is one of the values below. `session` is the session. `redirect` is the token of its
// next success redirect.
type Expiring string

// Values of Expiring.
const (
	ExpiringSession  Expiring = "session"
	ExpiringRedirect Expiring = "redirect"
)

// Timestamp: RFC 3339 in UTC with a `Z` and up to six decimals of a second, without trailing zeros.
type Timestamp = time.Time

// Violation is part of the contract. One thing that is wrong with a request.
type Violation struct {
	// The kind of violation: `missing`, `json_invalid`, `model_attributes_type`, `int_type`,
	// `int_from_float`, `string_type`, `greater_than_equal`, `less_than_equal`, `extra_forbidden`,
	// `uuid_parsing`, `url_parsing`, `url_scheme`, `url_too_long`, `string_too_short`,
	// `string_too_long`, `string_pattern_mismatch`, `literal_error` or `value_error`. More may be
	// added.
	Type string `json:"type"`
	// Where the violation is: `body`, `path`, `header` or `query`, and then the name of the field or
	// parameter as this document writes it.
	Loc []LocationPart   `json:"loc"`
	Msg ViolationMessage `json:"msg"`
}

// LocationPart: A name, or the position in a list, counted from 0.
type LocationPart = any

// ViolationMessage is one of the values below. Always the same text, so that nothing from the
// request is repeated.
type ViolationMessage string

// Values of ViolationMessage.
const (
	ViolationMessageValidationFailed ViolationMessage = "validation failed"
)

// CreateSessionParams are the optional parameters of CreateSession. What is zero is not sent.
type CreateSessionParams struct {
	// Makes it safe to repeat this request, as described under *Idempotency*. Make a new key, such as a
	// random UUID, for every session that you want. Do not copy a key from an example.
	IdempotencyKey string
}

// CreateSession is POST /api/v1/sessions/create: create a verification session.
//
// Creates a session in status PENDING and returns the address to which you send the shopper's
// browser. A URL in the request may have any path and query, but its host and port must be exactly
// those of one of your registered Success, Cancel or Webhook URLs. If you omit a URL, your
// registered one is used, and there must be one. Both URLs stay the same for the life of the
// session. Webhooks always go to your registered Webhook URL: the request has no `webhook_url`. A
// request is checked in this order: size (413), key (401), tenant (403), request (422), then the
// test cap (429) or the allowance and credit (402).
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
// session that is still PENDING at its `expires_at` is EXPIRED from then on, and sends no webhook.
// How often to ask is under *Polling*.
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
// Of use only if estimated-age visibility is on for your tenant. An estimate is stored if that
// setting is on **and** the shopper accepted the disclosure on the hosted page. It is deleted with
// its session record. All four values of `availability` are successful answers. Call this after you
// verified the webhook, with a key of the tenant that created the session.
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
	// Only events that were stored after this one. `evt_` with a UUID of zeros comes before all events.
	After string
	// How many seconds to wait for an event. By default the gateway does not wait.
	Wait int
}

// ListTestEvents is GET /api/v1/test/events: list the events of test sessions, or wait for the next.
//
// Returns the events of your test sessions, newest first, at most 50. Each event has the body and
// the headers of a delivery that is signed now, so that your receiver can verify it as usual.
// Events are listed even if no Webhook URL is registered. With `after`, the answer has the events
// that were stored after that one, in the order in which they were stored. A client that always
// asks with the last event ID it got misses none. With `wait`, the gateway answers as soon as there
// is an event, or with an empty list after that many seconds. At most three requests of a tenant
// can wait at the same time. `agegate-dev listen` passes these events to a server on your machine.
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
// Sends the event to its Webhook URL again, with the same `webhook-id` and body, and starts its
// schedule of attempts again. Use it to test that your receiver ignores a `webhook-id` that it has
// already seen.
func (c *Client) ResendTestEvent(ctx context.Context, eventID string) (*ResentOut, error) {
	query, header := url.Values{}, http.Header{}
	out := &ResentOut{}
	if err := c.call(ctx, http.MethodPost, "/api/v1/test/events/"+url.PathEscape(eventID)+"/resend", query, header, nil, out); err != nil {
		return nil, err
	}
	return out, nil
}

// MoveTestClock is POST /api/v1/test/sessions/{session_id}/clock: make a test session, or its next redirect, expire.
//
// `session` makes an open session expire now, and the next lookup answers EXPIRED. `redirect` makes
// the gateway put a token that has already expired into the session's next success redirect.
func (c *Client) MoveTestClock(ctx context.Context, sessionID string, body TestClockRequest) (*TestClockOut, error) {
	query, header := url.Values{}, http.Header{}
	out := &TestClockOut{}
	if err := c.call(ctx, http.MethodPost, "/api/v1/test/sessions/"+url.PathEscape(sessionID)+"/clock", query, header, body, out); err != nil {
		return nil, err
	}
	return out, nil
}
