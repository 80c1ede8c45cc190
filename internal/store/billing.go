package store

import (
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"agegate/internal/rules/audit"
	"agegate/internal/rules/billing"
	"agegate/internal/rules/fault"
)

var (
	_ billing.Store = (*Store)(nil)
	_ billing.Tx    = (*Tx)(nil)
)

const entryTable = "ledger_entries"

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
	return view(ctx, s, func(tx *Tx) (int64, error) { return tx.Credit(tenantID) })
}

// Credit implements billing.CreditTx.
func (tx *Tx) Credit(tenantID uuid.UUID) (units int64, err error) {
	err = tx.db.Raw("SELECT units FROM credit_balances WHERE tenant_id = ?", tenantID).Scan(&units).Error
	return units, err
}

// HasEntry implements billing.CreditTx.
func (tx *Tx) HasEntry(id uuid.UUID) (found bool, err error) {
	err = tx.db.Raw("SELECT EXISTS (SELECT 1 FROM ledger_entries WHERE id = ?)", id).Scan(&found).Error
	return found, err
}

// Entries implements billing.Store.
func (s *Store) Entries(ctx context.Context, tenantID, before uuid.UUID, limit int) ([]billing.Entry, error) {
	return view(ctx, s, func(tx *Tx) ([]billing.Entry, error) {
		q := tx.db.Table(entryTable).Where("tenant_id = ?", tenantID).Order("created_at DESC, id DESC").Limit(limit)
		if before != uuid.Nil {
			last, err := take[billing.Entry](tx.db.Table(entryTable), "id = ? AND tenant_id = ?", before, tenantID)
			if err != nil {
				return nil, err
			}
			q = q.Where("(created_at, id) < (?, ?)", last.CreatedAt, before)
		}
		return find[billing.Entry](q)
	})
}

// EntriesBetween implements billing.Store.
func (s *Store) EntriesBetween(
	ctx context.Context, tenantID uuid.UUID, from, to time.Time, after billing.Entry, limit int,
) ([]billing.Entry, error) {
	return view(ctx, s, func(tx *Tx) ([]billing.Entry, error) {
		q := tx.db.Table(entryTable).Where("tenant_id = ? AND created_at < ?", tenantID, to).
			Order("created_at, id").Limit(limit)
		if after.ID == uuid.Nil {
			q = q.Where("created_at >= ?", from)
		} else { // without from: with both conditions, SQLite would begin every page at from
			q = q.Where("(created_at, id) > (?, ?)", after.CreatedAt, after.ID)
		}
		return find[billing.Entry](q)
	})
}

// TakeCounter implements billing.Tx. The statement changes one row or none. The first
// unit of a period inserts the row, unless the limit is too low: then the SELECT
// returns nothing. The casts give PostgreSQL the parameters' types.
func (tx *Tx) TakeCounter(q billing.Quota, n int64) (bool, error) {
	limit := q.Limit
	if limit == billing.Unlimited {
		limit = math.MaxInt64
	}
	return changed(tx.db.Exec(`
		INSERT INTO usage_counters (tenant_id, counter, period, used)
		SELECT CAST(? AS `+tx.uuidType()+`), ?, ?, CAST(? AS bigint) WHERE CAST(? AS bigint) >= ?
		ON CONFLICT (tenant_id, counter, period) DO UPDATE SET used = usage_counters.used + excluded.used
		WHERE usage_counters.used <= CAST(? AS bigint) - excluded.used`,
		q.TenantID, q.Counter(), q.Period, n, limit, n, limit))
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

// InsertHolds implements billing.Tx.
func (tx *Tx) InsertHolds(holds ...billing.Hold) error {
	return tx.insertRows("holds (session_id, tenant_id, source, period, status, expires_at)",
		mapAll(holds, func(h billing.Hold) any {
			return []any{h.SessionID, h.TenantID, h.Source, h.Period, holdOpen, h.ExpiresAt}
		}))
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

// lockBalances locks one balance of a tenant, or all if of is nil, in the order that billing.Tx defines. On
// SQLite the transaction has locked the whole database.
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

// ExpiredHolders returns the tenants with open holds that expired at or before now.
func (s *Store) ExpiredHolders(ctx context.Context, now time.Time) ([]uuid.UUID, error) {
	return view(ctx, s, func(tx *Tx) (tenants []uuid.UUID, err error) {
		err = tx.db.Raw(holders, now).Scan(&tenants).Error
		return tenants, err
	})
}

// AppendEntries implements billing.Tx.
func (tx *Tx) AppendEntries(entries ...billing.Entry) error {
	if len(entries) == 0 {
		return nil
	}
	return tx.insertRows("ledger_entries (id, tenant_id, session_id, kind, source, period, delta, created_at)",
		mapAll(entries, func(e billing.Entry) any {
			return []any{e.ID, e.TenantID, e.SessionID, e.Kind, e.Source, e.Period, e.Delta, e.CreatedAt}
		}))
}

// ReplaceEntries implements billing.Store.
func (s *Store) ReplaceEntries(
	ctx context.Context, ids []uuid.UUID, by func([]billing.Entry) []billing.Entry, act *audit.Act,
) (int, error) {
	return update(ctx, s, func(tx *Tx) (int, error) {
		found, err := find[billing.Entry](tx.forUpdate().Table(entryTable).
			Where("id IN ? AND session_id IS NOT NULL", ids).Order("id"))
		n := len(found)
		if err != nil || n == 0 {
			return 0, err
		}
		sums := by(found)
		earlier, err := find[billing.Entry](tx.forUpdate().Table(entryTable).
			Where("id IN ?", mapAll(sums, entryID)).Order("id"))
		replaced := slices.Concat(found, earlier)
		if err != nil {
			return 0, err
		}
		before, err := tx.unitsOf(replaced)
		if err == nil {
			err = tx.db.Exec("DELETE FROM ledger_entries WHERE id IN ?", mapAll(replaced, entryID)).Error
		}
		sums = by(replaced)
		if err == nil {
			err = tx.AppendEntries(sums...)
		}
		if err == nil && act != nil {
			err = tx.AppendAudit(*act)
		}
		if err != nil {
			return 0, err
		}
		after, err := tx.unitsOf(sums)
		if err == nil && !slices.Equal(before, after) {
			err = fault.New(fault.Conflict, "a balance would change")
		}
		return n, err
	})
}

func entryID(e billing.Entry) uuid.UUID { return e.ID }

// unitsOf adds up entries by balance, each as a text.
func (tx *Tx) unitsOf(entries []billing.Entry) (units []string, err error) {
	err = tx.db.Raw(`SELECT CAST(tenant_id AS text) || source || period || CAST(sum(delta) AS text) FROM ledger_entries
		WHERE id IN ? GROUP BY tenant_id, source, period HAVING sum(delta) <> 0 ORDER BY 1`,
		mapAll(entries, entryID)).Scan(&units).Error
	return units, err
}

// insertRows inserts rows, each a list of values, into columns of a table.
func (tx *Tx) insertRows(into string, rows []any) error {
	return tx.db.Exec("INSERT INTO "+into+" VALUES "+strings.Repeat(", ?", len(rows))[2:], rows...).Error
}
