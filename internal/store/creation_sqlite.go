package store

import (
	"context"
	"strings"
)

// takeUnits takes a batch's units on SQLite. It first tries the counter's row, which
// the first unit of a period inserts: SQLite compiles statements each time, and this
// one in half the time of the other.
func (tx *Tx) takeUnits(b batch) (bool, error) {
	p := b.purchase
	if !p.Credit {
		condition, terms := onTerms(p.TenantID, &b.terms)
		taken, err := tx.run(`
			UPDATE usage_counters SET used = used + ? WHERE tenant_id = ? AND counter = ? AND period = ? AND used <= ? - ?`+condition,
			append([]any{p.Units, p.TenantID, p.Counter(), p.Period, most(p.Limit), p.Units}, terms...))
		if err != nil || taken {
			return taken, err
		}
	}
	statement, args := tx.taking(p, &b.terms)
	return tx.run(statement, args)
}

// insertCreation writes what a creation inserts, on SQLite. Such statements of single
// rows are most of its time there, and GORM's Create of a session takes one and a
// half times as long as the statement below.
func (tx *Tx) insertCreation(sessions []sessionRow, holds []holdRow, entries []entryRow) error {
	if err := tx.insertSessions(sessions); err != nil {
		return err
	}
	err := insertAll(tx, "holds (session_id, tenant_id, source, period, status, expires_at)", holds, func(r holdRow) []any {
		return []any{r.SessionID, r.TenantID, r.Source, r.Period, r.Status, r.ExpiresAt}
	})
	if err != nil {
		return err
	}
	return insertAll(tx, "ledger_entries (id, tenant_id, session_id, kind, source, period, delta, created_at)", entries, func(r entryRow) []any {
		return []any{r.ID, r.TenantID, r.SessionID, r.Kind, r.Source, r.Period, r.Delta, r.CreatedAt}
	})
}

// insertSessions inserts sessions on SQLite.
func (tx *Tx) insertSessions(rows []sessionRow) error {
	if !untouched(rows) {
		return tx.db.Create(&rows).Error
	}
	return insertAll(tx, "sessions ("+strings.Join(initialColumns, ", ")+")", rows, func(r sessionRow) []any {
		return []any{r.ID, r.TenantID, r.Livemode, r.TargetAge, r.SuccessURL, r.CancelURL, r.WebhookURL, r.LinkHash, r.Status,
			r.CreatedAt, r.ExpiresAt, r.Attempts, r.Strikes, r.APIKeyID}
	})
}

// insertAll inserts rows, if there are any, with one statement. into is the table
// with its columns.
func insertAll[T any](tx *Tx, into string, rows []T, values func(T) []any) error {
	if len(rows) == 0 {
		return nil
	}
	var args []any
	for _, r := range rows {
		args = append(args, values(r)...)
	}
	one := "(?" + strings.Repeat(", ?", len(args)/len(rows)-1) + ")"
	_, err := tx.run("INSERT INTO "+into+" VALUES "+one+strings.Repeat(", "+one, len(rows)-1), args)
	return err
}

// run runs a short statement of a transaction on SQLite without GORM, and reports
// whether it changed a row. The transaction ends with its context, but the statement
// is not interrupted: for that the driver would start a goroutine each time.
func (tx *Tx) run(statement string, args []any) (bool, error) {
	ctx := context.WithoutCancel(tx.db.Statement.Context)
	result, err := tx.db.Statement.ConnPool.ExecContext(ctx, statement, args...)
	if err != nil {
		return false, translate(err)
	}
	n, err := result.RowsAffected()
	return n > 0, err
}
