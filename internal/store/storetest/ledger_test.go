package storetest

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"agegate/internal/billing"
	"agegate/internal/fault"
	"agegate/internal/session"
	"agegate/internal/store"
	"agegate/internal/tenant"
)

var errAbandoned = errors.New("the hold is gone")

// ledgerModel is a tenant's account as it should be, beside the one stored.
// Time moves forward and every session lives 30 minutes.
type ledgerModel struct {
	s       *store.Store
	limits  billing.Limits
	owner   tenant.Tenant
	now     time.Time
	credit  int64
	used    map[string]int64 // free units by month
	open    map[uuid.UUID]billing.Hold
	expired map[uuid.UUID]billing.Hold // past their end and not yet given back
}

func (m *ledgerModel) month() string { return m.now.UTC().Format("2006-01") }

func (m *ledgerModel) create(t *rapid.T, tt testing.TB) {
	row := sessionOf(tt, m.owner)
	row.CreatedAt, row.ExpiresAt = m.now, m.now.Add(30*time.Minute)
	err := m.s.UpdateSessions(tt.Context(), func(tx session.Tx) error {
		return errors.Join(tx.InsertSession(tt.Context(), row), m.limits.Take(tt.Context(), tx, billing.Charge{
			TenantID: m.owner.ID, SessionID: row.ID, Livemode: true, Now: m.now, ExpiresAt: row.ExpiresAt,
		}))
	})
	var given []billing.Hold
	if m.used[m.month()] >= m.limits.FreeChecksPerMonth {
		given = m.giveBackExpired()
	}
	h := hold(row, billing.SourceFree, m.month())
	switch {
	case m.used[h.Period] < m.limits.FreeChecksPerMonth:
		m.used[h.Period]++
	case m.credit > 0:
		h.Source, h.Period = billing.SourceCredit, ""
		m.credit--
	default:
		m.keepExpired(given) // the refusal rolled it back
		if fault.CodeOf(err) != fault.InsufficientFunds {
			t.Fatalf("create without a unit: %v", err)
		}
		return
	}
	if err != nil {
		t.Fatalf("create with a unit: %v", err)
	}
	m.open[row.ID] = h
}

func (m *ledgerModel) giveBackExpired() []billing.Hold {
	given := slices.Collect(maps.Values(m.expired))
	clear(m.expired)
	for _, h := range given {
		m.add(h, 1)
	}
	return given
}

func (m *ledgerModel) keepExpired(holds []billing.Hold) {
	for _, h := range holds {
		m.add(h, -1)
		m.expired[h.SessionID] = h
	}
}

// add puts n units back where the hold's unit came from.
func (m *ledgerModel) add(h billing.Hold, n int64) {
	if h.Source == billing.SourceFree {
		m.used[h.Period] -= n
	} else {
		m.credit += n
	}
}

func (m *ledgerModel) pass(d time.Duration) {
	m.now = m.now.Add(d)
	for id, h := range m.open {
		if !h.ExpiresAt.After(m.now) {
			m.expired[id] = h
			delete(m.open, id)
		}
	}
}

func (m *ledgerModel) settle(t *rapid.T, tt testing.TB, sessionID uuid.UUID) {
	err := m.s.UpdateSessions(tt.Context(), func(tx session.Tx) error {
		ok, err := billing.Settle(tt.Context(), tx, sessionID, m.now)
		if err == nil && !ok {
			err = errAbandoned
		}
		return err
	})
	if err != nil {
		t.Fatalf("settle: %v", err)
	}
	delete(m.open, sessionID)
}

// check compares the balance with the model and with the ledger: the sum of a
// tenant's credit entries is its balance, that of a month's free entries is
// minus the allowance used.
func (m *ledgerModel) check(t *rapid.T, tt testing.TB) {
	entries, err := m.s.Entries(tt.Context(), m.owner.ID)
	balance, creditErr := m.s.Credit(tt.Context(), m.owner.ID)
	if err := errors.Join(err, creditErr); err != nil {
		t.Fatal(err)
	}
	var credit int64
	used := map[string]int64{}
	for _, e := range entries {
		if e.Source == billing.SourceCredit {
			credit += e.Delta
		} else {
			used[e.Period] -= e.Delta
		}
	}
	if balance != m.credit || credit != balance {
		t.Fatalf("balance %d, ledger %d, want %d", balance, credit, m.credit)
	}
	for month, want := range m.used {
		if used[month] != want {
			t.Fatalf("free units of %s: ledger %d, want %d", month, used[month], want)
		}
	}
}

func TestLedgerExplainsEveryBalance(t *testing.T) {
	Each(t, func(t *testing.T, s *store.Store) {
		rapid.Check(t, func(r *rapid.T) {
			m := &ledgerModel{
				s: s, limits: billing.Limits{FreeChecksPerMonth: rapid.Int64Range(0, 3).Draw(r, "free")},
				owner: newTenant(t, s), now: stored(start.Add(90 * time.Minute)), // the month ends in half an hour
				used: map[string]int64{}, open: map[uuid.UUID]billing.Hold{}, expired: map[uuid.UUID]billing.Hold{},
			}
			r.Repeat(map[string]func(*rapid.T){
				"create": func(r *rapid.T) { m.create(r, t) },
				"top up": func(r *rapid.T) {
					n := rapid.Int64Range(1, 3).Draw(r, "n")
					balance, err := billing.TopUp(context.Background(), s, m.owner.ID, n, m.now)
					if m.credit += n; err != nil || balance != m.credit {
						r.Fatalf("top-up: balance %d, %v, want %d", balance, err, m.credit)
					}
				},
				"settle": func(r *rapid.T) {
					for id := range m.open {
						m.settle(r, t, id)
						return
					}
					r.Skip("no open hold")
				},
				"pass": func(r *rapid.T) {
					m.pass(time.Duration(rapid.IntRange(1, 40).Draw(r, "minutes")) * time.Minute)
				},
				"": func(r *rapid.T) { m.check(r, t) },
			})
		})
	})
}
