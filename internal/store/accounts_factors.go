package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"agegate/internal/backoffice/account"
)

// UserByID implements account.Store.
func (s *Store) UserByID(ctx context.Context, id uuid.UUID) (account.User, error) {
	return viewOne[account.User](ctx, s, func(tx *Tx) *gorm.DB { return tx.db.Where("id = ?", id) })
}

// UsersByID implements account.Store.
func (s *Store) UsersByID(ctx context.Context, ids []uuid.UUID) ([]account.User, error) {
	return viewAll[account.User](ctx, s, func(tx *Tx) *gorm.DB { return tx.db.Where("id IN ?", ids) })
}

// Users implements account.Store. IDs are in order of creation.
func (s *Store) Users(ctx context.Context, after uuid.UUID, limit int) ([]account.User, error) {
	return viewAll[account.User](ctx, s, func(tx *Tx) *gorm.DB {
		return tx.db.Where("id > ?", after).Order("id").Limit(limit)
	})
}

// FindUsers implements account.Store.
func (s *Store) FindUsers(ctx context.Context, text string, limit int) ([]account.User, error) {
	return view(ctx, s, func(tx *Tx) ([]account.User, error) {
		q := tx.db.Where(tx.contains("name"), pattern(text)).Or(tx.contains("email"), pattern(text))
		return find[account.User](q.Order("id").Limit(limit))
	})
}

func (tx *Tx) user(id uuid.UUID) *gorm.DB { return tx.db.Model(&account.User{}).Where("id = ?", id) }

// SetUser implements account.Tx.
func (tx *Tx) SetUser(u account.User, fields ...string) error {
	return mustChange(tx.user(u.ID).Select(fields).Updates(&u))
}

// SetDisabled implements account.Tx.
func (tx *Tx) SetDisabled(userID uuid.UUID, when *time.Time) (bool, error) {
	return changed(tx.user(userID).Where("(disabled_at IS NULL) = ?", when != nil).Update("disabled_at", when))
}

// UseTOTPStep implements account.Tx.
func (tx *Tx) UseTOTPStep(userID uuid.UUID, step int64) (bool, error) {
	return changed(tx.user(userID).Where("totp_step < ? AND totp_sealed IS NOT NULL", step).Update("totp_step", step))
}

// CodesLeft implements account.Store.
func (s *Store) CodesLeft(ctx context.Context, userID uuid.UUID) (int, error) {
	return view(ctx, s, func(tx *Tx) (int, error) {
		var n int64
		err := tx.db.Model(&codeRow{}).Where("user_id = ? AND used_at IS NULL", userID).Count(&n).Error
		return int(n), err
	})
}

// ReplaceCodes implements account.Tx.
func (tx *Tx) ReplaceCodes(userID uuid.UUID, hashes [][]byte) error {
	if err := tx.db.Where("user_id = ?", userID).Delete(&codeRow{}).Error; err != nil || len(hashes) == 0 {
		return err
	}
	rows := mapAll(hashes, func(hash []byte) codeRow { return codeRow{UserID: userID, Hash: hash} })
	return tx.db.Create(&rows).Error
}

// UseCode implements account.Tx.
func (tx *Tx) UseCode(userID uuid.UUID, hash []byte, now time.Time) (bool, error) {
	return changed(tx.db.Model(&codeRow{}).Where("user_id = ? AND hash = ? AND used_at IS NULL", userID,
		hash).Update("used_at", now))
}

// LockUser implements account.Tx.
func (tx *Tx) LockUser(id uuid.UUID) (account.User, error) {
	return take[account.User](tx.forUpdate(), "id = ?", id)
}

// Passkeys implements account.Tx.
func (tx *Tx) Passkeys(userID uuid.UUID) ([]account.Passkey, error) {
	return find[account.Passkey](tx.db.Where("user_id = ?", userID).Order("id"))
}

// Passkeys implements account.Store.
func (s *Store) Passkeys(ctx context.Context, userID uuid.UUID) ([]account.Passkey, error) {
	return view(ctx, s, func(tx *Tx) ([]account.Passkey, error) { return tx.Passkeys(userID) })
}

// PasskeyByCredential implements account.Store.
func (s *Store) PasskeyByCredential(ctx context.Context, credentialID []byte) (account.Passkey, error) {
	return viewOne[account.Passkey](ctx, s, func(tx *Tx) *gorm.DB {
		return tx.db.Where("credential_id = ?", credentialID)
	})
}

// InsertPasskey implements account.Tx.
func (tx *Tx) InsertPasskey(k account.Passkey) error {
	return tx.db.Create(&k).Error
}

// UsePasskey implements account.Tx.
func (tx *Tx) UsePasskey(k account.Passkey, now time.Time) (bool, error) {
	const eligible = account.BackupEligible
	return changed(tx.db.Model(&account.Passkey{}).
		Where("id = ? AND (sign_count < ? OR sign_count = 0)", k.ID, k.SignCount).
		Where("flags & ? <= ?", eligible, k.Flags&eligible).
		Updates(map[string]any{"sign_count": k.SignCount, "flags": k.Flags, "last_used_at": now}))
}

// DeletePasskey implements account.Tx.
func (tx *Tx) DeletePasskey(userID, id uuid.UUID) error {
	return mustChange(tx.db.Where("user_id = ? AND id = ?", userID, id).Delete(&account.Passkey{}))
}

// DeletePasskeys implements account.Tx.
func (tx *Tx) DeletePasskeys(userID uuid.UUID) error {
	return tx.db.Where("user_id = ?", userID).Delete(&account.Passkey{}).Error
}

// LoginsOf implements account.Store.
func (s *Store) LoginsOf(ctx context.Context, userID uuid.UUID, now time.Time) ([]account.Login, error) {
	return viewAll[account.Login](ctx, s, func(tx *Tx) *gorm.DB {
		return tx.db.Where("user_id = ? AND ends_at > ? AND seen_at > ?", userID, now,
			now.Add(-account.LoginIdle)).
			Order("created_at DESC, hash")
	})
}

// RenewLogin implements account.Tx.
func (tx *Tx) RenewLogin(hash []byte, l account.Login, now time.Time) error {
	return mustChange(tx.db.Model(&account.Login{}).Where("hash = ? AND ends_at > ?", hash, now).
		Select("hash", "methods", "stepped_up_until").Updates(&l))
}

// EndLogins implements account.Tx.
func (tx *Tx) EndLogins(userID uuid.UUID, except []byte, now time.Time) (int, error) {
	query := tx.db.Model(&account.Login{}).Where("user_id = ? AND ends_at > ?", userID, now)
	if except != nil {
		query = query.Where("hash <> ?", except)
	}
	result := query.Update("ends_at", now)
	return int(result.RowsAffected), result.Error
}

// EndLoginSince implements account.Tx.
func (tx *Tx) EndLoginSince(userID uuid.UUID, since, now time.Time) (int, error) {
	result := tx.db.Model(&account.Login{}).Where("user_id = ? AND created_at = ? AND ends_at > ?", userID, since, now).
		Update("ends_at", now)
	return int(result.RowsAffected), result.Error
}

// LockThrottle implements account.Tx. It inserts and locks in one statement: between
// two statements, another transaction could delete the row.
func (tx *Tx) LockThrottle(bucket []byte, now time.Time) (account.Throttle, error) {
	row := throttleRow{account.Throttle{Bucket: bucket, Until: now}, now}
	err := tx.db.Clauses(clause.Returning{}, clause.OnConflict{
		Columns: []clause.Column{{Name: "bucket"}}, DoUpdates: clause.AssignmentColumns([]string{"updated_at"}),
	}).Create(&row).Error
	return row.Throttle, err
}

// PutThrottle implements account.Tx.
func (tx *Tx) PutThrottle(t account.Throttle, now time.Time) error {
	return mustChange(tx.db.Model(&throttleRow{}).Where("bucket = ?", t.Bucket).
		Updates(map[string]any{"failures": t.Failures, "until": t.Until, "updated_at": now}))
}

// DropThrottle implements account.Tx.
func (tx *Tx) DropThrottle(bucket []byte) error {
	return tx.db.Where("bucket = ?", bucket).Delete(&throttleRow{}).Error
}
