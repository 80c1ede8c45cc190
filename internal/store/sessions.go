package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"agegate/internal/rules/session"
)

var (
	_ session.Store = (*Store)(nil)
	_ session.Tx    = (*Tx)(nil)
)

// UpdateSessions implements session.Store with Update.
func (s *Store) UpdateSessions(ctx context.Context, fn func(session.Tx) error) error {
	return s.Update(ctx, func(tx *Tx) error { return fn(tx) })
}

// SessionByID implements session.Store.
func (s *Store) SessionByID(ctx context.Context, tenantID, id uuid.UUID) (session.Session, error) {
	return viewOne[session.Session](ctx, s, func(tx *Tx) *gorm.DB {
		return tx.db.Where("id = ? AND tenant_id = ?", id, tenantID)
	})
}

// Standings implements session.Store. It does not use GORM, because it runs more often
// than all other queries together.
func (s *Store) Standings(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]session.Standing, error) {
	return readByID(ctx, s, "SELECT id, tenant_id, status, created_at, expires_at, completed_at FROM sessions", ids,
		func(f *session.Standing) []any {
			return []any{&f.TenantID, &f.Status, &f.CreatedAt, &f.ExpiresAt, &f.CompletedAt}
		})
}

// SessionByLink implements session.Store.
func (s *Store) SessionByLink(ctx context.Context, linkHashes ...[]byte) (session.Session, error) {
	return viewOne[session.Session](ctx, s, func(tx *Tx) *gorm.DB { return tx.db.Where("link_hash IN ?", linkHashes) })
}

// OrdersLinks implements session.Store. Releases from 0.3.0 on find the sessions of
// ordered links; 0.2.0 does not. On PostgreSQL, replicas of 0.2.0 may run beside this
// release. Release 0.4.0 returns true on both databases, see docs/releasing.md.
func (s *Store) OrdersLinks() bool { return s.sqlite != nil }

// ClaimOf implements session.Store.
func (s *Store) ClaimOf(ctx context.Context, sessionID uuid.UUID) (session.IdempotencyClaim, error) {
	return viewOne[session.IdempotencyClaim](ctx, s, func(tx *Tx) *gorm.DB {
		return tx.db.Where("session_id = ?", sessionID)
	})
}

// ClaimByKey implements session.Store.
func (s *Store) ClaimByKey(
	ctx context.Context, tenantID uuid.UUID, livemode bool, keyHash []byte,
) (session.IdempotencyClaim, error) {
	return view(ctx, s, func(tx *Tx) (session.IdempotencyClaim, error) {
		return tx.claimByKey(tenantID, livemode, keyHash)
	})
}

func (tx *Tx) claimByKey(tenantID uuid.UUID, livemode bool, keyHash []byte) (session.IdempotencyClaim, error) {
	return take[session.IdempotencyClaim](tx.db, "tenant_id = ? AND livemode = ? AND key_hash = ?", tenantID, livemode,
		keyHash)
}

// pending selects the session if its status is PENDING.
func (tx *Tx) pending(id uuid.UUID) *gorm.DB {
	return tx.db.Model(&session.Session{}).Where("id = ? AND status = ?", id, session.StatusPending)
}

// open selects the session if it is pending and not past its expiry.
func (tx *Tx) open(id uuid.UUID, now time.Time) *gorm.DB {
	return tx.pending(id).Where("expires_at > ?", now)
}

// ExpireSession implements session.Store.
func (s *Store) ExpireSession(ctx context.Context, id uuid.UUID, now time.Time) (bool, error) {
	return update(ctx, s, func(tx *Tx) (bool, error) {
		return changed(tx.pending(id).Where("expires_at <= ?", now).Update("status", session.StatusExpired))
	})
}

// BindBrowser implements session.Store.
func (s *Store) BindBrowser(ctx context.Context, id uuid.UUID, browserHash []byte) (bool, error) {
	return update(ctx, s, func(tx *Tx) (bool, error) {
		return changed(tx.db.Model(&session.Session{}).Where("id = ? AND browser_hash IS NULL", id).
			Update("browser_hash", browserHash))
	})
}

// MarkOpened implements session.Store.
func (s *Store) MarkOpened(ctx context.Context, id uuid.UUID, now time.Time) error {
	return s.exec(ctx, "UPDATE sessions SET opened_at = ? WHERE id = ? AND opened_at IS NULL", now, id)
}

// MarkRedirected implements session.Store.
func (s *Store) MarkRedirected(ctx context.Context, id uuid.UUID, now time.Time) error {
	return s.exec(ctx, "UPDATE sessions SET redirected_at = ? WHERE id = ? AND redirected_at IS NULL", now, id)
}

// LockSession implements session.Tx.
func (tx *Tx) LockSession(id uuid.UUID) (session.Session, error) {
	return take[session.Session](tx.forUpdate(), "id = ?", id)
}

// InsertSessions implements session.Tx.
func (tx *Tx) InsertSessions(sessions ...session.Session) error {
	return tx.db.Create(&sessions).Error
}

// DropUnpaid implements session.Tx.
func (tx *Tx) DropUnpaid(sessions ...session.Session) error {
	return tx.db.Delete(&sessions).Error
}

// decided are the columns that decisions change. Statements that do not lock the row
// change other columns, so saving a decision must not write those.
var decided = []string{
	"status", "expires_at", "completed_at", "consented_at", "detected_age", "document_opened_at", "attempts", "strikes",
	"setbacks", "opened_at", "begun_at", "source", "cutoff", "calibration", "document_preferred", "document_way",
	"document_attempts", "face_match_at", "document_camera_ms",
}

// SaveSession implements session.Tx. The session was decided on the row as LockSession read it, and nothing has
// changed the row since: PostgreSQL has locked it, and SQLite has one writer. The condition on the status is an
// additional guard.
func (tx *Tx) SaveSession(s session.Session) error {
	return mustChange(tx.pending(s.ID).Select(decided).Updates(&s))
}

// ClaimIdempotencyKey implements session.Tx. The insert waits for another
// transaction's claim of the same key; an expired claim is overwritten.
func (tx *Tx) ClaimIdempotencyKey(c session.IdempotencyClaim, now time.Time) (session.IdempotencyClaim, bool, error) {
	claimed, err := changed(tx.db.Clauses(clause.OnConflict{
		Columns: []clause.Column{{Name: "tenant_id"}, {Name: "livemode"}, {Name: "key_hash"}},
		DoUpdates: clause.AssignmentColumns([]string{"request_hash", "session_id", "sealed_link", "session_end",
			"expires_at"}),
		Where: clause.Where{Exprs: []clause.Expression{clause.Lte{Column: "idempotency_claims.expires_at", Value: now}}},
	}).Create(&c))
	if err != nil || claimed {
		return c, claimed, err
	}
	earlier, err := tx.claimByKey(c.TenantID, c.Livemode, c.KeyHash)
	return earlier, false, err
}

// PruneClaims deletes up to limit of the idempotency claims that expired at or before now and returns how many.
// Claims that another transaction is using are skipped.
func (s *Store) PruneClaims(ctx context.Context, now time.Time, limit int) (int, error) {
	return update(ctx, s, func(tx *Tx) (int, error) {
		return tx.deleteChosen("idempotency_claims", "tenant_id, livemode, key_hash",
			"expires_at <= ? ORDER BY expires_at LIMIT ?", now, limit)
	})
}
