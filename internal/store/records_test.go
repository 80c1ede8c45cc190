package store_test

import (
	"context"
	"testing"
	"time"

	"agegate/internal/rules/audit"
	"agegate/internal/rules/session"
	"agegate/internal/rules/webhook"
	"agegate/internal/store"
	"agegate/internal/store/dbtest"
	"agegate/internal/store/pgtest"
)

// A batch of deletions does not wait for a transaction that is changing an
// event, which may wait for another event of the batch. The session is kept.
func TestPruneWaitsForNoEvent(t *testing.T) {
	o := outbox{Store: dbtest.Open(t, pgtest.URL(t)), t: t}
	o.tenant = o.newTenant()
	event := o.insert(o.tenant, receiver)
	o.finish(o.claimOne(), webhook.ClassDelivered, delivered)
	past := time.Now().Add(-time.Hour)
	o.must(o.UpdateSessions(t.Context(), func(tx session.Tx) error {
		return tx.InsertSessions(session.Session{
			ID: event.SessionID, TenantID: o.tenant, TargetAge: 18, Status: session.StatusPassed,
			LinkHash: make([]byte, 32), CreatedAt: past, ExpiresAt: past, CompletedAt: &past,
		})
	}))
	prune := func() session.Pruned {
		t.Helper()
		n, err := session.NewRecords(o, time.Now).Prune(context.Background(), audit.System("test"), o.tenant, time.Now(),
			func(session.Pruned) {})
		o.must(err)
		return n
	}
	o.must(o.Update(t.Context(), func(tx *store.Tx) error {
		if err := tx.Exec("UPDATE webhook_events SET step = step WHERE id = ?", event.ID); err != nil {
			return err
		}
		if n := prune(); n != (session.Pruned{Undelivered: 1}) {
			t.Errorf("beside the other transaction: %+v", n)
		}
		return nil
	}))
	if n := prune(); n != (session.Pruned{Deleted: 1}) {
		t.Errorf("after it: %+v", n)
	}
}

// An old event that is being made due again is not deleted.
func TestPruneEventsLeavesWhatIsResent(t *testing.T) {
	o := outbox{Store: dbtest.Open(t, pgtest.URL(t)), t: t}
	o.tenant = o.newTenant()
	event := o.insert(o.tenant, receiver)
	o.finish(o.claimOne(), webhook.ClassDelivered, delivered)
	o.must(o.Update(t.Context(), func(tx *store.Tx) error {
		if err := tx.Exec("UPDATE webhook_events SET status = 'pending', next_attempt_at = now() WHERE id = ?",
			event.ID); err != nil {
			return err
		}
		if n, err := o.PruneEvents(context.Background(), 0, 10); err != nil || n != 0 {
			t.Errorf("pruned %d, %v", n, err)
		}
		return nil
	}))
	o.wantStatus(event.ID, webhook.StatusPending)
}
