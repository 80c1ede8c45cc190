package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"agegate/internal/rules/session"
)

var _ session.ImpactStore = (*Store)(nil)

// RecentDestinations implements session.ImpactStore.
func (s *Store) RecentDestinations(ctx context.Context, tenantID uuid.UUID, since time.Time, limit int) ([]session.Destinations, error) {
	return view(ctx, s, func(tx *Tx) ([]session.Destinations, error) {
		var rows []session.Destinations
		err := tx.db.Model(&sessionRow{}).Select("status", "expires_at", "success_url", "cancel_url", "webhook_url").
			Where("tenant_id = ? AND created_at >= ?", tenantID, at(since)).
			Order("created_at DESC, id DESC").Limit(limit).Find(&rows).Error
		for i := range rows {
			rows[i].ExpiresAt = at(rows[i].ExpiresAt)
		}
		return rows, err
	})
}
