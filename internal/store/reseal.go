package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"agegate/internal/rules/audit"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
)

var _ session.ClaimStore = (*Store)(nil)

// activeSecrets is the number of active secrets of a tenant: one per kind and
// mode.
const activeSecrets = 4

// OuterSecrets implements tenant.Store. It reads only the first and the last rows of
// the index of active secrets. The condition is a literal, because SQLite would not
// use a partial index otherwise.
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
	return view(ctx, s, func(tx *Tx) ([]tenant.Secret, error) {
		return find[tenant.Secret](tx.db.Table(secretTable).
			Where("(tenant_id, id) < (?, ?) AND (expires_at IS NULL OR expires_at > ?)", tenantID, id, now).
			Order("tenant_id DESC, id DESC").Limit(limit))
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
	return view(ctx, s, func(tx *Tx) ([]session.IdempotencyClaim, error) {
		return find[session.IdempotencyClaim](tx.db.
			Where("(tenant_id, livemode, key_hash) > (?, ?, ?) AND expires_at > ?", after.TenantID, after.Livemode,
				after.KeyHash, now).
			Order("tenant_id, livemode, key_hash").Limit(limit))
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
