package store

import (
	"context"
	"encoding/json"
	"time"

	"agegate/internal/rules/audit"
)

var (
	_ audit.Store = (*Store)(nil)
	_ audit.Tx    = (*Tx)(nil)
)

type auditRow struct {
	Scope     string `gorm:"primaryKey"`
	Seq       int64  `gorm:"primaryKey;autoIncrement:false"`
	At        time.Time
	ActorKind string
	ActorID   string
	ActorName string
	Action    string
	Target    string
	Detail    string
	PrevHash  []byte
	Hash      []byte
}

func (auditRow) TableName() string { return "audit_entries" }

type auditHeadRow struct {
	Scope string `gorm:"primaryKey"`
	Seq   int64
	Hash  []byte
}

func (auditHeadRow) TableName() string { return "audit_heads" }

func fromAuditEntry(e audit.Entry) auditRow {
	return auditRow{
		Scope: string(e.Scope), Seq: e.Seq, At: at(e.At),
		ActorKind: string(e.Actor.Kind), ActorID: e.Actor.ID, ActorName: e.Actor.Name,
		Action: string(e.Action), Target: e.Target, Detail: string(e.Detail),
		PrevHash: e.PrevHash[:], Hash: e.Hash[:],
	}
}

func toAuditEntry(r auditRow) audit.Entry {
	return audit.Entry{
		Scope: audit.Scope(r.Scope), Seq: r.Seq, At: at(r.At),
		Actor:  audit.Actor{Kind: audit.Kind(r.ActorKind), ID: r.ActorID, Name: r.ActorName},
		Action: audit.Action(r.Action), Target: r.Target, Detail: json.RawMessage(r.Detail),
		PrevHash: toHash(r.PrevHash), Hash: toHash(r.Hash),
	}
}

func toHash(b []byte) (h audit.Hash) {
	copy(h[:], b) // the length is held by a CHECK
	return h
}

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
	zero := audit.Hash{}
	err := tx.db.Exec("INSERT INTO audit_heads (scope, seq, hash) VALUES (?, 0, ?) ON CONFLICT (scope) DO NOTHING",
		string(act.Scope), zero[:]).Error
	if err != nil {
		return err
	}
	var head auditHeadRow
	if err := tx.forUpdate().Take(&head, "scope = ?", string(act.Scope)).Error; err != nil {
		return err
	}
	entry, err := audit.Head{Seq: head.Seq, Hash: toHash(head.Hash)}.Next(act)
	if err != nil {
		return err
	}
	row := fromAuditEntry(entry)
	if err := tx.db.Create(&row).Error; err != nil {
		return err
	}
	return tx.db.Model(&auditHeadRow{}).Where("scope = ?", row.Scope).
		Updates(map[string]any{"seq": row.Seq, "hash": row.Hash}).Error
}

// AuditEntries implements audit.Store.
func (s *Store) AuditEntries(ctx context.Context, f audit.Filter) ([]audit.Entry, error) {
	limit := f.Limit
	if limit <= 0 || limit > audit.MaxPage {
		limit = audit.MaxPage
	}
	return view(ctx, s, func(tx *Tx) ([]audit.Entry, error) {
		q := tx.db.Where("scope = ?", string(f.Scope)).Order("seq DESC").Limit(limit)
		if f.Action != "" {
			q = q.Where("action = ?", string(f.Action))
		}
		if f.ActorID != "" {
			q = q.Where("actor_id = ?", f.ActorID)
		}
		if f.Before > 0 {
			q = q.Where("seq < ?", f.Before)
		}
		var rows []auditRow
		err := q.Find(&rows).Error
		return mapAll(rows, toAuditEntry), err
	})
}

// AuditChain implements audit.Store.
func (s *Store) AuditChain(ctx context.Context, scope audit.Scope, after int64, limit int) ([]audit.Entry, error) {
	return view(ctx, s, func(tx *Tx) ([]audit.Entry, error) {
		var rows []auditRow
		err := tx.db.Where("scope = ? AND seq > ?", string(scope), after).Order("seq").Limit(limit).Find(&rows).Error
		return mapAll(rows, toAuditEntry), err
	})
}

// AuditHead implements audit.Store.
func (s *Store) AuditHead(ctx context.Context, scope audit.Scope) (audit.Head, error) {
	return view(ctx, s, func(tx *Tx) (audit.Head, error) {
		var rows []auditHeadRow
		err := tx.db.Find(&rows, "scope = ?", string(scope)).Error
		if err != nil || len(rows) == 0 {
			return audit.Head{}, err
		}
		return audit.Head{Seq: rows[0].Seq, Hash: toHash(rows[0].Hash)}, nil
	})
}

// AuditScopes implements audit.Store. A scope whose end was removed is found by
// its entries.
func (s *Store) AuditScopes(ctx context.Context, after audit.Scope, limit int) ([]audit.Scope, error) {
	return view(ctx, s, func(tx *Tx) (scopes []audit.Scope, err error) {
		return scopes, tx.db.Raw(`
			SELECT scope FROM audit_heads WHERE scope > ? UNION SELECT scope FROM audit_entries WHERE scope > ?
			ORDER BY scope LIMIT ?`, string(after), string(after), limit).Scan(&scopes).Error
	})
}
