package webhook

import (
	"context"
	"net/http"
	"sync"
	"time"

	"agegate/internal/rules/fault"

	"github.com/google/uuid"
)

// Bounds of a Feed: waiting requests hold a connection and ask the store twice a
// second.
const (
	maxFeed           = 50 // events of an answer
	maxWaitingTenant  = 3
	maxWaiting        = 60
	feedInterval      = 500 * time.Millisecond
	feedRetryAfter    = 5 * time.Second
	errWaitingMessage = "Too many requests are waiting for events"
)

// BeforeAllEvents is the ID for FeedFilter.After that selects all events.
const BeforeAllEvents = "evt_00000000-0000-0000-0000-000000000000"

// FeedStore reads a tenant's test events.
type FeedStore interface {
	// TestEvents returns at most limit test events of a tenant. Unless session is
	// uuid.Nil, it returns only events of that session. Without after, it returns the
	// newest events, newest first. With the ID of an event, it returns the events that
	// were committed after that one, in the order of their commits. If there is no
	// event with this ID, some events may be listed again, but none is left out.
	TestEvents(ctx context.Context, tenantID, session uuid.UUID, after string, limit int) ([]Record, error)
}

// Feed reads the events of test sessions, signed as they would be delivered now.
// It never reads one of a live session. It is safe for concurrent use.
type Feed struct {
	store FeedStore
	keys  Keys
	now   func() time.Time

	mu      sync.Mutex
	waiting map[uuid.UUID]int // requests by tenant
	total   int
}

// NewFeed returns a feed of the store's test events.
func NewFeed(store FeedStore, keys Keys, now func() time.Time) *Feed {
	return &Feed{store: store, keys: keys, now: now, waiting: map[uuid.UUID]int{}}
}

// FeedFilter selects events of a feed; zero fields select all.
type FeedFilter struct {
	Session uuid.UUID
	After   string        // an event ID: only events committed later
	Wait    time.Duration // how long to wait for one
}

// SignedRecord is a record with the headers that a delivery made now would have.
type SignedRecord struct {
	Record
	Header http.Header
}

// Events returns at most 50 events of a tenant's test sessions. Without After, these
// are the newest, newest first; with After, the next ones after it, oldest first. If
// there is none, Events waits as long as the filter says. It returns fault.TooMany if
// too many requests already wait.
func (f *Feed) Events(ctx context.Context, tenantID uuid.UUID, filter FeedFilter) ([]SignedRecord, error) {
	look := func() ([]Record, error) {
		return f.store.TestEvents(ctx, tenantID, filter.Session, filter.After, maxFeed)
	}
	found, err := look()
	if err == nil && len(found) == 0 && filter.Wait > 0 {
		if !f.enter(tenantID) {
			return nil, fault.New(fault.TooMany, errWaitingMessage).After(feedRetryAfter)
		}
		defer f.leave(tenantID)
		found, err = await(ctx, look, filter.Wait)
	}
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return f.sign(ctx, tenantID, found)
}

// await looks for events until there is one or the time is over.
func await(ctx context.Context, look func() ([]Record, error), limit time.Duration) ([]Record, error) {
	over := time.NewTimer(limit)
	defer over.Stop()
	again := time.NewTicker(feedInterval)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-over.C:
			return nil, nil
		case <-again.C:
			if found, err := look(); err != nil || len(found) > 0 {
				return found, err
			}
		}
	}
}

func (f *Feed) sign(ctx context.Context, tenantID uuid.UUID, found []Record) ([]SignedRecord, error) {
	keys, err := f.keys.WebhookKeys(ctx, tenantID, false)
	if err != nil {
		return nil, err
	}
	signed := make([]SignedRecord, len(found))
	for i, r := range found {
		header, err := Sign(keys, r.ID, f.now(), r.Body)
		if err != nil {
			return nil, err
		}
		signed[i] = SignedRecord{r, header}
	}
	return signed, nil
}

// enter takes one of the places for waiting requests. It reports whether there
// was one.
func (f *Feed) enter(tenantID uuid.UUID) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.waiting[tenantID] >= maxWaitingTenant || f.total >= maxWaiting {
		return false
	}
	f.waiting[tenantID]++
	f.total++
	return true
}

func (f *Feed) leave(tenantID uuid.UUID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.total--
	if f.waiting[tenantID]--; f.waiting[tenantID] == 0 {
		delete(f.waiting, tenantID)
	}
}
