package store_test

import (
	"path/filepath"
	"testing"
	"time"

	"agegate/internal/rules/webhook"
	"agegate/internal/store"
)

// On SQLite the injected clock determines every time of the queue.
func TestQueueClock(t *testing.T) {
	clock := time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC)
	s, err := store.Open(t.Context(), store.Config{
		URL: "sqlite:" + filepath.Join(t.TempDir(), "agegate.db"),
		Now: func() time.Time { return clock },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	o := outbox{Store: s, t: t}
	o.must(s.Migrate(t.Context()))
	o.tenant = o.newTenant()

	event := o.insert(o.tenant, receiver)
	if record, _ := o.show(event.ID); !record.CreatedAt.Equal(clock) || !record.NextAttemptAt.Equal(clock) {
		t.Fatalf("inserted at %s, due at %s, want %s", record.CreatedAt, record.NextAttemptAt, clock)
	}
	d := o.claimOne()
	if !d.Lease.At.Equal(clock) {
		t.Fatalf("claimed at %s, want %s", d.Lease.At, clock)
	}
	clock = clock.Add(lease - time.Microsecond)
	if early := o.claim(1); len(early) != 0 {
		t.Fatal("claimed before the lease ended")
	}
	clock = clock.Add(time.Microsecond)
	o.finish(o.claimOne(), webhook.ClassStatus, retryHour)
	if since := *o.endpoint().FirstFailureAt; !since.Equal(clock) {
		t.Fatalf("failing since %s, want %s", since, clock)
	}
	clock = clock.Add(time.Hour - time.Microsecond)
	if tenants, err := o.DueTenants(t.Context()); err != nil || len(tenants) != 0 {
		t.Fatalf("due a microsecond early: %v, %v", tenants, err)
	}
	clock = clock.Add(time.Microsecond + time.Minute)
	if pending, oldest, err := o.QueueState(t.Context()); err != nil || pending != 1 || oldest != time.Minute {
		t.Fatalf("%d pending, the oldest due for %s, %v; want 1, a minute", pending, oldest, err)
	}
	o.finish(o.claimOne(), webhook.ClassDelivered, delivered)
	clock = clock.Add(webhook.Retention)
	if n, err := o.PruneEvents(t.Context(), webhook.Retention, 10); err != nil || n != 1 {
		t.Fatalf("pruned %d, %v; want 1", n, err)
	}
}
