package tenant

import (
	"context"
	"errors"
	"time"

	"agegate/internal/rules/credential"
	"agegate/internal/rules/fault"
)

// keyTTL is how long a replica may still accept a key after another replica has
// revoked it, ended it early or disabled its tenant.
const keyTTL = time.Second

var (
	errInvalidKey     = fault.New(fault.InvalidKey, "Invalid API key")
	errTenantDisabled = fault.New(fault.TenantDisabled, "Tenant disabled")
)

// Authenticate returns the caller behind an X-API-Key value. It returns fault.MalformedKey for a missing value or one
// without a known prefix, fault.InvalidKey for any other key that is not in force, and fault.TenantDisabled. For
// fault.TenantDisabled and for a key no longer in force it also returns the key's owner.
func (s *Service) Authenticate(ctx context.Context, key string) (Caller, error) {
	switch _, err := credential.ParseAPIKey(key); {
	case errors.Is(err, credential.ErrKeyPrefix):
		return Caller{}, fault.New(fault.MalformedKey, "Missing or malformed API key")
	case err != nil:
		return Caller{}, errInvalidKey
	}
	hash, now := credential.HashAPIKey(key), s.now()
	if cached, ok := s.keys.get(hash); ok && now.Before(cached.until) {
		return cached.Caller, nil
	}
	k, t, err := s.store.KeyByHash(ctx, hash)
	caller := Caller{TenantID: t.ID, Livemode: k.Livemode, KeyID: k.ID}
	switch {
	case fault.CodeOf(err) == fault.NotFound:
		return Caller{}, errInvalidKey
	case err != nil:
		return Caller{}, err
	case !k.InForceAt(now):
		return caller, errInvalidKey
	case t.Disabled:
		return caller, errTenantDisabled
	}
	if minute := now.Truncate(time.Minute); k.LastUsedAt == nil || k.LastUsedAt.Before(minute) {
		// A call does not fail if the time of last use cannot be stored.
		_ = s.store.TouchKey(ctx, k.ID, minute)
	}
	until := now.Add(keyTTL)
	if k.ExpiresAt != nil && k.ExpiresAt.Before(until) {
		until = *k.ExpiresAt
	}
	s.keys.put(hash, cachedCaller{caller, until})
	return caller, nil
}

// cachedCaller is the caller behind a valid key. It holds only the tenant's ID, so settings are always current.
type cachedCaller struct {
	Caller
	until time.Time
}
