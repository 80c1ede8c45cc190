package account

import (
	"context"
	"io"
	"time"

	"agegate/internal/credential"

	"github.com/google/uuid"
)

// tokenLen is the length of every token: 32 random bytes in base64url.
const tokenLen = 43

// Service manages users and their log-ins.
type Service struct {
	store  Store
	url    string // the dashboard's public address, without a trailing slash
	random io.Reader
	now    func() time.Time
	hasher hasher
}

// NewService returns a service over a store. dashboardURL is the public address
// that links begin with; random must be cryptographically secure.
func NewService(store Store, dashboardURL string, random io.Reader, now func() time.Time) *Service {
	return &Service{store: store, url: dashboardURL, random: random, now: now, hasher: newHasher(random)}
}

// Memberships returns a user's memberships, oldest first.
func (s *Service) Memberships(ctx context.Context, who Identity) ([]Membership, error) {
	return s.store.MembershipsOf(ctx, who.user.ID)
}

// formTTL is how long a form that was sent is remembered.
const formTTL = 24 * time.Hour

// ClaimForm takes the nonce of a form that is being sent and reports whether
// this is the first time. Nonces of different log-ins never meet.
func (s *Service) ClaimForm(ctx context.Context, who Identity, nonce string) (first bool, err error) {
	hash := credential.HashToken(string(who.login.Hash) + nonce)
	err = s.store.UpdateAccounts(ctx, func(tx Tx) (err error) {
		first, err = tx.ClaimFlow(hash, "form", s.now().Add(formTTL))
		return err
	})
	return first, err
}

// newLogin returns a log-in that begins now, and its cookie's token.
func (s *Service) newLogin(user uuid.UUID, methods ...Method) (Login, string, error) {
	token, err := credential.NewLinkToken(s.random)
	if err != nil {
		return Login{}, "", err
	}
	now := s.now()
	return Login{
		Hash: credential.HashToken(token), UserID: user, Methods: methods,
		CreatedAt: now, SeenAt: now, EndsAt: now.Add(LoginTTL),
	}, token, nil
}
