// Package webhook informs merchants how a session ended: it builds the event,
// signs it by Standard Webhooks 1.0, and delivers it from an outbox until the
// receiver has accepted it or the retry schedule is used up.
package webhook

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// Result is how a session ended, named as in webhooks and redirects.
type Result string

// The results that cause an event. A session that failed the liveness check or
// expired causes none.
const (
	ResultVerified         Result = "VERIFIED"
	ResultRoutedToFallback Result = "ROUTED_TO_FALLBACK"
)

// EventType is the type of all events.
const EventType = "session.completed"

// Completion describes a completed session to NewEvent.
type Completion struct {
	TenantID    uuid.UUID
	SessionID   uuid.UUID
	Result      Result
	Livemode    bool
	CompletedAt time.Time
	Destination string // the session's Webhook URL; empty if the tenant had none
}

// Event is the notification of one completion, as stored. ID and Body are made
// once and are the same in every attempt and resend.
type Event struct {
	ID          string // "evt_" and a UUID version 7
	TenantID    uuid.UUID
	SessionID   uuid.UUID
	Livemode    bool
	Destination string // empty: recorded as StatusNoDestination and never sent
	Body        []byte
}

// Payload is the event's body. The fields are sent in this order.
type Payload struct {
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	SessionID uuid.UUID `json:"session_id"`
	Status    Result    `json:"status"`
	IsAdult   bool      `json:"is_adult"`
	Livemode  bool      `json:"livemode"`
}

// NewEvent builds the event of a completed session, with a new ID. The caller
// inserts it in the transaction that stores the completion.
func NewEvent(c Completion) (Event, error) {
	if c.Result != ResultVerified && c.Result != ResultRoutedToFallback {
		return Event{}, fmt.Errorf("webhook: a session that ended as %q has no event", c.Result)
	}
	id, err := uuid.NewV7()
	if err != nil {
		return Event{}, fmt.Errorf("webhook: event id: %w", err)
	}
	body, err := json.Marshal(Payload{Type: EventType, Timestamp: c.CompletedAt.UTC().Truncate(time.Microsecond),
		SessionID: c.SessionID, Status: c.Result, IsAdult: c.Result == ResultVerified, Livemode: c.Livemode})
	if err != nil {
		return Event{}, fmt.Errorf("webhook: event body: %w", err)
	}
	return Event{ID: "evt_" + id.String(), TenantID: c.TenantID, SessionID: c.SessionID, Livemode: c.Livemode,
		Destination: c.Destination, Body: body}, nil
}

// EndpointID returns the ID of a tenant's destination in one mode: "ep_" and 32
// hexadecimal digits of a SHA-256. A URL would be too long for an index and too
// private for a command line. Without a destination the ID is empty.
func EndpointID(tenantID uuid.UUID, livemode bool, destination string) string {
	if destination == "" {
		return ""
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%t\n%s", tenantID, livemode, destination))
	return "ep_" + hex.EncodeToString(sum[:16])
}
