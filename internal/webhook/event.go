// Package webhook tells merchants how a session ended: it builds the event,
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

// Result is a session's end in the vocabulary of webhooks and redirects.
type Result string

// The results a merchant is told about. A refused liveness check and an
// expired session have no event.
const (
	ResultVerified         Result = "VERIFIED"
	ResultRoutedToFallback Result = "ROUTED_TO_FALLBACK"
)

// EventType is the only type of event there is.
const EventType = "session.completed"

// Completion is what NewEvent needs to know of a completed session.
type Completion struct {
	TenantID    uuid.UUID
	SessionID   uuid.UUID
	Result      Result
	Livemode    bool
	CompletedAt time.Time
	Destination string // the Webhook URL frozen on the session; empty when none was registered
}

// Event is one completion to be told, exactly as it is stored. ID and Body are
// made once and are the same on every attempt and resend.
type Event struct {
	ID          string // "evt_" and a UUID version 7
	TenantID    uuid.UUID
	SessionID   uuid.UUID
	Livemode    bool
	Destination string // empty: recorded as StatusNoDestination and never sent
	Body        []byte
}

// payload is the event's body. The order of the fields is the order on the
// wire.
type payload struct {
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	SessionID uuid.UUID `json:"session_id"`
	Status    Result    `json:"status"`
	IsAdult   bool      `json:"is_adult"`
	Livemode  bool      `json:"livemode"`
}

// NewEvent builds the event of a completed session under a new ID. Whoever
// stores the completion inserts it in the same transaction.
func NewEvent(c Completion) (Event, error) {
	if c.Result != ResultVerified && c.Result != ResultRoutedToFallback {
		return Event{}, fmt.Errorf("webhook: a session that ended as %q has no event", c.Result)
	}
	id, err := uuid.NewV7()
	if err != nil {
		return Event{}, fmt.Errorf("webhook: event id: %w", err)
	}
	body, err := json.Marshal(payload{
		Type:      EventType,
		Timestamp: c.CompletedAt.UTC().Truncate(time.Microsecond),
		SessionID: c.SessionID,
		Status:    c.Result,
		IsAdult:   c.Result == ResultVerified,
		Livemode:  c.Livemode,
	})
	if err != nil {
		return Event{}, fmt.Errorf("webhook: event body: %w", err)
	}
	return Event{
		ID:          "evt_" + id.String(),
		TenantID:    c.TenantID,
		SessionID:   c.SessionID,
		Livemode:    c.Livemode,
		Destination: c.Destination,
		Body:        body,
	}, nil
}

// EndpointID names the endpoint of a tenant's destination in one mode: "ep_"
// and 32 hexadecimal digits of a SHA-256, because a URL is too long for an
// index and too private for a command line. It is empty without a destination.
func EndpointID(tenantID uuid.UUID, livemode bool, destination string) string {
	if destination == "" {
		return ""
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%t\n%s", tenantID, livemode, destination))
	return "ep_" + hex.EncodeToString(sum[:16])
}
