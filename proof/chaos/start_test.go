//go:build linux

package chaos

import (
	"fmt"
	"testing"
	"time"

	"agegate/internal/store/pgtest"
	"agegate/proof/table"
)

// TestStartTogether starts six replicas on an empty database.
func TestStartTogether(t *testing.T) {
	beside(t, true)
	db := database{"PostgreSQL", pgtest.EmptyURL(t)}
	r := table.New(t, db.named(" 9 six replicas start at once"))
	replicas := make([]*gateway, 6)
	for i := range replicas {
		replicas[i] = newGateway(t, db)
	}
	start := time.Now()
	for _, g := range replicas {
		g.launch()
	}
	for _, g := range replicas {
		g.await()
	}
	receiver := newReceiver(t, always(accept))
	l := newLoad(replicas[0].newShops(2, receiver), 10*time.Millisecond, replicas...)
	stop := l.start(6)
	time.Sleep(time.Second)
	stop()
	versions := db.count(t, "SELECT count(DISTINCT version_id) FROM goose_db_version")
	applied := db.count(t, "SELECT count(*) FROM goose_db_version")
	r.Didf("all six ready after %s, then load over all", time.Since(start).Round(time.Millisecond))
	r.Mark("migrations applied", fmt.Sprintf("%d, once", versions), fmt.Sprint(applied), applied == versions)
	audit(t, r, db, l.account, receiver)
}

// additions are what a newer gateway's migration may do while this one runs.
var additions = []string{
	"ALTER TABLE sessions ADD COLUMN added text",
	"ALTER TABLE tenants ADD COLUMN added bigint NOT NULL DEFAULT 7",
	"ALTER TABLE api_keys ADD COLUMN added text",
	"ALTER TABLE tenant_secrets ADD COLUMN added text",
	"ALTER TABLE webhook_events ADD COLUMN added text NOT NULL DEFAULT ''",
	"ALTER TABLE webhook_attempts ADD COLUMN added text",
	"ALTER TABLE webhook_endpoints ADD COLUMN added text",
	"ALTER TABLE usage_counters ADD COLUMN added text",
	"INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, true)",
}

// TestColumnAdded changes the schema under a running gateway, as a newer gateway
// would, and then starts the old one again.
func TestColumnAdded(t *testing.T) { //nolint:tparallel // beside decides
	onEach(t, true, func(t *testing.T, db database) {
		r := table.New(t, db.named(" 9 columns added under an old binary"))
		receiver := newReceiver(t, always(accept))
		g := newGateway(t, db)
		l := newLoad(g.newShops(4, receiver), 10*time.Millisecond, g)
		g.start()
		stop := l.start(6)
		conn := db.connect(t)
		for _, statement := range additions {
			time.Sleep(200 * time.Millisecond)
			if _, err := conn.ExecContext(t.Context(), statement); err != nil {
				t.Errorf("%s: %v", statement, err)
			}
		}
		time.Sleep(500 * time.Millisecond)
		stop()
		l.mu.Lock()
		var failed []string
		for answer, n := range l.answers {
			switch answer {
			case "create 201", "complete 200", "complete 303", "status 200":
			default:
				failed = append(failed, fmt.Sprintf("%d times %s", n, answer))
			}
		}
		l.mu.Unlock()
		r.TimelyNone("requests failed or refused", failed) // audit reports a failure of these
		if code := restart(g); code != 0 {
			t.Errorf("exit code %d", code)
		}
		creations, completions := l.acknowledged()
		r.Didf("%d statements under load, then a restart on the newer schema; %d creations, %d completions", len(additions),
			creations, completions)
		audit(t, r, db, l.account, receiver)
	})
}

// restart shuts a gateway down in order and starts it again.
func restart(g *gateway) (code int) {
	g.t.Helper()
	_, code = g.terminate()
	g.start()
	return code
}
