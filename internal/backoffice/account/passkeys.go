package account

import (
	"context"
	"encoding/json"
	"time"

	"agegate/internal/rules/fault"

	"github.com/google/uuid"
)

// PasskeyVerifier makes the options of the two ceremonies of Web Authentication and checks the authenticators'
// responses. Options and responses are JSON, in the forms of the specification's sections 5.1.8 to 5.1.10. It returns
// ErrPasskey for a response that fails a check.
type PasskeyVerifier interface {
	// CreateOptions asks for a new discoverable passkey with user verification. It excludes those that the user has.
	CreateOptions(challenge []byte, user User, have []Passkey) (string, error)
	// Created checks the response to CreateOptions and returns the new passkey without ID, name and times.
	Created(challenge []byte, userID uuid.UUID, response string) (Passkey, error)
	// GetOptions asks for the use of one of the allowed passkeys, or of any, with user verification.
	GetOptions(challenge []byte, allowed []Passkey) (string, error)
	// Got checks the response to GetOptions by a passkey and returns it with the counter and flags after the use.
	Got(challenge []byte, key Passkey, response string) (Passkey, error)
}

// ErrPasskey refuses a passkey: it is unknown, it failed a check, or its challenge is too old or was used before.
var ErrPasskey = fault.New(fault.InvalidKey, "The passkey did not work")

// Passkeyed reports whether browsers make passkeys for the dashboard's address.
func (s *Service) Passkeyed() bool { return s.passkeys != nil }

// LogInOptions returns the options for LogInByPasskey, or "" if the dashboard has no passkeys.
func (s *Service) LogInOptions() (string, error) {
	return s.getOptions(forLoggingIn, uuid.Nil, nil)
}

// StepUpOptions returns the options for StepUpByPasskey, or "" for a user without passkeys.
func (s *Service) StepUpOptions(ctx context.Context, who Identity) (string, error) {
	keys, err := s.store.Passkeys(ctx, who.user.ID)
	if err != nil || len(keys) == 0 {
		return "", err
	}
	return s.getOptions(forStepUp, who.user.ID, keys)
}

func (s *Service) getOptions(p purpose, userID uuid.UUID, allowed []Passkey) (string, error) {
	if s.passkeys == nil {
		return "", nil
	}
	challenge, err := s.seal(p, userID, ceremonyTTL, nil)
	if err != nil {
		return "", err
	}
	return s.passkeys.GetOptions(challenge, allowed)
}

// createOptions returns the options to make a passkey for a user, who need not be
// stored yet, or "" if the dashboard has no passkeys.
func (s *Service) createOptions(user User, have []Passkey) (string, error) {
	if s.passkeys == nil {
		return "", nil
	}
	challenge, err := s.seal(forCreating, user.ID, ceremonyTTL, nil)
	if err != nil {
		return "", err
	}
	return s.passkeys.CreateOptions(challenge, user, have)
}

// usedPasskey is a passkey and what must be written about its use.
type usedPasskey struct {
	key       Passkey
	ticket    ticket
	challenge []byte
	bucket    []byte // of failures; set for a passkey used to sign in
}

// use stores the counter after a use, and marks the challenge as used. It returns
// ErrPasskey if the stored counter has increased in the meantime.
func (u usedPasskey) use(tx Tx, now time.Time) error {
	if ok, err := tx.UsePasskey(u.key, now); err != nil || !ok {
		return orElse(err, ErrPasskey)
	}
	return tx.DropThrottle(u.bucket)
}

// checkPasskey checks a response to getOptions. It marks the challenge as used before
// it computes anything with the passkey's public key. It returns ErrPasskey or a
// *ThrottleError.
func (s *Service) checkPasskey(
	ctx context.Context, p purpose, userID uuid.UUID, response string, b Browser,
) (usedPasskey, error) {
	challenge, credentialID := claimed(response)
	t, ok := s.open(p, challenge)
	if s.passkeys == nil || !ok || t.userID != userID {
		return usedPasskey{}, ErrPasskey
	}
	key, err := s.store.PasskeyByCredential(ctx, credentialID)
	if fault.CodeOf(err) == fault.NotFound || err == nil && userID != uuid.Nil && key.UserID != userID {
		return usedPasskey{}, ErrPasskey
	}
	if err != nil {
		return usedPasskey{}, err
	}
	used := usedPasskey{key: key, ticket: t, challenge: challenge}
	if used.bucket, err = s.attemptPasskey(ctx, used, b); err != nil {
		return usedPasskey{}, err
	}
	used.key, err = s.passkeys.Got(challenge, key, response)
	return used, err
}

// checkNewPasskey checks a response to createOptions. The new passkey belongs to the
// user for whom the challenge was made.
func (s *Service) checkNewPasskey(response, name string) (usedPasskey, error) {
	challenge, _ := claimed(response)
	t, ok := s.open(forCreating, challenge)
	if s.passkeys == nil || !ok {
		return usedPasskey{}, ErrPasskey
	}
	key, err := s.passkeys.Created(challenge, t.userID, response)
	if err != nil {
		return usedPasskey{}, err
	}
	if key.ID, err = uuid.NewV7(); err != nil {
		return usedPasskey{}, err
	}
	key.Name, key.CreatedAt = name, s.now()
	return usedPasskey{key: key, ticket: t, challenge: challenge}, nil
}

// insert marks the challenge as used and stores the passkey.
func (u usedPasskey) insert(tx Tx) error {
	if first, err := u.ticket.use(tx, u.challenge); err != nil || !first {
		return orElse(err, ErrPasskey)
	}
	err := tx.InsertPasskey(u.key)
	if fault.CodeOf(err) == fault.Conflict {
		return ErrPasskey
	}
	return err
}

// claimed returns the challenge and the credential that a response names. Neither is verified yet.
func claimed(response string) (challenge, credentialID []byte) {
	var r struct {
		RawID    string `json:"rawId"`
		Response struct {
			ClientDataJSON string `json:"clientDataJSON"`
		} `json:"response"`
	}
	if json.Unmarshal([]byte(response), &r) != nil {
		return nil, nil
	}
	var client struct {
		Challenge string `json:"challenge"`
	}
	if json.Unmarshal(decode(r.Response.ClientDataJSON), &client) != nil {
		return nil, nil
	}
	return decode(client.Challenge), decode(r.RawID)
}
