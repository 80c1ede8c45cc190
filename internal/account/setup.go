package account

import (
	"context"

	"agegate/internal/credential"
	"agegate/internal/fault"

	"github.com/google/uuid"
)

// LinkPath is the path of every link, before its token.
const LinkPath = "/dashboard/link/"

var (
	// ErrOperatorExists refuses a setup link once there is an operator.
	ErrOperatorExists = fault.New(fault.Conflict, "there is an operator already")
	// ErrLinkGone is returned for a link that was used, has expired or never was.
	ErrLinkGone = fault.New(fault.Gone, "The link is no longer valid")
)

// NewSetupLink replaces the setup link and returns the address of the new one,
// which is valid for SetupTTL. The operator that it makes will own the tenant,
// unless that is nil. It returns ErrOperatorExists.
func (s *Service) NewSetupLink(ctx context.Context, owned *uuid.UUID) (string, error) {
	token, err := credential.NewLinkToken(s.random)
	if err != nil {
		return "", err
	}
	link := Link{
		Hash: credential.HashToken(token), Kind: LinkSetup, TenantID: owned,
		CreatedAt: s.now(), ExpiresAt: s.now().Add(SetupTTL),
	}
	err = s.store.UpdateAccounts(ctx, func(tx Tx) error {
		if exists, err := tx.OperatorExists(); err != nil || exists {
			return orExists(err)
		}
		return tx.PutSetupLink(link)
	})
	return s.url + LinkPath + token, err
}

func orExists(err error) error {
	if err != nil {
		return err
	}
	return ErrOperatorExists
}

// NeedsSetup reports whether there is no operator yet.
func (s *Service) NeedsSetup(ctx context.Context) (bool, error) {
	exists, err := s.store.OperatorExists(ctx)
	return !exists && err == nil, err
}

// Link returns the link of a token without using it up, or ErrLinkGone.
func (s *Service) Link(ctx context.Context, token string) (Link, error) {
	link, err := s.store.LinkByHash(ctx, credential.HashToken(token))
	if fault.CodeOf(err) == fault.NotFound || err == nil && !s.now().Before(link.ExpiresAt) {
		return Link{}, ErrLinkGone
	}
	return link, err
}

// Person is what somebody says of themselves when they become a user.
type Person struct {
	Name, Email, Password string
}

// SetUp uses a setup link to make the first operator and signs them in: it
// returns the token for a new cookie. Of several that use the link at the same
// time, one succeeds. It returns ErrLinkGone, or fault.Invalid with the fields
// name, email and password.
func (s *Service) SetUp(ctx context.Context, token string, p Person) (string, error) {
	link, err := s.Link(ctx, token)
	if err != nil {
		return "", err
	}
	if link.Kind != LinkSetup {
		return "", ErrLinkGone
	}
	user, err := s.newUser(ctx, p)
	if err != nil {
		return "", err
	}
	user.Operator = true
	login, cookie, err := s.newLogin(user.ID, ByPassword)
	if err != nil {
		return "", err
	}
	err = s.store.UpdateAccounts(ctx, func(tx Tx) error {
		taken, err := tx.TakeLink(LinkSetup, link.Hash, s.now())
		if err != nil {
			return goneOr(err)
		}
		// A link made while another was being used comes too late.
		if exists, err := tx.OperatorExists(); err != nil || exists {
			return goneOr(orExists(err))
		}
		if err := insertUser(tx, user); err != nil {
			return err
		}
		if taken.TenantID != nil {
			member := Membership{TenantID: *taken.TenantID, UserID: user.ID, Role: Owner, CreatedAt: s.now()}
			if err := tx.PutMembership(member); err != nil {
				return err
			}
		}
		return tx.InsertLogin(login)
	})
	return cookie, err
}

// goneOr turns the loss of a race for a link into ErrLinkGone.
func goneOr(err error) error {
	if code := fault.CodeOf(err); code == fault.NotFound || code == fault.Conflict {
		return ErrLinkGone
	}
	return err
}
