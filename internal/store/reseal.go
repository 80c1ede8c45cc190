package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"agegate/internal/backoffice/account"
	"agegate/internal/backoffice/certificate"
	"agegate/internal/backoffice/mail"
	"agegate/internal/check/document"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
)

var _ session.ClaimStore = (*Store)(nil)

// activeSecrets is the number of active secrets of a tenant: one per kind and mode.
const activeSecrets = 4

// OuterSecrets implements tenant.Store. It reads only the first and the last rows of the index of active
// secrets. The condition is a literal, because SQLite would not use a partial index otherwise.
func (s *Store) OuterSecrets(ctx context.Context) ([]tenant.Secret, error) {
	return view(ctx, s, func(tx *Tx) (secrets []tenant.Secret, err error) {
		for _, order := range []string{"tenant_id, livemode, kind", "tenant_id DESC, livemode DESC, kind DESC"} {
			rows, err := find[tenant.Secret](tx.db.Table(secretTable).Where("state = 'active'").
				Order(order).Limit(activeSecrets))
			if err != nil {
				return nil, err
			}
			secrets = append(secrets, rows...)
		}
		return secrets, nil
	})
}

// SecretsBefore implements tenant.Store.
func (s *Store) SecretsBefore(
	ctx context.Context, tenantID, id uuid.UUID, now time.Time, limit int,
) ([]tenant.Secret, error) {
	return viewAll[tenant.Secret](ctx, s, func(tx *Tx) *gorm.DB {
		return tx.db.Table(secretTable).
			Where("(tenant_id, id) < (?, ?) AND (expires_at IS NULL OR expires_at > ?)", tenantID, id, now).
			Order("tenant_id DESC, id DESC").Limit(limit)
	})
}

// ReplaceSealed implements tenant.Store.
func (s *Store) ReplaceSealed(ctx context.Context, secrets []tenant.ResealedSecret, act *audit.Act) (int, error) {
	return replaceEach(ctx, s, secrets, act, func(tx *Tx, r tenant.ResealedSecret) (bool, error) {
		return changed(tx.db.Table(secretTable).Where("id = ? AND sealed = ?", r.ID, r.Sealed).Update("sealed", r.Next))
	})
}

// ClaimsAfter implements session.ClaimStore.
func (s *Store) ClaimsAfter(
	ctx context.Context, after session.IdempotencyClaim, now time.Time, limit int,
) ([]session.IdempotencyClaim, error) {
	return viewAll[session.IdempotencyClaim](ctx, s, func(tx *Tx) *gorm.DB {
		return tx.db.
			Where("(tenant_id, livemode, key_hash) > (?, ?, ?) AND expires_at > ?", after.TenantID, after.Livemode,
				after.KeyHash, now).
			Order("tenant_id, livemode, key_hash").Limit(limit)
	})
}

// ReplaceSealedLinks implements session.ClaimStore.
func (s *Store) ReplaceSealedLinks(ctx context.Context, claims []session.ResealedClaim) (int, error) {
	return replaceEach(ctx, s, claims, nil, func(tx *Tx, r session.ResealedClaim) (bool, error) {
		return changed(tx.db.Model(&session.IdempotencyClaim{}).
			Where("tenant_id = ? AND livemode = ? AND key_hash = ? AND sealed_link = ?", r.TenantID, r.Livemode, r.KeyHash,
				r.SealedLink).
			Update("sealed_link", r.Next))
	})
}

// SealedColumn is a column whose values are sealed under the secret key. NULL is no value. The merchants'
// secrets and the claims are sealed too, but are resealed by their own services.
type SealedColumn struct {
	table, key, column string
	context            func(key string) string // what a value is sealed with
}

// The columns for Reseal.
var (
	AuthenticatorSecrets = SealedColumn{"users", "id", "totp_sealed", account.TOTPContext}
	VerifierKeys         = SealedColumn{"verifiers", "id", "sealed", document.VerifierContext}
	WaitingMails         = SealedColumn{"mails", "id", "sealed", mail.SealContext}
	CertificateKeys      = SealedColumn{"certificates", "name", "sealed", certificate.SealContext}
)

// Reseal seals every value of a column under the sealer's first key. It can be stopped
// and run again at any time. It does not change a value that no key of the sealer
// opens, or that another transaction has changed meanwhile.
func (s *Store) Reseal(
	ctx context.Context, c SealedColumn, sealer *credential.Sealer,
) (done credential.Resealing, err error) {
	type row struct {
		Name   string
		Sealed []byte
	}
	rows, err := view(ctx, s, func(tx *Tx) ([]row, error) {
		return find[row](tx.db.Table(c.table).Select(c.key + " AS name, " + c.column + " AS sealed").
			Where(c.column + " IS NOT NULL"))
	})
	for _, r := range rows {
		if err := done.Replace(sealer, r.Sealed, c.context(r.Name), func(next []byte) (bool, error) {
			return update(ctx, s, func(tx *Tx) (bool, error) {
				return changed(tx.db.Table(c.table).Where(c.key+" = ? AND "+c.column+" = ?", r.Name, r.Sealed).
					Update(c.column, next))
			})
		}); err != nil {
			return done, err
		}
	}
	return done, err
}

// replaceEach calls replace for each value in one transaction and returns how
// many reported a change. If one did, the act is written, unless it is nil.
func replaceEach[T any](
	ctx context.Context, s *Store, values []T, act *audit.Act, replace func(tx *Tx, value T) (bool, error),
) (int, error) {
	if len(values) == 0 {
		return 0, nil
	}
	return update(ctx, s, func(tx *Tx) (n int, err error) {
		for _, v := range values {
			ok, err := replace(tx, v)
			if err != nil {
				return 0, err
			}
			if ok {
				n++
			}
		}
		if n == 0 || act == nil {
			return n, nil
		}
		return n, tx.AppendAudit(*act)
	})
}
