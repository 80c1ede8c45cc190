package store

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"agegate/internal/backoffice/insight"
)

// refusalRow is a row of api_refusals.
type refusalRow struct {
	TenantID  uuid.UUID `gorm:"primaryKey"`
	Livemode  bool      `gorm:"primaryKey"`
	Minute    int64     `gorm:"primaryKey;autoIncrement:false"`
	Route     string    `gorm:"primaryKey"`
	Status    int       `gorm:"primaryKey;autoIncrement:false"`
	Type      string    `gorm:"primaryKey"`
	Loc       string    `gorm:"primaryKey"`
	KeyID     uuid.UUID `gorm:"primaryKey"`
	N         int64
	RequestID string
}

func (refusalRow) TableName() string { return "api_refusals" }

// refusalOrder lists the columns that together identify a count in a scope. In this
// order, the oldest count comes first.
const refusalOrder = "minute, route, status, type, loc, key_id"

// AddRefusals implements insight.RefusalStore.
func (s *Store) AddRefusals(ctx context.Context, scope insight.Scope, counts []insight.RefusalCount, keep int) error {
	rows := mapAll(counts, func(c insight.RefusalCount) refusalRow {
		return refusalRow{
			TenantID: scope.TenantID, Livemode: scope.Livemode, Minute: c.Minute.Unix() / 60, Route: c.Route,
			Status: c.Status, Type: c.Type, Loc: c.Loc, KeyID: c.KeyID, N: c.N, RequestID: c.RequestID,
		}
	})
	return s.Update(ctx, func(tx *Tx) error {
		key := []clause.Column{{Name: "tenant_id"}, {Name: "livemode"}}
		for _, name := range []string{"minute", "route", "status", "type", "loc", "key_id"} {
			key = append(key, clause.Column{Name: name})
		}
		err := tx.db.Clauses(clause.OnConflict{Columns: key, DoUpdates: clause.Assignments(map[string]any{
			"n": gorm.Expr("api_refusals.n + excluded.n"), "request_id": gorm.Expr("excluded.request_id"),
		})}).Create(&rows).Error
		if err != nil {
			return err
		}
		return tx.db.Exec(`DELETE FROM api_refusals WHERE tenant_id = ? AND livemode = ? AND (`+refusalOrder+`) < (
			SELECT `+refusalOrder+` FROM api_refusals WHERE tenant_id = ? AND livemode = ?
			ORDER BY minute DESC, route DESC, status DESC, type DESC, loc DESC, key_id DESC LIMIT 1 OFFSET ?)`,
			scope.TenantID, scope.Livemode, scope.TenantID, scope.Livemode, keep-1).Error
	})
}

// Refusals implements insight.RefusalStore.
func (s *Store) Refusals(ctx context.Context, scope insight.Scope, since time.Time) ([]insight.RefusalCount, error) {
	return view(ctx, s, func(tx *Tx) ([]insight.RefusalCount, error) {
		rows, err := find[refusalRow](tx.db.Where("tenant_id = ? AND livemode = ? AND minute >= ?", scope.TenantID,
			scope.Livemode, since.Unix()/60).
			Order("minute DESC, n DESC, " + refusalOrder))
		return mapAll(rows, func(r refusalRow) insight.RefusalCount {
			return insight.RefusalCount{
				Refusal: insight.Refusal{Scope: scope, Route: r.Route, Status: r.Status, Type: r.Type, Loc: r.Loc, KeyID: r.KeyID},
				Minute:  time.Unix(r.Minute*60, 0).UTC(), N: r.N, RequestID: r.RequestID,
			}
		}), err
	})
}

// PruneRefusals implements insight.RefusalStore.
func (s *Store) PruneRefusals(ctx context.Context, before time.Time, limit int) (int, error) {
	return update(ctx, s, func(tx *Tx) (int, error) {
		return tx.deleteChosen("api_refusals", "tenant_id, livemode, "+refusalOrder, "minute < ? LIMIT ?", before.Unix()/60,
			limit)
	})
}

// PutReplica implements insight.ReplicaStore. A SQLite file has one server: the others were seen before it started,
// and were killed.
func (s *Store) PutReplica(ctx context.Context, r insight.Replica, before time.Time) error {
	if s.postgres == nil && r.StartedAt.After(before) {
		before = r.StartedAt
	}
	return s.Update(ctx, func(tx *Tx) error {
		err := tx.db.Clauses(clause.OnConflict{
			Columns: []clause.Column{{Name: "id"}}, DoUpdates: clause.AssignmentColumns([]string{"seen_at"}),
		}).Create(&r).Error
		if err != nil {
			return err
		}
		return tx.db.Exec("DELETE FROM replicas WHERE seen_at < ?", before).Error
	})
}

// DeleteReplica implements insight.ReplicaStore.
func (s *Store) DeleteReplica(ctx context.Context, id uuid.UUID) error {
	return s.exec(ctx, "DELETE FROM replicas WHERE id = ?", id)
}

// TryWrite writes as much as a session needs, and deletes it: a replica that was last
// seen long ago, which nothing shows, and which the next report of a replica deletes too.
func (s *Store) TryWrite(ctx context.Context) error {
	random, past := make([]byte, 64<<10), time.Unix(0, 0)
	_, _ = rand.Read(random) // never fails; what repeats itself would be compressed
	long := insight.Replica{ID: uuid.New(), StartedAt: past, SeenAt: past, Config: fmt.Sprintf("%x", random)}
	if err := s.PutReplica(ctx, long, past); err != nil {
		return err
	}
	s.refused.Store(false)
	return s.DeleteReplica(ctx, long.ID)
}

// Replicas implements insight.ReplicaStore.
func (s *Store) Replicas(ctx context.Context, since time.Time) ([]insight.Replica, error) {
	return viewAll[insight.Replica](ctx, s, func(tx *Tx) *gorm.DB {
		return tx.db.Where("seen_at >= ?", since).Order("started_at, id")
	})
}
