package store

import (
	"context"

	"agegate/internal/backoffice/insight"
	"agegate/internal/rules/webhook"
)

// FailedByTenant implements insight.SystemStore. It reads at most 2 x atMost
// index rows of each tenant.
func (s *Store) FailedByTenant(ctx context.Context, limit, atMost int) ([]insight.TenantFailed, error) {
	return view(ctx, s, func(tx *Tx) (found []insight.TenantFailed, err error) {
		counted := `(SELECT count(*) FROM (SELECT 1 FROM webhook_events e
			WHERE e.tenant_id = t.id AND e.livemode = ? AND e.status = ? LIMIT ?) AS few)`
		return found, tx.db.Raw(`
			SELECT tenant_id, name, failed FROM (
				SELECT t.id AS tenant_id, t.name AS name, `+counted+` + `+counted+` AS failed FROM tenants t
			) AS counted WHERE failed > 0 ORDER BY failed DESC, tenant_id LIMIT ?`,
			true, webhook.StatusFailed, atMost, false, webhook.StatusFailed, atMost, limit).Scan(&found).Error
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
		return state, tx.db.Raw("SELECT max(version_id) FROM goose_db_version").Scan(&state.Migration).Error
	})
}

// NewestFold implements insight.SystemStore.
func (s *Store) NewestFold(ctx context.Context) (int64, error) {
	return view(ctx, s, func(tx *Tx) (upto int64, err error) {
		return upto, tx.db.Raw("SELECT coalesce(max(upto), 0) FROM fold_marks WHERE name LIKE ?",
			string(insight.SumSessions)+"/%").Scan(&upto).Error
	})
}
