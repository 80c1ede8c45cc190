//go:build linux && upgrade

package chaos

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// lateRows are rows of tables that take hours, a camera or a wallet to fill. HASH, ID, NOW and
// TENANT stand for values; OPEN is the hash of an open session's link.
var lateRows = []string{
	`INSERT INTO passkeys (id, user_id, credential_id, public_key, sign_count, flags, transports, aaguid, name, created_at)
		SELECT 'ID', id, HASH, HASH, 1, 1, 'usb', HASH, 'Key', created_at FROM users`,
	`INSERT INTO recovery_codes (user_id, hash) SELECT id, HASH FROM users`,
	`INSERT INTO login_flows (hash, kind, data, expires_at) VALUES (HASH, 'step', HASH, 'NOW')`,
	`INSERT INTO notices (tenant_id, kind, subject, since) VALUES ('TENANT', 'credit', '', 'NOW')`,
	`INSERT INTO session_hours (tenant_id, livemode, hour, target_age, status, source, n, opened, begun, t5, t10, t20,
		t40, t80, tmore) VALUES ('TENANT', true, 490000, 18, 'PASSED', 'camera', 9, 9, 9, 1, 2, 3, 1, 1, 1)`,
	`INSERT INTO fold_marks (name, upto) VALUES ('tills', 1)`,
	`INSERT INTO ledger_days (tenant_id, day, kind, source, n, delta) VALUES ('TENANT', 20000, 'hold', 'free', 9, -9)`,
	`INSERT INTO handovers (link_hash, nonce, token_hash, expires_at) VALUES (OPEN, NONCE, HASH, 'NOW')`,
	`INSERT INTO wallet_requests (link_hash, nonce, outcome, final) VALUES (OPEN, NONCE, '', false)`,
	`INSERT INTO certifications (id, tenant_id, endpoint_id, started_at, passed, results)
		VALUES ('ID', 'TENANT', '', 'NOW', true, '[]')`,
	`INSERT INTO certified_hosts (tenant_id, host, started_at) VALUES ('TENANT', 'shop.example', 'NOW')`,
	`INSERT INTO qa_cards (id, tenant_id, link_hash, name, outcome, target_age, created_at)
		VALUES ('ID', 'TENANT', HASH, 'Till', 'verified', 18, 'NOW')`,
}

// fillRest fills the tables that the gateway did not fill itself, while it is stopped.
func (s *story) fillRest(db database) {
	s.t.Helper()
	hash, nonce := strings.Repeat("ab", 32), strings.Repeat("cd", 16)
	bytes := func(hex string) string { return "x'" + hex + "'" }
	if strings.HasPrefix(db.url, "postgres") {
		bytes = func(hex string) string { return "decode('" + hex + "', 'hex')" }
	}
	values := strings.NewReplacer("HASH", bytes(hash), "NONCE", bytes(nonce), "TENANT", s.shop.ID,
		"ID", "00000000-0000-4000-8000-000000000001",
		"NOW", time.Now().Add(time.Hour).UTC().Format("2006-01-02 15:04:05+00:00"),
		"OPEN", "(SELECT link_hash FROM sessions WHERE id = '"+s.open.id+"')")
	conn := db.connect(s.t)
	defer conn.Close()
	for _, statement := range lateRows {
		if _, err := conn.ExecContext(s.t.Context(), values.Replace(statement)); err != nil {
			s.t.Fatalf("%v: %s", err, statement)
		}
	}
}

// content is what tables hold: their columns, and their rows as text in any order.
type content map[string]struct {
	columns []string
	all     []string
}

// snapshot reads the tables of a database with their columns, or those of an earlier
// snapshot with the columns that it has.
func snapshot(t *testing.T, db database, of content) content {
	t.Helper()
	conn := db.connect(t)
	defer conn.Close()
	columns := map[string][]string{}
	for table, c := range of {
		columns[table] = c.columns
	}
	if of == nil {
		query := `SELECT m.name, c.name FROM sqlite_master m JOIN pragma_table_info(m.name) c
			WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' AND m.name NOT LIKE 'goose_%'`
		if strings.HasPrefix(db.url, "postgres") {
			query = `SELECT table_name, column_name FROM information_schema.columns
				WHERE table_schema = 'public' AND table_name NOT LIKE 'goose_%'`
		}
		each(t, conn, query, func(scan func(...any) error) error {
			var table, column string
			err := scan(&table, &column)
			columns[table] = append(columns[table], column)
			return err
		})
	}
	all := content{}
	for table, names := range columns {
		held := all[table]
		held.columns = names
		each(t, conn, "SELECT "+strings.Join(names, ", ")+" FROM "+table, func(scan func(...any) error) error {
			values, places := make([]any, len(names)), make([]any, len(names))
			for i := range values {
				places[i] = &values[i]
			}
			err := scan(places...)
			held.all = append(held.all, fmt.Sprintf("%q", values))
			return err
		})
		slices.Sort(held.all)
		all[table] = held
	}
	return all
}

// differences lists the tables whose rows differ, with the first row of each that a later
// snapshot lacks.
func (c content) differences(later content) (found []string) {
	for table, held := range c {
		if got := later[table].all; !slices.Equal(held.all, got) {
			i := slices.IndexFunc(held.all, func(row string) bool { return !slices.Contains(got, row) })
			found = append(found, fmt.Sprintf("%s has %d rows, had %d; lacks %v: %s", table, len(got), len(held.all),
				held.columns, held.all[max(i, 0)]))
		}
	}
	return found
}
