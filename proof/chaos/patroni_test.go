//go:build linux && patroni

package chaos

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"agegate/internal/store"
	"agegate/proof/table"
)

// TestPatroni moves a gateway from one database to three nodes under Patroni by
// the commands in docs/availability.md, loses the primary again and again under
// load, splits etcd, and restores an earlier moment.
func TestPatroni(t *testing.T) {
	beside(t, true)
	c := newCluster(t)
	r := table.New(t, "16 three nodes under Patroni, the primary lost")
	receiver := newReceiver(t, always(accept))
	settings := []string{"AGEGATE_FREE_CHECKS_PER_MONTH=-1"}

	// One database, with sessions in it.
	old := postgres(t)
	g := newGateway(t, old, settings...)
	shop := g.register(receiver.url)
	keys := append(g.newShops(3, receiver), shop.Test)
	l := newLoad(keys, 10*time.Millisecond, g)
	g.start()
	stop := l.start(4)
	l.awaitCreations(t, 50)
	stop()
	g.kill()
	primary := c.awaitHealthy()
	c.closed(r, primary)
	c.run(primary, commands(t, "availability.md", "Set up", 3), append(primary.socket(), "AGEGATE_DB_PASSWORD=shop")...)
	c.run(primary, commands(t, "availability.md", "Move there from one database", 0), "DATABASE_SERVER_URL="+
		plain(old.url), "AGEGATE_DATABASE_URL="+c.url())

	db := database{"PostgreSQL", c.url()}
	gateways := []*gateway{newGateway(t, db, settings...), newGateway(t, db, settings...)}
	for _, g := range gateways {
		g.start()
		l.gateways = append(l.gateways, g.url)
	}
	l.gateways = slices.Delete(l.gateways, 0, 1)
	stop = l.startCharged(shop.Live)
	c.run(primary, commands(t, "availability.md", "Set up", 4))

	var gaps []time.Duration
	lost, moment := table.Sized(10, 1), time.Time{}
	var before *account
	for i := range lost {
		way := losses[i%len(losses)]
		gaps = append(gaps, c.lose(l, way))
		t.Logf("%s: %s", way.name, gaps[i])
		if i == lost/2 {
			c.run(c.awaitHealthy(), commands(t, "availability.md", "Back up", 0))
			c.standing(r)
			before, moment = l.copied(), c.now(db)
		}
	}
	gap := c.splitEtcd(l)
	t.Logf("etcd split: %s", gap)
	stop()
	creations, completions := l.acknowledged()
	r.Didf("lost %d times, etcd split once; %d creations, %d completions", lost, creations, completions)
	r.Within("longest time without an acknowledgement", slices.Max(append(gaps, gap)), time.Minute)
	audit(t, r, db, l.account, receiver)
	r.None("balances that the ledger does not explain", db.unbalanced(t))

	c.restoreFails()
	restored := c.restore(moment)
	held := restored.read(t)
	r.None("acknowledged creations lost in the restored moment", before.lostCreations(held))
	r.None("acknowledged completions lost in it", before.lostCompletions(held))
	r.None("balances that the ledger does not explain in it", restored.unbalanced(t))
	later := restored.count(t, "SELECT count(*) FROM sessions WHERE created_at > '"+moment.Format(time.RFC3339Nano)+"'")
	r.Mark("sessions later than it", "0", fmt.Sprint(later), later == 0)
}

// lose loses the primary, waits until another one acknowledges, and gets the node
// back. It returns the longest time without an acknowledgement.
func (c *cluster) lose(l *load, way loss) time.Duration {
	c.t.Helper()
	lost := c.awaitHealthy()
	return c.during(l, func() {
		way.lose(lost)
		c.awaitOther(lost)
	}, func() { way.getBack(lost) })
}

// splitEtcd cuts the primary's etcd off from the others for a while.
func (c *cluster) splitEtcd(l *load) time.Duration {
	c.t.Helper()
	lost := c.awaitHealthy()
	return c.during(l, func() {
		c.split.cut(lost)
		c.awaitOther(lost)
	}, c.split.heal)
}

// during causes a fault, waits for an acknowledgement, and ends the fault.
func (c *cluster) during(l *load, fault, end func()) time.Duration {
	c.t.Helper()
	began := time.Now()
	fault()
	l.awaitAfter(c.t, time.Now())
	gap := l.longestGapSince(began)
	end()
	c.awaitHealthy()
	return gap
}

// now returns the database's time, after everything acknowledged so far.
func (c *cluster) now(db database) (moment time.Time) {
	c.t.Helper()
	if err := db.connect(c.t).QueryRowContext(c.t.Context(), "SELECT clock_timestamp()").Scan(&moment); err != nil {
		c.t.Fatal(err)
	}
	return moment.UTC()
}

// standing checks what the gateway knows of the cluster after a backup on its primary.
func (c *cluster) standing(r *table.Row) {
	c.t.Helper()
	db, err := store.Open(c.t.Context(), store.Config{URL: c.url(), Now: time.Now})
	if err != nil {
		c.t.Fatal(err)
	}
	defer db.Close()
	x, err := db.Standing(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	r.Mark("standbys that the gateway sees, archive fails, a backup is known", "2, false, true",
		fmt.Sprintf("%d, %t, %t", x.Standbys, x.ArchiveFailing, x.LastBackup != nil),
		x.Standbys == 2 && !x.ArchiveFailing && x.LastBackup != nil)
}

// restoreFails restores a moment that the archive does not reach: the documented
// commands end, and show why.
func (c *cluster) restoreFails() {
	c.t.Helper()
	primary := c.awaitHealthy()
	dir := filepath.Join(primary.dir, "failed")
	c.mkdir(dir)
	ctx, cancel := context.WithTimeout(c.t.Context(), table.HangLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-eu", "-c", commands(c.t, "availability.md", "Return to an earlier moment", 0))
	moment := time.Now().UTC().Add(24 * time.Hour).Format("2006-01-02 15:04:05+00")
	cmd.Dir, cmd.Env = primary.dir, append(slices.Clone(primary.env), "RESTORED="+dir, "MOMENT="+moment)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.as}
	out, err := cmd.CombinedOutput()
	if err == nil || ctx.Err() != nil || !strings.Contains(string(out), "before configured recovery target was reached") {
		c.t.Errorf("%v, %v:\n%s", err, ctx.Err(), out)
	}
}

// restore restores the database of a moment by the documented commands, beside
// the cluster.
func (c *cluster) restore(moment time.Time) database {
	c.t.Helper()
	primary := c.awaitHealthy()
	// The log of the moment is in the archive after a minute at the latest, or at
	// once if the server begins another file.
	c.run(primary, "psql -d postgres -c 'SELECT pg_switch_wal()'", primary.socket()...)
	dir := filepath.Join(primary.dir, "restored")
	c.mkdir(dir)
	c.run(primary, commands(c.t, "availability.md", "Return to an earlier moment", 0),
		"RESTORED="+dir, "MOMENT="+moment.Format("2006-01-02 15:04:05.999999+00"))
	return database{"PostgreSQL", "postgres://agegate:shop@127.0.0.1:5499/agegate"}
}
