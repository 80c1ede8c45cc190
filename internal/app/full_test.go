package app_test

import (
	"strings"
	"testing"

	"agegate/internal/gatewaytest"
	"agegate/internal/store/pgtest"
)

// TestFullDatabase: a gateway whose database has no room for a session is not ready until
// there is room again, and its log says why.
func TestFullDatabase(t *testing.T) {
	t.Parallel()
	g := gatewaytest.Start(t, pgtest.URL(t))
	key := g.Shop(t, "", nil).Live.APIKey
	create := gatewaytest.Row{Method: "POST", Path: "/api/v1/sessions/create", Key: key, Body: `{"target_age":18}`}
	g.Exec(t, "CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE disk_full; END $$")
	for _, table := range []string{"sessions", "replicas"} {
		g.Exec(t, "CREATE TRIGGER no_room BEFORE INSERT ON "+table+" EXECUTE FUNCTION no_room()")
	}
	create.Status = 503
	g.Do(t, create)
	for range 2 {
		if res, body := get(t, g, "/readyz"); res.StatusCode != 503 ||
			!strings.Contains(body, `"database_writes":"failed"`) {
			t.Errorf("without room: %d %s", res.StatusCode, body)
		}
	}
	if log := g.Log.String(); !strings.Contains(log,
		"The disk or the database is full, so nothing is written: make room") ||
		strings.Contains(log, "53100") {
		t.Errorf("the log does not say what to do, or in a driver's words: %s", log)
	}
	g.Exec(t, "DROP FUNCTION no_room CASCADE")
	if res, body := get(t, g, "/readyz"); res.StatusCode != 200 {
		t.Errorf("with room again: %d %s", res.StatusCode, body)
	}
	create.Status = 201
	g.Do(t, create)
}
