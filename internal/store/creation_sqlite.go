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
			append([]any{p.Units, p.TenantID, p.Counter(), p.Period, limitOrNone(p.Limit), p.Units}, terms...))
		if err != nil || taken {
			return taken, err
		}
	}
	statement, args := tx.taking(p, &b.terms)
	return tx.run(statement, args)
}

// insertCreation writes what a creation inserts, on SQLite. Such statements of single
// rows are most of its time there, and GORM's Create of a session takes one and a
// half times as long.
func (tx *Tx) insertCreation(b batch) error {
	sessions := mapAll(b.sessions, fromSession)
	into, err := forSessions(tx.db, sessions)
	if err != nil {
		return err
	}
	if err := insertAll(tx, into, sessions); err != nil {
		return err
	}
	if err := insertAll(tx, newHold, mapAll(b.purchase.Holds, fromHold)); err != nil {
		return err
	}
	return insertAll(tx, newEntry, mapAll(b.purchase.Entries, fromEntry))
}

// insertAll inserts rows, if there are any, with one statement.
func insertAll[T any](tx *Tx, into inserted[T], rows []T) error {
	if len(rows) == 0 {
		return nil
	}
	var args []any
	for _, r := range rows {
		args = append(args, into.values(r)...)
	}
	_, err := tx.run(insertion(into.table, into.columns, len(rows)), args)
	return err
}

// insertion returns a statement that inserts a number of rows, their values being
// its arguments.
func insertion(table string, columns []string, rows int) string {
	row := "(?" + strings.Repeat(", ?", len(columns)-1) + ")"
	return "INSERT INTO " + table + " (" + strings.Join(columns, ", ") + ") VALUES " +
		row + strings.Repeat(", "+row, rows-1)
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
