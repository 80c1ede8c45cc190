package account

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"time"

	"agegate/internal/backoffice/mail"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/fault"

	"github.com/google/uuid"
)

// LinkPath is the part of every link's path before the token.
const LinkPath = "/dashboard/link/"

var (
	// ErrLinkGone is returned for a link that was used, has expired or does not exist.
	ErrLinkGone = fault.New(fault.Gone, "The link is no longer valid")
	// ErrMember is returned when a member accepts an invitation to the same tenant.
	ErrMember = fault.New(fault.Conflict, "You are a member already")
	// ErrInvitedRole is the rule that a member becomes an owner only by promotion.
	ErrInvitedRole = errors.New("must be developer, support, compliance or viewer")
	// ErrOwnerExists refuses to invite an owner to a tenant that has one.
	ErrOwnerExists = fault.New(fault.Conflict, "the tenant has an owner already, who can invite others in the dashboard "+
		"under Team: agegate user recover or user enable lets one in again, and agegate user list names them all")
)

// Link returns the link of a token without using it up, or ErrLinkGone.
func (s *Service) Link(ctx context.Context, token string) (Link, error) {
	link, err := s.store.LinkByHash(ctx, credential.HashToken(token))
	if fault.CodeOf(err) == fault.NotFound || err == nil && !s.now().Before(link.ExpiresAt) {
		return Link{}, ErrLinkGone
	}
	return link, err
}

// linkOf is Link for a link of one kind.
func (s *Service) linkOf(ctx context.Context, token string, kind LinkKind) (Link, error) {
	link, err := s.Link(ctx, token)
	if err == nil && link.Kind != kind {
		return Link{}, ErrLinkGone
	}
	return link, err
}

// makerOf returns the acting user's ID, or nil for the server or a command.
func makerOf(actor audit.Actor) *uuid.UUID {
	id, err := uuid.Parse(actor.ID)
	if err != nil {
		return nil
	}
	return &id
}

// lockMaker returns the user who makes a link, or uuid.Nil for the server or a command. It returns ErrSignedOut if the
// user was disabled in the meantime. Disabling ends all links of a user, so the user must not make one after that.
func lockMaker(tx Tx, link Link) (uuid.UUID, error) {
	if link.CreatedBy == nil {
		return uuid.Nil, nil
	}
	user, err := tx.LockUser(*link.CreatedBy)
	if err == nil && user.DisabledAt != nil {
		err = ErrSignedOut
	}
	return user.ID, err
}

// ID identifies a link in lists and in the log. It does not open the link.
func (l Link) ID() string { return hex.EncodeToString(l.Hash[:len(l.Hash)/2]) }

// Invitation is what the maker of an invitation says of the new member.
type Invitation struct {
	Role   Role
	Note   string // see Link; empty: the address
	Email  string // where the link is sent as well, in the name of its maker and the tenant; may be empty
	Tenant string // its name, for the mail
	Locale string // of the mail
}

// Invite creates an invitation to the tenant and returns its address. It returns
// fault.Invalid with the fields role, note and email, and mail.ErrTooMany.
func (s *Service) Invite(ctx context.Context, access Access, v Invitation) (string, error) {
	var broken []fault.FieldError
	if v.Role == Owner || !v.Role.May(BeMember) {
		broken = append(broken, fault.FieldError{Field: "role", Err: ErrInvitedRole})
	}
	if v.Note != "" && !Visible(v.Note, MaxName) {
		broken = append(broken, fault.FieldError{Field: "note", Err: ErrName})
	}
	return s.invite(ctx, access.Actor(), access.tenantID, v, broken, func(tx Tx, by uuid.UUID) ([]audit.Act, error) {
		member, err := tx.Membership(access.tenantID, by)
		if err == nil && !member.Role.May(Own) {
			err = ErrNoSuchTenant
		}
		return nil, err
	})
}

// ownerInvitations selects the open invitations of a tenant's owners, for Tx.DeleteLinks.
func ownerInvitations(id uuid.UUID) Link {
	return Link{Kind: LinkInvitation, TenantID: &id, Role: Owner}
}

// invitationsBy selects the open invitations that a member made, for Tx.DeleteLinks.
func invitationsBy(m Membership) Link {
	return Link{Kind: LinkInvitation, TenantID: &m.TenantID, CreatedBy: &m.UserID}
}

// InviteOwner creates the invitation for a tenant's first owner, which replaces any earlier one, and returns
// its address. It returns ErrOwnerExists, fault.Invalid with the field email, and mail.ErrTooMany.
func (s *Service) InviteOwner(
	ctx context.Context, actor audit.Actor, tenantID uuid.UUID, v Invitation,
) (string, error) {
	v.Role = Owner
	return s.invite(ctx, actor, tenantID, v, nil, func(tx Tx, _ uuid.UUID) ([]audit.Act, error) {
		if err := ownerless(tx, tenantID, ErrOwnerExists); err != nil {
			return nil, err
		}
		return s.endLinks(tx, actor, ownerInvitations(tenantID))
	})
}

// endLinks deletes the links that have the fields that are set in a link. It returns acts and the entries of those
// that were invitations and still worked.
func (s *Service) endLinks(tx Tx, actor audit.Actor, of Link, acts ...audit.Act) ([]audit.Act, error) {
	ended, err := tx.DeleteLinks(of)
	for _, link := range ended {
		if link.Kind == LinkInvitation && link.ExpiresAt.After(s.now()) {
			acts = append(acts, s.invitationAct(actor, audit.InvitationRevoke, link))
		}
	}
	return acts, err
}

// ownerless returns exists if the tenant has an owner. No other transaction can add an owner until this one ends.
func ownerless(tx Tx, tenantID uuid.UUID, exists error) error {
	if err := tx.LockOwners(tenantID); err != nil {
		return err
	}
	if found, err := tx.OwnerExists(tenantID); err != nil || found {
		return orElse(err, exists)
	}
	return nil
}

// takeInvitation uses up an invitation. An invitation for a first owner is no
// longer valid once the tenant has an owner.
func (s *Service) takeInvitation(tx Tx, link Link) (Link, error) {
	if link.Role == Owner {
		if err := ownerless(tx, *link.TenantID, ErrLinkGone); err != nil {
			return Link{}, err
		}
	}
	taken, err := tx.TakeLink(LinkInvitation, link.Hash, s.now())
	return taken, goneOr(err)
}

// invite creates an invitation, unless broken or its address is wrong. An invitation ends
// when its maker loses the right to make it, so check must confirm this right. While check
// runs, no other transaction can take the right away. Its entries come before the invitation's.
func (s *Service) invite(
	ctx context.Context, actor audit.Actor, tenantID uuid.UUID, v Invitation, broken []fault.FieldError,
	check func(tx Tx, by uuid.UUID) ([]audit.Act, error),
) (string, error) {
	v.Email = strings.TrimSpace(v.Email)
	if v.Email != "" && !IsEmail(v.Email) {
		broken = append(broken, fault.FieldError{Field: "email", Err: ErrEmail})
	}
	if len(broken) > 0 {
		return "", fault.InvalidFields(broken...)
	}
	made := Link{Kind: LinkInvitation, TenantID: &tenantID, Role: v.Role, Note: cmp.Or(v.Note, v.Email),
		CreatedBy: makerOf(actor), ExpiresAt: s.now().Add(InvitationTTL)}
	return s.newLink(ctx, made, func(tx Tx, link Link, address string) error {
		if err := tx.LockOwners(tenantID); err != nil {
			return err
		}
		by, err := lockMaker(tx, link)
		if err != nil {
			return err
		}
		acts, err := check(tx, by)
		if err != nil {
			return err
		}
		if err := tx.InsertLink(link); err != nil {
			return err
		}
		if v.Email != "" {
			if err := s.post(tx, mail.Message{Kind: mail.Invitation, TenantID: &tenantID, To: v.Email, Locale: v.Locale,
				Tenant: v.Tenant, By: actor.Name, Role: string(v.Role), Link: address}, link); err != nil {
				return err
			}
		}
		return write(tx, append(acts, s.invitationAct(actor, audit.InvitationCreate, link)), nil)
	})
}

// post puts the message of a link into the outbox, if mail is sent at all. It is sent only while the link works.
func (s *Service) post(tx Tx, m mail.Message, link Link) error {
	if s.outbox == nil {
		return nil
	}
	made, err := s.outbox.Compose(m, link.ExpiresAt.Sub(s.now()))
	if err != nil {
		return err
	}
	made.Link = link.Hash
	return tx.InsertMail(made)
}

func (s *Service) invitationAct(actor audit.Actor, action audit.Action, link Link) audit.Act {
	return audit.Act{
		Scope: audit.OfTenant(*link.TenantID), At: s.now(), Actor: actor, Action: action,
		Target: link.ID(), Detail: audit.Detail{Params: map[string]string{"role": string(link.Role)}},
	}
}

// Invitations returns the invitations to tenants that are still valid, newest first.
func (s *Service) Invitations(ctx context.Context, tenantIDs ...uuid.UUID) ([]OpenLink, error) {
	return s.store.OpenLinks(ctx, nil, tenantIDs, s.now())
}

// UserLinks returns the links that make an operator or replace a user's factors and are still valid, newest first.
func (s *Service) UserLinks(ctx context.Context) ([]OpenLink, error) {
	return s.store.OpenLinks(ctx, []LinkKind{LinkSetup, LinkRecovery}, nil, s.now())
}

// RevokeInvitation ends an invitation by the ID of its link, or returns fault.NotFound.
func (s *Service) RevokeInvitation(ctx context.Context, access Access, id string) error {
	open, err := s.Invitations(ctx, access.tenantID)
	return s.revoke(ctx, access.Actor(), open, err, id)
}

// RevokeUserLink is RevokeInvitation for one of UserLinks.
func (s *Service) RevokeUserLink(ctx context.Context, actor audit.Actor, id string) error {
	open, err := s.UserLinks(ctx)
	return s.revoke(ctx, actor, open, err, id)
}

// revoke ends one of the open links, unless these could not be read.
func (s *Service) revoke(ctx context.Context, actor audit.Actor, open []OpenLink, err error, id string) error {
	i := slices.IndexFunc(open, func(link OpenLink) bool { return link.ID() == id })
	if err != nil || i < 0 {
		return orElse(err, fault.New(fault.NotFound, "Not found"))
	}
	return s.store.UpdateAccounts(ctx, func(tx Tx) error {
		link, err := tx.TakeLink(open[i].Kind, open[i].Hash, s.now())
		if err != nil {
			return err
		}
		acts := []audit.Act{{Scope: audit.Instance, At: s.now(), Actor: actor, Action: audit.UserLinkRevoke}}
		switch link.Kind {
		case LinkInvitation:
			acts[0] = s.invitationAct(actor, audit.InvitationRevoke, link)
		case LinkRecovery:
			acts, err = s.userActs(tx, actor, audit.UserLinkRevoke, *link.UserID)
		}
		return write(tx, acts, err)
	})
}

// Accept uses an invitation to make somebody a member, and signs them in. If a user has
// the address, the password must be theirs. LogInSecond may then have to follow, and
// after it AcceptAs. If no user has the address, Accept creates one.
//
// Both cases take the same time and have the same limits and results. So nobody can find out whether an address is
// known without using up the invitation: a wrong password is ErrWrongLogin, and a new passkey for a known address is
// too. Accept also returns the errors of SetUp, and ErrLinkGone.
func (s *Service) Accept(ctx context.Context, token string, p Person, b Browser) (Signed, error) {
	link, err := s.linkOf(ctx, token, LinkInvitation)
	if err != nil {
		return Signed{}, err
	}
	made, err := s.newcomer(ctx, link, p)
	if err != nil {
		return Signed{}, err
	}
	user, err := s.known(ctx, made.Email)
	if err != nil {
		return Signed{}, err
	}
	// Failures are counted, as attempt does, for the address and the tenant together: they do not keep the user from
	// logging in, and more invitations of the tenant do not give more tries.
	bucket := s.sealer.MAC("account " + made.Email + " invited by " + link.TenantID.String())
	if err := s.count(ctx, bucket, func(Tx, time.Time) error { return nil }); err != nil {
		return Signed{}, err
	}
	if user.Email == "" {
		return s.acceptNew(ctx, link, made, p.Factor, bucket, b)
	}
	if p.Passkey != "" {
		return Signed{}, ErrWrongLogin
	}
	matches, err := s.hasher.matches(ctx, made.by, user.Password, p.Password)
	if err != nil || !matches || user.DisabledAt != nil {
		return Signed{}, orElse(err, ErrWrongLogin)
	}
	return s.logInAs(ctx, user, bucket, b, func(tx Tx) ([]audit.Act, error) {
		_, err := tx.Membership(*link.TenantID, user.ID)
		if fault.CodeOf(err) != fault.NotFound {
			return nil, err // a member already: the link stays
		}
		act, err := s.join(tx, link, audit.User(user.ID, user.Name), user.ID)
		return []audit.Act{act}, err
	})
}

// acceptNew is Accept for an address that no user has.
func (s *Service) acceptNew(
	ctx context.Context, link Link, user newcomer, f Factor, bucket []byte, b Browser,
) (Signed, error) {
	if err := s.hash(ctx, &user, f.Password); err != nil {
		return Signed{}, err
	}
	actor := audit.User(user.ID, user.Name)
	signed, err := s.signIn(ctx, user.ID, b, func(tx Tx) (proof, error) {
		taken, err := s.takeInvitation(tx, link)
		if err != nil {
			return proof{}, err
		}
		if err := user.insert(tx); err != nil {
			return proof{}, err
		}
		act, err := s.enrol(tx, taken, actor, user.ID)
		if err != nil {
			return proof{}, err
		}
		return proof{methods: []Method{f.method()}, acts: []audit.Act{act, s.userAct(actor, audit.UserCreate, user.ID)}},
			tx.DropThrottle(bucket)
	})
	if errors.Is(err, errTaken) { // meanwhile
		err = ErrWrongLogin
	}
	return signed, err
}

// join uses an invitation to make a user a member, and returns the entry. It returns ErrLinkGone or ErrMember.
func (s *Service) join(tx Tx, link Link, actor audit.Actor, userID uuid.UUID) (audit.Act, error) {
	taken, err := s.takeInvitation(tx, link)
	if err != nil {
		return audit.Act{}, err
	}
	return s.enrol(tx, taken, actor, userID)
}

// InvitationParam is a parameter of a member's entry in the audit log. It names the invitation by which the member
// joined, as the target of the invitation's own entries does.
const InvitationParam = "invitation"

// enrol makes a user a member as a used invitation says, and returns the entry, or ErrMember.
func (s *Service) enrol(tx Tx, taken Link, actor audit.Actor, userID uuid.UUID) (audit.Act, error) {
	member := Membership{TenantID: *taken.TenantID, UserID: userID, Role: taken.Role, CreatedAt: s.now()}
	err := tx.InsertMembership(member)
	if fault.CodeOf(err) == fault.Conflict {
		err = ErrMember
	}
	act := s.memberAct(actor, audit.MemberAdd, member)
	act.Detail.Params[InvitationParam] = taken.ID()
	return act, err
}

// AcceptAs uses an invitation to make a signed-in user a member, and returns the tenant. It returns ErrLinkGone, or
// ErrMember or ErrManaged without using up the link.
func (s *Service) AcceptAs(ctx context.Context, who Identity, token string) (uuid.UUID, error) {
	link, err := s.linkOf(ctx, token, LinkInvitation)
	if err != nil {
		return uuid.Nil, err
	}
	if who.user.Managed() {
		return uuid.Nil, ErrManaged
	}
	err = s.store.UpdateAccounts(ctx, func(tx Tx) error {
		act, err := s.join(tx, link, who.Actor(), who.user.ID)
		if err != nil {
			return err
		}
		return tx.AppendAudit(act)
	})
	return *link.TenantID, err
}
