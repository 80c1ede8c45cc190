package store

import (
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"agegate/internal/rules/webhook"
)

// eventRow is a row of webhook_events.
type eventRow struct {
	ID            string
	TenantID      uuid.UUID
	SessionID     uuid.UUID
	Livemode      bool
	Destination   string
	EndpointID    string
	Body          []byte
	Status        webhook.Status
	CreatedAt     time.Time
	NextAttemptAt *time.Time
	LeaseToken    *uuid.UUID
	Attempts      int
	Step          int
	LastAt        *time.Time
	LastClass     webhook.Class
	LastStatus    int
}

// TableName tells GORM.
func (eventRow) TableName() string { return "webhook_events" }

func (r eventRow) toEvent() webhook.Event {
	return webhook.Event{
		ID: r.ID, TenantID: r.TenantID, SessionID: r.SessionID,
		Livemode: r.Livemode, Destination: r.Destination, Body: r.Body,
	}
}

func (r eventRow) toRecord() webhook.Record {
	return webhook.Record{
		Event: r.toEvent(), EndpointID: r.EndpointID, Status: r.Status, CreatedAt: at(r.CreatedAt),
		Attempts: r.Attempts, NextAt: atOrNil(r.NextAttemptAt),
		LastAt: atOrNil(r.LastAt), LastClass: r.LastClass, LastStatus: r.LastStatus,
	}
}

// attemptRow is a row of webhook_attempts.
type attemptRow struct {
	EventID    string
	Number     int
	At         time.Time
	Class      webhook.Class
	StatusCode int
	LatencyUs  int64
	Excerpt    []byte
	NextAt     *time.Time
}

// TableName tells GORM.
func (attemptRow) TableName() string { return "webhook_attempts" }

func (r attemptRow) toAttempt() webhook.Attempt {
	return webhook.Attempt{
		Number: r.Number, At: at(r.At), Class: r.Class, StatusCode: r.StatusCode,
		Latency: time.Duration(r.LatencyUs) * time.Microsecond, Excerpt: r.Excerpt, NextAt: atOrNil(r.NextAt),
	}
}

// endpointRow is a row of webhook_endpoints.
type endpointRow struct {
	ID             string
	TenantID       uuid.UUID
	Livemode       bool
	URL            string
	FirstFailureAt *time.Time
	DisabledAt     *time.Time
	DisabledReason webhook.DisabledReason
}

// TableName tells GORM.
func (endpointRow) TableName() string { return "webhook_endpoints" }

func (r endpointRow) toEndpoint() webhook.Endpoint {
	return webhook.Endpoint{
		ID: r.ID, TenantID: r.TenantID, Livemode: r.Livemode, URL: r.URL,
		FirstFailureAt: atOrNil(r.FirstFailureAt), DisabledAt: atOrNil(r.DisabledAt), DisabledReason: r.DisabledReason,
	}
}

// dbNowPlus returns the time d from now, for use as an argument of a statement.
// On PostgreSQL the server's clock counts, so that replicas whose clocks differ
// agree on what is due; on SQLite Config.Now does.
func (tx *Tx) dbNowPlus(d time.Duration) any {
	if tx.postgres {
		return gorm.Expr("statement_timestamp() + make_interval(secs => ?)", d.Seconds())
	}
	return at(tx.now().Add(d))
}

// dbNow is dbNowPlus(0).
func (tx *Tx) dbNow() any { return tx.dbNowPlus(0) }

// readClock returns the current time by the clock of dbNow.
func (tx *Tx) readClock() (now time.Time, err error) {
	if !tx.postgres {
		return at(tx.now()), nil
	}
	err = tx.db.Raw("SELECT statement_timestamp()").Scan(&now).Error
	return at(now), err
}
