package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"agegate/internal/rules/audit"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/webhook"
)

// inScope restricts a query to the scope.
func inScope(db *gorm.DB, scope webhook.Scope) *gorm.DB {
	if tenant, all := scope.Tenant(); !all {
		db = db.Where("tenant_id = ?", tenant)
	}
	if livemode := scope.Livemode(); livemode != nil {
		db = db.Where("livemode = ?", *livemode)
	}
	return db
}

// Events implements webhook.Journal.
func (s *Store) Events(ctx context.Context, f webhook.Filter) ([]webhook.Record, error) {
	limit := f.Limit
	if limit <= 0 || limit > webhook.MaxPage {
		limit = webhook.MaxPage
	}
	return view(ctx, s, func(tx *Tx) ([]webhook.Record, error) {
		q := inScope(tx.db, f.Scope).Limit(limit).Order("id DESC")
		if f.Status != "" {
			q = q.Where("status = ?", f.Status)
		}
		if f.Session != uuid.Nil {
			q = q.Where("session_id = ?", f.Session)
		}
		if f.Before != "" {
			q = q.Where("id < ?", f.Before)
		}
		return find[webhook.Record](q.Table("webhook_events"))
	})
}

// EventByID implements webhook.Journal.
func (s *Store) EventByID(
	ctx context.Context, scope webhook.Scope, id string,
) (webhook.Record, []webhook.Attempt, error) {
	var row eventRow
	var attempts []webhook.Attempt
	err := s.View(ctx, func(tx *Tx) error {
		row, attempts = eventRow{}, nil
		// The event is read last, so that it is never older than its last attempt.
		err := tx.db.Table("webhook_attempts").Where("event_id = ?", id).Order("number").Find(&attempts).Error
		if err != nil {
			return err
		}
		return inScope(tx.db, scope).Where("id = ?", id).Take(&row).Error
	})
	return row.Record, attempts, err
}

// renewed holds the columns that make a delivery due now and restart its schedule.
func (tx *Tx) renewed() map[string]any {
	return map[string]any{
		"status": webhook.StatusPending, "next_attempt_at": tx.dbNow(), "step": 0, "lease_token": nil,
	}
}

// lockEvent returns an event of the scope and locks its row.
func (tx *Tx) lockEvent(scope webhook.Scope, id string) (row eventRow, err error) {
	err = inScope(tx.forUpdate(), scope).Where("id = ?", id).Take(&row).Error
	return row, err
}

// ResendEvent implements webhook.Journal.
func (s *Store) ResendEvent(ctx context.Context, scope webhook.Scope, id string, act audit.Act) error {
	return s.Update(ctx, func(tx *Tx) error {
		row, err := tx.lockEvent(scope, id)
		if err != nil {
			return err
		}
		now, err := tx.readClock()
		if err != nil {
			return err
		}
		underWay := row.LeaseToken != nil && row.NextAttemptAt != nil && row.NextAttemptAt.After(now)
		ok, err := webhook.MayResend(row.Status, underWay)
		if err == nil && ok {
			err = tx.db.Table("webhook_events").Where("id = ?", id).Updates(tx.renewed()).Error
		}
		if err != nil {
			return err
		}
		return tx.AppendAudit(ofOwner(act, row.TenantID))
	})
}

// ofOwner returns an act in the log of a tenant, unless it has a scope.
func ofOwner(act audit.Act, tenantID uuid.UUID) audit.Act {
	if act.Scope == "" {
		act.Scope = audit.OfTenant(tenantID)
	}
	return act
}

// ResendFailedEvents implements webhook.Journal.
func (s *Store) ResendFailedEvents(
	ctx context.Context, scope webhook.Scope, since time.Time, act audit.Act,
) (int, error) {
	return s.renewAll(ctx, webhook.StatusFailed, &act, func(tx *Tx) *gorm.DB { return tx.resendable(scope, since) })
}

// resendable selects the events created at or after since whose endpoint is enabled.
func (tx *Tx) resendable(scope webhook.Scope, since time.Time) *gorm.DB {
	return inScope(tx.db.Table("webhook_events"), scope).Where("created_at >= ?", since).
		Where("endpoint_id NOT IN (SELECT id FROM webhook_endpoints WHERE disabled_at IS NOT NULL)")
}

// CountFailedEvents implements webhook.Journal.
func (s *Store) CountFailedEvents(ctx context.Context, scope webhook.Scope, since time.Time, limit int) (int, error) {
	return view(ctx, s, func(tx *Tx) (int, error) {
		return tx.countUpTo(limit, tx.resendable(scope, since).Where("status = ?", webhook.StatusFailed))
	})
}

// CountWaitingEvents implements webhook.Journal.
func (s *Store) CountWaitingEvents(ctx context.Context, scope webhook.Scope, endpoint string, limit int) (int, error) {
	return view(ctx, s, func(tx *Tx) (int, error) {
		return tx.countUpTo(limit, inScope(tx.db.Table("webhook_events"), scope).
			Where("endpoint_id = ? AND status = ?", endpoint, webhook.StatusWaiting))
	})
}

// countUpTo counts the selected events, at most limit.
func (tx *Tx) countUpTo(limit int, selected *gorm.DB) (int, error) {
	var n int64
	err := tx.db.Table("(?) AS found", selected.Select("id").Limit(limit)).Count(&n).Error
	return int(n), err
}

// renewAll makes the selected events with a status due now, in one transaction per batch. It returns how many,
// also with an error. The act, unless it is nil, is written in the first transaction.
func (s *Store) renewAll(
	ctx context.Context, from webhook.Status, act *audit.Act, selected func(tx *Tx) *gorm.DB,
) (total int, err error) {
	for {
		n, err := update(ctx, s, func(tx *Tx) (int, error) {
			batch := selected(tx).Where("status = ?", from).Select("id").Limit(eventBatch)
			res := tx.db.Table("webhook_events").Where("status = ? AND id IN (?)", from, batch).Updates(tx.renewed())
			if res.Error != nil || act == nil {
				return int(res.RowsAffected), res.Error
			}
			return int(res.RowsAffected), tx.AppendAudit(*act)
		})
		if err == nil {
			total += n
		}
		act = nil
		if err != nil || n < eventBatch {
			return total, err
		}
	}
}

// classed selects endpoints with the class of an event that was not delivered.
const classed = "e.*, (SELECT last_class FROM webhook_events WHERE endpoint_id = e.id AND status IN ? AND " +
	"last_class <> '' LIMIT 1) AS class"

// Endpoints implements webhook.Journal.
func (s *Store) Endpoints(ctx context.Context, scope webhook.Scope) ([]webhook.Failing, error) {
	return viewAll[webhook.Failing](ctx, s, func(tx *Tx) *gorm.DB {
		return inScope(tx.db.Table(endpointTable+" AS e"), scope).Select(classed, undelivered).
			Where("disabled_at IS NOT NULL OR first_failure_at IS NOT NULL").Order("id")
	})
}

// EnableEndpoint implements webhook.Journal.
func (s *Store) EnableEndpoint(ctx context.Context, scope webhook.Scope, id string, act audit.Act) (int, error) {
	err := s.Update(ctx, func(tx *Tx) error {
		res := inScope(tx.db.Table("webhook_endpoints"), scope).Where("id = ?", id).
			Updates(map[string]any{"first_failure_at": nil, "disabled_at": nil, "disabled_reason": ""})
		if res.Error == nil && res.RowsAffected == 0 {
			return fault.New(fault.NotFound, "Endpoint not found")
		}
		if res.Error != nil {
			return res.Error
		}
		row, err := take[webhook.Endpoint](tx.db.Table(endpointTable), "id = ?", id)
		if err != nil {
			return err
		}
		return tx.AppendAudit(ofOwner(act, row.TenantID))
	})
	if err != nil {
		return 0, err
	}
	return s.renewAll(ctx, webhook.StatusWaiting, nil, func(tx *Tx) *gorm.DB {
		return tx.db.Table("webhook_events").Where("endpoint_id = ?", id)
	})
}
