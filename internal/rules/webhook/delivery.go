package webhook

import (
	"net/url"
	"time"

	"github.com/google/uuid"
)

// Status is the state of an event's delivery.
type Status string

// The statuses of a delivery.
const (
	StatusPending       Status = "pending"        // an attempt is scheduled or running
	StatusDelivered     Status = "delivered"      // the receiver answered 2xx
	StatusFailed        Status = "failed"         // the schedule is used up
	StatusWaiting       Status = "waiting"        // its endpoint is disabled
	StatusNoDestination Status = "no_destination" // no Webhook URL when the session was created
)

// Lease is the right to make the next attempt at one delivery. It expires, so
// that another replica can take over from one that died.
type Lease struct {
	EventID string
	Token   uuid.UUID // random, one per claim
	Number  int       // number of the attempt, from 1; never used twice
	At      time.Time // when it was granted, by the database's clock
}

// Delivery is a leased event with everything an attempt needs.
type Delivery struct {
	Event
	Lease Lease
	Step  int    // failed attempts since the event was inserted or last resent
	Trace string // the mark of the span that inserted the event; see trail.Mark
}

// Attempt is the record of one POST.
type Attempt struct {
	Number     int
	At         time.Time
	Class      Class
	StatusCode int           // 0 without an answer
	Latency    time.Duration `gorm:"column:latency_us;serializer:microseconds"`
	Excerpt    []byte        // the first 1 KiB of the answer's body, any bytes
	NextAt     *time.Time    // when the next attempt was scheduled; nil for none
}

// DisabledReason says why an endpoint is disabled.
type DisabledReason string

// The reasons.
const (
	DisabledGone    DisabledReason = "gone"    // it answered 410
	DisabledFailing DisabledReason = "failing" // FailureLimit was reached
)

// Endpoint is the state of a tenant's destination in one mode. A destination
// that never failed has no record.
type Endpoint struct {
	ID             string // see EndpointID
	TenantID       uuid.UUID
	Livemode       bool
	URL            string
	FirstFailureAt *time.Time // of the current run of failures; nil after a success
	DisabledAt     *time.Time // nil while enabled
	DisabledReason DisabledReason
}

// Failing is an endpoint that fails or is disabled.
type Failing struct {
	Endpoint
	Class Class // of an event that was not delivered; empty if there is none
}

// Host is the URL without its path, which may hold a secret.
func (e Endpoint) Host() string {
	if u, err := url.Parse(e.URL); err == nil {
		return u.Host
	}
	return ""
}

// Record is an event and the state of its delivery, for operators.
type Record struct {
	Event
	EndpointID    string // empty without a destination
	Status        Status
	CreatedAt     time.Time
	Attempts      int        // made so far
	NextAttemptAt *time.Time // when the next attempt is due; only while pending
	LastAt        *time.Time // of the last attempt
	LastClass     Class      // of the last attempt
	LastStatus    int        // HTTP status of the last attempt, 0 without an answer
}
