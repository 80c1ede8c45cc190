//go:build linux

package chaos

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"agegate/internal/store/pgtest"
	"agegate/proof/table"
)

// TestBackup makes a backup under load with the commands in docs/operations/back-up.md,
// loses the gateway and its database, and continues with the restored one.
func TestBackup(t *testing.T) { //nolint:tparallel // beside decides
	onEach(t, false, func(t *testing.T, db database) {
		r := table.New(t, db.named("13 backup under load, restored"))
		// The first attempt for each webhook fails, and some webhooks wait for
		// the next attempt.
		receiver := newReceiver(t, func(before int) answer {
			if before == 0 {
				return refuse
			}
			return accept
		})
		settings := []string{"AGEGATE_WEBHOOK_RETRY_TEST=2s,400ms,800ms,1s,1s,1s", "AGEGATE_FREE_CHECKS_PER_MONTH=-1"}
		g := newGateway(t, db, settings...)
		shop := g.register(receiver.url)
		l := newLoad(append(g.newShops(3, receiver), shop.Test), 10*time.Millisecond, g)
		g.start()
		stop := l.startCharged(shop.Live)
		l.awaitMany(t, db, table.Sized(20_000, 300))

		before := l.copied()
		restored := g.backup(db)
		stop()
		creations, completions := before.acknowledged()
		all, _ := l.acknowledged()
		g.kill()
		held := restored.read(t)
		r.Didf("%d creations and %d completions acknowledged before it, %d creations until the loss", creations, completions,
			all)
		r.None("acknowledged creations lost", before.lostCreations(held))
		r.None("acknowledged completions lost", before.lostCompletions(held))
		r.None("state and event disagree in the copy", held.disagreements())
		r.None("balances that the ledger does not explain", restored.unbalanced(t))
		pending := receiver.forgetPending(held)
		r.Mark("webhooks pending in the copy", "some", fmt.Sprint(pending), pending > 0)

		g = newGateway(t, restored, settings...)
		g.start()
		again := newLoad(l.keys, 10*time.Millisecond, g)
		again.account = before
		stop = again.startCharged(shop.Live)
		again.awaitMany(t, restored, creations+table.Sized(2000, 100))
		stop()
		after, _ := again.acknowledged()
		r.Mark("creations with the old keys afterwards", "some", fmt.Sprint(after-creations), after > creations)
		r.None("balances that the ledger does not explain then", restored.unbalanced(t))
		audit(t, r, restored, before, receiver)
	})
}

// startCharged also starts a shopper who creates live sessions, which are charged
// and never completed.
func (l *load) startCharged(liveKey string) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var charged sync.WaitGroup
	charged.Go(func() {
		for ctx.Err() == nil {
			l.insistOnCreate(ctx, l.gateways[0], liveKey)
			rest(ctx, l.pause)
		}
	})
	shoppers := l.start(6)
	return func() {
		cancel()
		charged.Wait()
		shoppers()
	}
}

// awaitMany waits until n creations have been acknowledged and webhooks are
// pending.
func (l *load) awaitMany(t *testing.T, db database, n int) {
	t.Helper()
	l.awaitCreations(t, n)
	for limit := time.Now().Add(table.HangLimit); db.count(t,
		"SELECT count(*) FROM webhook_events WHERE status = 'pending'") == 0; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("no webhook pending within %s", table.HangLimit)
		}
	}
}

// copied returns a copy of what has been acknowledged so far.
func (a *account) copied() *account {
	a.mu.Lock()
	defer a.mu.Unlock()
	return &account{created: maps.Clone(a.created), told: maps.Clone(a.told), answers: map[string]int{},
		disputed: slices.Clone(a.disputed)}
}

// backup backs up the database, restores it under another name and returns that
// database.
func (g *gateway) backup(db database) database {
	t := g.t
	t.Helper()
	dir := t.TempDir()
	env := append(slices.Clone(g.env), "PATH="+filepath.Dir(binary)+":"+os.Getenv("PATH"))
	run := func(block int, setting string) {
		runDocumented(t, dir, commands(t, "operations/back-up.md", "Backup", block), append(env, setting))
	}
	restored := database{db.name, ""}
	if path, ok := strings.CutPrefix(db.url, "sqlite:"); ok {
		copied := filepath.Join(dir, "restored", "agegate.db")
		restored.url = "sqlite:" + copied
		run(2, "AGEGATE_DB="+path)
		run(3, "AGEGATE_DB="+copied)
	} else {
		restored.url = pgtest.EmptyURL(t)
		run(0, "DATABASE_SERVER_URL="+plain(db.url))
		run(1, "DATABASE_SERVER_URL="+plain(restored.url))
	}
	if n := db.count(t, "SELECT count(*) FROM backups"); n != 1 {
		t.Errorf("%d backups recorded", n)
	}
	return restored
}

// plain returns a URL without the settings that PostgreSQL's own tools do not
// know.
func plain(url string) string {
	url, _, _ = strings.Cut(url, "&lock_timeout")
	return url
}

// unbalanced lists the tenants whose used allowance, open holds and ledger
// differ.
func (db database) unbalanced(t *testing.T) (found []string) {
	t.Helper()
	conn := db.connect(t)
	defer conn.Close()
	each(t, conn, `SELECT CAST(u.tenant_id AS text), used,
		(SELECT count(*) FROM holds h WHERE h.tenant_id = u.tenant_id AND h.period = u.period AND h.status <> 'released'),
		(SELECT coalesce(sum(-delta), 0) FROM ledger_entries e WHERE e.tenant_id = u.tenant_id AND e.period = u.period)
		FROM usage_counters u WHERE counter = 'free'`, func(scan func(...any) error) error {
		var id string
		var used, held, ledger int64
		err := scan(&id, &used, &held, &ledger)
		if used != held || used != ledger || used == 0 {
			found = append(found, fmt.Sprintf("tenant %s: used %d, held %d, ledger %d", id, used, held, ledger))
		}
		return err
	})
	return found
}

// forgetPending forgets the requests for events that the restored database does
// not have, or does not record as delivered: these must arrive again. It returns
// how many events are still to be delivered.
func (r *receiver) forgetPending(held rows) (pending int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.posts = slices.DeleteFunc(r.posts, func(p *post) bool { return held.events[p.event].status != "delivered" })
	for _, e := range held.events {
		if e.status == "pending" {
			pending++
		}
	}
	return pending
}
