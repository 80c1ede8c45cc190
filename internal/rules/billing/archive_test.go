package billing_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"agegate/internal/rules/audit"
	"agegate/internal/rules/billing"
	"agegate/internal/rules/billing/billingtest"
	"agegate/internal/rules/tenant"
	"agegate/internal/store"
	"agegate/internal/store/dbtest"
)

// archived is a ledger with lines of January to June 2026, of which those of before April are
// archived. Each live session has a hold, and most have a further line.
type archived struct {
	*account
	end time.Time
}

func newArchived(tb interface{ Fatal(...any) }, s *store.Store) archived {
	a := archived{&account{s: s, free: billing.Unlimited, owner: uuid.Must(uuid.NewV7()), units: map[uuid.UUID]unit{},
		now: time.Date(2026, 6, 10, 12, 0, 0, 0, time.UTC)}, time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC)}
	act := audit.Act{Scope: audit.OfTenant(a.owner), At: a.now, Actor: audit.System("test"), Action: audit.TenantCreate}
	if err := s.CreateTenant(context.Background(), tenant.Tenant{ID: a.owner, Name: "Shop"}, nil, nil, act); err != nil {
		tb.Fatal(err)
	}
	return a
}

// add books a session at a time, which ends an hour later, perhaps in the next month.
func (a archived) add(at time.Time, of billing.Source, end billing.EntryKind) []billing.Entry {
	session := uuid.New()
	e := billing.Entry{ID: uuid.Must(uuid.NewV7()), TenantID: a.owner, SessionID: &session, Kind: billing.EntryHold,
		Source: of, Delta: -1, CreatedAt: at}
	if of == billing.SourceFree {
		e.Period = at.Format("2006-01")
	}
	entries := []billing.Entry{e}
	if end != "" {
		e.ID, e.Kind, e.Delta, e.CreatedAt = uuid.Must(uuid.NewV7()), end, 0, at.Add(time.Hour)
		if end == billing.EntryRelease {
			e.Delta = 1
		}
		entries = append(entries, e)
	}
	return entries
}

func (a archived) append(entries []billing.Entry) error {
	return a.s.UpdateBilling(context.Background(), func(tx billing.Tx) error { return tx.AppendEntries(entries...) })
}

// file returns the JSON of the lines to archive.
func (a archived) file(tb interface{ Fatal(...any) }) []byte {
	var text bytes.Buffer
	lines := json.NewEncoder(&text)
	err := billing.OldEntries(context.Background(), a.s, a.owner, a.end,
		func(e billing.Entry) error { return lines.Encode(e) })
	if err != nil {
		tb.Fatal(err)
	}
	return text.Bytes()
}

func (a archived) sumUp(file io.Reader) (int, error) {
	return billing.SumUp(context.Background(), a.s, file, audit.Act{Scope: audit.OfTenant(a.owner), At: a.now,
		Actor: audit.System("test"), Action: audit.LedgerArchive})
}

func (a archived) ledger(tb interface{ Fatal(...any) }) (
	entries map[uuid.UUID]billing.Entry, units map[billing.Balance]int64,
) {
	entries, units = map[uuid.UUID]billing.Entry{}, map[billing.Balance]int64{}
	for e, err := range billingtest.Ledger(context.Background(), a.s, a.owner) {
		if err != nil {
			tb.Fatal(err)
		}
		entries[e.ID] = e
		units[billing.Balance{Source: e.Source, Period: e.Period}] += e.Delta
	}
	return entries, units
}

// acts returns how often the ledger was archived, by the audit log.
func (a archived) acts(tb interface{ Fatal(...any) }) int {
	entries, err := a.s.AuditEntries(context.Background(), audit.Filter{Scope: audit.OfTenant(a.owner),
		Action: audit.LedgerArchive})
	if err != nil {
		tb.Fatal(err)
	}
	return len(entries)
}

// TestArchiveKeepsEveryBalance archives random months, at once or with an interruption, while sessions
// are created. No balance changes but by them, every line is in the ledger or in the file, and one line
// for each month, kind and balance stands for those in the file.
func TestArchiveKeepsEveryBalance(t *testing.T) {
	t.Parallel()
	first := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	ends := []billing.EntryKind{"", billing.EntrySettle, billing.EntrySettle, billing.EntryRelease}
	dbtest.Each(t, func(t *testing.T, s *store.Store) {
		rapid.Check(t, func(r *rapid.T) {
			a := newArchived(r, s)
			var lines []billing.Entry
			for range rapid.IntRange(1, 40).Draw(r, "sessions") {
				at := first.Add(time.Duration(rapid.IntRange(0, 150*24*60).Draw(r, "minutes")) * time.Minute)
				of := rapid.SampledFrom([]billing.Source{billing.SourceFree, billing.SourceCredit}).Draw(r, "source")
				lines = append(lines, a.add(at, of, rapid.SampledFrom(ends).Draw(r, "end"))...)
			}
			if err := a.append(lines); err != nil {
				r.Fatal(err)
			}
			for range rapid.IntRange(0, 3).Draw(r, "top-ups") {
				at := first.AddDate(0, 0, rapid.IntRange(0, 150).Draw(r, "day"))
				if _, err := billing.TopUp(context.Background(), s, audit.System("test"), a.owner, 5, "", at); err != nil {
					r.Fatal(err)
				}
			}
			before, units := a.ledger(r)
			file := a.file(r)
			cut := bytes.SplitAfterN(file, []byte("\n"), rapid.IntRange(1, 20).Draw(r, "lines before an interruption"))
			if _, err := a.sumUp(bytes.NewReader(bytes.Join(cut[:len(cut)-1], nil))); err != nil {
				r.Fatal(err)
			}
			made := 0
			err := together(func() error {
				_, err := a.sumUp(bytes.NewReader(file))
				return err
			}, func() error {
				ids, err := a.create(3)
				made = len(ids)
				return err
			})
			if err != nil {
				r.Fatal(err)
			}
			units[a.month()] -= int64(made)
			after, now := a.ledger(r)
			maps.DeleteFunc(units, func(_ billing.Balance, n int64) bool { return n == 0 })
			maps.DeleteFunc(now, func(_ billing.Balance, n int64) bool { return n == 0 })
			if !maps.Equal(units, now) {
				r.Fatalf("the balances are %v, want %v", now, units)
			}
			a.compare(r, before, after, file)
			if n, err := a.sumUp(bytes.NewReader(file)); n != 0 || err != nil {
				r.Fatalf("%d lines are archived again: %v", n, err)
			}
		})
	})
}

// compare checks that each earlier line is in the ledger or in the file, and that each line that stands
// for others is one of a month, kind and balance in the file.
func (a archived) compare(r *rapid.T, before, after map[uuid.UUID]billing.Entry, file []byte) {
	kept := map[uuid.UUID]billing.Entry{}
	type group struct {
		month, period string
		kind          billing.EntryKind
		of            billing.Source
	}
	sums := map[group]int64{}
	for in := json.NewDecoder(bytes.NewReader(file)); in.More(); {
		var e billing.Entry
		if err := in.Decode(&e); err != nil {
			r.Fatal(err)
		}
		kept[e.ID] = e
		sums[group{e.CreatedAt.Format("2006-01"), e.Period, e.Kind, e.Source}] += e.Delta
	}
	for id, e := range before {
		old := e.SessionID != nil && e.CreatedAt.Before(a.end)
		have, found := after[id]
		if old {
			if found {
				r.Fatalf("%+v is still in the ledger", e)
			}
			have, found = kept[id]
		}
		if !found || have.Delta != e.Delta || have.Kind != e.Kind || have.Period != e.Period || have.Source != e.Source ||
			!have.CreatedAt.Equal(e.CreatedAt) || old && *have.SessionID != *e.SessionID {
			r.Fatalf("%+v became %+v", e, have)
		}
	}
	for _, e := range after {
		if e.SessionID != nil || e.Kind == billing.EntryTopUp {
			continue
		}
		g := group{e.CreatedAt.UTC().Format("2006-01"), e.Period, e.Kind, e.Source}
		if sums[g] != e.Delta || e.ID.Version() != 7 || !time.Unix(e.ID.Time().UnixTime()).Equal(e.CreatedAt) {
			r.Fatalf("%+v stands for %d units", e, sums[g])
		}
		delete(sums, g)
	}
	for g, n := range sums {
		if n != 0 {
			r.Fatalf("no line stands for the %d units of %+v", n, g)
		}
	}
}

// TestArchiveIsInterrupted: a run that ends between two transactions is continued, and a file that ends
// early or is not one loses nothing.
func TestArchiveIsInterrupted(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *store.Store) {
		a := newArchived(t, s)
		const sessions = billing.MaxPage
		at := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
		for range 10 {
			var lines []billing.Entry
			for range sessions / 10 {
				lines = append(lines, a.add(at, billing.SourceFree, billing.EntryRelease)...)
			}
			if err := a.append(append(lines, a.add(at, billing.SourceCredit, "")...)); err != nil {
				t.Fatal(err)
			}
		}
		file := a.file(t)
		if n, err := a.sumUp(bytes.NewReader([]byte("no JSON"))); n != 0 || err == nil || a.acts(t) != 0 {
			t.Fatalf("%d lines of a file without any: %v", n, err)
		}
		broken := errors.New("the disk is broken")
		n, err := a.sumUp(io.MultiReader(bytes.NewReader(file[:len(file)*3/4]), failing{broken}))
		if n != billing.MaxPage || !errors.Is(err, broken) || a.acts(t) != 1 {
			t.Fatalf("%d lines, %v, %d entries in the log", n, err, a.acts(t))
		}
		_, units := a.ledger(t)
		if units[billing.Balance{Source: billing.SourceCredit}] != -10 || units[billing.Balance{
			Source: billing.SourceFree, Period: "2026-02"}] != 0 {
			t.Fatalf("after a part: %v", units)
		}
		if n, err := a.sumUp(bytes.NewReader(file)); n != 2*sessions+10-billing.MaxPage || err != nil {
			t.Fatalf("%d lines were left, %v", n, err)
		}
		entries, units := a.ledger(t)
		if len(entries) != 3 || units[billing.Balance{Source: billing.SourceCredit}] != -10 {
			t.Fatalf("in the end: %v, %v", entries, units)
		}
	})
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
