package webhook

import (
	"time"

	"github.com/google/uuid"
)

// Status is where the delivery of an event stands.
type Status string

// The statuses of a delivery.
const (
	StatusPending       Status = "pending"        // an attempt is due, or being made
	StatusDelivered     Status = "delivered"      // the receiver answered 2xx
	StatusFailed        Status = "failed"         // the schedule is used up
	StatusWaiting       Status = "waiting"        // its endpoint is disabled
	StatusNoDestination Status = "no_destination" // no Webhook URL when the session was created
)

// Lease is the right to make the next attempt at one delivery. It ends by
// itself, so that another replica takes over from one that died.
type Lease struct {
	EventID string
	Token   uuid.UUID // random, one per claim
	Number  int       // of the attempt, from 1, never given twice
	At      time.Time // when it was given, by the database's clock
}

// Delivery is an event under a lease, with what an attempt needs.
type Delivery struct {
	Event
	Lease Lease
	Step  int // failed attempts since the event was inserted or last resent
}

// Attempt is one POST that was made, as it is recorded.
type Attempt struct {
	Number     int
	At         time.Time
	Class      Class
	StatusCode int // 0 without an answer
	Latency    time.Duration
	Excerpt    []byte     // the first 1 KiB of the answer's body, any bytes
	NextAt     *time.Time // when the next attempt was put; nil when none follows by itself
}

// DisabledReason says why an endpoint is disabled.
type DisabledReason string

// The reasons.
const (
	DisabledGone    DisabledReason = "gone"    // it answered 410
	DisabledFailing DisabledReason = "failing" // FailureLimit was reached
)

// Endpoint is what is known of a tenant's destination in one mode. One that
// never failed has no record.
type Endpoint struct {
	ID             string // see EndpointID
	TenantID       uuid.UUID
	Livemode       bool
	URL            string
	FirstFailureAt *time.Time // of its present run of failures; nil after a success
	DisabledAt     *time.Time // nil while enabled
	DisabledReason DisabledReason
}

// Record is an event with the state of its delivery, as operators see it.
type Record struct {
	Event
	EndpointID string // empty without a destination
	Status     Status
	CreatedAt  time.Time
	Attempts   int        // made so far
	NextAt     *time.Time // when the next attempt is due; only while pending
	LastAt     *time.Time // of the last attempt
	LastClass  Class      // of the last attempt
	LastStatus int        // HTTP status of the last attempt, 0 without an answer
}
