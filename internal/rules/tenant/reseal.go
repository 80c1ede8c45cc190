package tenant

import (
	"context"
	"fmt"

	"agegate/internal/rules/audit"
	"agegate/internal/rules/credential"

	"github.com/google/uuid"
)

// ResealedSecret is a secret with its value sealed under another key.
type ResealedSecret struct {
	Secret
	Next []byte
}

// resealBatch is the maximum number of rows that one transaction changes. It is
// small, so that other transactions do not wait long for the locks.
const resealBatch = 100

// CheckSealing returns the names of the keys that open the secrets of the oldest and the newest tenant, or
// credential.ErrSealed if none does. ResealSecrets starts at the newest tenant and ends at the oldest, so during a
// change of key neither key alone passes this check.
func (s *Service) CheckSealing(ctx context.Context) (keys []string, err error) {
	return s.openAll(s.store.OuterSecrets(ctx))
}

// CheckSealingOfAll checks that every secret in force opens. It returns
// credential.ErrSealed, with the tenant's ID, for the first that does not.
func (s *Service) CheckSealingOfAll(ctx context.Context) error {
	return s.eachBatch(ctx, func(batch []Secret) error {
		_, err := s.openAll(batch, nil)
		return err
	})
}

func (s *Service) openAll(secrets []Secret, err error) (keys []string, _ error) {
	for _, secret := range secrets {
		key, err := s.sealer.KeyOf(secret.Sealed, secret.sealContext())
		if err != nil {
			return nil, fmt.Errorf("%s secret of tenant %s: %w", secret.Kind, secret.TenantID, err)
		}
		keys = append(keys, key)
	}
	return keys, err
}

// ResealSecrets seals every secret in force under the sealer's first key, from the newest tenant to the oldest, and
// calls progress after each batch. A stopped run can be repeated. It returns credential.ErrSealed for a secret that
// opens under no key of the sealer. The entry of the instance's audit log is written with the first secret that
// changes.
func (s *Service) ResealSecrets(ctx context.Context, actor audit.Actor, progress func(credential.Resealing)) error {
	act := &audit.Act{Scope: audit.Instance, At: s.now(), Actor: actor, Action: audit.SecretKeyRotate}
	var total credential.Resealing
	return s.eachBatch(ctx, func(batch []Secret) error {
		var changes []ResealedSecret
		for _, secret := range batch {
			next, err := s.sealer.Reseal(secret.Sealed, secret.sealContext())
			if err != nil {
				return fmt.Errorf("%s secret of tenant %s: %w", secret.Kind, secret.TenantID, err)
			}
			if next != nil {
				changes = append(changes, ResealedSecret{secret, next})
			}
		}
		n, err := s.store.ReplaceSealed(ctx, changes, act)
		if err != nil {
			return err
		}
		if n > 0 {
			act = nil
		}
		total.Resealed += n
		total.Already += len(batch) - len(changes)
		progress(total)
		return nil
	})
}

// eachBatch calls fn with all secrets in force, batch by batch.
func (s *Service) eachBatch(ctx context.Context, fn func([]Secret) error) error {
	last := Secret{TenantID: uuid.Max, ID: uuid.Max}
	for {
		batch, err := s.store.SecretsBefore(ctx, last.TenantID, last.ID, s.now(), resealBatch)
		if err != nil || len(batch) == 0 {
			return err
		}
		if err := fn(batch); err != nil {
			return err
		}
		last = batch[len(batch)-1]
	}
}
