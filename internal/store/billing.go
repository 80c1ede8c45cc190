package store

import (
	"context"
	"math"
	"time"

	"github.com/google/uuid"

	"agegate/internal/rules/billing"
	"agegate/internal/rules/tenant"
)

var (
	_ billing.Store = (*Store)(nil)
	_ billing.Tx    = (*Tx)(nil)
)

// UpdateBilling implements billing.Store with Update.
func (s *Store) UpdateBilling(ctx context.Context, fn func(billing.Tx) error) error {
	return s.Update(ctx, func(tx *Tx) error { return fn(tx) })
}

// UpdateCredit implements billing.Store with Update.
func (s *Store) UpdateCredit(ctx context.Context, fn func(billing.CreditTx) error) error {
	return s.Update(ctx, func(tx *Tx) error { return fn(tx) })
}

// Credit implements billing.Store.
func (s *Store) Credit(ctx context.Context, tenantID uuid.UUID) (int64, error) {
	return view(ctx, s, func(tx *Tx) (units int64, err error) {
		return units, tx.db.Raw("SELECT units FROM credit_balances WHERE tenant_id = ?", tenantID).Scan(&units).Error
	})
}

// Credits implements billing.Store.
func (s *Store) Credits(ctx context.Context, tenantIDs []uuid.UUID) (map[uuid.UUID]int64, error) {
	return view(ctx, s, func(tx *Tx) (map[uuid.UUID]int64, error) {
		var rows []struct {
			TenantID uuid.UUID
			Units    int64
		}
		err := tx.db.Table("credit_balances").Where("tenant_id IN ?", tenantIDs).Find(&rows).Error
		credits := map[uuid.UUID]int64{}
		for _, r := range rows {
			credits[r.TenantID] = r.Units
		}
		return credits, err
	})
}

// Entries implements billing.Store.
func (s *Store) Entries(ctx context.Context, tenantID, before uuid.UUID, limit int) ([]billing.Entry, error) {
	return view(ctx, s, func(tx *Tx) ([]billing.Entry, error) {
		q := tx.db.Where("tenant_id = ?", tenantID).Order("created_at DESC, id DESC").Limit(limit)
		if before != uuid.Nil {
			last, err := take[entryRow](tx.db, "id = ? AND tenant_id = ?", before, tenantID)
			if err != nil {
				return nil, err
			}
			q = q.Where("(created_at, id) < (?, ?)", last.CreatedAt, before)
		}
		rows, err := find[entryRow](q)
		return mapAll(rows, toEntry), err
	})
}

// EntriesBetween implements billing.Store.
func (s *Store) EntriesBetween(
	ctx context.Context, tenantID uuid.UUID, from, to time.Time, after billing.Entry, limit int,
) ([]billing.Entry, error) {
	return view(ctx, s, func(tx *Tx) ([]billing.Entry, error) {
		q := tx.db.Where("tenant_id = ? AND created_at < ?", tenantID, to).Order("created_at, id").Limit(limit)
		if after.ID == uuid.Nil {
			q = q.Where("created_at >= ?", from)
		} else { // without from: with both conditions, SQLite would begin every page at from
			q = q.Where("(created_at, id) > (?, ?)", after.CreatedAt, after.ID)
		}
		rows, err := find[entryRow](q)
		return mapAll(rows, toEntry), err
	})
}

// TakeCounter implements billing.Tx.
func (tx *Tx) TakeCounter(terms billing.Terms) (bool, error) {
	statement, args := tx.taking(billing.Purchase{Terms: terms, Units: 1}, nil)
	return changed(tx.db.Exec(statement, args...))
}

// taking returns the statement that takes the units of a purchase, if the tenant's
// terms are still those that are given, if any. It changes one row or none. The first
// unit of a period inserts the row, unless the limit is too low: then the SELECT
// returns nothing. The casts give PostgreSQL the parameters' types.
func (tx *Tx) taking(p billing.Purchase, owner *tenant.Terms) (statement string, args []any) {
	limit := limitOrNone(p.Limit)
	condition, terms := onTerms(p.TenantID, owner)
	if p.Credit {
		return `
			UPDATE credit_balances SET units = units - ? WHERE tenant_id = ? AND units >= ?
			AND CAST(? AS bigint) <= coalesce((
				SELECT used FROM usage_counters WHERE tenant_id = ? AND counter = ? AND period = ?), 0)
			AND NOT EXISTS (
				SELECT 1 FROM holds WHERE tenant_id = ? AND source = ? AND period = ? AND status = 'open'
					AND expires_at <= ?)` + condition,
			append([]any{p.Units, p.TenantID, p.Units, limit, p.TenantID, p.Counter(), p.Period,
				p.TenantID, billing.SourceFree, p.Period, p.Now}, terms...)
	}
	args = append([]any{p.TenantID, p.Counter(), p.Period, p.Units, limit, p.Units}, terms...)
	return `
		INSERT INTO usage_counters (tenant_id, counter, period, used)
		SELECT CAST(? AS ` + tx.uuidType() + `), ?, ?, CAST(? AS bigint) WHERE CAST(? AS bigint) >= ?` + condition + `
		ON CONFLICT (tenant_id, counter, period) DO UPDATE SET used = usage_counters.used + excluded.used
		WHERE usage_counters.used <= CAST(? AS bigint) - excluded.used`,
		append(args, limit)
}

// onTerms returns a further condition of a statement: that a tenant has these terms.
// nil is no condition.
func onTerms(tenantID uuid.UUID, t *tenant.Terms) (condition string, args []any) {
	if t == nil {
		return "", nil
	}
	return ` AND EXISTS (
			SELECT 1 FROM tenants WHERE id = ? AND success_url = ? AND cancel_url = ? AND webhook_url = ?
			AND free_checks IS NOT DISTINCT FROM CAST(? AS bigint) AND test_cap IS NOT DISTINCT FROM CAST(? AS bigint))`,
		[]any{tenantID, t.SuccessURL, t.CancelURL, t.WebhookURL, t.FreeChecks, t.TestCap}
}

// limitOrNone returns a limit as a number; no limit is the largest one.
func limitOrNone(limit int64) int64 {
	if limit == billing.Unlimited {
		return math.MaxInt64
	}
	return limit
}

func (tx *Tx) uuidType() string {
	if tx.postgres {
		return "uuid"
	}
	return "text"
}

// ReturnCounter implements billing.Tx.
func (tx *Tx) ReturnCounter(tenantID uuid.UUID, c billing.Counter, period string, n int64) error {
	return tx.db.Exec(`
		UPDATE usage_counters SET used = CASE WHEN used > ? THEN used - ? ELSE 0 END
		WHERE tenant_id = ? AND counter = ? AND period = ?`,
		n, n, tenantID, c, period).Error
}

// AddCredit implements billing.Tx.
func (tx *Tx) AddCredit(tenantID uuid.UUID, delta int64) (bool, error) {
	if delta < 0 {
		return changed(tx.db.Exec(
			"UPDATE credit_balances SET units = units + ? WHERE tenant_id = ? AND units + ? >= 0",
			delta, tenantID, delta))
	}
	return changed(tx.db.Exec(`
		INSERT INTO credit_balances (tenant_id, units) VALUES (?, ?)
		ON CONFLICT (tenant_id) DO UPDATE SET units = credit_balances.units + excluded.units`,
		tenantID, delta))
}

// InsertHold implements billing.Tx.
func (tx *Tx) InsertHold(h billing.Hold) error {
	row := fromHold(h)
	return tx.db.Create(&row).Error
}

const holdColumns = "session_id, tenant_id, source, period, expires_at"

// SettleHold implements billing.Tx.
func (tx *Tx) SettleHold(sessionID uuid.UUID) (billing.Hold, bool, error) {
	var row holdRow
	found, err := changed(tx.db.Raw(
		"UPDATE holds SET status = ? WHERE session_id = ? AND status = ? RETURNING "+holdColumns,
		holdSettled, sessionID, holdOpen).Scan(&row))
	return row.Hold, found, err
}

// ExtendHold implements billing.Tx.
func (tx *Tx) ExtendHold(sessionID uuid.UUID, expiresAt time.Time) (bool, error) {
	return changed(tx.db.Model(&holdRow{}).Where("session_id = ? AND status = ?", sessionID, holdOpen).
		Update("expires_at", expiresAt))
}

// ReleaseExpiredHolds implements billing.Tx.
func (tx *Tx) ReleaseExpiredHolds(
	tenantID uuid.UUID, of *billing.Balance, now time.Time, limit int,
) ([]billing.Hold, error) {
	if err := tx.lockBalances(tenantID, of); err != nil {
		return nil, err
	}
	condition, args := "tenant_id = ?", []any{tenantID}
	if of != nil {
		condition, args = condition+" AND source = ? AND period = ?", append(args, of.Source, of.Period)
	}
	return tx.release(tx.chosen("session_id", "holds", condition+
		" AND status = 'open' AND expires_at <= ? ORDER BY expires_at LIMIT ?")+
		"UPDATE holds SET status = 'released' WHERE session_id IN (SELECT session_id FROM chosen) RETURNING "+holdColumns,
		append(args, now, limit)...)
}

// ReleaseHoldsOf implements billing.Tx.
func (tx *Tx) ReleaseHoldsOf(tenantID uuid.UUID, sessions []uuid.UUID, now time.Time) ([]billing.Hold, error) {
	if err := tx.lockBalances(tenantID, nil); err != nil {
		return nil, err
	}
	return tx.release(`
		UPDATE holds SET status = 'released'
		WHERE tenant_id = ? AND session_id IN ? AND status = 'open' AND expires_at <= ? RETURNING `+holdColumns,
		tenantID, sessions, now)
}

func (tx *Tx) release(statement string, args ...any) ([]billing.Hold, error) {
	var rows []holdRow
	err := tx.db.Raw(statement, args...).Scan(&rows).Error
	return mapAll(rows, func(r holdRow) billing.Hold { return r.Hold }), err
}

// lockBalances locks one balance of a tenant, or all if of is nil, in the order
// that billing.Tx defines. On SQLite the transaction has locked the whole
// database.
func (tx *Tx) lockBalances(tenantID uuid.UUID, of *billing.Balance) error {
	if !tx.postgres {
		return nil
	}
	if of == nil || of.Source == billing.SourceFree {
		statement, args := "SELECT used FROM usage_counters WHERE tenant_id = ? AND counter = ?",
			[]any{tenantID, billing.CounterFree}
		if of != nil {
			statement, args = statement+" AND period = ?", append(args, of.Period)
		}
		if err := tx.db.Exec(statement+" ORDER BY period FOR UPDATE", args...).Error; err != nil || of != nil {
			return err
		}
	}
	return tx.db.Exec("SELECT units FROM credit_balances WHERE tenant_id = ? FOR UPDATE", tenantID).Error
}

var holders = owners("holds", holdOpen) + `EXISTS (
	SELECT 1 FROM holds h WHERE h.status = 'open' AND h.tenant_id = owner.tenant_id AND h.expires_at <= ?
)`

// ExpiredHolders returns the tenants with open holds that expired at or before
// now.
func (s *Store) ExpiredHolders(ctx context.Context, now time.Time) ([]uuid.UUID, error) {
	return view(ctx, s, func(tx *Tx) (tenants []uuid.UUID, err error) {
		return tenants, tx.db.Raw(holders, now).Scan(&tenants).Error
	})
}

// AppendEntries implements billing.Tx.
func (tx *Tx) AppendEntries(entries ...billing.Entry) error {
	if len(entries) == 0 {
		return nil
	}
	rows := mapAll(entries, fromEntry)
	return tx.db.Create(&rows).Error
}
