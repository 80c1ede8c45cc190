//go:build linux

package chaos

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"agegate/proof/table"

	_ "github.com/glebarez/go-sqlite"
	_ "github.com/jackc/pgx/v5/stdlib"
)

// rows is the content of the database at the end of a test.
type rows struct {
	status   map[string]string // by session
	events   map[string]event  // by id
	attempts map[string]int    // rows by event
	claimed  map[string]bool   // sessions of idempotency keys
}

type event struct {
	session, status string
	result          string // from the body
	body            [sha256.Size]byte
}

// connect opens the database directly, not through the gateway.
func (db database) connect(t *testing.T) *sql.DB {
	t.Helper()
	driver, dsn := "pgx", db.url
	if path, ok := strings.CutPrefix(db.url, "sqlite:"); ok {
		driver, dsn = "sqlite", "file:"+path+"?_pragma=busy_timeout(60000)"
	}
	conn, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	conn.SetMaxIdleConns(0) // keeps no idle connection, because the server may crash
	t.Cleanup(func() { conn.Close() })
	return conn
}

// count runs a query for one number.
func (db database) count(t *testing.T, query string) int {
	t.Helper()
	conn := db.connect(t)
	defer conn.Close()
	var n int
	if err := conn.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// settle waits until no delivery is pending. The deliveries of a killed gateway
// wait until their lease ends.
func (db database) settle(t *testing.T) {
	t.Helper()
	pending := 0
	for limit := time.Now().Add(table.HangLimit); time.Now().Before(limit); time.Sleep(200 * time.Millisecond) {
		if pending = db.count(t, "SELECT count(*) FROM webhook_events WHERE status = 'pending'"); pending == 0 {
			return
		}
	}
	t.Errorf("%d deliveries are still pending after %s", pending, table.HangLimit)
}

func (db database) read(t *testing.T) rows {
	t.Helper()
	conn := db.connect(t)
	defer conn.Close()
	all := rows{map[string]string{}, map[string]event{}, map[string]int{}, map[string]bool{}}
	each(t, conn, "SELECT CAST(id AS text), status FROM sessions", func(scan func(...any) error) error {
		var id, status string
		err := scan(&id, &status)
		all.status[id] = status
		return err
	})
	each(t, conn, "SELECT id, CAST(session_id AS text), status, body FROM webhook_events",
		func(scan func(...any) error) error {
			var id string
			var e event
			var body []byte
			if err := scan(&id, &e.session, &e.status, &body); err != nil {
				return err
			}
			var payload struct {
				Status string `json:"status"`
			}
			err := json.Unmarshal(body, &payload)
			e.result, e.body = payload.Status, sha256.Sum256(body)
			all.events[id] = e
			return err
		})
	each(t, conn, "SELECT CAST(session_id AS text) FROM idempotency_claims", func(scan func(...any) error) error {
		var id string
		err := scan(&id)
		all.claimed[id] = true
		return err
	})
	each(t, conn, "SELECT event_id, count(*) FROM webhook_attempts GROUP BY event_id",
		func(scan func(...any) error) error {
			var id string
			var n int
			err := scan(&id, &n)
			all.attempts[id] = n
			return err
		})
	return all
}

func each(t *testing.T, conn *sql.DB, query string, row func(scan func(...any) error) error) {
	t.Helper()
	list, err := conn.QueryContext(context.Background(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer list.Close()
	for list.Next() {
		if err := row(list.Scan); err != nil {
			t.Fatal(err)
		}
	}
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
}

// resultOf maps a session's status to the result in its webhook.
var resultOf = map[string]string{"PASSED": "VERIFIED", "FALLBACK": "ROUTED_TO_FALLBACK"}

// audit compares the answers to the load, the database, and the receiver's
// requests, once all deliveries have ended.
func audit(t *testing.T, r *table.Row, db database, told *account, receiver *receiver) {
	t.Helper()
	db.settle(t)
	held := db.read(t)
	told.mu.Lock()
	defer told.mu.Unlock()
	r.None("acknowledged creations lost", told.lostCreations(held))
	r.None("acknowledged completions lost", told.lostCompletions(held))
	r.None("answers that contradict an acknowledgement", told.disputed)
	r.None("sessions made again for one idempotency key", held.unclaimed())
	r.None("state and event disagree", held.disagreements())
	undelivered, unequal, repeats := held.deliveries(receiver)
	r.None("events never delivered", undelivered)
	r.None("sessions with a second id or body", unequal)
	share := 100 * float64(repeats) / float64(max(len(held.events), 1))
	// The short form has few events per kill.
	r.Timely("deliveries repeated", "< 1 %", fmt.Sprintf("%.2f %%", share), share < 1)
	r.None("answers other than success and 503", told.odd)
}

func (a *account) lostCreations(held rows) (lost []string) {
	for id := range a.created {
		if held.status[id] == "" {
			lost = append(lost, "session "+id)
		}
	}
	return lost
}

func (a *account) lostCompletions(held rows) (lost []string) {
	for id, status := range a.told {
		if held.status[id] != status {
			lost = append(lost, fmt.Sprintf("session %s: told %s, holds %q", id, status, held.status[id]))
		}
	}
	return lost
}

// unclaimed lists the sessions without an idempotency key. Every creation has a
// key, so each of these is a second session for the same key.
func (held rows) unclaimed() (found []string) {
	for id := range held.status {
		if !held.claimed[id] {
			found = append(found, "session "+id)
		}
	}
	return found
}

// disagreements lists sessions whose event is missing, duplicated or has another
// result, and events without a session.
func (held rows) disagreements() (found []string) {
	results := map[string][]string{}
	for id, e := range held.events {
		if held.status[e.session] == "" {
			found = append(found, "event without session "+id)
		}
		results[e.session] = append(results[e.session], e.result)
	}
	for id, status := range held.status {
		want, got := resultOf[status], results[id]
		if want == "" && len(got) > 0 || want != "" && (len(got) != 1 || got[0] != want) {
			found = append(found, fmt.Sprintf("session %s is %s, its events say %v", id, status, got))
		}
	}
	return found
}

// deliveries compares the events with the receiver's requests.
func (held rows) deliveries(r *receiver) (undelivered, unequal []string, repeats int) {
	accepted := map[string]int{}
	for _, p := range r.all() {
		e, known := held.events[p.event]
		if !known || e.session != p.session || e.body != p.body {
			unequal = append(unequal, "event "+p.event)
		}
		if p.ok {
			accepted[p.event]++
		}
	}
	for id, e := range held.events {
		if e.status != "delivered" || accepted[id] == 0 {
			undelivered = append(undelivered, fmt.Sprintf("event %s is %s, accepted %d times", id, e.status, accepted[id]))
		}
		repeats += max(accepted[id]-1, 0)
	}
	return undelivered, unequal, repeats
}
