package store

import (
	"context"
	"time"

	"agegate/internal/backoffice/insight"
	"agegate/internal/rules/billing"
	"agegate/internal/rules/session"
	"agegate/internal/rules/webhook"

	"github.com/google/uuid"
)

// Progress implements insight.Store.
func (s *Store) Progress(
	ctx context.Context, tenantID uuid.UUID, now time.Time,
) (insight.Progress, insight.Funds, error) {
	var args []any
	has := func(table, status string) string {
		statement, own := ranges{table: table, scope: insight.Scope{TenantID: tenantID},
			parts: []part{{status: status}}}.union(1, 0)
		args = append(args, own...)
		return "EXISTS (" + statement + ")"
	}
	ever := func(status session.Status) string {
		statement := has("sessions", string(status)) +
			" OR EXISTS (SELECT 1 FROM session_hours WHERE tenant_id = ? AND NOT livemode AND status = ?)"
		args = append(args, tenantID.String(), string(status))
		return statement
	}
	statement := "SELECT " + ever(session.StatusPassed) + " AS passed, " + ever(session.StatusFallback) +
		" AS fell_back, " +
		ever(session.StatusSpoof) + " AS spoofed, " +
		has("webhook_events", string(webhook.StatusDelivered)) + ` AS webhook_answered,
		EXISTS (SELECT 1 FROM api_keys WHERE tenant_id = ? AND livemode AND revoked_at IS NULL
			AND (expires_at IS NULL OR expires_at > ?)) AS live_key, ` + fundsColumns + "= ?"
	args = append(append(append(args, tenantID, now), fundsAt(now)...), tenantID)
	var row struct {
		insight.Progress
		insight.Funds
	}
	err := s.View(ctx, func(tx *Tx) error { return tx.db.Raw(statement, args...).Find(&row).Error })
	return row.Progress, row.Funds, err
}

// fundsColumns selects funds, with the arguments of fundsAt, of the tenants with the IDs that follow.
const fundsColumns = `
	coalesce((SELECT used FROM usage_counters WHERE tenant_id = t.id AND counter = ? AND period = ?), 0) AS free_used,
	coalesce((SELECT units FROM credit_balances WHERE tenant_id = t.id), 0) AS credit,
	coalesce((SELECT used FROM usage_counters WHERE tenant_id = t.id AND counter = ? AND period = ?), 0) AS test_used,
	(SELECT count(*) FROM holds WHERE tenant_id = t.id AND status = 'open' AND period IN ('', ?)) AS held
	FROM tenants t WHERE t.id `

func fundsAt(now time.Time) []any {
	month := now.UTC().Format("2006-01")
	return []any{billing.CounterFree, month, billing.CounterTest, billing.Day(now), month}
}

// Funds implements insight.Store.
func (s *Store) Funds(ctx context.Context, tenantIDs []uuid.UUID, now time.Time) (map[uuid.UUID]insight.Funds, error) {
	var rows []struct {
		ID uuid.UUID
		insight.Funds
	}
	err := s.View(ctx, func(tx *Tx) error {
		return tx.db.Raw("SELECT id, "+fundsColumns+"IN ?", append(fundsAt(now), tenantIDs)...).Find(&rows).Error
	})
	funds := map[uuid.UUID]insight.Funds{}
	for _, r := range rows {
		funds[r.ID] = r.Funds
	}
	return funds, err
}
