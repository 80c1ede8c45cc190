package billing_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"agegate/internal/rules/audit"
	"agegate/internal/rules/billing"
	"agegate/internal/rules/billing/billingtest"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
	"agegate/internal/store"
	"agegate/internal/store/dbtest"
)

const lifetime = 30 * time.Minute

// batch is small, so that even a few expired sessions need several batches.
const batch = 2

// unit is the history of a session's unit.
type unit struct {
	billing.Balance
	expiresAt time.Time
	settled   bool
}

// account is a tenant's account as its owner sees it: open and completed sessions use a unit; the
// units of expired sessions count as available, even before they are released.
type account struct {
	s      *store.Store
	free   int64
	owner  uuid.UUID
	now    time.Time
	bought int64
	units  map[uuid.UUID]unit
}

func (a *account) month() billing.Balance {
	return billing.Balance{Source: billing.SourceFree, Period: a.now.Format("2006-01")}
}

var credit = billing.Balance{Source: billing.SourceCredit}

// left returns how many units of a balance are available.
func (a *account) left(of billing.Balance) int64 {
	n := a.bought
	if of != credit {
		n = a.free
	}
	for _, u := range a.units {
		if u.Balance == of && (u.settled || u.expiresAt.After(a.now)) {
			n--
		}
	}
	return max(n, 0)
}

// open returns the sessions that have not ended, oldest first.
func (a *account) open() (ids []uuid.UUID) {
	for id, u := range a.units {
		if !u.settled && u.expiresAt.After(a.now) {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
	return ids
}

// create makes n sessions together and returns those for which a unit was available.
func (a *account) create(n int) ([]uuid.UUID, error) {
	limits := billing.Limits{FreeChecksPerMonth: a.free, ReleaseBatch: batch}
	c := billing.Charge{TenantID: a.owner, Livemode: true, Now: a.now, ExpiresAt: a.now.Add(lifetime)}
	var all []session.Session
	for range n {
		id := uuid.Must(uuid.NewV7())
		link := sha256.Sum256(id[:])
		c.Sessions = append(c.Sessions, id)
		all = append(all, session.Session{
			ID: id, TenantID: a.owner, Livemode: true, TargetAge: 18, LinkHash: link[:],
			Status: session.StatusPending, CreatedAt: a.now, ExpiresAt: c.ExpiresAt,
		})
	}
	paid := 0
	err := a.s.UpdateSessions(context.Background(), func(tx session.Tx) (err error) {
		if err = tx.InsertSessions(all...); err != nil {
			return err
		}
		if paid, err = limits.Take(tx, c); err != nil || paid == n {
			return err
		}
		return tx.DropUnpaid(all[paid:]...)
	})
	return c.Sessions[:paid], err
}

var errNoHold = errors.New("the hold is gone")

func (a *account) settle(id uuid.UUID) error {
	return a.s.UpdateSessions(context.Background(), func(tx session.Tx) error {
		ok, err := billing.Settle(tx, id, a.now)
		if err == nil && !ok {
			err = errNoHold
		}
		return err
	})
}

func (a *account) sweep() error {
	_, err := billing.ReleaseExpired(context.Background(), a.s, a.owner, a.now)
	return err
}

// together runs the functions in parallel.
func together(fns ...func() error) error {
	errs := make([]error, len(fns))
	var all sync.WaitGroup
	for i, fn := range fns {
		all.Go(func() { errs[i] = fn() })
	}
	all.Wait()
	return errors.Join(errs...)
}

// rush runs creations, each of some sessions together, completions of open sessions and sweeps at
// once. Exactly as many sessions must be made as units are available, and the free allowance must be
// used first.
func (a *account) rush(t *rapid.T, creations []int, settlements, sweeps int) {
	free, paid := a.left(a.month()), a.left(credit)
	settled := a.open()
	settled = settled[:min(settlements, len(settled))]
	var mu sync.Mutex
	var made []uuid.UUID
	var fns []func() error
	asked := 0
	for _, n := range creations {
		asked += n
		fns = append(fns, func() error {
			ids, err := a.create(n)
			mu.Lock()
			defer mu.Unlock()
			made = append(made, ids...)
			return err
		})
	}
	for _, id := range settled {
		fns = append(fns, func() error { return a.settle(id) })
	}
	for range sweeps {
		fns = append(fns, a.sweep)
	}
	if err := together(fns...); err != nil {
		t.Fatal(err)
	}
	if want := min(int64(asked), free+paid); int64(len(made)) != want {
		t.Fatalf("%d of %d sessions were made, want %d of %d free and %d paid for", len(made), asked, want, free, paid)
	}
	for _, id := range settled {
		u := a.units[id]
		u.settled = true
		a.units[id] = u
	}
	a.note(t, made)
	fromFree := 0
	for _, id := range made {
		if a.units[id].Balance == a.month() {
			fromFree++
		}
	}
	if want := min(int64(len(made)), free); int64(fromFree) != want {
		t.Fatalf("%d of %d sessions were free, want %d", fromFree, len(made), want)
	}
}

// note records, from the ledger, whether each new session's unit was free or prepaid.
func (a *account) note(t *rapid.T, made []uuid.UUID) {
	for _, e := range a.entries(t) {
		if e.Kind == billing.EntryHold && slices.Contains(made, *e.SessionID) {
			a.units[*e.SessionID] = unit{Balance: billing.Balance{Source: e.Source, Period: e.Period},
				expiresAt: a.now.Add(lifetime)}
		}
	}
}

func (a *account) entries(t *rapid.T) []billing.Entry {
	var entries []billing.Entry
	for e, err := range billingtest.Ledger(context.Background(), a.s, a.owner) {
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, e)
	}
	return entries
}

// check compares the ledger with the balance and with the history of each unit: held once, and then
// released once, spent once or still held.
func (a *account) check(t *rapid.T) {
	balance, err := a.s.Credit(context.Background(), a.owner)
	if err != nil {
		t.Fatal(err)
	}
	sums := map[billing.Balance]int64{}
	lines := map[uuid.UUID]map[billing.EntryKind]int{}
	for _, e := range a.entries(t) {
		sums[billing.Balance{Source: e.Source, Period: e.Period}] += e.Delta
		if e.SessionID != nil {
			if lines[*e.SessionID] == nil {
				lines[*e.SessionID] = map[billing.EntryKind]int{}
			}
			lines[*e.SessionID][e.Kind]++
		}
	}
	if sums[credit] != balance || balance < 0 {
		t.Fatalf("the balance is %d, the ledger adds up to %d", balance, sums[credit])
	}
	want := map[billing.Balance]int64{credit: a.bought}
	for id, u := range a.units {
		l := lines[id]
		spent, back := l[billing.EntrySettle], l[billing.EntryRelease]
		open := !u.settled && u.expiresAt.After(a.now)
		if l[billing.EntryHold] != 1 || (spent == 1) != u.settled || back > 1 || back == 1 && (u.settled || open) {
			t.Fatalf("the ledger says %v of %+v", l, u)
		}
		if want[u.Balance]--; back == 1 {
			want[u.Balance]++
		}
	}
	if len(lines) != len(a.units) {
		t.Fatalf("the ledger has %d sessions, want %d", len(lines), len(a.units))
	}
	for of, n := range want {
		if sums[of] != n {
			t.Fatalf("%v: the ledger adds up to %d, want %d", of, sums[of], n)
		}
	}
}

// TestLedgerExplainsEveryBalance lets sessions be created, completed and
// abandoned in random order, one by one and at once, while sweeps give expired
// units back in batches.
func TestLedgerExplainsEveryBalance(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *store.Store) {
		rapid.Check(t, func(r *rapid.T) {
			a := &account{
				s: s, free: rapid.Int64Range(0, 3).Draw(r, "free"), owner: uuid.Must(uuid.NewV7()),
				now:   time.Date(2026, 3, 31, 23, 0, 0, 0, time.UTC), // the month ends in an hour
				units: map[uuid.UUID]unit{},
			}
			err := s.CreateTenant(context.Background(), tenant.Tenant{ID: a.owner, Name: "Shop", CreatedAt: a.now}, nil, nil,
				audit.Act{
					Scope: audit.OfTenant(a.owner), At: a.now, Actor: audit.System("test"), Action: audit.TenantCreate,
				})
			if err != nil {
				r.Fatal(err)
			}
			r.Repeat(map[string]func(*rapid.T){
				"create":          func(r *rapid.T) { a.rush(r, []int{1}, 0, 0) },
				"create together": func(r *rapid.T) { a.rush(r, []int{rapid.IntRange(2, 6).Draw(r, "sessions")}, 0, 0) },
				"settle":          func(r *rapid.T) { a.rush(r, nil, 1, 0) },
				"sweep":           func(r *rapid.T) { a.rush(r, nil, 0, 1) },
				"rush": func(r *rapid.T) {
					creations := rapid.SliceOfN(rapid.SampledFrom([]int{1, 1, 1, 3}), 1, 6).Draw(r, "creations")
					a.rush(r, creations, rapid.IntRange(0, 2).Draw(r, "settlements"), rapid.IntRange(0, 2).Draw(r, "sweeps"))
				},
				"top up": func(r *rapid.T) {
					n := rapid.Int64Range(1, 4).Draw(r, "n")
					a.bought += n
					if _, err := billing.TopUp(context.Background(), s, audit.System("test"), a.owner, n, "", a.now); err != nil {
						r.Fatal(err)
					}
				},
				"allow": func(r *rapid.T) { a.free = rapid.Int64Range(0, 6).Draw(r, "free") },
				"pass": func(r *rapid.T) {
					a.now = a.now.Add(time.Duration(rapid.IntRange(1, 40).Draw(r, "minutes")) * time.Minute)
				},
				"": a.check,
			})
		})
	})
}
