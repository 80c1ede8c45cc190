package store

import (
	"context"
	"time"
)

// QueueState implements metrics.Queue. The age of the oldest due delivery is measured by Config.Now.
func (s *Store) QueueState(ctx context.Context) (pending int64, oldestDue time.Duration, err error) {
	err = s.View(ctx, func(tx *Tx) error {
		err := tx.db.Table("webhook_events").Where("status = 'pending'").Count(&pending).Error
		if err != nil {
			return err
		}
		var earliest []time.Time
		err = tx.db.Table("webhook_events").Where("status = 'pending'").
			Order("next_attempt_at").Limit(1).Pluck("next_attempt_at", &earliest).Error
		if err == nil && len(earliest) == 1 {
			oldestDue = max(0, s.now().Sub(earliest[0]))
		}
		return err
	})
	return pending, oldestDue, err
}
