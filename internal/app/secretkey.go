package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"agegate/internal/app/config"
	"agegate/internal/backoffice/insight"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
	"agegate/internal/store"
)

// NewSealer returns the sealer of a configuration. During a change of the
// secret key, the new key seals and both keys open.
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

// CheckSecretKey checks that the service's key opens the secrets in the
// database. With a wrong key no redirect or webhook could be signed.
func CheckSecretKey(ctx context.Context, tenants *tenant.Service) error {
	if _, err := tenants.CheckSealing(ctx); err != nil {
		return fmt.Errorf("%s does not fit the database: %w; set the one with which it ran, as docs/operations/back-up.md "+
			"says, or let agegate doctor examine it", config.SecretKeyName, err)
	}
	return nil
}

// Resealed counts what RotateSecretKey has done so far.
type Resealed struct {
	Secrets credential.Resealing `json:"signing_secrets"`
	Links   credential.Resealing `json:"verification_links"` // kept for repeated Idempotency-Keys
	Apps    credential.Resealing `json:"authenticator_apps"` // of the dashboard's users
	Readers credential.Resealing `json:"verifier_keys"`      // that sign requests to wallets
	Mails   credential.Resealing `json:"mails"`              // that wait to be sent
	HTTPS   credential.Resealing `json:"certificate_keys"`   // with which https is served, and of the account
}

// RotateSecretKey seals every sealed value in the database under the sealer's first
// key, and calls progress after each batch. tenants must use the same sealer. If none
// of the sealer's keys opens a signing secret in force, or a running gateway does not have
// the first key, nothing is changed. A rotation that was stopped in any way can be completed by running it again.
func RotateSecretKey(
	ctx context.Context, actor audit.Actor, tenants *tenant.Service, db *store.Store, sealer *credential.Sealer,
	now func() time.Time, progress func(Resealed),
) error {
	switch err := tenants.CheckSealingOfAll(ctx); {
	case errors.Is(err, credential.ErrSealed):
		return fmt.Errorf("nothing was changed, because neither key fits the whole database: %w", err)
	case err != nil:
		return err
	}
	running, err := db.Replicas(ctx, now().Add(-insight.GoneAfter))
	if err != nil {
		return err
	}
	for _, r := range running {
		if r.Lacks(sealer.Names[0]) {
			return fmt.Errorf("nothing was changed, because the gateway started at %s does not have the new key: restart every "+
				"replica with both keys first; one that was killed counts as running for %s",
				r.StartedAt.UTC().Format(time.DateTime), insight.GoneAfter)
		}
	}
	var done Resealed
	err = tenants.ResealSecrets(ctx, actor, func(n credential.Resealing) {
		done.Secrets = n
		progress(done)
	})
	if err != nil {
		return err
	}
	for _, kind := range []struct {
		column store.SealedColumn
		done   *credential.Resealing
	}{
		{store.AuthenticatorSecrets, &done.Apps}, {store.VerifierKeys, &done.Readers},
		{store.WaitingMails, &done.Mails}, {store.CertificateKeys, &done.HTTPS},
	} {
		if *kind.done, err = db.Reseal(ctx, kind.column, sealer); err != nil {
			return err
		}
	}
	return session.ResealLinks(ctx, db, sealer, now, func(n credential.Resealing) {
		done.Links = n
		progress(done)
	})
}
