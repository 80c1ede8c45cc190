package session_test

import (
	"context"
	"crypto/rand"
	"fmt"
	mathrand "math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"agegate/internal/rules/audit"
	"agegate/internal/rules/billing"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
	"agegate/internal/store"
	"agegate/internal/store/dbtest"
	"agegate/internal/store/pgtest"
)

// acrossNow is the time of the tests below, in the middle of a day and a month.
var acrossNow = time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)

// shops are tenants that create sessions at the same time.
type shops struct {
	db       *store.Store
	tenants  *tenant.Service
	sessions *session.Service
}

func newShops(t *testing.T, db *store.Store) shops {
	t.Helper()
	return newShopsOver(t, db, db)
}

// newShopsOver is newShops with another store for sessions.
func newShopsOver(t *testing.T, db *store.Store, sessions session.Store) shops {
	t.Helper()
	clock := func() time.Time { return acrossNow }
	sealer, err := credential.NewSealer(make([]byte, credential.SecretLen), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tenants := tenant.NewService(db, sealer, tenant.CallbackRule{}, rand.Reader, clock)
	return shops{db, tenants, session.NewService(session.Config{VerifyURL: "https://v.example", TTL: time.Hour,
		TokenTTL: time.Minute}, sessions, tenants, sealer,
		rand.Reader, clock, func() {})}
}

// open registers a tenant with an allowance, a cap of test sessions and credit.
func (s shops) open(t *testing.T, free, test, credit int64) uuid.UUID {
	t.Helper()
	made, err := s.tenants.Create(t.Context(), audit.System("test"), tenant.Tenant{
		Name: "Shop", SuccessURL: "https://s.example/", CancelURL: "https://s.example/", WebhookURL: "https://s.example/hook",
		FreeChecks: &free, TestCap: &test,
	})
	if err != nil {
		t.Fatal(err)
	}
	if credit > 0 {
		if _, err := billing.TopUp(t.Context(), s.db, audit.System("test"), made.Tenant.ID, credit, "",
			acrossNow); err != nil {
			t.Fatal(err)
		}
	}
	return made.Tenant.ID
}

// create asks for a session and returns its ID.
func (s shops) create(
	ctx context.Context, owner uuid.UUID, livemode bool, req session.CreateRequest,
) (uuid.UUID, error) {
	req.TargetAge = 18
	made, err := s.sessions.Create(ctx, tenant.Caller{TenantID: owner, Livemode: livemode}, req)
	return made.SessionID, err
}

// till is a shop with what it may create, and what it did.
type till struct {
	owner              uuid.UUID
	free, test, credit int64
	keys               [2]int // requests with an idempotency key, by mode
	plain              [2]int // and without

	mu      sync.Mutex
	made    [2]map[uuid.UUID]bool // the sessions, by mode
	refused [2]map[fault.Code]int
	byKey   map[string]uuid.UUID
}

func mode(livemode bool) int {
	if livemode {
		return 1
	}
	return 0
}

// take records an answer. A key's sessions are the same; others are new.
func (c *till) take(t *testing.T, livemode bool, key string, id uuid.UUID, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := mode(livemode)
	if err != nil {
		c.refused[m][fault.CodeOf(err)]++
		return
	}
	first, seen := c.byKey[key]
	switch {
	case key == "" && c.made[m][id]:
		t.Errorf("the session %s was answered twice", id)
	case seen && first != id:
		t.Error("a key has two sessions")
	case key != "":
		c.byKey[key] = id
	}
	c.made[m][id] = true
}

// TestManyTenantsCreate: tenants create at random at the same time, with live and
// test keys, with idempotency keys and without, some with a wrong URL and some
// with a caller that has gone. Each gets exactly what its allowance and its credit
// pay for.
func TestManyTenantsCreate(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *store.Store) {
		seed := mathrand.Uint64()
		t.Logf("seed %d", seed)
		draw := mathrand.New(mathrand.NewPCG(seed, 0))
		s := newShops(t, db)
		var tills []*till
		var jobs []func()
		for range 20 {
			c := &till{
				free: draw.Int64N(8), test: draw.Int64N(12), credit: draw.Int64N(6), byKey: map[string]uuid.UUID{},
				made: [2]map[uuid.UUID]bool{{}, {}}, refused: [2]map[fault.Code]int{{}, {}},
			}
			c.owner = s.open(t, c.free, c.test, c.credit)
			tills = append(tills, c)
			for range 24 {
				jobs = append(jobs, s.job(t, c, draw))
			}
		}
		draw.Shuffle(len(jobs), func(i, j int) { jobs[i], jobs[j] = jobs[j], jobs[i] })
		var all sync.WaitGroup
		for _, job := range jobs {
			all.Go(job)
		}
		all.Wait()
		for _, c := range tills {
			s.settle(t, c)
		}
	})
}

// job returns one random request of a shop.
func (s shops) job(t *testing.T, c *till, draw *mathrand.Rand) func() {
	livemode, kind := draw.IntN(3) > 0, draw.IntN(8)
	switch kind {
	case 0: // the caller has gone, so nothing is promised or written
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		return func() {
			if _, err := s.create(gone, c.owner, livemode, session.CreateRequest{}); err == nil {
				t.Error("a session was created for nobody")
			}
		}
	case 1:
		wrong := "https://other.example/"
		return func() {
			_, err := s.create(t.Context(), c.owner, livemode, session.CreateRequest{SuccessURL: &wrong})
			if fault.CodeOf(err) != fault.Invalid {
				t.Errorf("a wrong URL: %v", err)
			}
		}
	case 2, 3:
		key := fmt.Sprintf("key %d of %t", draw.IntN(3), livemode)
		c.keys[mode(livemode)]++
		return func() {
			id, err := s.create(t.Context(), c.owner, livemode, session.CreateRequest{IdempotencyKey: key})
			c.take(t, livemode, key, id, err)
		}
	default:
		c.plain[mode(livemode)]++
		return func() {
			id, err := s.create(t.Context(), c.owner, livemode, session.CreateRequest{})
			c.take(t, livemode, "", id, err)
		}
	}
}

// settle compares what a shop was answered with what it had and what is stored.
func (s shops) settle(t *testing.T, c *till) {
	t.Helper()
	for m, units := range [2]int64{c.test, c.free + c.credit} {
		made, code := int64(len(c.made[m])), [2]fault.Code{fault.TooMany, fault.InsufficientFunds}[m]
		refused := c.refused[m][code]
		switch {
		case len(c.refused[m]) > 1 || len(c.refused[m]) == 1 && refused == 0:
			t.Errorf("mode %d was refused for %v", m, c.refused[m])
		case made > units || refused > 0 && made != units:
			t.Errorf("mode %d: %d sessions of %d units, %d refused", m, made, units, refused)
		case made < min(units, int64(c.plain[m])):
			t.Errorf("mode %d: %d sessions of %d units for %d requests", m, made, units, c.plain[m])
		}
		for id := range c.made[m] {
			if _, err := s.db.SessionByID(t.Context(), c.owner, id); err != nil {
				t.Errorf("session %s: %v", id, err)
			}
		}
	}
	entries, err := s.db.Entries(t.Context(), c.owner, uuid.Nil, 1000)
	if err != nil {
		t.Fatal(err)
	}
	spent, held := map[billing.Source]int64{}, map[uuid.UUID]bool{}
	for _, e := range entries {
		if e.Kind != billing.EntryHold {
			continue
		}
		spent[e.Source]++
		if e.SessionID == nil || !c.made[1][*e.SessionID] || held[*e.SessionID] {
			t.Errorf("entry %+v is of no session that was answered, or the second of one", e)
			continue
		}
		held[*e.SessionID] = true
	}
	live := int64(len(c.made[1]))
	if free := min(live, c.free); spent[billing.SourceFree] != free || spent[billing.SourceCredit] != live-free {
		t.Errorf("%d live sessions with an allowance of %d cost %v", live, c.free, spent)
	}
	if left, err := s.db.Credit(t.Context(), c.owner); err != nil || left != c.credit-spent[billing.SourceCredit] {
		t.Errorf("credit %d, %v, of %d after %v", left, err, c.credit, spent)
	}
}

// TestLockedTenantHoldsUpNobody: while another transaction has locked a tenant's
// row, the creations of forty-nine others are answered. Those of the tenant wait.
func TestLockedTenantHoldsUpNobody(t *testing.T) {
	t.Parallel()
	for name, lock := range map[string]string{
		"tenant":  "SELECT FROM tenants WHERE id = $1 FOR UPDATE",
		"balance": "SELECT FROM usage_counters WHERE tenant_id = $1 FOR UPDATE",
		"credit":  "SELECT FROM credit_balances WHERE tenant_id = $1 FOR UPDATE",
	} {
		t.Run(name, func(t *testing.T) {
			url := pgtest.URL(t)
			s := newShops(t, dbtest.Open(t, url))
			free := int64(100)
			if name == "credit" {
				free = 0
			}
			var owners []uuid.UUID
			for range 50 {
				owner := s.open(t, free, 100, 100)
				owners = append(owners, owner)
				if _, err := s.create(t.Context(), owner, true, session.CreateRequest{}); err != nil { // the period's row is there
					t.Fatal(err)
				}
			}
			conn, err := pgx.Connect(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close(context.Background()) // which ends the lock in a failed test
			tx, err := conn.Begin(t.Context())
			if err == nil {
				_, err = tx.Exec(t.Context(), lock, owners[0].String())
			}
			if err != nil {
				t.Fatal(err)
			}
			var waiting, others sync.WaitGroup
			for i := range 4 * len(owners) {
				of := i % len(owners)
				group := &others
				if of == 0 {
					group = &waiting
				}
				group.Go(func() {
					if _, err := s.create(t.Context(), owners[of], true, session.CreateRequest{}); err != nil {
						t.Errorf("shop %d: %v", of, err)
					}
				})
			}
			others.Wait() // the lock is held meanwhile
			if err := tx.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			waiting.Wait()
		})
	}
}
