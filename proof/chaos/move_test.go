//go:build linux

package chaos

import (
	"context"
	cryptorand "crypto/rand"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agegate/proof/table"
)

// TestMove moves a tenant from one cluster to another with the commands in
// docs/operations.md, while its shoppers and those of another tenant use both.
func TestMove(t *testing.T) { //nolint:tparallel // beside decides
	onEach(t, false, func(t *testing.T, db database) {
		r := table.New(t, db.named("17 a tenant moves to another cluster"))
		free := "AGEGATE_FREE_CHECKS_PER_MONTH=-1"
		from, target := newGateway(t, db, free), postgres(t)
		to := newGateway(t, target, free, "AGEGATE_SECRET_KEY="+
			base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", 32))))
		staying, moving := newReceiver(t, always(accept)), newReceiver(t, func(before int) answer {
			if before == 0 && rand.N(4) == 0 {
				return refuse // so that events wait for their next attempt when the tenant leaves
			}
			return accept
		})
		l := newLoad(from.newShops(1, staying), 10*time.Millisecond, from)
		m := &mover{account: newAccount(), client: newClient(), keys: from.register(moving.url), from: from.url, to: to.url}
		m.base.Store(&from.url)
		from.start()
		to.start()
		stop, halt := l.start(2), m.start(4)
		m.awaitCreations(t, table.Sized(2000, 100))
		open, _, _ := m.create(from.url, m.keys.Test, cryptorand.Text())
		m.noteCreate(open, reply{status: http.StatusCreated}, true)
		if res := m.do(http.MethodGet, from.url+open.path, ""); res.status != http.StatusOK {
			t.Fatalf("an open page: %d", res.status)
		}

		dir, tenant := t.TempDir(), db.tenantOf(t, open.id)
		run := func(g *gateway, n int) {
			runDocumented(t, dir, commands(t, "operations.md", "One cluster to two", n), append(g.env,
				"PATH="+filepath.Dir(binary)+":/usr/bin:/bin", "AGEGATE_MOVE_PASSPHRASE=correct horse battery", "TENANT="+tenant,
				"NEW_VERIFY_URL="+to.url))
		}
		left := time.Now()
		run(from, 0)
		run(to, 1)
		m.base.Store(&to.url)
		run(from, 2)
		took := time.Since(left)
		before, _ := m.acknowledged()
		m.awaitCreations(t, before+table.Sized(2000, 100))
		others, _ := l.acknowledged()
		l.awaitCreations(t, others+table.Sized(500, 20))
		if told := m.finish(open); told != "PASSED" {
			t.Errorf("the page that was open during the move ends as %q", told)
		}
		halt()
		stop()
		creations, completions := m.acknowledged()
		r.Didf("%d creations and %d completions of the tenant that moved in %.1f s, %d pages led to the new place", creations,
			completions, took.Seconds(), m.led.Load())
		r.Mark("pages led to the new place", "some", fmt.Sprint(m.led.Load()), m.led.Load() > 0)
		r.None("balances that the ledger does not explain", target.unbalanced(t))
		audit(t, r, target, m.account, moving)

		run(from, 3)
		audit(t, r, db, l.account, staying)
		refused := l.answers["create 503"] + l.answers["complete 503"] + l.answers["status 503"]
		r.Timely("503 for the tenant that stays", "0", fmt.Sprint(refused), refused == 0)
	})
}

// TestGrow moves all tenants from SQLite to PostgreSQL with the commands in
// docs/operations.md.
func TestGrow(t *testing.T) {
	beside(t, false)
	r := table.New(t, "18 all tenants move from SQLite to PostgreSQL")
	small, large := sqlite(t), postgres(t)
	receiver := newReceiver(t, func(before int) answer {
		if before == 0 {
			return refuse
		}
		return accept
	})
	free := "AGEGATE_FREE_CHECKS_PER_MONTH=-1"
	settings := []string{free, "AGEGATE_WEBHOOK_RETRY_TEST=2s,400ms,800ms,1s,1s,1s"}
	g := newGateway(t, small, settings...)
	shop := g.register(receiver.url)
	l := newLoad(append(g.newShops(2, receiver), shop.Test), 10*time.Millisecond, g)
	g.start()
	stop := l.startCharged(shop.Live)
	l.awaitMany(t, small, table.Sized(5000, 200))
	stop()
	g.terminate()
	r.None("balances that the ledger does not explain", small.unbalanced(t))

	g.env = append(g.env, "AGEGATE_DATABASE_URL="+large.url)
	runDocumented(t, t.TempDir(), commands(t, "operations.md", "SQLite to PostgreSQL", 0),
		append(g.env, "PATH="+filepath.Dir(binary)+":/usr/bin:/bin", "OLD_DATABASE_URL="+small.url))
	g.start()
	creations, _ := l.acknowledged()
	stop = l.startCharged(shop.Live)
	l.awaitCreations(t, creations+table.Sized(1000, 50))
	stop()
	r.Didf("%d creations before", creations)
	r.None("balances that the ledger does not explain then", large.unbalanced(t))
	audit(t, r, large, l.account, receiver)
}

// mover is the load of a tenant that moves: its backend calls the base URL that it
// has been given, and its shoppers open the link that it got, wherever that leads.
type mover struct {
	*account
	*client
	keys     apiKeys
	from, to string
	base     atomic.Pointer[string]
	led      atomic.Int64 // answers that led a browser to the new place
}

// start runs shoppers, and one who creates live sessions. It returns a function
// that stops them.
func (m *mover) start(shoppers int) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	run := func(visit func(context.Context)) {
		all.Go(func() {
			for ctx.Err() == nil {
				visit(ctx)
				rest(ctx, 10*time.Millisecond)
			}
		})
	}
	for range shoppers {
		run(m.visit)
	}
	run(func(ctx context.Context) { m.insist(ctx, m.keys.Live) })
	return func() {
		cancel()
		all.Wait()
	}
}

// insist creates a session, at whatever place is the tenant's, and returns the
// place that acknowledged it.
func (m *mover) insist(ctx context.Context, key string) (s session, place string, ok bool) {
	for order := cryptorand.Text(); ; rest(ctx, retryPause) {
		place = *m.base.Load()
		var r reply
		s, r, ok = m.create(place, key, order)
		m.noteCreate(s, r, ok)
		if ok || ctx.Err() != nil {
			return s, place, ok
		}
	}
}

func (m *mover) visit(ctx context.Context) {
	s, place, ok := m.insist(ctx, m.keys.Test)
	if !ok {
		return
	}
	outcome := []string{"verified", "fallback", "spoof"}[rand.N(3)]
	for told := ""; told == ""; rest(ctx, retryPause) {
		if ctx.Err() != nil {
			return
		}
		var r reply
		told, r = m.complete(place, s, outcome)
		m.noteForce(s, outcomes[outcome], told, r)
	}
	status, r := m.status(*m.base.Load(), s)
	m.noteStatus(s, outcomes[outcome], status, r)
}

// complete forces an outcome at a place, and follows where its page leads.
func (m *mover) complete(place string, s session, outcome string) (string, reply) {
	told, r := m.force(place, s, outcome)
	if place == m.from && r.status == http.StatusTemporaryRedirect {
		m.led.Add(1)
		return m.force(m.to, s, outcome)
	}
	return told, r
}

// finish completes a session that was opened at the old place.
func (m *mover) finish(s session) string {
	told, r := m.complete(m.from, s, "verified")
	m.noteForce(s, "PASSED", told, r)
	return told
}

// tenantOf returns the ID of a session's tenant.
func (db database) tenantOf(t *testing.T, sessionID string) (id string) {
	t.Helper()
	conn := db.connect(t)
	defer conn.Close()
	query := "SELECT CAST(tenant_id AS text) FROM sessions WHERE CAST(id AS text) = $1"
	if err := conn.QueryRowContext(t.Context(), query, sessionID).Scan(&id); err != nil {
		t.Fatal(err)
	}
	return id
}
