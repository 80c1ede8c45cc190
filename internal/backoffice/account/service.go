package account

import (
	"cmp"
	"context"
	"io"
	"time"

	"agegate/internal/backoffice/mail"
	"agegate/internal/rules/credential"
)

// tokenLen is the length of every token: 32 random bytes in base64url.
const tokenLen = 43

// Config holds what a Service needs.
type Config struct {
	Store Store
	// URL is the dashboard's public address, without a trailing slash. Links begin with it.
	URL string
	// Sealer seals browsers' cookies and the secrets of authenticator apps. It may be nil if nobody signs in.
	Sealer *credential.Sealer
	// Passkeys is nil if browsers cannot make passkeys for the dashboard; see package passkey.
	Passkeys PasskeyVerifier
	// Outbox makes mails with links. It is nil if no mail is sent; people then pass on the links themselves.
	Outbox *mail.Outbox
	// OpenID is nil if there is no Instance.
	OpenID OpenID
	// Instance is the instance's provider; without an issuer, there is none.
	Instance Provider
	// PasswordMemory is how much memory hashing a password takes, in KiB. Only tests
	// set it; 0 means the recommended 19 MiB.
	PasswordMemory uint32
	Random         io.Reader // cryptographically secure
	Now            func() time.Time
}

// Service manages users and their log-ins.
type Service struct {
	Directory
	store    Store
	url      string
	sealer   *credential.Sealer
	passkeys PasskeyVerifier
	outbox   *mail.Outbox
	openID   OpenID
	instance Provider
	random   io.Reader
	now      func() time.Time
	hasher   hasher
}

// NewService returns a service.
func NewService(cfg Config) *Service {
	return &Service{
		Directory: cfg.Store, store: cfg.Store, url: cfg.URL, sealer: cfg.Sealer, passkeys: cfg.Passkeys, outbox: cfg.Outbox,
		openID: cfg.OpenID, instance: cfg.Instance, random: cfg.Random, now: cfg.Now,
		hasher: newHasher(cfg.Random, cmp.Or(cfg.PasswordMemory, argonMemory)),
	}
}

// SendsMail reports whether links are sent by mail, too.
func (s *Service) SendsMail() bool { return s != nil && s.outbox != nil }

// formTTL is how long a sent form is remembered.
const formTTL = 24 * time.Hour

// ClaimForm records the nonce of a form that is being sent and reports whether it
// is new. The same nonce in different log-ins counts as different.
func (s *Service) ClaimForm(ctx context.Context, who Identity, nonce string) (first bool, err error) {
	hash := credential.HashToken(string(who.login.Hash) + nonce)
	err = s.store.UpdateAccounts(ctx, func(tx Tx) (err error) {
		first, err = tx.ClaimFlow(hash, "form", s.now().Add(formTTL))
		return err
	})
	return first, err
}

// UserByEmail returns the user with a log-in name, or fault.NotFound.
func (s *Service) UserByEmail(ctx context.Context, email string) (User, error) {
	return s.store.UserByEmail(ctx, normalEmail(email))
}

// MaxPage is the longest list of users returned at once.
const MaxPage = 100
