package store_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"agegate/internal/rules/audit"
	"agegate/internal/store"
	"agegate/internal/store/dbtest"

	"github.com/google/uuid"
)

// TestActsOnAllTenants: the acts of operators and of the command line on all tenants are
// listed newest first, each once, also where many are of one moment, and by an index.
func TestActsOnAllTenants(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, s *store.Store) {
		ctx, at := t.Context(), time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		id, shops := uuid.New(), []uuid.UUID{uuid.New(), uuid.New(), uuid.New()}
		add := func(scope audit.Scope, by audit.Actor, at time.Time) {
			t.Helper()
			if err := s.AppendAct(ctx, audit.Act{Scope: scope, At: at, Actor: by, Action: audit.TenantUpdate}); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 4 {
			for _, shop := range shops {
				own := audit.OfTenant(shop)
				add(own, audit.Operator(id, "op"), at.Add(time.Duration(i/2)*time.Hour))
				add(own, audit.User(id, "owner"), at)
			}
		}
		add(audit.OfTenant(shops[1]), audit.Actor{Kind: audit.KindCLI, ID: "0"}, at.Add(9*time.Hour))
		add(audit.Instance, audit.Operator(id, "op"), at)

		f, seen := audit.Filter{Scope: audit.OnTenants, Limit: 5}, []string{}
		var last time.Time
		for page := []audit.Entry{{}}; len(page) > 0; {
			var err error
			if page, err = s.AuditEntries(ctx, f); err != nil {
				t.Fatal(err)
			}
			for _, e := range page {
				if len(seen) > 0 && e.At.After(last) || e.Scope == audit.Instance || e.Actor.Kind == audit.KindUser {
					t.Errorf("%s #%d at %s by a %s", e.Scope, e.Seq, e.At, e.Actor.Kind)
				}
				seen, last = append(seen, fmt.Sprint(e.Scope, e.Seq)), e.At
				f.In, f.Before = e.Scope, e.Seq
			}
		}
		slices.Sort(seen)
		if once := slices.Compact(slices.Clone(seen)); len(seen) != 13 || len(once) != 13 {
			t.Errorf("%d acts, %d different ones, are listed; want 13", len(seen), len(once))
		}
		f = audit.Filter{Scope: audit.OnTenants, ActorID: "0"}
		if found, err := s.AuditEntries(ctx, f); err != nil || len(found) != 1 {
			t.Errorf("of the command line: %v, %v", found, err)
		}
		f = audit.Filter{Scope: audit.OnTenants, Before: 1, In: audit.OfTenant(uuid.New())}
		if _, err := s.AuditEntries(ctx, f); err == nil {
			t.Error("a page after no entry")
		}
		readsByIndex(ctx, t, s)
	})
}

// readsByIndex fails the test unless both databases can read the list's pages in the
// order of an index.
func readsByIndex(ctx context.Context, t *testing.T, s *store.Store) {
	t.Helper()
	err := s.View(ctx, func(tx *store.Tx) error {
		plan, err := tx.PlanOfMany(`SELECT * FROM audit_entries WHERE actor_kind IN ('operator', 'cli') AND
			scope <> 'instance' AND (at, scope, seq) < ('2026-03-01 12:00:00+00:00', 'x', 3)
			ORDER BY at DESC, scope DESC, seq DESC LIMIT 50`)
		if !strings.Contains(plan, "audit_entries_operators") || strings.Contains(plan, "Sort") ||
			strings.Contains(plan, "TEMP B-TREE") {
			t.Errorf("the list is read so: %s", plan)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
