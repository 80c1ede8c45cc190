package storetest

import (
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agegate/internal/backoffice/certify"
	"agegate/internal/backoffice/suite"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/fault"

	"github.com/google/uuid"
)

func certification(t *testing.T, tenantID uuid.UUID, at time.Time) certify.Run {
	return certify.Run{ID: id(t), TenantID: tenantID, EndpointID: "ep_1", StartedAt: stored(at)}
}

func TestCertifications(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		ctx := t.Context()
		owner, other := newTenant(t, s), newTenant(t, s)
		_, err := s.LastCertification(ctx, owner.ID, "ep_1")
		wantCode(t, "before the first", err, fault.NotFound)

		run := certification(t, owner.ID, start)
		wantNoError(t, s.StartCertification(ctx, run, []string{"shop.example"}, anAct))
		same := func(when string, want certify.Run) {
			t.Helper()
			if got, err := s.LastCertification(ctx, owner.ID, "ep_1"); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %+v, %v\nwant %+v", when, got, err, want)
			}
		}
		same("while it runs", run)
		done := stored(start.Add(time.Minute))
		run.FinishedAt, run.Passed = &done, true
		run.Results = []certify.Result{{Case: "webhook.good", Title: "It holds", Outcome: suite.Failed, Took: time.Second,
			Problems: []certify.Problem{{Code: certify.ProblemNoAnswer, What: "first", Value: "dns"}}, Fix: "Mend it."}}
		for _, first := range []bool{true, false} {
			if ok, err := s.FinishCertification(ctx, run); err != nil || ok != first {
				t.Errorf("finishing: %t, %v; want %t", ok, err, first)
			}
		}
		same("when it has ended", run)
		for endpoint, want := range map[string]bool{"ep_1": true, "ep_2": false} {
			if got, _, err := s.Progress(ctx, owner.ID, endpoint, time.Time{}, start); err != nil || got.Certified != want {
				t.Errorf("%s is certified: %t, %v", endpoint, got.Certified, err)
			}
		}
		for _, wrong := range []certify.Run{{TenantID: other.ID, EndpointID: "ep_1"},
			{TenantID: owner.ID, EndpointID: "ep_2"}} {
			_, err := s.LastCertification(ctx, wrong.TenantID, wrong.EndpointID)
			wantCode(t, "of another tenant or endpoint", err, fault.NotFound)
		}
		// The oldest runs are deleted, but none of another tenant.
		wantNoError(t, s.StartCertification(ctx, certification(t, other.ID, start), []string{"shop.example"}, anAct))
		for n := 1; n <= certify.MaxKept; n++ {
			at := start.Add(time.Duration(n) * certify.Pause)
			wantNoError(t, s.StartCertification(ctx, certification(t, owner.ID, at), []string{"shop.example"}, anAct))
		}
		if ok, err := s.FinishCertification(ctx, run); err != nil || ok {
			t.Errorf("the oldest run is still there: %t, %v", ok, err)
		}
		_, err = s.LastCertification(ctx, other.ID, "ep_1")
		wantNoError(t, err)

		// Runs do not prevent deleting a tenant.
		wantNoError(t, s.SetTenantDisabled(ctx, owner.ID, true, anAct))
		late := certification(t, owner.ID, start.Add(48*time.Hour))
		wantCode(t, "for a disabled tenant", s.StartCertification(ctx, late, []string{"shop.example"}, anAct),
			fault.TenantDisabled)
		wantNoError(t, s.DeleteTenant(ctx, owner.ID, anAct))
		wantCode(t, "for a deleted tenant", s.StartCertification(ctx, late, []string{"shop.example"}, anAct), fault.NotFound)
	})
}

func TestAHostIsCertifiedOnceInAWhile(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		ctx := t.Context()
		owner, other := newTenant(t, s), newTenant(t, s)
		begin := func(tenantID uuid.UUID, after time.Duration, hosts ...string) error {
			act := anAct
			act.Scope, act.Action = audit.OfTenant(tenantID), audit.CertifyRun
			return s.StartCertification(ctx, certification(t, tenantID, start.Add(after)), hosts, act)
		}
		wantNoError(t, begin(owner.ID, 0, "a.example", "b.example"))
		for _, tt := range []struct {
			name   string
			tenant uuid.UUID
			after  time.Duration
			hosts  []string
			want   fault.Code
		}{
			{"at once", owner.ID, 0, []string{"a.example"}, fault.TooMany},
			{"one of two hosts", owner.ID, time.Minute, []string{"c.example", "b.example"}, fault.TooMany},
			{"another host", owner.ID, time.Minute, []string{"c.example"}, ""},
			{"another tenant", other.ID, time.Minute, []string{"a.example"}, ""},
			{"just before the time is over", owner.ID, certify.Pause - microsecond, []string{"b.example"}, fault.TooMany},
			{"when it is over", owner.ID, certify.Pause, []string{"b.example"}, ""},
			{"the one in between", owner.ID, certify.Pause, []string{"c.example"}, fault.TooMany},
		} {
			if err := begin(tt.tenant, tt.after, tt.hosts...); fault.CodeOf(err) != tt.want || tt.want == "" && err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
		}
		if entries, err := s.AuditEntries(ctx, audit.Filter{Scope: audit.OfTenant(owner.ID)}); err != nil ||
			len(entries) != 3 {
			t.Errorf("%d entries of the audit log, %v; want one for each run and none for a refusal", len(entries), err)
		}

		// Of many simultaneous runs, one begins.
		var began atomic.Int32
		var together sync.WaitGroup
		for range 8 {
			together.Go(func() {
				switch err := begin(owner.ID, time.Hour, "a.example"); fault.CodeOf(err) {
				case "":
					wantNoError(t, err)
					began.Add(1)
				case fault.TooMany:
				default:
					t.Errorf("one of many: %v", err)
				}
			})
		}
		together.Wait()
		if n := began.Load(); n != 1 {
			t.Errorf("%d of 8 runs began", n)
		}
	})
}
