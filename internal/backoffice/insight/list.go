package insight

import (
	"context"
	"encoding/binary"
	"time"

	"agegate/internal/rules/session"
	"agegate/internal/rules/webhook"

	"github.com/google/uuid"
)

// SessionFilter selects sessions; zero fields select all.
type SessionFilter struct {
	Status    session.Status // effective: a pending session past its expiry is EXPIRED
	TargetAge int
	From, To  time.Time // created at or after From and before To, to the millisecond
	Prefix    string    // of the ID, lower case
	// Order is a value in the query of the success URL, =value or name=value; empty for all.
	Order string
	KeyID uuid.UUID // of the key that created the session; the zero UUID for all
	// Untold selects sessions of whose result the shop was not told, though that was tried.
	Untold bool
	// Shoppers leaves out sessions of session.SourceReceiver.
	Shoppers bool
}

// SessionRow is a session as lists show it.
type SessionRow struct {
	ID          uuid.UUID
	Status      session.Status // effective
	TargetAge   int
	Source      session.Source // empty without a result
	Way         session.Way    // in which a document was read; empty if none was
	CreatedAt   time.Time
	ExpiresAt   time.Time
	CompletedAt *time.Time
	OpenedAt    *time.Time
	BegunAt     *time.Time
	AskedAt     *time.Time // when a document was asked for; nil if none was
	Attempts    int
	Strikes     int
	OrderRef    string            // the merchant's order; may be empty
	Untold      bool              // its webhook failed so far or for good, or waits for a disabled endpoint
	Setbacks    []session.Setback `gorm:"serializer:json"`
}

// Shown is session.Session.Shown.
func (row SessionRow) Shown() session.Way {
	return session.Session{Status: row.Status, DocumentWay: row.Way, Setbacks: row.Setbacks}.Shown()
}

// SessionPage is a page of sessions, newest first. It may have fewer rows than PageSize, even none, and still a next
// page: if a filter selects few of very many sessions, a page ends after a limited number of sessions was searched.
type SessionPage struct {
	Rows  []SessionRow
	Next  uuid.UUID // the cursor of the next, older page; the zero UUID after the last
	Newer uuid.UUID // the cursor for SessionsAfter of the page before; the zero UUID on the first
}

// SessionQuery is the query of ListSessions.
type SessionQuery struct {
	Scope
	SessionFilter
	Before uuid.UUID // sessions with smaller ids only; the zero UUID for all
	After  uuid.UUID // sessions with greater ids only, the oldest of them; the zero UUID for all
	Now    time.Time // decides which pending sessions have expired
	Limit  int
}

// Found is the result of a list query. A query that would have to look at too
// many rows stops early: then Reached is the ID to which it has searched.
type Found[Row any] struct {
	Rows    []Row
	Reached string // empty if it has searched all
}

// Sessions returns the page of sessions before a cursor, the Next of the previous
// page. The zero UUID starts with the newest.
func (s *Service) Sessions(ctx context.Context, scope Scope, f SessionFilter, cursor uuid.UUID) (SessionPage, error) {
	page, err := s.older(ctx, SessionQuery{Scope: scope, SessionFilter: f, Before: cursor}, PageSize)
	if cursor != uuid.Nil && len(page.Rows) > 0 {
		page.Newer = page.Rows[0].ID
	}
	return page, err
}

// older returns the newest sessions of a query, at most size.
func (s *Service) older(ctx context.Context, q SessionQuery, size int) (page SessionPage, err error) {
	q.Now, q.Limit = s.now(), size+1
	found, err := s.store.ListSessions(ctx, q)
	if err != nil {
		return SessionPage{}, err
	}
	page.Rows = found.Rows
	switch {
	case len(page.Rows) > size:
		page.Rows = page.Rows[:size]
		page.Next = page.Rows[size-1].ID
	case found.Reached != "":
		page.Next, err = uuid.Parse(found.Reached)
	}
	return page, err
}

// SessionsAfter returns the page of sessions just newer than a cursor, a page's Newer.
// If less than a page is left, it returns the first page.
func (s *Service) SessionsAfter(
	ctx context.Context, scope Scope, f SessionFilter, cursor uuid.UUID,
) (SessionPage, error) {
	found, err := s.store.ListSessions(ctx, SessionQuery{
		Scope: scope, SessionFilter: f, After: cursor, Now: s.now(), Limit: PageSize + 1,
	})
	if err != nil {
		return SessionPage{}, err
	}
	page := SessionPage{Rows: found.Rows, Next: Following(cursor)}
	switch {
	case len(page.Rows) > PageSize:
		page.Rows = page.Rows[1:]
		page.Newer = page.Rows[0].ID
	case found.Reached == "":
		return s.Sessions(ctx, scope, f, uuid.Nil)
	default:
		page.Newer, err = uuid.Parse(found.Reached)
	}
	if n := len(page.Rows); n > 0 {
		page.Next = page.Rows[n-1].ID
	}
	return page, err
}

// Following returns the ID that comes after one.
func Following(id uuid.UUID) uuid.UUID {
	for i := len(id) - 1; i >= 0; i-- {
		if id[i]++; id[i] != 0 {
			break
		}
	}
	return id
}

// Bounds of an export: rows, and reads of the database, each of which looks at a limited number of sessions.
const (
	ExportRows  = 100_000
	exportReads = 2_000
	exportBatch = 500
)

// Export calls write with the sessions that a filter selects, newest first, a batch at a time. Every read may take as
// long as wait. It reports whether it ended at its bounds instead of at the oldest session.
func (s *Service) Export(
	ctx context.Context, scope Scope, f SessionFilter, wait time.Duration, write func([]SessionRow) error,
) (more bool, err error) {
	q := SessionQuery{Scope: scope, SessionFilter: f}
	for rows, reads := 0, 0; rows < ExportRows && reads < exportReads; reads++ {
		batch, cancel := context.WithTimeout(ctx, wait)
		page, err := s.older(batch, q, min(exportBatch, ExportRows-rows))
		cancel()
		if err != nil {
			return false, err
		}
		if err := write(page.Rows); err != nil || page.Next == uuid.Nil {
			return false, err
		}
		rows += len(page.Rows)
		q.Before = page.Next
	}
	return true, nil
}

// Name is what a person may call a session by.
type Name int

// The names. Orders are compared without regard to case.
const (
	IDEnd       Name = iota // the end of the ID, 3 characters or more
	Order                   // the merchant's order
	OrderStart              // the beginning of an order
	OrderNumber             // the digits at the end of an order, without the zeros before them
)

// Find returns at most n sessions of a scope with a name, the newest first; those with
// the beginning of an order are sorted by the order.
func (s *Service) Find(ctx context.Context, scope Scope, by Name, text string, n int) ([]SessionRow, error) {
	return s.store.FindSessions(ctx, scope, by, text, s.now(), n)
}

// FindEvents returns the IDs of at most n webhook events of a tenant that end with 3
// characters or more, the newest first.
func (s *Service) FindEvents(ctx context.Context, tenantID uuid.UUID, end string, n int) ([]string, error) {
	return s.store.FindEvents(ctx, tenantID, end, n)
}

// Recent returns the newest sessions of a scope, at most n, without tests of the receiver.
func (s *Service) Recent(ctx context.Context, scope Scope, n int) ([]SessionRow, error) {
	found, err := s.store.ListSessions(ctx, SessionQuery{
		Scope: scope, SessionFilter: SessionFilter{Shoppers: !scope.Livemode}, Now: s.now(), Limit: n,
	})
	return found.Rows, err
}

// IDAt returns a UUID that is less than every UUID version 7 made at or after a
// time, in whole milliseconds, and greater than those made before.
func IDAt(t time.Time) uuid.UUID {
	var id uuid.UUID
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(max(0, t.UnixMilli())))
	copy(id[:6], ms[2:])
	return id
}

// DeliveryFilter selects webhook events; zero fields select all.
type DeliveryFilter struct {
	Status webhook.Status
	Class  webhook.Class // of the last attempt
	// From and To are as in SessionFilter.
	From, To time.Time
}

// EventRow is an event as lists show it.
type EventRow struct {
	webhook.Record
	OrderRef string // the merchant's order of its session; may be empty
}

// DeliveryPage is a page of events, newest first, without their bodies. Like a
// SessionPage it may be short and have a next page.
type DeliveryPage struct {
	Rows []EventRow
	Next string // the cursor of the next, older page; empty after the last
}

// EventQuery is the query of ListEvents.
type EventQuery struct {
	Scope
	DeliveryFilter
	Before string // events with smaller ids only; empty for all
	Limit  int
}

// Deliveries returns the page of events before a cursor, the Next of the previous
// page. An empty cursor starts with the newest.
func (s *Service) Deliveries(ctx context.Context, scope Scope, f DeliveryFilter, cursor string) (DeliveryPage, error) {
	found, err := s.store.ListEvents(ctx, EventQuery{Scope: scope, DeliveryFilter: f, Before: cursor, Limit: PageSize + 1})
	page := DeliveryPage{Rows: found.Rows, Next: found.Reached}
	if len(page.Rows) > PageSize {
		page.Rows = page.Rows[:PageSize]
		page.Next = page.Rows[PageSize-1].ID
	}
	return page, err
}

// Delivery is an event with every attempt to deliver it, oldest first. An
// attempt's excerpt is the receiver's own bytes: show it as text only.
type Delivery struct {
	webhook.Record
	Attempts []webhook.Attempt
}

// Delivery returns an event of the scope, or fault.NotFound.
func (s *Service) Delivery(ctx context.Context, scope Scope, id string) (Delivery, error) {
	record, attempts, err := s.store.EventByID(ctx, webhook.OfTenant(scope.TenantID), id)
	if err == nil && record.Livemode != scope.Livemode {
		return Delivery{}, errNotFound
	}
	return Delivery{Record: record, Attempts: attempts}, err
}
