package storetest

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"agegate/internal/rules/audit"
	"agegate/internal/rules/billing"
	"agegate/internal/rules/fault"
)

// acted writes an act in its own transaction.
func acted(ctx context.Context, s Store, act audit.Act) error {
	return s.UpdateCredit(ctx, func(tx billing.CreditTx) error { return tx.AppendAudit(act) })
}

func TestAuditEntriesComeBackAsWritten(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		scope := audit.OfTenant(id(t))
		acts := []audit.Act{
			{
				Scope: scope, At: start, Actor: audit.User(id(t), "Zoë \"Z\" <b>"), Action: audit.TenantUpdate, Target: "t",
				Detail: audit.Detail{Changes: []audit.Change{{Setting: "name", Old: "Vin & Øl", New: "\u2028"}}},
			},
			{Scope: scope, At: start.Add(-time.Hour), Actor: audit.Actor{Kind: audit.KindCLI}, Action: audit.APIKeyCreate,
				Detail: audit.Detail{Params: map[string]string{"mode": "live"}}},
			{Scope: scope, At: start, Actor: audit.System("test"), Action: audit.APIKeyCreate},
		}
		var want []audit.Entry
		end := audit.Head{}
		for _, act := range acts {
			wantNoError(t, acted(t.Context(), s, act))
			e, err := end.Next(act)
			wantNoError(t, err)
			want, end = append(want, e), audit.Head{Seq: e.Seq, Hash: e.Hash}
		}
		got, err := s.AuditChain(t.Context(), scope, 0, 9)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("AuditChain = %+v, %v\nwant %+v", got, err, want)
		}
		if got, err := audit.Verify(t.Context(), s, scope); err != nil || got != end {
			t.Errorf("Verify = %v, %v, want %v", got, err, end)
		}
		for _, tt := range []struct {
			name   string
			filter audit.Filter
			want   []int64
		}{
			{"newest first", audit.Filter{Scope: scope}, []int64{3, 2, 1}},
			{"first page", audit.Filter{Scope: scope, Limit: 2}, []int64{3, 2}},
			{"next page", audit.Filter{Scope: scope, Limit: 2, Before: 2}, []int64{1}},
			{"by action", audit.Filter{Scope: scope, Action: audit.APIKeyCreate}, []int64{3, 2}},
			{"by action, next page", audit.Filter{Scope: scope, Action: audit.APIKeyCreate, Before: 3}, []int64{2}},
			{"by actor", audit.Filter{Scope: scope, ActorID: acts[0].Actor.ID}, []int64{1}},
			{"another scope", audit.Filter{Scope: audit.OfTenant(id(t))}, nil},
			{"no scope", audit.Filter{}, nil},
		} {
			entries, err := s.AuditEntries(t.Context(), tt.filter)
			var got []int64
			for _, e := range entries {
				got = append(got, e.Seq)
			}
			if err != nil || !slices.Equal(got, tt.want) {
				t.Errorf("%s: %v, %v, want %v", tt.name, got, err, tt.want)
			}
		}
		if page, err := s.AuditChain(t.Context(), scope, 1, 1); err != nil || len(page) != 1 || page[0].Seq != 2 {
			t.Errorf("AuditChain after 1: %+v, %v", page, err)
		}
	})
}

func TestAuditScopes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		ctx := t.Context()
		want := []audit.Scope{audit.OfTenant(id(t)), audit.OfTenant(id(t)), audit.Instance}
		for _, scope := range want {
			wantNoError(t, acted(ctx, s, audit.Act{Scope: scope, At: start, Actor: audit.System("test"),
				Action: audit.TenantUpdate}))
		}
		if got, err := s.AuditScopes(ctx, "", 9); err != nil || !slices.Equal(got, want) {
			t.Errorf("AuditScopes = %v, %v, want %v", got, err, want)
		}
		if got, err := s.AuditScopes(ctx, want[0], 1); err != nil || !slices.Equal(got, want[1:2]) {
			t.Errorf("the second page: %v, %v, want %v", got, err, want[1:2])
		}
	})
}

func TestAuditEntryIsWrittenWithItsActOrNeither(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		owner, refused := newTenant(t, s).ID, errors.New("refused")
		scope := audit.OfTenant(owner)
		act := audit.Act{Scope: scope, At: start, Actor: audit.System("test"), Action: audit.CreditAdd}
		err := s.UpdateCredit(t.Context(), func(tx billing.CreditTx) error {
			return errors.Join(tx.AppendAudit(act),
				refused)
		})
		if !errors.Is(err, refused) {
			t.Error(err)
		}
		nobody := act
		nobody.Actor = audit.Actor{}
		err = s.UpdateCredit(t.Context(), func(tx billing.CreditTx) error {
			_, err := tx.AddCredit(owner, 5)
			return errors.Join(err, tx.AppendAudit(nobody))
		})
		if units, creditErr := s.Credit(t.Context(), owner); err == nil || creditErr != nil || units != 0 {
			t.Errorf("an act of nobody: %v; %d units, %v", err, units, creditErr)
		}
		if end, err := s.AuditHead(t.Context(), scope); err != nil || end != (audit.Head{}) {
			t.Errorf("the log ends at %v, %v", end, err)
		}
		if scopes, err := s.AuditScopes(t.Context(), "", 9); err != nil || slices.Contains(scopes, scope) {
			t.Errorf("scopes %v, %v", scopes, err)
		}
	})
}

func TestAuditEntriesOfManyWritersAreOneChain(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		const n = 100
		scopes := []audit.Scope{audit.OfTenant(uuid.New()), audit.Instance}
		concurrently(n, func(i int) {
			err := acted(t.Context(), s, audit.Act{Scope: scopes[i%2], At: start, Actor: audit.System("test"),
				Action: audit.TenantUpdate})
			if err != nil {
				t.Error(err)
			}
		})
		for _, scope := range scopes {
			if end, err := audit.Verify(t.Context(), s, scope); err != nil || end.Seq != n/2 {
				t.Errorf("%s: %v, %v, want %d entries", scope, end, err, n/2)
			}
		}
	})
}

// TestTestKeysCannotFillTheLog: a change with a test key is refused while the log has
// grown by audit.MaxTestActs entries within audit.TestActsPeriod. A person's is not.
func TestTestKeysCannotFillTheLog(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		owner := newTenant(t, s)
		act := audit.Act{
			Scope: audit.OfTenant(owner.ID), At: start, Actor: audit.TestKey(uuid.New()),
			Action: audit.EventResend, Target: "evt_1",
		}
		person := act
		person.Actor = audit.System("test")
		written := 0
		for range audit.MaxTestActs + 50 {
			err := acted(t.Context(), s, act)
			if err == nil {
				written++
				continue
			}
			refused, ok := errors.AsType[*fault.Error](err)
			if !ok || refused.Code != fault.TooMany || refused.RetryAfter <= 0 || refused.RetryAfter > audit.TestActsPeriod {
				t.Fatalf("after %d entries: %v", written, err)
			}
		}
		if written < audit.MaxTestActs-5 || written > audit.MaxTestActs {
			t.Errorf("%d entries were written, want about %d", written, audit.MaxTestActs)
		}
		wantNoError(t, acted(t.Context(), s, person))
		act.At = start.Add(audit.TestActsPeriod + time.Second)
		wantNoError(t, acted(t.Context(), s, act))
	})
}
