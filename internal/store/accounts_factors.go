package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"agegate/internal/rules/account"
	"agegate/internal/rules/fault"
)

// one returns fault.NotFound if a statement changed no row.
func one(result *gorm.DB) error {
	if result.Error == nil && result.RowsAffected == 0 {
		return fault.New(fault.NotFound, "Not found")
	}
	return result.Error
}

// UserByID implements account.Store.
func (s *Store) UserByID(ctx context.Context, id uuid.UUID) (account.User, error) {
	return view(ctx, s, func(tx *Tx) (account.User, error) {
		var row userRow
		err := tx.db.Take(&row, "id = ?", id).Error
		return toUser(row), err
	})
}

// Users implements account.Store. IDs are in order of creation.
func (s *Store) Users(ctx context.Context, after uuid.UUID, limit int) ([]account.User, error) {
	return view(ctx, s, func(tx *Tx) ([]account.User, error) {
		var rows []userRow
		err := tx.db.Where("id > ?", after).Order("id").Limit(limit).Find(&rows).Error
		return mapAll(rows, toUser), err
	})
}

// SealedTOTP implements account.Store.
func (s *Store) SealedTOTP(ctx context.Context, after uuid.UUID, limit int) ([]account.User, error) {
	return view(ctx, s, func(tx *Tx) ([]account.User, error) {
		var rows []userRow
		err := tx.db.Where("id > ? AND totp_sealed IS NOT NULL", after).Order("id").Limit(limit).Find(&rows).Error
		return mapAll(rows, toUser), err
	})
}

func (tx *Tx) user(id uuid.UUID) *gorm.DB { return tx.db.Model(&userRow{}).Where("id = ?", id) }

// SetPassword implements account.Tx.
func (tx *Tx) SetPassword(userID uuid.UUID, phc string) error {
	var value *string
	if phc != "" {
		value = &phc
	}
	return one(tx.user(userID).Update("password_phc", value))
}

// SetLocale implements account.Tx.
func (tx *Tx) SetLocale(userID uuid.UUID, locale string) error {
	return one(tx.user(userID).Update("locale", locale))
}

// SetDisabled implements account.Tx.
func (tx *Tx) SetDisabled(userID uuid.UUID, when *time.Time) (bool, error) {
	return changed(tx.user(userID).Where("(disabled_at IS NULL) = ?", when != nil).Update("disabled_at", atOrNil(when)))
}

// SetTOTP implements account.Tx.
func (tx *Tx) SetTOTP(userID uuid.UUID, sealed []byte, step int64) error {
	return one(tx.user(userID).Updates(map[string]any{"totp_sealed": sealed, "totp_step": step}))
}

// ReplaceTOTP implements account.Tx.
func (tx *Tx) ReplaceTOTP(userID uuid.UUID, old, sealed []byte) (bool, error) {
	return changed(tx.user(userID).Where("totp_sealed = ?", old).Update("totp_sealed", sealed))
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
	return changed(tx.db.Model(&codeRow{}).Where("user_id = ? AND hash = ? AND used_at IS NULL", userID, hash).Update("used_at", at(now)))
}

// LockUser implements account.Tx.
func (tx *Tx) LockUser(id uuid.UUID) (account.User, error) {
	var row userRow
	err := tx.forUpdate().Take(&row, "id = ?", id).Error
	return toUser(row), err
}

// Passkeys implements account.Tx.
func (tx *Tx) Passkeys(userID uuid.UUID) ([]account.Passkey, error) {
	var rows []passkeyRow
	err := tx.db.Where("user_id = ?", userID).Order("id").Find(&rows).Error
	return mapAll(rows, toPasskey), err
}

// Passkeys implements account.Store.
func (s *Store) Passkeys(ctx context.Context, userID uuid.UUID) ([]account.Passkey, error) {
	return view(ctx, s, func(tx *Tx) ([]account.Passkey, error) { return tx.Passkeys(userID) })
}

// PasskeyByCredential implements account.Store.
func (s *Store) PasskeyByCredential(ctx context.Context, credentialID []byte) (account.Passkey, error) {
	return view(ctx, s, func(tx *Tx) (account.Passkey, error) {
		var row passkeyRow
		err := tx.db.Take(&row, "credential_id = ?", credentialID).Error
		return toPasskey(row), err
	})
}

// InsertPasskey implements account.Tx.
func (tx *Tx) InsertPasskey(k account.Passkey) error {
	row := fromPasskey(k)
	return tx.db.Create(&row).Error
}

// UsePasskey implements account.Tx.
func (tx *Tx) UsePasskey(k account.Passkey, now time.Time) (bool, error) {
	row := fromPasskey(k)
	return changed(tx.db.Model(&passkeyRow{}).Where("id = ? AND (sign_count < ? OR sign_count = 0)", row.ID, row.SignCount).
		Updates(map[string]any{"sign_count": row.SignCount, "flags": row.Flags, "last_used_at": at(now)}))
}

// DeletePasskey implements account.Tx.
func (tx *Tx) DeletePasskey(userID, id uuid.UUID) error {
	return one(tx.db.Where("user_id = ? AND id = ?", userID, id).Delete(&passkeyRow{}))
}

// DeletePasskeys implements account.Tx.
func (tx *Tx) DeletePasskeys(userID uuid.UUID) error {
	return tx.db.Where("user_id = ?", userID).Delete(&passkeyRow{}).Error
}

// LoginsOf implements account.Store.
func (s *Store) LoginsOf(ctx context.Context, userID uuid.UUID, now time.Time) ([]account.Login, error) {
	return view(ctx, s, func(tx *Tx) ([]account.Login, error) {
		var rows []loginRow
		err := tx.db.Where("user_id = ? AND ends_at > ? AND seen_at > ?", userID, at(now), at(now.Add(-account.LoginIdle))).
			Order("created_at DESC, hash").Find(&rows).Error
		return mapAll(rows, toLogin), err
	})
}

// RenewLogin implements account.Tx.
func (tx *Tx) RenewLogin(hash []byte, l account.Login, now time.Time) error {
	row := fromLogin(l)
	return one(tx.db.Model(&loginRow{}).Where("hash = ? AND ends_at > ?", hash, at(now)).
		Updates(map[string]any{"hash": row.Hash, "methods": row.Methods, "stepped_up_until": row.SteppedUpUntil}))
}

// EndLogins implements account.Tx.
func (tx *Tx) EndLogins(userID uuid.UUID, except []byte, now time.Time) (int, error) {
	query := tx.db.Model(&loginRow{}).Where("user_id = ? AND ends_at > ?", userID, at(now))
	if except != nil {
		query = query.Where("hash <> ?", except)
	}
	result := query.Update("ends_at", at(now))
	return int(result.RowsAffected), result.Error
}

// EndLoginSince implements account.Tx.
func (tx *Tx) EndLoginSince(userID uuid.UUID, since, now time.Time) (int, error) {
	result := tx.db.Model(&loginRow{}).Where("user_id = ? AND created_at = ? AND ends_at > ?", userID, at(since), at(now)).
		Update("ends_at", at(now))
	return int(result.RowsAffected), result.Error
}

// LockThrottle implements account.Tx, by one statement: between an insertion and
// a query, another transaction could drop the row.
func (tx *Tx) LockThrottle(bucket []byte, now time.Time) (account.Throttle, error) {
	row := throttleRow{Bucket: bucket, Until: at(now), UpdatedAt: at(now)}
	err := tx.db.Clauses(clause.Returning{}, clause.OnConflict{
		Columns: []clause.Column{{Name: "bucket"}}, DoUpdates: clause.AssignmentColumns([]string{"updated_at"}),
	}).Create(&row).Error
	return account.Throttle{Bucket: row.Bucket, Failures: row.Failures, Until: at(row.Until)}, err
}

// PutThrottle implements account.Tx.
func (tx *Tx) PutThrottle(t account.Throttle, now time.Time) error {
	return one(tx.db.Model(&throttleRow{}).Where("bucket = ?", t.Bucket).
		Updates(map[string]any{"failures": t.Failures, "until": at(t.Until), "updated_at": at(now)}))
}

// DropThrottle implements account.Tx.
func (tx *Tx) DropThrottle(bucket []byte) error {
	return tx.db.Where("bucket = ?", bucket).Delete(&throttleRow{}).Error
}
