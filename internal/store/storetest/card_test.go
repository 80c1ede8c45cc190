package storetest

import (
	"bytes"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agegate/internal/rules/audit"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/session"

	"github.com/google/uuid"
	"pgregory.net/rapid"
)

func card(t testing.TB, tenantID uuid.UUID) session.Card {
	made := id(t)
	return session.Card{
		ID: made, TenantID: tenantID, LinkHash: append(made[:], made[:]...), Name: "Till <1>", Outcome: "spoof",
		TargetAge: 21, CreatedAt: stored(start),
	}
}

func cardAct(action audit.Action, c session.Card) audit.Act {
	return audit.Act{Scope: audit.OfTenant(c.TenantID), At: start, Actor: audit.System("test"), Action: action,
		Target: c.ID.String()}
}

func insertCards(s Store, t *testing.T, most int, cards ...session.Card) error {
	t.Helper()
	var acts []audit.Act
	for _, c := range cards {
		acts = append(acts, cardAct(audit.QACardCreate, c))
	}
	return s.InsertCards(t.Context(), cards, most, acts)
}

func TestCards(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		ctx := t.Context()
		owner, other := newTenant(t, s), newTenant(t, s)
		first, second, third := card(t, owner.ID), card(t, owner.ID), card(t, owner.ID)
		entries := func(want int) {
			t.Helper()
			got, err := s.AuditEntries(ctx, audit.Filter{Scope: audit.OfTenant(owner.ID), Limit: 10})
			if err != nil || len(got) != want {
				t.Errorf("%d entries, %v; want %d", len(got), err, want)
			}
		}
		list := func(of uuid.UUID, want ...session.Card) {
			t.Helper()
			got, err := s.Cards(ctx, of)
			if err != nil || len(got) != len(want) || len(want) > 0 && !reflect.DeepEqual(got, want) {
				t.Errorf("%+v, %v\nwant %+v", got, err, want)
			}
		}
		wantNoError(t, insertCards(s, t, 2, first, second))
		entries(2)
		list(owner.ID, second, first)
		list(other.ID)
		wantCode(t, "one too many", insertCards(s, t, 2, third), fault.Conflict)
		wantCode(t, "of no tenant", insertCards(s, t, 2, card(t, id(t))), fault.NotFound)
		entries(2)
		for _, c := range []session.Card{first, second} {
			if got, err := s.CardByLink(ctx, c.LinkHash); err != nil || !reflect.DeepEqual(got, c) {
				t.Errorf("by link: %+v, %v", got, err)
			}
		}
		_, err := s.CardByLink(ctx, bytes.Repeat([]byte{1}, 32))
		wantCode(t, "by another link", err, fault.NotFound)

		wantCode(t, "a stranger's card", s.DeleteCard(ctx, other.ID, first.ID, cardAct(audit.QACardRevoke, first)),
			fault.NotFound)
		entries(2)
		wantNoError(t, s.DeleteCard(ctx, owner.ID, first.ID, cardAct(audit.QACardRevoke, first)))
		wantCode(t, "twice", s.DeleteCard(ctx, owner.ID, first.ID, cardAct(audit.QACardRevoke, first)), fault.NotFound)
		entries(3)
		list(owner.ID, second)
		_, err = s.CardByLink(ctx, first.LinkHash)
		wantCode(t, "a revoked card", err, fault.NotFound)
		if took, err := s.TakeScan(ctx, first.ID, "2026-01-01", 5); took || err != nil {
			t.Errorf("a revoked card is scanned: %t, %v", took, err)
		}

		// Cards do not prevent deleting a tenant, and create nothing while it is
		// disabled.
		wantNoError(t, s.SetTenantDisabled(ctx, owner.ID, true, anAct))
		if took, err := s.TakeScan(ctx, second.ID, "2026-01-01", 5); took || err != nil {
			t.Errorf("the card of a disabled tenant is scanned: %t, %v", took, err)
		}
		wantNoError(t, s.DeleteTenant(ctx, owner.ID, anAct))
		list(owner.ID)
	})
}

// TestCardShare: however often a card is scanned at the same time, it creates its
// share of each day and no more, whatever other cards do.
func TestCardShare(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		owner := newTenant(t, s)
		rapid.Check(t, func(r *rapid.T) {
			one, other := card(t, owner.ID), card(t, owner.ID)
			wantNoError(t, insertCards(s, t, 1<<20, one, other))
			for day := range rapid.IntRange(1, 2).Draw(r, "days") {
				share, scans := rapid.Int64Range(1, 4).Draw(r, "share"), rapid.Int64Range(0, 8).Draw(r, "scans")
				name := start.AddDate(0, 0, day).Format(time.DateOnly)
				var taken atomic.Int64
				var all sync.WaitGroup
				for range scans {
					all.Go(func() {
						took, err := s.TakeScan(t.Context(), one.ID, name, share)
						if err != nil {
							t.Error(err)
						}
						if took {
							taken.Add(1)
						}
					})
				}
				all.Wait()
				if want := min(share, scans); taken.Load() != want {
					r.Fatalf("%d of %d scans at a share of %d", taken.Load(), scans, share)
				}
			}
			if got, err := s.CardByLink(t.Context(), other.LinkHash); err != nil || got.Used != 0 {
				t.Errorf("the other card has made %d, %v", got.Used, err)
			}
		})
	})
}
