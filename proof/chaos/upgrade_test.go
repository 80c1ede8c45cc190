//go:build linux && upgrade

package chaos

import (
	"flag"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"agegate/internal/store/pgtest"
	"agegate/proof/table"
)

// past is the program of the previous release, which `make upgrade` builds.
var past = flag.String("past", "", "program of the previous release")

// firstEvent comes before all events of the feed.
const firstEvent = "evt_00000000-0000-0000-0000-000000000000"

// TestUpgrade fills a database by the previous release, upgrades it, runs both releases
// beside each other on PostgreSQL, goes back, and forward again.
func TestUpgrade(t *testing.T) {
	if *past == "" {
		t.Fatal("name the program of the previous release: run `make upgrade`")
	}
	t.Run("sqlite", func(t *testing.T) { t.Parallel(); upgrade(t, sqlite(t)) })
	t.Run("postgres", func(t *testing.T) { t.Parallel(); upgrade(t, database{"PostgreSQL", pgtest.EmptyURL(t)}) })
}

func upgrade(t *testing.T, db database) {
	r := table.New(t, db.named("Upgrade, rollback and upgrade again"))
	var up atomic.Bool // whether the receiver accepts webhooks: after the first upgrade
	hooks := newReceiver(t, func(int) answer {
		if up.Load() {
			return accept
		}
		return refuse
	})
	settings := []string{"AGEGATE_BASE_URL=" + publicURL, "AGEGATE_WEBHOOK_RETRY_TEST=20s,20s,20s,20s,20s,20s"}
	before := &release{newGateway(t, db, settings...), "the previous release"}
	after := &release{newGateway(t, db, settings...), "this release"}
	before.program, before.operator = *past, *past
	before.env = slices.DeleteFunc(before.env, func(v string) bool { return strings.HasPrefix(v, "AGEGATE_LAME_DUCK") })

	// The previous release fills every table.
	shop, leaver := before.register(hooks.url), before.register("")
	before.start()
	s := newStory(t, before, shop)
	s.fill(leaver)
	before.stop()
	s.fillRest(db)
	kept := snapshot(t, db, nil)
	for name, rows := range kept {
		if len(rows.all) == 0 {
			t.Errorf("the previous release left no row in %s", name)
		}
	}

	// This release migrates, and has it all.
	after.run("migrate")
	r.None("rows lost or changed by the migration", kept.differences(snapshot(t, db, kept)))
	after.start()
	up.Store(true)
	r.None("wrong after the upgrade", s.audit(after))
	r.None("events of the feed missing after the upgrade", s.missing(after))
	s.act(after)

	if strings.HasPrefix(db.url, "postgres") {
		before.start()
		for range 3 {
			s.act(before)
			s.act(after)
		}
		r.None("wrong beside the previous release", append(s.audit(after), s.audit(before)...))
		r.None("events of the feed missing beside the previous release", s.missing(after))
		before.stop()
	}
	after.stop()

	// Back, and forward again.
	before.start()
	r.None("wrong after going back", s.audit(before))
	s.act(before)
	before.run("tenant", "disable", leaver.ID)
	before.run("tenant", "delete", leaver.ID, "--yes")
	before.stop()
	after.start()
	r.None("wrong after the second upgrade", s.audit(after))
	s.act(after)
	r.None("events of the feed missing after the second upgrade", s.missing(after))
	db.settle(t)
	undelivered, unequal, _ := db.read(t).deliveries(hooks)
	r.None("events never delivered", undelivered)
	r.None("events with a second id or body", unequal)
	after.run("audit", "verify")
	after.stop()
	r.Didf("%d sessions of both releases; no table of the previous one was empty", len(s.sessions))
}
