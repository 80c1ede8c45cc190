package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"agegate/internal/rules/session"
)

var _ session.ImpactStore = (*Store)(nil)

// RecentDestinations implements session.ImpactStore.
func (s *Store) RecentDestinations(
	ctx context.Context, tenantID uuid.UUID, since time.Time, limit int,
) ([]session.Destinations, error) {
	return viewAll[session.Destinations](ctx, s, func(tx *Tx) *gorm.DB {
		return tx.db.Table("sessions").Where("tenant_id = ? AND created_at >= ?", tenantID, since).
			Order("created_at DESC, id DESC").Limit(limit)
	})
}
