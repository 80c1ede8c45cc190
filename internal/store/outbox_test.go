package store_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"agegate/internal/rules/audit"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/webhook"
	"agegate/internal/store"
	"agegate/internal/store/dbtest"
	"agegate/internal/store/pgtest"
)

const (
	receiver = "https://shop.example/hook"
	lease    = time.Minute
)

// outbox is a store with one tenant in it.
type outbox struct {
	*store.Store
	t      *testing.T
	tenant uuid.UUID
}

func eachOutbox(t *testing.T, body func(t *testing.T, o outbox)) {
	t.Helper()
	dbtest.Each(t, func(t *testing.T, s *store.Store) {
		o := outbox{Store: s, t: t}
		o.tenant = o.newTenant()
		body(t, o)
	})
}

func (o outbox) newTenant() uuid.UUID {
	o.t.Helper()
	id := uuid.Must(uuid.NewV7())
	o.must(o.ExecRaw(o.t.Context(), `
		INSERT INTO tenants (id, name, success_url, cancel_url, webhook_url, document_check, age_visibility, disabled, created_at)
		VALUES (?, 'shop', '', '', '', false, false, false, ?)`, id, time.Now().UTC()))
	return id
}

// ops are the operations with which a person changes deliveries.
func (o outbox) ops() *webhook.Operations { return webhook.NewOperations(o.Store, time.Now, nil) }

func (o outbox) ResendEvent(ctx context.Context, scope webhook.Scope, id string) error {
	return o.ops().ResendEvent(ctx, audit.System("test"), scope, id)
}

func (o outbox) ResendFailedEvents(ctx context.Context, scope webhook.Scope, since time.Time) (int, error) {
	return o.ops().ResendFailedEvents(ctx, audit.System("test"), scope, since)
}

func (o outbox) EnableEndpoint(ctx context.Context, scope webhook.Scope, id string) (int, error) {
	return o.ops().EnableEndpoint(ctx, audit.System("test"), scope, id)
}

func (o outbox) must(err error) {
	o.t.Helper()
	if err != nil {
		o.t.Fatal(err)
	}
}

// insert stores a new live event of a tenant.
func (o outbox) insert(tenant uuid.UUID, destination string) webhook.Event {
	o.t.Helper()
	event, err := webhook.NewEvent(webhook.Completion{
		TenantID: tenant, SessionID: uuid.Must(uuid.NewV7()), Result: webhook.ResultVerified,
		Livemode: true, CompletedAt: time.Now(), Destination: destination,
	})
	o.must(err)
	o.must(o.Update(o.t.Context(), func(tx *store.Tx) error { return tx.InsertEvent(event) }))
	return event
}

func (o outbox) claim(limit int) []webhook.Delivery {
	o.t.Helper()
	deliveries, err := o.ClaimDeliveries(o.t.Context(), []webhook.Claim{{TenantID: o.tenant, Limit: limit}}, lease)
	o.must(err)
	return deliveries
}

func (o outbox) claimOne() webhook.Delivery {
	o.t.Helper()
	deliveries := o.claim(1)
	if len(deliveries) != 1 {
		o.t.Fatalf("claimed %d deliveries, want 1", len(deliveries))
	}
	return deliveries[0]
}

func (o outbox) finish(d webhook.Delivery, class webhook.Class, disposition webhook.Disposition) {
	o.t.Helper()
	o.must(o.FinishDelivery(o.t.Context(), d, attempt(d, class), disposition))
}

func attempt(d webhook.Delivery, class webhook.Class) webhook.Attempt {
	return webhook.Attempt{
		Number: d.Lease.Number, At: d.Lease.At, Class: class, StatusCode: 500,
		Latency: 1500 * time.Microsecond, Excerpt: []byte("no\x00\xff"),
	}
}

func (o outbox) show(id string) (webhook.Record, []webhook.Attempt) {
	o.t.Helper()
	record, attempts, err := o.EventByID(o.t.Context(), webhook.OfAll(), id)
	o.must(err)
	return record, attempts
}

func (o outbox) wantStatus(id string, want webhook.Status) webhook.Record {
	o.t.Helper()
	record, _ := o.show(id)
	if record.Status != want || (record.NextAttemptAt != nil) != (want == webhook.StatusPending) {
		o.t.Fatalf("status %q, next attempt %v, want %q", record.Status, record.NextAttemptAt, want)
	}
	return record
}

var (
	delivered = webhook.Disposition{Action: webhook.ActionFinish}
	exhausted = webhook.Disposition{Action: webhook.ActionGiveUp}
	gone      = webhook.Disposition{Action: webhook.ActionDisable}
	retryNow  = webhook.Disposition{Action: webhook.ActionRetry}
	retryHour = webhook.Disposition{Action: webhook.ActionRetry, RetryIn: time.Hour}
)

func TestOutboxDelivers(t *testing.T) {
	eachOutbox(t, func(t *testing.T, o outbox) {
		event := o.insert(o.tenant, receiver)
		d := o.claimOne()
		if !slices.Equal(d.Body, event.Body) || d.ID != event.ID || d.SessionID != event.SessionID ||
			d.TenantID != o.tenant || d.Destination != receiver || !d.Livemode {
			t.Fatalf("claimed %+v, want %+v", d.Event, event)
		}
		if d.Lease.Number != 1 || d.Step != 0 || time.Since(d.Lease.At).Abs() > time.Minute {
			t.Fatalf("lease %+v at step %d", d.Lease, d.Step)
		}
		if again := o.claim(10); len(again) != 0 {
			t.Fatalf("a leased delivery was claimed again: %+v", again)
		}
		o.finish(d, webhook.ClassDelivered, delivered)
		record := o.wantStatus(event.ID, webhook.StatusDelivered)
		_, attempts := o.show(event.ID)
		if record.Attempts != 1 || record.LastClass != webhook.ClassDelivered || len(attempts) != 1 {
			t.Fatalf("record %+v with attempts %+v", record, attempts)
		}
		want := attempt(d, webhook.ClassDelivered)
		got := attempts[0]
		if !got.At.Equal(want.At) || got.Latency != want.Latency || got.StatusCode != 500 ||
			!bytes.Equal(got.Excerpt, want.Excerpt) || got.NextAt != nil {
			t.Fatalf("attempt %+v, want %+v", got, want)
		}
	})
}

func TestOutboxInsertIsPartOfTheTransaction(t *testing.T) {
	eachOutbox(t, func(t *testing.T, o outbox) {
		event := o.insert(o.tenant, receiver)
		twin := event
		twin.ID = "evt_" + uuid.Must(uuid.NewV7()).String()
		insert := func(e webhook.Event, end error) error {
			return o.Update(t.Context(), func(tx *store.Tx) error {
				return errors.Join(tx.InsertEvent(e), end)
			})
		}
		if err := insert(twin, nil); fault.CodeOf(err) != fault.Conflict {
			t.Fatalf("a session's second event: %v, want a conflict", err)
		}
		twin.SessionID = uuid.New()
		if err := insert(twin, errors.New("rolled back")); err == nil {
			t.Fatal("the transaction should have failed")
		}
		if _, _, err := o.EventByID(t.Context(), webhook.OfAll(), twin.ID); fault.CodeOf(err) != fault.NotFound {
			t.Fatalf("a rolled back event: %v, want not found", err)
		}
	})
}

func TestOutboxWithoutDestination(t *testing.T) {
	eachOutbox(t, func(t *testing.T, o outbox) {
		event := o.insert(o.tenant, "")
		if tenants, err := o.DueTenants(t.Context()); err != nil || len(tenants) != 0 {
			t.Fatalf("due tenants %v, %v", tenants, err)
		}
		o.wantStatus(event.ID, webhook.StatusNoDestination)
		if err := o.ResendEvent(t.Context(), webhook.OfAll(), event.ID); fault.CodeOf(err) != fault.Conflict {
			t.Fatalf("resend: %v, want a conflict", err)
		}
	})
}

func TestOutboxRetriesWhenDue(t *testing.T) {
	eachOutbox(t, func(t *testing.T, o outbox) {
		event := o.insert(o.tenant, receiver)
		o.finish(o.claimOne(), webhook.ClassStatus, retryNow)
		d := o.claimOne()
		if d.Lease.Number != 2 || d.Step != 1 {
			t.Fatalf("second attempt is number %d at step %d", d.Lease.Number, d.Step)
		}
		o.finish(d, webhook.ClassTimeout, retryHour)
		if early := o.claim(1); len(early) != 0 {
			t.Fatal("claimed an hour early")
		}
		record := o.wantStatus(event.ID, webhook.StatusPending)
		if wait := time.Until(*record.NextAttemptAt); wait < 59*time.Minute || wait > time.Hour {
			t.Fatalf("next attempt in %s, want an hour", wait)
		}
		_, attempts := o.show(event.ID)
		if len(attempts) != 2 || attempts[1].NextAt == nil || attempts[1].Class != webhook.ClassTimeout {
			t.Fatalf("attempts %+v", attempts)
		}
	})
}

func TestOutboxLeases(t *testing.T) {
	eachOutbox(t, func(t *testing.T, o outbox) {
		event := o.insert(o.tenant, receiver)
		stale := o.claimOne()
		// The replica dies and its lease runs out.
		o.must(o.ExecRaw(t.Context(), "UPDATE webhook_events SET next_attempt_at = created_at"))
		fresh := o.claimOne()
		if fresh.Lease.Number != 2 || fresh.Step != 0 || fresh.Lease.Token == stale.Lease.Token {
			t.Fatalf("after a crash: %+v at step %d", fresh.Lease, fresh.Step)
		}
		err := o.FinishDelivery(t.Context(), stale, attempt(stale, webhook.ClassStatus), exhausted)
		if !errors.Is(err, webhook.ErrLeaseLost) {
			t.Fatalf("finishing a lost lease: %v", err)
		}
		if err := o.ReleaseDelivery(t.Context(), stale.Lease, 0); !errors.Is(err, webhook.ErrLeaseLost) {
			t.Fatalf("releasing a lost lease: %v", err)
		}
		o.wantStatus(event.ID, webhook.StatusPending)

		o.must(o.ReleaseDelivery(t.Context(), fresh.Lease, 0))
		again := o.claimOne()
		if again.Lease.Number != 2 {
			t.Fatalf("a released attempt's number is not free: %d", again.Lease.Number)
		}
		o.finish(again, webhook.ClassDelivered, delivered)
		if _, attempts := o.show(event.ID); len(attempts) != 2 {
			t.Fatalf("%d attempts recorded, want the lost one and the last one", len(attempts))
		}
	})
}

// A commit whose answer was lost is repeated, but the attempt is recorded once.
func TestOutboxFinishTwice(t *testing.T) {
	eachOutbox(t, func(t *testing.T, o outbox) {
		event := o.insert(o.tenant, receiver)
		d := o.claimOne()
		o.finish(d, webhook.ClassDelivered, delivered)
		err := o.FinishDelivery(t.Context(), d, attempt(d, webhook.ClassDelivered), delivered)
		if !errors.Is(err, webhook.ErrLeaseLost) {
			t.Fatalf("second finish: %v", err)
		}
		if _, attempts := o.show(event.ID); len(attempts) != 1 {
			t.Fatalf("%d attempts", len(attempts))
		}
	})
}

func TestOutboxClaimsOncePerDelivery(t *testing.T) {
	eachOutbox(t, func(t *testing.T, o outbox) {
		const events, claimers = 60, 6
		for range events {
			o.insert(o.tenant, receiver)
		}
		var mu sync.Mutex
		seen := map[string]int{}
		var wg sync.WaitGroup
		for range claimers {
			wg.Go(func() {
				for range events {
					deliveries, err := o.ClaimDeliveries(context.Background(), []webhook.Claim{{TenantID: o.tenant, Limit: 5}}, lease)
					if err != nil {
						t.Error(err)
					}
					if len(deliveries) > 5 {
						t.Errorf("claimed %d, limit 5", len(deliveries))
					}
					mu.Lock()
					for _, d := range deliveries {
						seen[d.ID]++
					}
					done := len(seen) == events
					mu.Unlock()
					if done {
						return
					}
				}
			})
		}
		wg.Wait()
		if len(seen) != events {
			t.Fatalf("claimed %d of %d", len(seen), events)
		}
		for id, n := range seen {
			if n != 1 {
				t.Fatalf("%s was claimed %d times", id, n)
			}
		}
	})
}

func TestOutboxDueTenants(t *testing.T) {
	eachOutbox(t, func(t *testing.T, o outbox) {
		want := []uuid.UUID{o.tenant}
		for range 4 {
			want = append(want, o.newTenant())
		}
		for _, tenant := range want {
			o.insert(tenant, receiver)
			o.insert(tenant, receiver)
		}
		idle := o.newTenant()
		o.insert(idle, receiver)
		o.must(o.ExecRaw(t.Context(), "UPDATE webhook_events SET next_attempt_at = ? WHERE tenant_id = ?",
			time.Now().UTC().Add(time.Hour), idle))
		got, err := o.DueTenants(t.Context())
		o.must(err)
		less := func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) }
		slices.SortFunc(got, less)
		slices.SortFunc(want, less)
		if !slices.Equal(got, want) {
			t.Fatalf("due tenants %v, want %v", got, want)
		}
	})
}

// Finding the tenants with due deliveries reads one or two rows per tenant,
// however many are due, even before PostgreSQL has gathered statistics.
func TestOutboxDueTenantsCost(t *testing.T) {
	o := outbox{Store: dbtest.Open(t, pgtest.URL(t)), t: t}
	const tenants, each = 3, 2000
	now := time.Now().UTC()
	for range tenants {
		tenant := o.newTenant()
		o.must(o.ExecRaw(t.Context(), `
			INSERT INTO webhook_events (id, tenant_id, session_id, livemode, destination, endpoint_id, body,
				status, created_at, next_attempt_at, attempts, step, last_class, last_status)
			SELECT 'evt_' || gen_random_uuid(), ?, gen_random_uuid(), true, ?, ?, '{}', 'pending', ?, ?, 0, 0, '', 0
			FROM generate_series(1, ?)`, tenant, receiver, webhook.EndpointID(tenant, true, receiver), now, now, each))
	}
	var plan []string
	o.must(o.View(t.Context(), func(tx *store.Tx) (err error) {
		plan, err = tx.Lines("EXPLAIN (ANALYZE, TIMING OFF) "+store.DueTenantsQuery, now)
		return err
	}))
	found := false
	for _, line := range plan {
		if _, actual, ok := strings.Cut(line, "(actual rows="); ok {
			found = true
			if rows, err := strconv.ParseFloat(strings.Fields(actual)[0], 64); err != nil || rows > tenants+1 {
				t.Errorf("a step of the plan looks at %v rows, %v:\n%s", rows, err, strings.Join(plan, "\n"))
			}
		}
	}
	if !found {
		t.Errorf("no rows counted in the plan:\n%s", strings.Join(plan, "\n"))
	}
}
