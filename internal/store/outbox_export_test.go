package store

import "context"

// EventBatch is eventBatch.
const EventBatch = eventBatch

// ExecRaw lets a test arrange what time would otherwise have to bring about.
func (s *Store) ExecRaw(ctx context.Context, statement string, args ...any) error {
	return s.Update(ctx, func(tx *Tx) error { return tx.db.Exec(statement, args...).Error })
}

// DueTenantsQuery is dueTenants.
const DueTenantsQuery = dueTenants

// Lines returns what a query selects, a line for each row.
func (tx *Tx) Lines(query string, args ...any) (lines []string, err error) {
	return lines, tx.db.Raw(query, args...).Scan(&lines).Error
}
