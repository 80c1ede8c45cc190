package store

import (
	"context"

	"github.com/google/uuid"

	"agegate/internal/rules/webhook"
)

var _ webhook.FeedStore = (*Store)(nil)

// TestEvents implements webhook.FeedStore. A trigger gives each event its position.
func (s *Store) TestEvents(
	ctx context.Context, tenantID, session uuid.UUID, after string, limit int,
) ([]webhook.Record, error) {
	return view(ctx, s, func(tx *Tx) ([]webhook.Record, error) {
		q := tx.db.Table("webhook_events").Where("tenant_id = ? AND NOT livemode", tenantID).Limit(limit)
		if session != uuid.Nil {
			q = q.Where("session_id = ?", session)
		}
		if after == "" {
			return find[webhook.Record](q.Order("feed_position DESC"))
		}
		position, err := tx.positionOf(tenantID, after)
		if err != nil {
			return nil, err
		}
		return find[webhook.Record](q.Where("feed_position > ?", position).Order("feed_position"))
	})
}

// lookAhead is how many of the next events positionOf compares if an event does not exist.
const lookAhead = 100

// positionOf returns an event's position in the feed. For an event that does not exist,
// such as a deleted one, it returns a position before those of the next events by ID:
// no event is left out, and some may be listed again.
func (tx *Tx) positionOf(tenantID uuid.UUID, id string) (position int64, err error) {
	if id == webhook.BeforeAllEvents {
		return 0, nil
	}
	err = tx.db.Raw(`SELECT coalesce(
		(SELECT feed_position FROM webhook_events WHERE id = ? AND tenant_id = ? AND NOT livemode),
		(SELECT min(feed_position) - 1 FROM (SELECT feed_position FROM webhook_events
			WHERE tenant_id = ? AND NOT livemode AND id > ? ORDER BY id LIMIT ?) AS next),
		(SELECT last FROM test_feeds WHERE tenant_id = ?), 0)`,
		id, tenantID, tenantID, id, lookAhead, tenantID).Scan(&position).Error
	return position, err
}
