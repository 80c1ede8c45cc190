package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"agegate/internal/backoffice/insight"
	"agegate/internal/rules/tenant"
	"agegate/internal/rules/webhook"
)

// FailedByTenant implements insight.SystemStore. It reads at most 2 x atMost index rows of each tenant.
func (s *Store) FailedByTenant(ctx context.Context, limit, atMost int) ([]insight.TenantFailed, error) {
	return view(ctx, s, func(tx *Tx) (found []insight.TenantFailed, err error) {
		err = tx.db.Raw(`
			SELECT tenant_id, name, livemode, failed FROM (
				SELECT t.id AS tenant_id, t.name AS name, modes.livemode AS livemode, (SELECT count(*) FROM (
					SELECT 1 FROM webhook_events e WHERE e.tenant_id = t.id AND e.livemode = modes.livemode AND e.status = ? LIMIT ?
				) AS few) AS failed FROM tenants t CROSS JOIN (SELECT true AS livemode UNION ALL SELECT false) AS modes
			) AS counted WHERE failed > 0 ORDER BY livemode DESC, failed DESC, tenant_id LIMIT ?`,
			webhook.StatusFailed, atMost, limit).Scan(&found).Error
		return found, err
	})
}

// FailingEndpoints implements insight.SystemStore.
func (s *Store) FailingEndpoints(
	ctx context.Context, limit int, tenants ...uuid.UUID,
) ([]insight.FailingEndpoint, error) {
	return view(ctx, s, func(tx *Tx) (found []insight.FailingEndpoint, err error) {
		q := tx.db.Table(endpointTable+" AS e").Select("t.name, t.webhook_url <> e.url AS former, "+classed, undelivered).
			Joins("JOIN tenants t ON t.id = e.tenant_id").Order("e.livemode DESC, t.name, e.id").
			Where("coalesce(e.disabled_at, e.first_failure_at) IS NOT NULL AND (t.webhook_url = e.url OR EXISTS ("+
				"SELECT 1 FROM webhook_events WHERE endpoint_id = e.id AND status IN ?))", undelivered)
		if len(tenants) > 0 {
			q = q.Where("e.tenant_id IN ?", tenants)
		}
		return found, q.Limit(limit).Scan(&found).Error
	})
}

// DatabaseState implements insight.SystemStore.
func (s *Store) DatabaseState(ctx context.Context) (insight.Database, error) {
	return view(ctx, s, func(tx *Tx) (insight.Database, error) {
		state, size := insight.Database{Dialect: "sqlite"},
			"SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
		if tx.postgres {
			state.Dialect, size = "postgres", "SELECT pg_database_size(current_database())"
		}
		if err := tx.db.Raw(size).Scan(&state.Bytes).Error; err != nil {
			return state, err
		}
		err := tx.db.Raw("SELECT max(version_id) FROM goose_db_version").Scan(&state.Migration).Error
		return state, err
	})
}

// LastCalls implements insight.SystemStore.
func (s *Store) LastCalls(ctx context.Context, tenantIDs []uuid.UUID) (map[uuid.UUID]*time.Time, error) {
	return view(ctx, s, func(tx *Tx) (map[uuid.UUID]*time.Time, error) {
		last := map[uuid.UUID]*time.Time{}
		keys, err := find[tenant.APIKey](tx.db.Where("tenant_id IN ? AND last_used_at IS NOT NULL", tenantIDs))
		for _, k := range keys {
			if at := last[k.TenantID]; at == nil || at.Before(*k.LastUsedAt) {
				last[k.TenantID] = k.LastUsedAt
			}
		}
		return last, err
	})
}

// NewestFold implements insight.SystemStore.
func (s *Store) NewestFold(ctx context.Context) (int64, error) {
	return view(ctx, s, func(tx *Tx) (upto int64, err error) {
		err = tx.db.Raw("SELECT coalesce(max(upto), 0) FROM fold_marks WHERE name LIKE ?",
			string(insight.SumSessions)+"/%").Scan(&upto).Error
		return upto, err
	})
}

// Setup implements insight.SystemStore.
func (s *Store) Setup(ctx context.Context) (insight.Setup, error) {
	return view(ctx, s, func(tx *Tx) (found insight.Setup, err error) {
		err = tx.db.Raw(`SELECT EXISTS (SELECT 1 FROM tenants), NOT EXISTS (
				SELECT 1 FROM users WHERE operator AND disabled_at IS NULL AND issuer IS NULL AND totp_sealed IS NULL
					AND NOT EXISTS (SELECT 1 FROM passkeys WHERE passkeys.user_id = users.id))`).
			Row().Scan(&found.Tenant, &found.SecondFactors)
		return found, err
	})
}
