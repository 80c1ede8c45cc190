package tenant

import (
	"context"
	"fmt"
	"slices"
	"time"

	"agegate/internal/rules/audit"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/fault"

	"github.com/google/uuid"
)

// RotationOverlaps are the allowed times during which an old webhook secret still signs together with the new one.
var RotationOverlaps = []time.Duration{0, time.Hour, 24 * time.Hour, 72 * time.Hour}

// RotateWebhookSecret creates a new webhook secret. The old secrets sign together with it for at most overlap, which
// must be one of RotationOverlaps. It returns the new secret in plain, or fault.NotFound or fault.Invalid.
func (s *Service) RotateWebhookSecret(
	ctx context.Context, actor audit.Actor, tenantID uuid.UUID, livemode bool, overlap time.Duration,
) (string, error) {
	if !slices.Contains(RotationOverlaps, overlap) {
		return "", fault.New(fault.Invalid, "overlap must be 0, 1h, 24h or 72h")
	}
	if _, err := s.store.TenantByID(ctx, tenantID); err != nil {
		return "", err
	}
	secret, plain, err := s.newSecret(tenantID, livemode, SecretWebhook)
	if err != nil {
		return "", err
	}
	params := inMode(livemode)
	params["overlap"] = overlap.String()
	act := s.act(actor, audit.WebhookSecretRotate, tenantID, params)
	if err := s.store.RotateSecret(ctx, secret, act.At.Add(overlap), act); err != nil {
		return "", err
	}
	return credential.FormatWebhookSecret(plain), nil
}

// RedirectRetirement is how long a replaced redirect secret is kept, so that a
// token signed before the rotation can be distinguished from a forgery.
const RedirectRetirement = 24 * time.Hour

// StageRedirectSecret creates the redirect secret that will sign after PromoteRedirectSecret. It returns it in plain,
// for the merchant to accept together with the current one, or fault.NotFound.
func (s *Service) StageRedirectSecret(
	ctx context.Context, actor audit.Actor, tenantID uuid.UUID, livemode bool,
) (string, error) {
	if _, err := s.store.TenantByID(ctx, tenantID); err != nil {
		return "", err
	}
	secret, plain, err := s.newSecret(tenantID, livemode, SecretRedirect)
	if err != nil {
		return "", err
	}
	secret.State = SecretStaged
	act := s.act(actor, audit.RedirectSecretStage, tenantID, inMode(livemode))
	if err := s.store.StageSecret(ctx, secret, act); err != nil {
		return "", err
	}
	return credential.FormatRedirectSecret(plain, livemode), nil
}

// PromoteRedirectSecret makes the staged redirect secret the one that signs. It
// returns fault.NotFound when none is staged.
func (s *Service) PromoteRedirectSecret(
	ctx context.Context, actor audit.Actor, tenantID uuid.UUID, livemode bool,
) error {
	act := s.act(actor, audit.RedirectSecretPromote, tenantID, inMode(livemode))
	return s.store.PromoteSecret(ctx, tenantID, livemode, SecretRedirect, act.At.Add(RedirectRetirement), act)
}

// RetireRedirectSecret deletes the replaced redirect secrets now, before
// RedirectRetirement is over. It returns fault.NotFound if none is retiring.
func (s *Service) RetireRedirectSecret(
	ctx context.Context, actor audit.Actor, tenantID uuid.UUID, livemode bool,
) error {
	act := s.act(actor, audit.RedirectSecretRetire, tenantID, inMode(livemode))
	return s.store.RetireSecrets(ctx, tenantID, livemode, SecretRedirect, act.At, act)
}

// Secrets returns a tenant's secrets of a mode and kind in force, newest first.
func (s *Service) Secrets(ctx context.Context, tenantID uuid.UUID, livemode bool, kind SecretKind) ([]Secret, error) {
	return s.store.Secrets(ctx, tenantID, livemode, kind, s.now())
}

// ShownSecret is a secret with its value in the form that the merchant receives.
type ShownSecret struct {
	Secret
	Plain string
}

// RevealSecrets returns the secrets that Secrets returns, with their values in plain.
// It writes an entry to the audit log.
func (s *Service) RevealSecrets(
	ctx context.Context, actor audit.Actor, tenantID uuid.UUID, livemode bool, kind SecretKind,
) ([]ShownSecret, error) {
	secrets, err := s.Secrets(ctx, tenantID, livemode, kind)
	if err != nil {
		return nil, err
	}
	shown := make([]ShownSecret, 0, len(secrets))
	for _, secret := range secrets {
		key, err := s.open(secret)
		if err != nil {
			return nil, err
		}
		plain := credential.FormatWebhookSecret(key)
		if kind == SecretRedirect {
			plain = credential.FormatRedirectSecret(key, livemode)
		}
		shown = append(shown, ShownSecret{secret, plain})
	}
	action := audit.WebhookSecretReveal
	if kind == SecretRedirect {
		action = audit.RedirectSecretReveal
	}
	return shown, s.store.AppendAct(ctx, s.act(actor, action, tenantID, inMode(livemode)))
}

// WebhookKeys returns the secrets that sign a tenant's webhooks now, newest
// first; several while a rotation is under way.
func (s *Service) WebhookKeys(ctx context.Context, tenantID uuid.UUID, livemode bool) ([][]byte, error) {
	secrets, err := s.store.Secrets(ctx, tenantID, livemode, SecretWebhook, s.now())
	if err != nil {
		return nil, err
	}
	keys := make([][]byte, 0, len(secrets))
	for _, secret := range secrets {
		key, err := s.open(secret)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// RedirectKey returns the secret that signs a tenant's redirect tokens.
func (s *Service) RedirectKey(ctx context.Context, tenantID uuid.UUID, livemode bool) ([]byte, error) {
	secrets, err := s.store.Secrets(ctx, tenantID, livemode, SecretRedirect, s.now())
	if err != nil {
		return nil, err
	}
	for _, secret := range secrets {
		if secret.State == SecretActive {
			return s.open(secret)
		}
	}
	return nil, fmt.Errorf("tenant %s has no active redirect secret", tenantID)
}

func (s *Service) newSecret(tenantID uuid.UUID, livemode bool, kind SecretKind) (Secret, []byte, error) {
	plain, err := credential.NewSecret(s.random)
	if err != nil {
		return Secret{}, nil, err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return Secret{}, nil, err
	}
	secret := Secret{
		ID: id, TenantID: tenantID, Livemode: livemode,
		Kind: kind, State: SecretActive, CreatedAt: s.now(),
	}
	secret.Sealed, err = s.sealer.Seal(plain, secret.sealContext())
	return secret, plain, err
}

func (s *Service) open(secret Secret) ([]byte, error) {
	return s.sealer.Open(secret.Sealed, secret.sealContext())
}

// sealContext binds a sealed secret to its row.
func (s Secret) sealContext() string {
	return fmt.Sprintf("%s|%s|%t|%s", s.ID, s.TenantID, s.Livemode, s.Kind)
}
