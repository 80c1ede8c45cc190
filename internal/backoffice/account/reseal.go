package account

import (
	"context"

	"agegate/internal/rules/credential"

	"github.com/google/uuid"
)

// resealBatch is how many secrets are sealed in one transaction.
const resealBatch = 100

// ResealTOTP seals the secrets of authenticator apps under the sealer's first
// key. It can be stopped and run again at any time. A secret that none of the
// keys opens is not changed: its user needs a recovery link.
func ResealTOTP(ctx context.Context, store Store, sealer *credential.Sealer) (credential.Resealing, error) {
	var done credential.Resealing
	for after := uuid.Nil; ; {
		users, err := store.SealedTOTP(ctx, after, resealBatch)
		if err != nil || len(users) == 0 {
			return done, err
		}
		for _, user := range users {
			after = user.ID
			if err := resealTOTP(ctx, store, sealer, user, &done); err != nil {
				return done, err
			}
		}
	}
}

func resealTOTP(
	ctx context.Context, store Store, sealer *credential.Sealer, user User, done *credential.Resealing,
) error {
	return done.Replace(sealer, user.TOTP, totpContext(user), func(next []byte) (replaced bool, err error) {
		err = store.UpdateAccounts(ctx, func(tx Tx) error {
			replaced, err = tx.ReplaceTOTP(user.ID, user.TOTP, next)
			return err
		})
		return replaced, err
	})
}

// ResealProviders is ResealTOTP for the client secrets of the tenants' providers.
func ResealProviders(ctx context.Context, store Store, sealer *credential.Sealer) (credential.Resealing, error) {
	var done credential.Resealing
	for after := uuid.Nil; ; {
		providers, err := store.Providers(ctx, after, resealBatch)
		if err != nil || len(providers) == 0 {
			return done, err
		}
		for _, p := range providers {
			after = p.TenantID
			if err := resealProvider(ctx, store, sealer, p, &done); err != nil {
				return done, err
			}
		}
	}
}

func resealProvider(
	ctx context.Context, store Store, sealer *credential.Sealer, p StoredProvider, done *credential.Resealing,
) error {
	return done.Replace(sealer, p.Sealed, providerContext(p.TenantID), func(next []byte) (replaced bool, err error) {
		err = store.UpdateAccounts(ctx, func(tx Tx) error {
			replaced, err = tx.ReplaceProviderSecret(p.TenantID, p.Sealed, next)
			return err
		})
		return replaced, err
	})
}
