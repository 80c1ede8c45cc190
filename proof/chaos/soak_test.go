//go:build linux

package chaos

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"agegate/internal/store/pgtest"
	"agegate/proof/table"
)

var soak = flag.Duration("soak", 0, "how long TestSoak lasts (default 1m in the full run, otherwise 10s)")

// day is how many shoppers are in the shop in each hour of a day. Each makes about
// four checks a second, so that an hour's soak has some 40,000.
var day = [24]int{1, 1, 1, 1, 1, 1, 1, 2, 2, 3, 3, 4, 5, 4, 3, 3, 4, 5, 6, 6, 5, 4, 2, 1}

// TestSoak lets a shop's day pass in a short time, beside a person in front of the
// camera, and looks 24 times whether what the gateway and the database hold grows
// with time.
func TestSoak(t *testing.T) { //nolint:tparallel // beside decides
	length := *soak
	if length == 0 {
		length = table.Sized(time.Minute, 10*time.Second)
	}
	beside(t, false)
	databases := map[string]func(*testing.T) database{"postgres": ownPostgres}
	if table.Full() {
		databases["sqlite"] = sqlite
	}
	for name, db := range databases {
		t.Run(name, func(t *testing.T) {
			beside(t, false)
			soakOn(t, db(t), length)
		})
	}
}

// ownPostgres returns a database on a server that no other test uses.
func ownPostgres(t *testing.T) database {
	server := pgtest.NewServer(t, pgtest.FreeAddr(t))
	return database{"PostgreSQL", server.URL(server.Addr)}
}

func soakOn(t *testing.T, db database, length time.Duration) {
	r := table.New(t, db.named(fmt.Sprintf("21 a shop's day in %s", length)))
	receiver := newReceiver(t, always(accept))
	g := newGateway(t, db, "AGEGATE_ESTIMATOR=onnx", "AGEGATE_MODELS_DIR="+models(t), "AGEGATE_INFERENCE_WORKERS=1")
	l := newLoad(g.newShops(4, receiver), 200*time.Millisecond, g)
	g.start()
	ctx, leave := context.WithCancel(t.Context())
	person := newPerson(t)
	var looking sync.WaitGroup
	looking.Go(func() { person.look(ctx, l, g.url, l.keys[0]) })
	var seen []held
	for _, shoppers := range day {
		stop := l.start(shoppers)
		time.Sleep(length / time.Duration(len(day)))
		seen = append(seen, g.held(db))
		stop()
	}
	leave()
	looking.Wait()
	creations, completions := l.acknowledged()
	r.Didf("%d creations and %d completions over 24 hours, %d camera checks", creations, completions, person.checks)
	// Everything is in use from the sixth hour on. The evening has more shoppers than
	// the morning.
	morning, evening := most(seen[6:12]), most(seen[18:])
	for _, m := range []struct {
		name             string
		morning, evening int
		more             int // that the evening may have
	}{
		{"MiB of memory", morning.memory, evening.memory, morning.memory/4 + 16},
		{"descriptors", morning.descriptors, evening.descriptors, 50},
		{"MiB of write-ahead log", morning.log, evening.log, db.logLimit() - morning.log},
		{"% of dead rows in the table with most", morning.dead, evening.dead, 50 - morning.dead},
	} {
		r.Timely(m.name+", morning and evening", fmt.Sprintf("< %d", m.morning+m.more),
			fmt.Sprintf("%d, %d", m.morning, m.evening), m.evening < m.morning+m.more)
	}
	audit(t, r, db, l.account, receiver)
	r.TimelyNone("camera checks interrupted or refused", person.interrupted)
}

// held is what a process and its database hold at a moment.
type held struct {
	memory, log int // MiB
	descriptors int
	dead        int // per cent of the rows of the table with the largest share, of those with over 1,000 rows
}

func (g *gateway) held(db database) held {
	memory, _ := memory(g.t, g)
	h := held{memory: memory >> 10, descriptors: g.descriptors()}
	if path, ok := strings.CutPrefix(db.url, "sqlite:"); ok {
		info, err := os.Stat(path + "-wal")
		if err != nil {
			g.t.Fatal(err)
		}
		h.log = int(info.Size() >> 20)
		return h
	}
	h.log = db.count(g.t, "SELECT (sum(size) / 1048576)::bigint FROM pg_ls_waldir()")
	h.dead = db.count(g.t, `SELECT coalesce(max(100 * n_dead_tup / (n_live_tup + n_dead_tup)), 0)
		FROM pg_stat_user_tables WHERE n_live_tup + n_dead_tup > 1000`)
	return h
}

// logLimit is the most that the write-ahead log may have, in MiB: PostgreSQL's
// max_wal_size, which it may exceed while it writes a checkpoint.
func (db database) logLimit() int {
	if strings.HasPrefix(db.url, "sqlite:") {
		return 64
	}
	return 1024 * 5 / 4
}

// most returns the largest of each figure.
func most(all []held) (m held) {
	for _, h := range all {
		m = held{max(m.memory, h.memory), max(m.log, h.log), max(m.descriptors, h.descriptors), max(m.dead, h.dead)}
	}
	return m
}

// models returns the directory with the models.
func models(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../../models")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
