package tenant

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"agegate/internal/rules/audit"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/fault"

	"github.com/google/uuid"
)

// APIKey is the stored form of a key. The key itself is shown only once.
type APIKey struct {
	ID         uuid.UUID
	TenantID   uuid.UUID
	Livemode   bool
	Hash       credential.KeyHash `gorm:"serializer:hash"`
	LastFour   string
	CreatedAt  time.Time
	LastUsedAt *time.Time // accurate to the minute
	RevokedAt  *time.Time
	Name       string     // its purpose, as the owner describes it; may be empty
	CreatedBy  *uuid.UUID // the user who created it; nil for the command line
	Creator    string     `gorm:"-"` // the current name of CreatedBy; set only by Keys
	ExpiresAt  *time.Time // nil if it does not expire
}

// InForceAt reports whether the key is accepted at a time.
func (k APIKey) InForceAt(now time.Time) bool {
	return k.RevokedAt == nil && (k.ExpiresAt == nil || now.Before(*k.ExpiresAt))
}

// Hint returns the part of the key that may be shown: the prefix of its mode and its last four characters.
func (k APIKey) Hint() string {
	if k.Livemode {
		return credential.LiveKeyPrefix + "…" + k.LastFour
	}
	return credential.TestKeyPrefix + "…" + k.LastFour
}

// MaxKeyName is the maximum length of a key's name, in characters.
const MaxKeyName = 60

// Errors about keys. ErrKeyName concerns the field "name".
var (
	ErrKeyName    = errors.New("it has a control or an invisible character, or more than 60 characters")
	ErrKeyGrace   = fault.New(fault.Invalid, "grace must be 0, 1h, 24h or 72h")
	ErrKeyNotOpen = fault.New(fault.Conflict, "The key is revoked or has an end already")
)

// CreateKey creates another API key. Its name describes its purpose and may be empty. CreateKey returns the key in
// plain; it cannot be read later. It returns fault.NotFound for an unknown tenant, and fault.Invalid with ErrKeyName.
func (s *Service) CreateKey(
	ctx context.Context, actor audit.Actor, tenantID uuid.UUID, livemode bool, name string,
) (APIKey, string, error) {
	if name = strings.TrimSpace(name); !utf8.ValidString(name) ||
		utf8.RuneCountInString(name) > MaxKeyName || strings.ContainsFunc(name, IsHidden) {
		return APIKey{}, "", fault.InvalidFields(fault.FieldError{Field: "name", Err: ErrKeyName})
	}
	if _, err := s.store.TenantByID(ctx, tenantID); err != nil {
		return APIKey{}, "", err
	}
	key, plain, err := s.newKey(tenantID, livemode)
	if err != nil {
		return APIKey{}, "", err
	}
	key.Name, key.CreatedBy = name, userOf(actor)
	act := s.act(actor, audit.APIKeyCreate, tenantID, inMode(livemode))
	act.Target = key.ID.String()
	return key, plain, s.store.InsertKey(ctx, key, act)
}

// userOf returns the ID of an actor who is a user, or nil.
func userOf(actor audit.Actor) *uuid.UUID {
	if actor.Kind != audit.KindUser && actor.Kind != audit.KindOperator {
		return nil
	}
	id, err := uuid.Parse(actor.ID)
	if err != nil {
		return nil
	}
	return &id
}

// RollKey replaces a tenant's key by a new one of the same mode and name, and returns the new key in plain; it cannot
// be read later. The old key ends after grace, one of RotationOverlaps. It returns fault.NotFound for a missing key
// and for a key of another tenant, ErrKeyNotOpen and ErrKeyGrace.
func (s *Service) RollKey(
	ctx context.Context, actor audit.Actor, tenantID, keyID uuid.UUID, grace time.Duration,
) (APIKey, string, error) {
	if !slices.Contains(RotationOverlaps, grace) {
		return APIKey{}, "", ErrKeyGrace
	}
	old, err := s.store.KeyByID(ctx, keyID)
	if err != nil {
		return APIKey{}, "", err
	}
	key, plain, err := s.newKey(tenantID, old.Livemode)
	if err != nil {
		return APIKey{}, "", err
	}
	key.Name, key.CreatedBy = old.Name, userOf(actor)
	params := inMode(old.Livemode)
	params["grace"], params["new_key"] = grace.String(), key.ID.String()
	act := s.act(actor, audit.APIKeyRoll, tenantID, params)
	act.Target = keyID.String()
	return key, plain, s.store.ReplaceKey(ctx, tenantID, keyID, act.At.Add(grace), key, act)
}

// RevokeKey revokes a tenant's key permanently. It returns fault.NotFound for a
// missing key and for a key of another tenant.
func (s *Service) RevokeKey(ctx context.Context, actor audit.Actor, tenantID, keyID uuid.UUID) error {
	act := s.act(actor, audit.APIKeyRevoke, tenantID, nil)
	act.Target = keyID.String()
	return s.store.RevokeKey(ctx, tenantID, keyID, act.At, act)
}

// RevokeKeyAsOperator revokes a key of any tenant permanently. It is for the
// operator's command line only. It returns fault.NotFound.
func (s *Service) RevokeKeyAsOperator(ctx context.Context, actor audit.Actor, keyID uuid.UUID) error {
	key, err := s.store.KeyByID(ctx, keyID)
	if err != nil {
		return err
	}
	return s.RevokeKey(ctx, actor, key.TenantID, key.ID)
}

// Keys returns a tenant's keys, oldest first, including keys that are no longer in force.
func (s *Service) Keys(ctx context.Context, tenantID uuid.UUID) ([]APIKey, error) {
	return s.store.Keys(ctx, tenantID)
}

func (s *Service) newKey(tenantID uuid.UUID, livemode bool) (APIKey, string, error) {
	plain, err := credential.NewAPIKey(s.random, livemode)
	if err != nil {
		return APIKey{}, "", err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return APIKey{}, "", err
	}
	return APIKey{
		ID: id, TenantID: tenantID, Livemode: livemode,
		Hash: credential.HashAPIKey(plain), LastFour: plain[len(plain)-4:], CreatedAt: s.now(),
	}, plain, nil
}
