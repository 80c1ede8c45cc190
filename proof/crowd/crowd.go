// Package crowd fills a database with the sessions of busy merchants. Each
// session has its hold, ledger entries, event, attempts, hand-over and
// idempotency key.
package crowd

import (
	"context"
	"fmt"
	"strings"
	"text/template"
	"time"

	"github.com/google/uuid"
)

// Crowd describes the rows that Fill inserts.
type Crowd struct {
	Sessions int
	Until    time.Time     // when the last session was created
	Over     time.Duration // time between the first and the last session
	// Shops share the sessions: the first shop has half of them, and the others
	// share the rest equally.
	Shops []Shop
	// Old says that the schema is that of release 0.1.0.
	Old bool
}

// Shop is a tenant and the API key that it uses. A tenant may appear several
// times.
type Shop struct{ TenantID, KeyID uuid.UUID }

// Tables are the tables that Fill fills, in its order.
var Tables = []string{
	"sessions", "holds", "ledger_entries", "usage_counters", "webhook_events", "webhook_attempts", "handovers",
	"idempotency_claims",
}

// Fill inserts the crowd into a database without sessions, with one statement per
// table. It builds indexes afterwards and does not check foreign keys; on
// PostgreSQL it therefore needs a superuser. On SQLite nothing else may have the
// database open, and the tool sqlite3 must be installed.
func Fill(ctx context.Context, databaseURL string, c Crowd) error {
	d := dialectOf(databaseURL)
	statements, err := c.statements(d)
	if err != nil {
		return err
	}
	return d.load(ctx, databaseURL, statements)
}

// statements returns the INSERT statements.
func (c Crowd) statements(d dialect) ([]string, error) {
	shops := make([]string, len(c.Shops))
	for i, s := range c.Shops {
		shops[i] = fmt.Sprintf("SELECT %d AS shop, CAST('%s' AS %s) AS tenant_id, CAST('%s' AS %s) AS api_key_id", i,
			s.TenantID, d.uuid, s.KeyID, d.uuid)
	}
	data := map[string]any{
		"N": c.Sessions, "First": c.Until.Add(-c.Over).UnixMilli(), "Over": c.Over.Milliseconds(),
		"Shops": strings.Join(shops, " UNION ALL "), "Count": len(c.Shops), "Old": c.Old,
		"LastDay":   fmt.Sprint(c.Until.Add(-24 * time.Hour).UnixMilli()),
		"LastMonth": fmt.Sprint(c.Until.AddDate(0, 0, -30).UnixMilli()),
	}
	parsed, err := template.New("").Funcs(d.funcs).Parse(inserts)
	if err != nil {
		return nil, err
	}
	var text strings.Builder
	if err := parsed.Execute(&text, data); err != nil {
		return nil, err
	}
	return strings.Split(text.String(), ";\n"), nil
}

// inserts are the statements, each of which ends with a semicolon and the end of
// the line. Of a hundred sessions, 62 pass, 12 fall back, 2 are spoofs, 14 have
// expired and were looked up since, and 10 have expired without a lookup. One in
// eleven is a test session, of any result. A check takes 1 to 97 s. One in
// sixteen was handed over to a phone. Each has an order, such as A1. Sessions of
// the last day have an idempotency key, and those of the last 30 days an event:
// older ones are deleted.
const inserts = `
INSERT INTO sessions (id, tenant_id, livemode, target_age, success_url, cancel_url, webhook_url, link_hash, browser_hash,
	status, created_at, expires_at, completed_at, attempts, strikes{{if not .Old}}, opened_at, begun_at, source,
	api_key_id, order_ref{{end}})
SELECT {{id "ms" "i"}}, tenant_id, i % 11 <> 7, CASE WHEN i % 9 = 0 THEN 16 ELSE 18 END,
	'https://shop.example/checkout/age', 'https://shop.example/basket', 'https://shop.example/hooks/age',
	{{if .Old}}{{hash "i"}}{{else}}{{link "ms" "i"}}{{end}}, CASE WHEN p < 85 THEN {{hash "-i"}} END,
	CASE WHEN p < 62 THEN 'PASSED' WHEN p < 74 THEN 'FALLBACK' WHEN p < 76 THEN 'SPOOF' WHEN p < 90 THEN 'EXPIRED' ELSE 'PENDING' END,
	{{time "ms"}}, {{time "ms + 1800000"}}, CASE WHEN p < 76 THEN {{time "ms + 5000 + i % 97 * 1000"}} END, 1, 0
	{{if not .Old}}, CASE WHEN p < 85 THEN {{time "ms + 2000"}} END, CASE WHEN p < 80 THEN {{time "ms + 4000"}} END,
	CASE WHEN p < 76 THEN 'camera' ELSE '' END, api_key_id, 'A' || i{{end}}
FROM (
	SELECT i, {{.First}} + i * CAST({{.Over}} AS bigint) / {{.N}} AS ms, i * 37 % 100 AS p,
		CASE WHEN i % 2 = 0 THEN 0 ELSE i / 2 % {{.Count}} END AS n
	FROM {{series .N}}
) AS numbered JOIN ({{.Shops}}) AS shops ON shop = n;
INSERT INTO holds (session_id, tenant_id, source, period, status, expires_at)
SELECT id, tenant_id, 'free', {{month "created_at"}}, CASE WHEN completed_at IS NULL THEN 'released' ELSE 'settled' END, expires_at
FROM sessions WHERE livemode;
INSERT INTO ledger_entries (id, tenant_id, session_id, kind, source, period, delta, created_at)
SELECT {{other "id" "variant"}}, tenant_id, id,
	CASE WHEN variant = '9' THEN 'hold' WHEN completed_at IS NULL THEN 'release' ELSE 'settle' END, 'free', {{month "created_at"}},
	CASE WHEN variant = '9' THEN -1 WHEN completed_at IS NULL THEN 1 ELSE 0 END,
	CASE WHEN variant = '9' THEN created_at ELSE coalesce(completed_at, expires_at) END
FROM sessions CROSS JOIN (SELECT '9' AS variant UNION ALL SELECT 'a') AS kinds WHERE livemode;
INSERT INTO usage_counters (tenant_id, counter, period, used)
SELECT tenant_id, source, period, count(*) FROM holds WHERE status = 'settled' GROUP BY tenant_id, source, period;
INSERT INTO webhook_events (id, tenant_id, session_id, livemode, destination, endpoint_id, body, status, created_at,
	attempts, step, last_at, last_class, last_status)
SELECT 'evt_' || id, tenant_id, id, livemode, webhook_url, 'ep_00000000000000000000000000000000',
	{{bytes "'{\"type\":\"session.completed\",\"timestamp\":\"2026-01-01T00:00:00.000000Z\",\"session_id\":\"' || id || '\",\"status\":\"VERIFIED\",\"is_adult\":true,\"livemode\":true}'"}},
	CASE WHEN failed THEN 'failed' ELSE 'delivered' END, completed_at, CASE WHEN failed THEN 3 ELSE 1 END, 0, completed_at,
	CASE WHEN failed THEN 'timeout' ELSE 'delivered' END, CASE WHEN failed THEN 0 ELSE 204 END
FROM (SELECT *, status = 'FALLBACK' AND target_age = 16 AS failed FROM sessions
	WHERE status IN ('PASSED', 'FALLBACK') AND completed_at > {{time .LastMonth}}) AS completed;
INSERT INTO webhook_attempts (event_id, number, at, class, status_code, latency_us, excerpt)
SELECT id, number, last_at, last_class, last_status, 45000, {{bytes "''"}}
FROM webhook_events JOIN (SELECT 1 AS number UNION ALL SELECT 2 UNION ALL SELECT 3) AS numbers ON number <= attempts;
INSERT INTO handovers (link_hash, nonce, token_hash, expires_at, phone_hash)
SELECT link_hash, substr(link_hash, 1, 16), link_hash, expires_at, link_hash FROM sessions WHERE substr(CAST(id AS text), 36) = '0';
INSERT INTO idempotency_claims (tenant_id, livemode, key_hash, request_hash, session_id, sealed_link, session_end, expires_at)
SELECT tenant_id, livemode, link_hash, link_hash, id, {{bytes "'sealed sealed sealed sealed sealed sealed sealed sealed sealed sealed '"}}, expires_at,
	{{tomorrow "created_at"}}
FROM sessions WHERE created_at > {{time .LastDay}}`
