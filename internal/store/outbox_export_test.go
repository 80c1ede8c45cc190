package store

import "context"

// EventBatch is eventBatch.
const EventBatch = eventBatch

// ExecRaw runs a statement, so that a test can set up a state that otherwise
// takes time.
func (s *Store) ExecRaw(ctx context.Context, statement string, args ...any) error {
	return s.Update(ctx, func(tx *Tx) error { return tx.db.Exec(statement, args...).Error })
}

// DueTenantsQuery is dueTenants.
var DueTenantsQuery = dueTenants

// Lines returns what a query selects, a line for each row.
func (tx *Tx) Lines(query string, args ...any) (lines []string, err error) {
	return lines, tx.db.Raw(query, args...).Scan(&lines).Error
}
