package store

import (
	"strings"

	"github.com/google/uuid"
	"gorm.io/gorm"
)

// Parts of statements that PostgreSQL and SQLite both understand.

// owned restricts a query to the rows of a tenant, or of the instance for nil.
func owned(query *gorm.DB, tenantID *uuid.UUID) *gorm.DB {
	if tenantID == nil {
		return query.Where("tenant_id IS NULL")
	}
	return query.Where("tenant_id = ?", *tenantID)
}

// owners begins a statement that returns the tenants of the rows of a table with a status, and ends with a
// further condition on owner.tenant_id. It skips through the index of these rows from tenant to tenant (a loose
// index scan), so its cost grows with the number of tenants, not of rows.
func owners(table, status string) string {
	return strings.NewReplacer("{table}", table, "{status}", status).Replace(`
		WITH RECURSIVE owner (tenant_id) AS (
			SELECT * FROM (
				SELECT tenant_id FROM {table} WHERE status = '{status}' ORDER BY tenant_id LIMIT 1
			) AS lowest
			UNION ALL
			SELECT (
				SELECT r.tenant_id FROM {table} r
				WHERE r.status = '{status}' AND r.tenant_id > owner.tenant_id ORDER BY r.tenant_id LIMIT 1
			) FROM owner WHERE owner.tenant_id IS NOT NULL
		)
		SELECT tenant_id FROM owner WHERE tenant_id IS NOT NULL AND `)
}

// chosen begins a statement that changes rows of a table, with a query named chosen for the keys of those that
// meet a condition, which ends with a limit. The query is materialized, because the planner might otherwise run
// it once per row, each time up to the limit; it skips rows that another transaction has locked.
func (tx *Tx) chosen(key, table, condition string) string {
	if tx.postgres { // SQLite has one writer
		condition += " FOR UPDATE SKIP LOCKED"
	}
	return "WITH chosen AS MATERIALIZED (SELECT " + key + " FROM " + table + " WHERE " + condition + ") "
}

// deleteChosen deletes the rows of a table that meet a condition, which ends with a limit, and returns how
// many. It leaves alone those that another transaction has locked.
func (tx *Tx) deleteChosen(table, key, condition string, args ...any) (int, error) {
	result := tx.db.Exec(tx.chosen(key, table, condition)+"DELETE FROM "+table+" WHERE ("+key+") IN (SELECT "+key+
		" FROM chosen)", args...)
	return int(result.RowsAffected), result.Error
}
