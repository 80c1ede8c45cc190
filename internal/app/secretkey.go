package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"agegate/internal/config"
	"agegate/internal/credential"
	"agegate/internal/session"
	"agegate/internal/tenant"
)

// NewSealer returns the sealer of a configuration. While the secret key is
// changed, the new key seals and both open.
func NewSealer(cfg config.Config) (*credential.Sealer, error) {
	key, previous := cfg.SecretKey, [][]byte(nil)
	if cfg.NewSecretKey != nil {
		key, previous = cfg.NewSecretKey, [][]byte{cfg.SecretKey}
	}
	sealer, err := credential.NewSealer(key, rand.Reader, previous...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", config.SecretKeyName, err)
	}
	return sealer, nil
}

// CheckSecretKey makes sure that the service's key is the one that a database
// with tenants was set up with. Under another one, no redirect or webhook of
// theirs could be signed.
func CheckSecretKey(ctx context.Context, tenants *tenant.Service) error {
	if err := tenants.CheckSealing(ctx); err != nil {
		return fmt.Errorf("%s does not fit the database: %w", config.SecretKeyName, err)
	}
	return nil
}

// Resealed is what RotateSecretKey has done so far.
type Resealed struct {
	Secrets credential.Resealing `json:"signing_secrets"`
	Links   credential.Resealing `json:"verification_links"` // kept for repeated Idempotency-Keys
}

// RotateSecretKey seals everything that is sealed in the database under the
// first key of the sealer, which tenants must have too, and calls progress
// after each batch. When a signing secret in force opens under none of its
// keys, nothing is changed. A rotation that was stopped, in whatever way, is
// finished by another one.
func RotateSecretKey(ctx context.Context, tenants *tenant.Service, claims session.ClaimStore, sealer *credential.Sealer, now func() time.Time, progress func(Resealed)) error {
	switch err := tenants.CheckSealingOfAll(ctx); {
	case errors.Is(err, credential.ErrSealed):
		return fmt.Errorf("nothing was changed, because neither key fits the whole database: %w", err)
	case err != nil:
		return err
	}
	var done Resealed
	err := tenants.ResealSecrets(ctx, func(n credential.Resealing) {
		done.Secrets = n
		progress(done)
	})
	if err != nil {
		return err
	}
	return session.ResealLinks(ctx, claims, sealer, now, func(n credential.Resealing) {
		done.Links = n
		progress(done)
	})
}
