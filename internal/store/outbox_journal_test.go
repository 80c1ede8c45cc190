package store_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"agegate/internal/backoffice/insight"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/webhook"
	"agegate/internal/store"
	"agegate/internal/store/dbtest"
	"agegate/internal/store/pgtest"
)

func (o outbox) endpoint() webhook.Failing {
	o.t.Helper()
	endpoints, err := o.Endpoints(o.t.Context(), webhook.OfTenant(o.tenant))
	o.must(err)
	if len(endpoints) != 1 {
		o.t.Fatalf("%d endpoints, want 1", len(endpoints))
	}
	return endpoints[0]
}

func TestEndpointGoneWaitsUntilEnabled(t *testing.T) {
	eachOutbox(t, func(t *testing.T, o outbox) {
		first, second, third := o.insert(o.tenant, receiver), o.insert(o.tenant, receiver), o.insert(o.tenant, receiver)
		elsewhere := o.insert(o.tenant, receiver+"/other")
		claimed := o.claim(2) // the third delivery has no attempt under way when the endpoint is disabled
		o.finish(claimed[0], webhook.ClassStatus, gone)
		o.finish(claimed[1], webhook.ClassStatus, retryNow)
		late := o.insert(o.tenant, receiver)
		for _, e := range []webhook.Event{first, second, third, late} {
			o.wantStatus(e.ID, webhook.StatusWaiting)
		}
		if left := o.claim(10); len(left) != 1 || left[0].ID != elsewhere.ID {
			t.Fatalf("claimed %+v, want only the other endpoint's", left)
		}
		endpoint := o.endpoint()
		if endpoint.DisabledReason != webhook.DisabledGone || endpoint.DisabledAt == nil || endpoint.URL != receiver ||
			endpoint.ID != webhook.EndpointID(o.tenant, true, receiver) || endpoint.Class != webhook.ClassStatus {
			t.Fatalf("endpoint %+v", endpoint)
		}

		stranger := webhook.OfTenant(o.newTenant())
		if _, err := o.EnableEndpoint(t.Context(), stranger, endpoint.ID); fault.CodeOf(err) != fault.NotFound {
			t.Fatalf("a stranger enables it: %v", err)
		}
		n, err := o.EnableEndpoint(t.Context(), webhook.OfTenant(o.tenant), endpoint.ID)
		if err != nil || n != 4 {
			t.Fatalf("enabled %d deliveries, %v; want 4", n, err)
		}
		if again := o.claim(10); len(again) != 4 || again[0].Step != 0 {
			t.Fatalf("claimed %d after enabling, want 4", len(again))
		}
	})
}

// Many deliveries of one endpoint are changed in small batches: no transaction
// delays other tenants for as long as the whole queue takes.
func TestEndpointWithManyDeliveries(t *testing.T) {
	eachOutbox(t, func(t *testing.T, o outbox) {
		const many = store.EventBatch + 20
		count := func(status webhook.Status) (n int64) {
			o.must(o.View(t.Context(), func(tx *store.Tx) (err error) {
				n, err = tx.Count("SELECT count(*) FROM webhook_events WHERE status = ?", status)
				return err
			}))
			return n
		}
		for range many {
			o.insert(o.tenant, receiver)
		}
		o.finish(o.claimOne(), webhook.ClassStatus, gone)
		if n := count(webhook.StatusWaiting); n < store.EventBatch || n >= many {
			t.Fatalf("%d of %d wait after one attempt, want %d at once", n, many, store.EventBatch)
		}
		for _, d := range o.claim(2) {
			o.finish(d, webhook.ClassStatus, gone)
		}
		if n := count(webhook.StatusWaiting); n != many {
			t.Fatalf("%d of %d wait", n, many)
		}
		if n, err := o.EnableEndpoint(t.Context(), webhook.OfTenant(o.tenant), o.endpoint().ID); err != nil || n != many {
			t.Fatalf("enabled %d deliveries, %v; want %d", n, err, many)
		}
		o.must(o.ExecRaw(t.Context(), "UPDATE webhook_events SET status = 'failed', next_attempt_at = NULL"))
		if n, err := o.ResendFailedEvents(t.Context(), webhook.OfAll(), time.Now().Add(-time.Hour)); err != nil || n != many {
			t.Fatalf("resent %d, %v; want %d", n, err, many)
		}
		if n := count(webhook.StatusPending); n != many {
			t.Fatalf("%d of %d pending", n, many)
		}
	})
}

// Disabling an endpoint does not wait for a transaction that is changing one of
// its deliveries. A delivery that is accepted meanwhile stays delivered.
func TestEndpointGoneWhileDelivering(t *testing.T) {
	o := outbox{Store: dbtest.Open(t, pgtest.URL(t)), t: t}
	o.tenant = o.newTenant()
	accepted := o.insert(o.tenant, receiver)
	d := o.claimOne()
	o.insert(o.tenant, receiver)
	refused := o.claimOne()
	o.must(o.Update(t.Context(), func(tx *store.Tx) error {
		if err := tx.Exec("UPDATE webhook_events SET status = 'delivered', next_attempt_at = NULL WHERE id = ?",
			d.ID); err != nil {
			return err
		}
		return o.FinishDelivery(context.Background(), refused, attempt(refused, webhook.ClassStatus), gone)
	}))
	o.wantStatus(accepted.ID, webhook.StatusDelivered)
}

func TestEndpointFailingForFiveDays(t *testing.T) {
	eachOutbox(t, func(t *testing.T, o outbox) {
		backdate := func(age time.Duration) {
			o.must(o.ExecRaw(t.Context(), "UPDATE webhook_endpoints SET first_failure_at = ?", time.Now().UTC().Add(-age)))
		}
		o.insert(o.tenant, receiver)
		o.finish(o.claimOne(), webhook.ClassStatus, retryNow)
		backdate(webhook.FailureLimit - time.Minute)
		o.finish(o.claimOne(), webhook.ClassStatus, retryNow)
		if o.endpoint().DisabledAt != nil {
			t.Fatal("disabled a minute early")
		}

		// A success in between restarts the five days.
		o.insert(o.tenant, receiver)
		claimed := o.claim(2)
		o.finish(claimed[0], webhook.ClassDelivered, delivered)
		if endpoints, err := o.Endpoints(t.Context(), webhook.OfAll()); err != nil || len(endpoints) != 0 {
			t.Fatalf("after a success: %+v, %v", endpoints, err)
		}
		o.finish(claimed[1], webhook.ClassStatus, retryNow)
		if since := time.Since(*o.endpoint().FirstFailureAt); since > time.Hour {
			t.Fatalf("failing since %s", since)
		}

		backdate(webhook.FailureLimit + time.Second)
		last := o.claimOne()
		o.finish(last, webhook.ClassStatus, retryNow)
		o.wantStatus(last.ID, webhook.StatusWaiting)
		if endpoint := o.endpoint(); endpoint.DisabledReason != webhook.DisabledFailing {
			t.Fatalf("endpoint %+v", endpoint)
		}
	})
}

// A merchant with little traffic: two failures with five days without an attempt
// between them do not count as five days of failures.
func TestEndpointFailingAfterQuietDays(t *testing.T) {
	eachOutbox(t, func(t *testing.T, o outbox) {
		backdate := func(age time.Duration) {
			at := time.Now().UTC().Add(-age)
			o.must(o.ExecRaw(t.Context(), "UPDATE webhook_endpoints SET first_failure_at = ?", at))
			o.must(o.ExecRaw(t.Context(), "UPDATE webhook_events SET last_at = ? WHERE last_at IS NOT NULL", at))
		}
		o.insert(o.tenant, receiver)
		o.finish(o.claimOne(), webhook.ClassStatus, exhausted)
		backdate(2 * webhook.FailureLimit)

		later := o.insert(o.tenant, receiver)
		o.finish(o.claimOne(), webhook.ClassStatus, retryNow)
		o.wantStatus(later.ID, webhook.StatusPending)
		if since := time.Since(*o.endpoint().FirstFailureAt); since > time.Hour {
			t.Fatalf("failing since %s", since)
		}

		// Days of retries count as days of failures.
		backdate(webhook.FailureLimit - time.Minute)
		o.must(o.ExecRaw(t.Context(), "UPDATE webhook_endpoints SET first_failure_at = ?",
			time.Now().UTC().Add(-2*webhook.FailureLimit)))
		o.finish(o.claimOne(), webhook.ClassStatus, retryNow)
		o.wantStatus(later.ID, webhook.StatusWaiting)
	})
}

func TestResend(t *testing.T) {
	eachOutbox(t, func(t *testing.T, o outbox) {
		event := o.insert(o.tenant, receiver)
		mine := webhook.OfTenant(o.tenant)
		d := o.claimOne()
		o.must(o.ResendEvent(t.Context(), mine, event.ID)) // an attempt is under way: the delivery does not change
		if len(o.claim(1)) != 0 {
			t.Fatal("an attempt under way was doubled")
		}
		o.finish(d, webhook.ClassStatus, exhausted)
		o.wantStatus(event.ID, webhook.StatusFailed)

		for _, scope := range []webhook.Scope{{}, webhook.OfTenant(o.newTenant())} {
			if err := o.ResendEvent(t.Context(), scope, event.ID); fault.CodeOf(err) != fault.NotFound {
				t.Fatalf("out of scope: %v", err)
			}
		}
		o.must(o.ResendEvent(t.Context(), mine, event.ID))
		d = o.claimOne()
		if d.Step != 0 || d.Lease.Number != 2 || string(d.Body) != string(event.Body) {
			t.Fatalf("resent %+v", d)
		}
		o.finish(d, webhook.ClassDelivered, delivered)
		o.must(o.ResendEvent(t.Context(), mine, event.ID)) // delivered ones too
		o.finish(o.claimOne(), webhook.ClassStatus, gone)

		// One attempt is allowed while the endpoint is disabled, and only one.
		o.must(o.ResendEvent(t.Context(), mine, event.ID))
		o.finish(o.claimOne(), webhook.ClassStatus, retryNow)
		o.wantStatus(event.ID, webhook.StatusWaiting)
	})
}

// TestFirstAttempts: an event that its receiver took at the first attempt counts as
// such after it was sent again, and one that it took only when sent again does not. One
// that it has refused counts before its next attempt.
func TestFirstAttempts(t *testing.T) {
	eachOutbox(t, func(t *testing.T, o outbox) {
		fine, late := o.insert(o.tenant, receiver), o.insert(o.tenant, receiver)
		mine := webhook.OfTenant(o.tenant)
		for range 2 {
			for _, d := range o.claim(2) {
				if d.ID == late.ID && d.Lease.Number == 1 {
					o.finish(d, webhook.ClassStatus, exhausted)
				} else {
					o.finish(d, webhook.ClassDelivered, delivered)
				}
				if d.Lease.Number == 1 {
					o.must(o.ResendEvent(t.Context(), mine, d.ID))
				}
			}
		}
		o.wantStatus(fine.ID, webhook.StatusDelivered)
		o.wantStatus(late.ID, webhook.StatusDelivered)
		got, err := o.CountEvents(t.Context(), insight.Scope{TenantID: o.tenant, Livemode: true}, "", 10)
		if want := (insight.EventCounts{Delivered: 2, FirstTry: 1}); err != nil || got != want {
			t.Errorf("%+v, %v, want %+v", got, err, want)
		}
		o.insert(o.tenant, receiver)
		for _, d := range o.claim(1) {
			o.finish(d, webhook.ClassStatus, retryHour)
		}
		o.insert(o.tenant, receiver) // not sent yet
		got, err = o.CountEvents(t.Context(), insight.Scope{TenantID: o.tenant, Livemode: true}, "", 10)
		if want := (insight.EventCounts{Delivered: 2, FirstTry: 1, Pending: 2, Refused: 1}); err != nil || got != want {
			t.Errorf("%+v, %v, want %+v", got, err, want)
		}
	})
}

func TestResendFailedSince(t *testing.T) {
	eachOutbox(t, func(t *testing.T, o outbox) {
		old, failed, fine, disabled := o.insert(o.tenant, receiver), o.insert(o.tenant, receiver),
			o.insert(o.tenant, receiver), o.insert(o.tenant, receiver+"/gone")
		dispositions := map[string]webhook.Disposition{old.ID: exhausted, failed.ID: exhausted, fine.ID: delivered,
			disabled.ID: exhausted}
		for _, d := range o.claim(10) {
			o.finish(d, webhook.ClassStatus, dispositions[d.ID])
		}
		o.insert(o.tenant, receiver+"/gone")
		o.finish(o.claimOne(), webhook.ClassStatus, gone)
		o.must(o.ExecRaw(t.Context(), "UPDATE webhook_events SET created_at = ? WHERE id = ?",
			time.Now().UTC().Add(-2*time.Hour), old.ID))

		since := time.Now().Add(-time.Hour)
		if n, err := o.ResendFailedEvents(t.Context(), webhook.OfTenant(o.newTenant()), since); err != nil || n != 0 {
			t.Fatalf("a stranger resent %d, %v", n, err)
		}
		if n, err := o.ResendFailedEvents(t.Context(), webhook.OfAll(), since); err != nil || n != 1 {
			t.Fatalf("resent %d, %v; want 1", n, err)
		}
		if d := o.claim(10); len(d) != 1 || d[0].ID != failed.ID {
			t.Fatalf("claimed %+v, want only %s", d, failed.ID)
		}
	})
}

func TestEventsFilter(t *testing.T) {
	eachOutbox(t, func(t *testing.T, o outbox) {
		other := o.newTenant()
		a, b, c := o.insert(o.tenant, receiver), o.insert(o.tenant, ""), o.insert(other, receiver)
		mine := webhook.OfTenant(o.tenant)
		for name, tc := range map[string]struct {
			filter webhook.Filter
			want   []string
		}{
			"nobody":   {webhook.Filter{}, nil},
			"all":      {webhook.Filter{Scope: webhook.OfAll()}, []string{c.ID, b.ID, a.ID}},
			"tenant":   {webhook.Filter{Scope: mine}, []string{b.ID, a.ID}},
			"status":   {webhook.Filter{Scope: mine, Status: webhook.StatusPending}, []string{a.ID}},
			"live":     {webhook.Filter{Scope: webhook.OfMode(o.tenant, true)}, []string{b.ID, a.ID}},
			"test":     {webhook.Filter{Scope: webhook.OfMode(o.tenant, false)}, nil},
			"session":  {webhook.Filter{Scope: mine, Session: b.SessionID}, []string{b.ID}},
			"page one": {webhook.Filter{Scope: webhook.OfAll(), Limit: 2}, []string{c.ID, b.ID}},
			"page two": {webhook.Filter{Scope: webhook.OfAll(), Limit: 2, Before: b.ID}, []string{a.ID}},
		} {
			records, err := o.Events(t.Context(), tc.filter)
			o.must(err)
			var got []string
			for _, r := range records {
				got = append(got, r.ID)
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("%s: %v, want %v", name, got, tc.want)
			}
		}
		if _, _, err := o.EventByID(t.Context(), mine, c.ID); fault.CodeOf(err) != fault.NotFound {
			t.Errorf("another tenant's event: %v", err)
		}
		if _, err := o.EnableEndpoint(t.Context(), mine, "ep_"+uuid.NewString()); fault.CodeOf(err) != fault.NotFound {
			t.Errorf("unknown endpoint: %v", err)
		}
	})
}

func TestPruneKeepsThirtyDays(t *testing.T) {
	eachOutbox(t, func(t *testing.T, o outbox) {
		done, due, young := o.insert(o.tenant, receiver), o.insert(o.tenant, receiver), o.insert(o.tenant, receiver)
		for _, d := range o.claim(10) {
			disposition := delivered
			if d.ID == due.ID {
				disposition = retryHour
			}
			o.finish(d, webhook.ClassStatus, disposition)
		}
		o.must(o.ExecRaw(t.Context(), "UPDATE webhook_events SET created_at = ? WHERE id <> ?",
			time.Now().UTC().Add(-webhook.Retention-time.Minute), young.ID))
		if n, err := o.PruneEvents(t.Context(), webhook.Retention, 100); err != nil || n != 1 {
			t.Fatalf("pruned %d, %v; want 1", n, err)
		}
		if _, _, err := o.EventByID(t.Context(), webhook.OfAll(), done.ID); fault.CodeOf(err) != fault.NotFound {
			t.Fatalf("pruned event: %v", err)
		}
		o.wantStatus(due.ID, webhook.StatusPending)
		o.wantStatus(young.ID, webhook.StatusDelivered)
	})
}

// TestFailedByTenant: live mode comes first, then tenants with the most failures, each
// counted up to a limit. Tenants without failures are left out.
func TestFailedByTenant(t *testing.T) {
	eachOutbox(t, func(t *testing.T, o outbox) {
		few, none := o.newTenant(), o.newTenant()
		for range 5 {
			o.insert(o.tenant, receiver)
		}
		o.insert(few, receiver)
		o.must(o.ExecRaw(t.Context(), "UPDATE webhook_events SET status = 'failed', next_attempt_at = NULL"))
		o.must(o.ExecRaw(t.Context(), `UPDATE webhook_events SET livemode = false WHERE id IN (
			SELECT id FROM webhook_events WHERE tenant_id = ? ORDER BY id LIMIT 2)`, o.tenant))
		o.insert(none, receiver) // is pending
		o.insert(few, receiver)
		row := func(id uuid.UUID, live bool, n int64) insight.TenantFailed {
			return insight.TenantFailed{TenantID: id, Name: "shop", Livemode: live, Failed: n}
		}
		for _, tt := range []struct {
			limit, atMost int
			want          []insight.TenantFailed
		}{
			{10, 10, []insight.TenantFailed{row(o.tenant, true, 3), row(few, true, 1), row(o.tenant, false, 2)}},
			{10, 2, []insight.TenantFailed{row(o.tenant, true, 2), row(few, true, 1), row(o.tenant, false, 2)}},
			{1, 10, []insight.TenantFailed{row(o.tenant, true, 3)}},
		} {
			if got, err := o.FailedByTenant(t.Context(), tt.limit, tt.atMost); err != nil || !slices.Equal(got, tt.want) {
				t.Errorf("%d tenants, counted up to %d: %+v, %v, want %+v", tt.limit, tt.atMost, got, err, tt.want)
			}
		}
	})
}
