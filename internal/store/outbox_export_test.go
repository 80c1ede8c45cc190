package store

import "context"

// EventBatch is eventBatch.
const EventBatch = eventBatch

// ExecRaw lets a test arrange what time would otherwise have to bring about.
func (s *Store) ExecRaw(ctx context.Context, statement string, args ...any) error {
	return s.Update(ctx, func(tx *Tx) error { return tx.db.Exec(statement, args...).Error })
}
