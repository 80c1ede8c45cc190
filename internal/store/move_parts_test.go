package store

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestEveryTableIsCarriedOrNamed: a tenant takes the rows of each table of the
// schema along, or notCarried says why not. One that refers to tenants or
// sessions must be in refers in addition.
func TestEveryTableIsCarriedOrNamed(t *testing.T) {
	s, err := Open(t.Context(), Config{URL: "sqlite:" + filepath.Join(t.TempDir(), "x.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	var tables []string
	if err := s.writer.Raw("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'goose_%'").Scan(&tables).Error; err != nil {
		t.Fatal(err)
	}
	// A tenant's rows of these are replaced by invitations, or end where they began.
	refers := []string{"memberships", "users", "providers", "logins", "mails"}
	for _, table := range tables {
		_, carried := partOf(table)
		_, left := notCarried[table]
		if carried == left {
			t.Errorf("%s is carried: %v, and named as not carried: %v; it must be one of them", table, carried, left)
		}
		var columns []string
		if err := s.writer.Raw("SELECT name FROM pragma_table_info(?)", table).Scan(&columns).Error; err != nil {
			t.Fatal(err)
		}
		var parents []string
		if err := s.writer.Raw(`SELECT "table" FROM pragma_foreign_key_list(?)`, table).Scan(&parents).Error; err != nil {
			t.Fatal(err)
		}
		owned := slices.Contains(columns, "tenant_id") || slices.Contains(parents, "tenants") ||
			slices.Contains(parents, "sessions")
		if owned && left && !slices.Contains(refers, table) {
			t.Errorf("%s has rows of a tenant, but is not carried", table)
		}
		if p, _ := partOf(table); carried {
			for _, column := range slices.Concat(p.key, p.unique, unset[table]) {
				if !slices.Contains(columns, column) {
					t.Errorf("%s has no column %s", table, column)
				}
			}
		}
	}
	for table, why := range notCarried {
		if !slices.Contains(tables, table) || strings.TrimSpace(why) == "" {
			t.Errorf("%s is named as not carried, but is no table or has no reason", table)
		}
	}
	for _, p := range parts {
		if !slices.Contains(tables, p.table) {
			t.Errorf("%s is no table", p.table)
		}
	}
}
