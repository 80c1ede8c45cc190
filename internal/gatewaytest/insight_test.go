package gatewaytest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"agegate/internal/backoffice/insight"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
	"agegate/internal/rules/webhook"

	"github.com/google/uuid"
)

// The record of a session contains its own events and nothing of other sessions.
func TestRecordOfASession(t *testing.T) {
	Each(t, func(t *testing.T, g *Gateway) {
		receiver := NewReceiver(t)
		c, other := g.Shop(t, receiver.URL, nil), g.Shop(t, "", nil)
		test := insight.Scope{TenantID: c.Tenant.ID}
		made := g.Create(t, c.Test.APIKey, 21)
		id := uuid.MustParse(made.SessionID)
		browser := Browser()
		res, err := browser.Head(g.Path(made.VerificationURL))
		if err != nil {
			t.Fatal(err)
		}
		read(t, res)
		if r, err := g.App.Insight.Session(t.Context(), test, id); err != nil || len(r.Timeline) != 1 ||
			r.Status != session.StatusPending {
			t.Errorf("after a HEAD: %+v, %v", r, err)
		}
		for range 2 {
			if res, err = browser.Get(g.Path(made.VerificationURL)); err != nil {
				t.Fatal(err)
			}
			read(t, res)
		}
		for range 2 {
			if res, _ := g.Force(t, browser, made, "verified"); res.StatusCode != http.StatusSeeOther {
				t.Fatalf("forced: status %d", res.StatusCode)
			}
		}
		receiver.Wait(t, 1)
		var r insight.Record
		WaitFor(t, "the attempt on record", func() bool {
			if r, err = g.App.Insight.Session(t.Context(), test, id); err != nil {
				t.Fatal(err)
			}
			return slices.ContainsFunc(r.Timeline, func(m insight.Moment) bool { return m.Kind == insight.MomentWebhook })
		})
		var kinds []string
		for _, m := range r.Timeline {
			if m.Kind != insight.MomentWebhook { // the webhook may arrive before the redirect
				kinds = append(kinds, string(m.Kind))
			} else if m.Attempt.Class != webhook.ClassDelivered || m.Event.ID == "" {
				t.Errorf("attempt %+v", m.Attempt)
			}
		}
		if got := strings.Join(kinds, " "); got != "created opened result redirected" {
			t.Errorf("timeline: %s", got)
		}
		if r.Source != session.SourceForced || r.Basis.Cutoff != nil || r.TargetAge != 21 ||
			r.Estimate != session.AvailabilityNotConsented ||
			r.Key == nil || r.Key.LastFour != c.Test.APIKey[len(c.Test.APIKey)-4:] {
			t.Errorf("record %+v", r)
		}
		for name, scope := range map[string]insight.Scope{
			"the other mode": {TenantID: c.Tenant.ID, Livemode: true}, "another tenant": {TenantID: other.Tenant.ID},
		} {
			if _, err := g.App.Insight.Session(t.Context(), scope, id); fault.CodeOf(err) != fault.NotFound {
				t.Errorf("%s: %v", name, err)
			}
			if page, err := g.App.Insight.Sessions(t.Context(), scope, insight.SessionFilter{}, uuid.Nil); err != nil ||
				len(page.Rows) > 0 {
				t.Errorf("%s: %+v, %v", name, page, err)
			}
		}
		g.checkFacts(t, c.Tenant)
	})
}

// checkFacts checks the other counts that follow from one forced pass with a
// webhook.
func (g *Gateway) checkFacts(t *testing.T, owner tenant.Tenant) {
	t.Helper()
	test := insight.Scope{TenantID: owner.ID}
	list, err := g.App.Insight.Checklist(t.Context(), owner)
	want := insight.Checklist{
		SuccessURL: true, CancelURL: true, WebhookURL: true,
		Progress: insight.Progress{Passed: true, WebhookAnswered: true, LiveKey: true}, Allowance: true,
	}
	if err != nil || list != want || list.Complete() {
		t.Errorf("checklist %+v, %v", list, err)
	}
	o, err := g.App.Insight.Overview(t.Context(), test, insight.WindowDay, time.UTC)
	if err != nil || o.Counts != (insight.Counts{Created: 1, Passed: 1}) ||
		o.Funnel != (insight.Funnel{}) ||
		o.Webhooks.FirstTry.N != 1 || o.Allowance != nil {
		t.Errorf("overview %+v, %v", o, err)
	}
	if o, err := g.App.Insight.Overview(t.Context(), insight.Scope{TenantID: owner.ID, Livemode: true},
		insight.WindowMonth, time.UTC); err != nil ||
		o.Counts.Created != 0 || o.Allowance == nil || o.Allowance.FreeLeft != o.Allowance.FreeLimit {
		t.Errorf("overview of live mode %+v, %v", o, err)
	}
	keys, err := g.App.Insight.Keys(t.Context(), test)
	if err != nil || len(keys) != 1 || keys[0].Sessions != 1 {
		t.Errorf("keys %+v, %v", keys, err)
	}
	events, err := g.App.Insight.Deliveries(t.Context(), test, insight.DeliveryFilter{Status: webhook.StatusDelivered}, "")
	if err != nil || len(events.Rows) != 1 {
		t.Fatalf("deliveries %+v, %v", events, err)
	}
	if d, err := g.App.Insight.Delivery(t.Context(), test, events.Rows[0].ID); err != nil || len(d.Attempts) != 1 {
		t.Errorf("delivery %+v, %v", d, err)
	}
	live := insight.Scope{TenantID: owner.ID, Livemode: true}
	if _, err := g.App.Insight.Delivery(t.Context(), live, events.Rows[0].ID); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("the delivery in the other mode: %v", err)
	}
	WaitFor(t, "this replica on record", func() bool {
		replicas, err := g.App.Insight.Replicas(t.Context())
		return err == nil && len(replicas) == 1 && replicas[0].Config != ""
	})
}

// Refused requests are counted for the tenant whose key they used, without their
// content.
func TestRefusalsAreOnRecord(t *testing.T) {
	Each(t, func(t *testing.T, g *Gateway) {
		c, other := g.Shop(t, "", nil), g.Shop(t, "", nil)
		revoked, plain, err := g.App.Tenants.CreateKey(t.Context(), audit.System("test"), c.Tenant.ID, false, "")
		if err != nil {
			t.Fatal(err)
		}
		if err := g.App.Tenants.RevokeKey(t.Context(), audit.System("test"), c.Tenant.ID, revoked.ID); err != nil {
			t.Fatal(err)
		}
		key, statusPath := c.Test.APIKey, "/api/v1/sessions/"+someID+"/status"
		for i := range 3 {
			g.Do(t, Row{Name: "unknown fields", Path: createPath, Key: key, Status: 422,
				Body: fmt.Sprintf(`{"target_age":"%s","%s%d":1,"%s":2}`, canary, canary, i, canary)})
		}
		g.Do(t, Row{Name: "no session", Path: statusPath, Key: key, Status: 404})
		g.Do(t, Row{Name: "revoked", Path: statusPath, Key: plain, Status: 401})
		g.Do(t, Row{Name: "nobody", Path: statusPath, Key: key[:len(key)-1], Status: 401})
		g.Do(t, Row{Name: "other", Path: statusPath, Key: other.Test.APIKey, Status: 404})
		const create, status = "POST /api/v1/sessions/create", "GET /api/v1/sessions/:session_id/status"
		want := []string{
			create + " 422 extra_forbidden body.* 3", create + " 422 int_type body.target_age 3",
			status + " 401 invalid_key.invalid-api-key  1", status + " 404 not_found.session-not-found  1",
		}
		var got []string
		WaitFor(t, "four counts", func() bool {
			g.WriteRefusals(t)
			rows, err := g.App.Insight.Refusals(t.Context(), insight.Scope{TenantID: c.Tenant.ID})
			if err != nil {
				t.Fatal(err)
			}
			sums := map[string]int64{} // a new minute may have begun in between
			for _, r := range rows {
				if r.RequestID == "" || r.KeyID == uuid.Nil || strings.Contains(fmt.Sprint(r), canary) {
					t.Fatalf("%+v", r)
				}
				sums[fmt.Sprintf("%s %d %s %s", r.Route, r.Status, r.Type, r.Loc)] += r.N
			}
			got = nil
			var total int64
			for name, n := range sums {
				got = append(got, fmt.Sprintf("%s %d", name, n))
				total += n
			}
			return total >= 8
		})
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("refusals %q\nwant %q", got, want)
		}
	})
}
