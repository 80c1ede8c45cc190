package store

import (
	"context"

	"agegate/internal/backoffice/insight"
)

// SumTargets implements insight.SeenStore.
func (s *Store) SumTargets(ctx context.Context, from int64) ([]insight.Group, error) {
	return view(ctx, s, func(tx *Tx) ([]insight.Group, error) {
		var rows []sumRow
		err := tx.db.Raw(`SELECT target_age, status, source, CAST(sum(n) AS bigint) AS n FROM session_hours
			WHERE livemode AND hour >= ? GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`, from).Scan(&rows).Error
		return mapAll(rows, toGroup), err
	})
}
