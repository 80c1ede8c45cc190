package app_test

import (
	"strings"
	"testing"

	"agegate/internal/gatewaytest"
)

// TestNewerSchema: a gateway serves a database that a newer version has migrated, and says so at its start.
func TestNewerSchema(t *testing.T) {
	t.Parallel()
	gatewaytest.Each(t, func(t *testing.T, g *gatewaytest.Gateway) {
		const warning = "a newer version of agegate has migrated the database"
		if strings.Contains(g.Log.String(), warning) {
			t.Error("it warns of its own schema")
		}
		g.Exec(t, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, true)")
		if next := g.Restart(t); !strings.Contains(next.Log.String(), warning+": fine during an upgrade") {
			t.Errorf("it does not warn:\n%s", next.Log)
		}
	})
}
