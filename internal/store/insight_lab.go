package store

import (
	"context"
	"time"

	"github.com/google/uuid"

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

// CountEstimates implements insight.SeenStore.
func (s *Store) CountEstimates(
	ctx context.Context, tenantID uuid.UUID, since time.Time, target int, cutoffs [2]float64, limit int,
) (insight.Reach, error) {
	return view(ctx, s, func(tx *Tx) (reach insight.Reach, err error) {
		err = tx.db.Raw(`SELECT count(*) AS of, count(CASE WHEN detected_age >= ? THEN 1 END) AS first,
				count(CASE WHEN detected_age >= ? THEN 1 END) AS other
			FROM (SELECT livemode, target_age, detected_age FROM sessions WHERE tenant_id = ? AND created_at >= ?
				ORDER BY created_at DESC LIMIT ?) AS newest
			WHERE livemode AND target_age = ? AND detected_age IS NOT NULL`,
			cutoffs[0], cutoffs[1], tenantID, since, limit, target).Scan(&reach).Error
		return reach, err
	})
}
