package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"agegate/internal/backoffice/insight"
)

// SumDecisions implements insight.CameraStore.
func (s *Store) SumDecisions(ctx context.Context, from int64) (insight.Decisions, error) {
	return view(ctx, s, func(tx *Tx) (sum insight.Decisions, err error) {
		err = tx.db.Raw(`SELECT CAST(COALESCE(sum(n), 0) AS bigint) AS decided,
				CAST(COALESCE(sum(CASE WHEN source = 'camera' AND status = 'PASSED' THEN n END), 0) AS bigint) AS passed
			FROM session_hours WHERE livemode AND hour >= ?
			AND (source = 'document' OR source = 'camera' AND status IN ('PASSED', 'FALLBACK', 'SPOOF'))`,
			from).Scan(&sum).Error
		return sum, err
	})
}

// CountReach implements insight.CameraStore.
func (s *Store) CountReach(
	ctx context.Context, tenantID uuid.UUID, since time.Time, target int, cutoffs [2]float64, limit int,
) (insight.Reach, error) {
	return view(ctx, s, func(tx *Tx) (reach insight.Reach, err error) {
		err = tx.db.Raw(`SELECT count(detected_age) AS of, count(CASE WHEN detected_age >= ? THEN 1 END) AS first,
				count(CASE WHEN detected_age >= ? THEN 1 END) AS other,
				count(CASE WHEN cutoff IS NOT NULL AND (source = 'document' OR
					source = 'camera' AND status IN ('PASSED', 'FALLBACK')) THEN 1 END) AS decided,
				count(CASE WHEN source = 'camera' AND status = 'PASSED' THEN 1 END) AS passed
			FROM (SELECT livemode, target_age, detected_age, cutoff, source, status FROM sessions
				WHERE tenant_id = ? AND created_at >= ? ORDER BY created_at DESC LIMIT ?) AS newest
			WHERE livemode AND target_age = ?`,
			cutoffs[0], cutoffs[1], tenantID, since, limit, target).Scan(&reach).Error
		return reach, err
	})
}
