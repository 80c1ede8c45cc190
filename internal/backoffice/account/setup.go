package account

import (
	"context"
	"errors"

	"agegate/internal/rules/audit"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/fault"

	"github.com/google/uuid"
)

// ErrOperatorExists refuses a setup link once there is an operator.
var ErrOperatorExists = fault.New(fault.Conflict,
	"there is an operator already: user enable or recover lets one in again, user setup-link --another makes one more")

// NewSetupLink replaces the setup link and returns the address of the new one, which is valid for SetupTTL. The
// operator created with it will own the tenant, unless owned is nil. It returns ErrOperatorExists.
func (s *Service) NewSetupLink(ctx context.Context, owned *uuid.UUID) (string, error) {
	return s.newLink(ctx, Link{Kind: LinkSetup, TenantID: owned, ExpiresAt: s.now().Add(SetupTTL)},
		func(tx Tx, link Link, _ string) error {
			if exists, err := tx.OperatorExists(); err != nil || exists {
				return orElse(err, ErrOperatorExists)
			}
			return tx.PutSetupLink(link)
		})
}

// another is the Note of a setup link that works although there is an operator.
const another = "another"

// NewOperatorLink is NewSetupLink for another operator, with an entry in the instance's log.
func (s *Service) NewOperatorLink(ctx context.Context, actor audit.Actor, owned *uuid.UUID) (string, error) {
	link := Link{Kind: LinkSetup, TenantID: owned, Note: another, CreatedBy: makerOf(actor)}
	link.ExpiresAt = s.now().Add(SetupTTL)
	return s.newLink(ctx, link, func(tx Tx, link Link, _ string) error {
		_, refused := lockMaker(tx, link)
		if err := errors.Join(refused, tx.PutSetupLink(link)); err != nil {
			return err
		}
		return tx.AppendAudit(audit.Act{Scope: audit.Instance, At: s.now(), Actor: actor, Action: audit.UserSetupLink})
	})
}

// NeedsSetup reports whether there is no operator yet.
func (s *Service) NeedsSetup(ctx context.Context) (bool, error) {
	exists, err := s.store.OperatorExists(ctx)
	return !exists && err == nil, err
}

// SetUp uses a setup link to create the first or another operator and signs them in. If the link is used several
// times at once, one use succeeds. It returns ErrLinkGone, ErrPasskey, a *ThrottleError, or fault.Invalid with the
// fields name, email and password.
func (s *Service) SetUp(ctx context.Context, token string, p Person, b Browser) (Signed, error) {
	link, err := s.linkOf(ctx, token, LinkSetup)
	if err != nil {
		return Signed{}, err
	}
	user, err := s.newcomer(ctx, link, p)
	if err != nil {
		return Signed{}, err
	}
	if taken, err := s.known(ctx, user.Email); err != nil || taken.Email != "" {
		return Signed{}, orElse(err, errTaken)
	}
	if err := s.hash(ctx, &user, p.Password); err != nil {
		return Signed{}, err
	}
	user.Operator = true
	actor := audit.Operator(user.ID, user.Name)
	return s.signIn(ctx, user.ID, b, func(tx Tx) (proof, error) {
		taken, err := tx.TakeLink(LinkSetup, link.Hash, s.now())
		if err != nil {
			return proof{}, goneOr(err)
		}
		// A link created while another was being used is too late.
		if exists, err := tx.OperatorExists(); err != nil || exists && taken.Note != another {
			return proof{}, orElse(err, ErrLinkGone)
		}
		if err := user.insert(tx); err != nil {
			return proof{}, err
		}
		var acts []audit.Act
		if taken.TenantID != nil {
			member := Membership{TenantID: *taken.TenantID, UserID: user.ID, Role: Owner, CreatedAt: s.now()}
			acts, err = s.endLinks(tx, actor, ownerInvitations(member.TenantID), s.memberAct(actor, audit.MemberAdd, member))
			if err = errors.Join(err, tx.InsertMembership(member)); err != nil {
				return proof{}, err
			}
		}
		return proof{methods: []Method{p.method()}, acts: append(acts, s.userAct(actor, audit.UserCreate, user.ID))}, nil
	})
}

// userAct returns an entry about a user.
func (s *Service) userAct(actor audit.Actor, action audit.Action, userID uuid.UUID) audit.Act {
	return audit.Act{Scope: audit.Instance, At: s.now(), Actor: actor, Action: action, Target: userID.String()}
}

// userActs returns the entries of what an operator did with a user's account: the instance's, and one in the log of
// each of the user's tenants, whose owners would not see it otherwise.
func (s *Service) userActs(tx Tx, actor audit.Actor, action audit.Action, userID uuid.UUID) ([]audit.Act, error) {
	acts := []audit.Act{s.userAct(actor, action, userID)}
	of, err := tx.MembershipsOf(userID)
	for _, member := range of {
		acts = append(acts, s.memberAct(actor, action, member))
	}
	return acts, err
}

// memberAct returns an entry about a member, with their role at that time.
func (s *Service) memberAct(actor audit.Actor, action audit.Action, m Membership) audit.Act {
	return audit.Act{
		Scope: audit.OfTenant(m.TenantID), At: s.now(), Actor: actor, Action: action,
		Target: m.UserID.String(), Detail: audit.Detail{Params: map[string]string{"role": string(m.Role)}},
	}
}

// goneOr returns ErrLinkGone if another request has used the link first, and otherwise err.
func goneOr(err error) error {
	if fault.CodeOf(err) == fault.NotFound {
		return ErrLinkGone
	}
	return err
}

// SetUpOptions returns the options to make a passkey for a person who is not a user yet, or "" if the dashboard has
// no passkeys. They contain no name and address.
func (s *Service) SetUpOptions() (string, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return "", err
	}
	return s.createOptions(User{ID: id}, nil)
}

// newLink stores a link with put, which is given its address, and returns that.
func (s *Service) newLink(
	ctx context.Context, link Link, put func(tx Tx, link Link, address string) error,
) (string, error) {
	token, err := credential.NewLinkToken(s.random)
	if err != nil {
		return "", err
	}
	link.Hash, link.CreatedAt = credential.HashToken(token), s.now()
	address := s.url + LinkPath + token
	err = s.store.UpdateAccounts(ctx, func(tx Tx) error { return put(tx, link, address) })
	if s.outbox != nil && err == nil {
		s.outbox.Wake()
	}
	return address, err
}
