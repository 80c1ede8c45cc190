package store

import (
	"context"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"agegate/internal/rules/audit"
)

var (
	_ audit.Store = (*Store)(nil)
	_ audit.Tx    = (*Tx)(nil)
)

const auditTable = "audit_entries"

// act runs fn and writes its act, in one transaction.
func (s *Store) act(ctx context.Context, act audit.Act, fn func(tx *Tx) error) error {
	return s.Update(ctx, func(tx *Tx) error {
		if err := fn(tx); err != nil {
			return err
		}
		return tx.AppendAudit(act)
	})
}

// AppendAudit implements audit.Tx.
func (tx *Tx) AppendAudit(act audit.Act) error {
	first := auditHeadRow{Scope: act.Scope}
	if err := tx.db.Clauses(clause.OnConflict{DoNothing: true}).Create(&first).Error; err != nil {
		return err
	}
	head, err := take[auditHeadRow](tx.forUpdate(), "scope = ?", act.Scope)
	if err != nil {
		return err
	}
	if act.Actor.IsTestKey() {
		if err := tx.checkTestActs(head, act.At); err != nil {
			return err
		}
	}
	entry, err := head.head().Next(act)
	if err != nil {
		return err
	}
	if err := tx.db.Table(auditTable).Create(&entry).Error; err != nil {
		return err
	}
	return tx.db.Model(&auditHeadRow{}).Where("scope = ?", entry.Scope).
		Updates(map[string]any{"seq": entry.Seq, "hash": entry.Hash[:]}).Error
}

// checkTestActs returns audit.TooManyTestActs if a log has grown too fast for a further entry of a test key.
func (tx *Tx) checkTestActs(head auditHeadRow, now time.Time) error {
	var oldest []time.Time
	err := tx.db.Table(auditTable).Where("scope = ? AND seq = ?", head.Scope, head.Seq-audit.MaxTestActs+1).
		Pluck("at", &oldest).Error
	if err == nil && len(oldest) > 0 && now.Sub(oldest[0]) < audit.TestActsPeriod {
		return audit.TooManyTestActs(oldest[0], now)
	}
	return err
}

// AuditEntries implements audit.Store.
func (s *Store) AuditEntries(ctx context.Context, f audit.Filter) ([]audit.Entry, error) {
	limit := f.Limit
	if limit <= 0 || limit > audit.MaxPage {
		limit = audit.MaxPage
	}
	return view(ctx, s, func(tx *Tx) ([]audit.Entry, error) {
		q := tx.db.Table(auditTable).Where("scope = ?", f.Scope).Order("seq DESC").Limit(limit)
		if f.Scope == audit.OnTenants {
			q = tx.db.Table(auditTable).Where("actor_kind IN ('operator', 'cli') AND scope <> 'instance'").
				Order("at DESC, scope DESC, seq DESC").Limit(limit)
		}
		if f.Action != "" {
			q = q.Where("action = ?", f.Action)
		}
		if f.ActorID != "" {
			q = q.Where("actor_id = ?", f.ActorID)
		}
		if f.Target != "" {
			q = q.Where("target = ?", f.Target)
		}
		if !f.To.IsZero() {
			q = q.Where("at BETWEEN ? AND ?", f.From, f.To)
		}
		switch {
		case f.Before > 0 && f.Scope == audit.OnTenants:
			last, err := take[audit.Entry](tx.db.Table(auditTable), "scope = ? AND seq = ?", f.In, f.Before)
			if err != nil {
				return nil, err
			}
			q = q.Where("(at, scope, seq) < (?, ?, ?)", last.At, last.Scope, last.Seq)
		case f.Before > 0:
			q = q.Where("seq < ?", f.Before)
		}
		return find[audit.Entry](q)
	})
}

// AuditChain implements audit.Store.
func (s *Store) AuditChain(ctx context.Context, scope audit.Scope, after int64, limit int) ([]audit.Entry, error) {
	return viewAll[audit.Entry](ctx, s, func(tx *Tx) *gorm.DB {
		return tx.db.Table(auditTable).Where("scope = ? AND seq > ?", scope, after).Order("seq").Limit(limit)
	})
}

// AuditHead implements audit.Store.
func (s *Store) AuditHead(ctx context.Context, scope audit.Scope) (audit.Head, error) {
	return view(ctx, s, func(tx *Tx) (audit.Head, error) {
		rows, err := find[auditHeadRow](tx.db.Where("scope = ?", scope))
		if err != nil || len(rows) == 0 {
			return audit.Head{}, err
		}
		return rows[0].head(), nil
	})
}

// AuditScopes implements audit.Store. It also finds logs whose head row was deleted.
func (s *Store) AuditScopes(ctx context.Context, after audit.Scope, limit int) ([]audit.Scope, error) {
	return view(ctx, s, func(tx *Tx) (scopes []audit.Scope, err error) {
		err = tx.db.Raw(`
			SELECT scope FROM audit_heads WHERE scope > ? UNION SELECT scope FROM audit_entries WHERE scope > ?
			ORDER BY scope LIMIT ?`, after, after, limit).Scan(&scopes).Error
		return scopes, err
	})
}
