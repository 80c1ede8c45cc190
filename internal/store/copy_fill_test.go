package store_test

import (
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
)

// filled writes three rows into every table of a database: one with whatever text can
// hold, another one, and one in which everything is null that may be. It returns the
// tables with their columns, which it reads from a PostgreSQL database of the same schema.
// mark is how the dialect numbers a parameter.
func filled(t *testing.T, db, catalogue *sql.DB, mark string) map[string][]column {
	t.Helper()
	columns := catalogueOf(t, catalogue)
	for _, table := range slices.Sorted(maps.Keys(columns)) {
		for i := range 3 {
			if (table == "drift_state" || table == "backups") && i > 0 { // have one row
				continue
			}
			var names, places []string
			var values []any
			for j, c := range columns[table] {
				names, places = append(names, c.name), append(places, mark+strconv.Itoa(j+1))
				values = append(values, c.value(table, i))
			}
			statement := "INSERT INTO " + table + " (" + strings.Join(names, ", ") + ") VALUES (" +
				strings.Join(places, ", ") + ")"
			if _, err := db.ExecContext(t.Context(), statement, values...); err != nil {
				t.Fatalf("row %d of %s: %v", i, table, err)
			}
		}
	}
	return columns
}

type column struct {
	name, kind string
	nullable   bool
}

func catalogueOf(t *testing.T, db *sql.DB) map[string][]column {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), `SELECT c.table_name, c.column_name, c.data_type, c.is_nullable = 'YES'
		FROM information_schema.columns c JOIN information_schema.tables t USING (table_schema, table_name)
		WHERE table_schema = 'public' AND t.table_type = 'BASE TABLE' AND table_name NOT LIKE 'goose\_%'
		ORDER BY c.ordinal_position`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	tables := map[string][]column{}
	for rows.Next() {
		var table string
		var c column
		if err := rows.Scan(&table, &c.name, &c.kind, &c.nullable); err != nil {
			t.Fatal(err)
		}
		tables[table] = append(tables[table], c)
	}
	if rows.Err() != nil || len(tables) < 30 {
		t.Fatalf("%d tables, %v", len(tables), rows.Err())
	}
	return tables
}

// awkward holds what COPY writes in a special way, and its mark for null.
const awkward = "\\N \\. \t tab \n line \r\v\f\b \\ é 𐀀 'quote' \"x\" \u2028 \x7f {} "

// fixed are values that the tables' conditions ask for, by table.column or column, one
// for each row or the same for all.
var fixed = map[string][]string{
	"api_keys.last_four": {"a\\\n\t"}, "tenant_secrets.kind": {"webhook"}, "state": {"retiring", "retiring", "active"},
	"verifiers.state": {"active", "active", "pending"}, "trust_lists.format": {"av"},
	"sessions.status": {"PASSED", "SPOOF", "PENDING"}, "document_way": {"photo", "", "wallet"},
	"source": {"free", "credit", "free"}, "holds.period": {"2026-11", "", "2026-12"},
	"holds.status":         {"open", "settled", "released"},
	"session_hours.source": {"camera", "", "forced"}, "session_hours.status": {"PASSED", "SPOOF", "EXPIRED"},
	"sessions.source": {"camera"}, "usage_counters.counter": {"free", "test", "free"},
	"ledger_entries.kind":   {"top_up", "hold", "settle"},
	"webhook_events.status": {"pending", "pending", "delivered"}, "disabled_reason": {"a", "b", ""},
	"colour": {"1f5f5b", "", ""}, "logo_hash": {strings.Repeat("a", 32), strings.Repeat("b", 32), ""},
	"role": {"owner", "developer", "viewer"}, "verifiers.role": {"verifier", "registrar", "verifier"},
	"links.kind": {"recovery", "recovery", "setup"}, "actor_kind": {"user", "cli", "system"}, "country": {"DE"},
	"outcome": {"verified", "fallback", "spoof"}, "drift_state.state": {awkward},
}

// value returns a value of a column for row i of a table. Rows of the same number refer to each other.
func (c column) value(table string, i int) any {
	if values, ok := fixed[table+"."+c.name]; ok {
		return values[min(i, len(values)-1)]
	}
	if values, ok := fixed[c.name]; ok {
		return values[min(i, len(values)-1)]
	}
	if i == 2 && c.nullable && c.name != "feed_position" { // which a trigger fills
		return nil
	}
	switch c.kind {
	case "uuid":
		return uuid.NewSHA1(uuid.Nil, []byte{byte(i)}).String()
	case "boolean":
		return (c.name == "livemode") == (i == 0)
	case "bigint", "smallint":
		if c.name == "id" {
			return 1
		}
		return 60 + i
	case "double precision":
		return []float64{1234567.25, 1e-7, 21.1}[i]
	case "timestamp with time zone":
		return time.Date(2026, 11, 1+i, 12, 0, 0, []int{0, 123456000, 100000000}[i], time.UTC)
	case "bytea":
		size := 32
		if c.name == "nonce" {
			size = 16
		}
		return append([]byte{byte(i), 0, '\n', '\\', '\t'}, make([]byte, size-5)...)
	}
	sizes := map[string]int{"webhook_events.id": 40, "webhook_attempts.event_id": 40, "webhook_endpoints.id": 35}
	if size := sizes[table+"."+c.name]; size > 0 {
		return fmt.Sprintf("%d%s", i, strings.Repeat("x", size-1))
	}
	return fmt.Sprintf("%d%s", i, awkward)
}

// content returns the rows of a table as text, in any order.
func content(t *testing.T, db *sql.DB, table string, columns []column) (all []string) {
	t.Helper()
	var names []string
	for _, c := range columns {
		names = append(names, c.name)
	}
	rows, err := db.QueryContext(t.Context(), "SELECT "+strings.Join(names, ", ")+" FROM "+table)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		values, places := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			places[i] = &values[i]
		}
		if err := rows.Scan(places...); err != nil {
			t.Fatal(err)
		}
		for i, value := range values {
			switch v := value.(type) {
			case time.Time:
				values[i] = v.UTC().Format(time.RFC3339Nano)
			case int64:
				if columns[i].kind == "boolean" {
					values[i] = v != 0
				}
			}
		}
		all = append(all, fmt.Sprintf("%q", values))
	}
	if rows.Err() != nil {
		t.Fatal(rows.Err())
	}
	slices.Sort(all)
	return all
}
