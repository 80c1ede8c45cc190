package store_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"agegate/internal/rules/webhook"
	"agegate/internal/store"
	"agegate/internal/store/pgtest"
)

// insertTest stores a test event whose ID was made at a time.
func (o outbox) insertTest(ctx context.Context, made time.Time) (string, error) {
	event, err := webhook.NewEvent(webhook.Completion{
		TenantID: o.tenant, SessionID: uuid.New(), Result: webhook.ResultVerified, CompletedAt: made,
	})
	if err != nil {
		return "", err
	}
	event.ID = eventIDAt(made)
	return event.ID, o.Update(ctx, func(tx *store.Tx) error { return tx.InsertEvent(event) })
}

// eventIDAt is an event ID with a UUID of version 7 that was made at a time
// (RFC 9562, section 5.7).
func eventIDAt(made time.Time) string {
	id := uuid.Must(uuid.NewV7())
	for i, ms := 5, made.UnixMilli(); i >= 0; i, ms = i-1, ms>>8 {
		id[i] = byte(ms)
	}
	return "evt_" + id.String()
}

// follow reads the feed, as a client does, until it has seen that many events.
func (o outbox) follow(ctx context.Context, want int) ([]string, error) {
	var seen []string
	for after := webhook.BeforeAllEvents; len(seen) < want; {
		found, err := o.TestEvents(ctx, o.tenant, uuid.Nil, after, 50)
		if err != nil {
			return seen, err
		}
		for _, e := range found {
			seen = append(seen, e.ID)
			after = e.ID
		}
	}
	return seen, nil
}

// TestFeedLosesNoEvent: two clients follow the events that twelve replicas commit
// at the same time, with clocks that are up to five seconds apart.
func TestFeedLosesNoEvent(t *testing.T) {
	const replicas, each = 12, 50
	eachOutbox(t, func(t *testing.T, o outbox) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var writers, clients errgroup.Group
		seen := make([][]string, 2)
		for i := range seen {
			clients.Go(func() (err error) {
				seen[i], err = o.follow(ctx, replicas*each)
				return err
			})
		}
		made := make([][]string, replicas)
		for i := range made {
			skew := time.Duration(i-replicas/2) * time.Second
			writers.Go(func() error {
				for range each {
					id, err := o.insertTest(ctx, time.Now().Add(skew))
					if err != nil {
						return err
					}
					made[i] = append(made[i], id)
				}
				return nil
			})
		}
		o.must(writers.Wait())
		if err := clients.Wait(); err != nil {
			t.Fatalf("%d and %d of %d events were seen: %v", len(seen[0]), len(seen[1]), replicas*each, err)
		}
		all := slices.Concat(made...)
		slices.Sort(all)
		for _, ids := range seen {
			if slices.Sort(ids); !slices.Equal(ids, all) {
				t.Error("a client did not see each event once")
			}
		}
	})
}

// TestFeedAfter: what follows an event, an unknown ID, and a deleted event.
func TestFeedAfter(t *testing.T) {
	eachOutbox(t, func(t *testing.T, o outbox) {
		start := time.Now()
		var ids []string
		for _, at := range []int{0, 2, 1, 3} { // the third one is from a clock that is behind
			id, err := o.insertTest(t.Context(), start.Add(time.Duration(at)*time.Second))
			o.must(err)
			ids = append(ids, id)
		}
		o.insert(o.tenant, receiver) // a live event is not in the feed
		look := func(after string) (found []string) {
			events, err := o.TestEvents(t.Context(), o.tenant, uuid.Nil, after, 50)
			o.must(err)
			for _, e := range events {
				found = append(found, e.ID)
			}
			return found
		}
		for _, row := range []struct {
			name, after string
			want        []string
		}{
			{"none: newest first", "", []string{ids[3], ids[2], ids[1], ids[0]}},
			{"before all", webhook.BeforeAllEvents, ids},
			{"the second", ids[1], ids[2:]},
			{"the third, of a slow clock", ids[2], ids[3:]},
			{"the last", ids[3], nil},
			{"unknown, before all", eventIDAt(start.Add(-time.Hour)), ids},
			{"unknown, between the second and the third", eventIDAt(start.Add(1500 * time.Millisecond)), ids[1:]},
			{"unknown, to come", eventIDAt(start.Add(time.Hour)), nil},
		} {
			if got := look(row.after); !slices.Equal(got, row.want) {
				t.Errorf("after %s: %d events %v, want %v", row.name, len(got), got, row.want)
			}
		}
		other := outbox{Store: o.Store, t: t, tenant: o.newTenant()}
		theirs, err := other.insertTest(t.Context(), start)
		o.must(err)
		if got := look(theirs); len(got) > len(ids) || slices.Contains(got, theirs) {
			t.Errorf("after another tenant's event: %v", got)
		}
	})
}

// TestFeedHasWhatThePreviousReleaseWrote: replicas of 0.2.0 write events while this
// release migrates, without a position.
func TestFeedHasWhatThePreviousReleaseWrote(t *testing.T) {
	t.Parallel()
	db := open(t, pgtest.EmptyURL(t))
	const feedMade, feedOfAll = 71, 84
	o := outbox{Store: db, t: t}
	o.must(db.MigrateTo(t.Context(), feedOfAll))
	o.tenant = o.newTenant()
	o.must(db.MigrateTo(t.Context(), feedMade))
	first := eventIDAt(time.Now())
	o.must(db.Update(t.Context(), func(tx *store.Tx) error {
		return tx.Exec(`INSERT INTO webhook_events (id, tenant_id, session_id, livemode, destination, endpoint_id, body,
			status, created_at, attempts, step, last_class, last_status)
			VALUES (?, ?, ?, false, '', '', '', 'no_destination', ?, 0, 0, '', 0)`,
			first, o.tenant, uuid.New(), time.Now())
	}))
	o.must(db.MigrateTo(t.Context(), feedOfAll))
	o.must(db.Migrate(t.Context()))
	second, err := o.insertTest(t.Context(), time.Now())
	o.must(err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if seen, err := o.follow(ctx, 2); err != nil || !slices.Equal(seen, []string{first, second}) {
		t.Errorf("the feed has %v (%v), want %v", seen, err, []string{first, second})
	}
}
