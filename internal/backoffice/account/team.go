package account

import (
	"context"
	"errors"

	"agegate/internal/rules/audit"
	"agegate/internal/rules/fault"

	"github.com/google/uuid"
)

var (
	// ErrLastOwner refuses to demote or remove the last owner of a tenant.
	ErrLastOwner = fault.New(fault.Conflict, "A tenant needs an owner")
	// ErrRole is the rule that a role must be one of Roles.
	ErrRole = errors.New("must be owner, developer, support, compliance or viewer")
)

// Member returns one member of the tenant, or fault.NotFound.
func (s *Service) Member(ctx context.Context, access Access, userID uuid.UUID) (Member, error) {
	membership, err := s.store.Membership(ctx, access.tenantID, userID)
	if err != nil {
		return Member{}, err
	}
	user, err := s.store.UserByID(ctx, userID)
	return Member{membership, user}, err
}

// SetRole changes the role of a member. If they are no longer an owner, their
// invitations end. It returns fault.NotFound, ErrLastOwner, ErrManaged for a member
// whose role the identity provider decides, or fault.Invalid with the field role.
func (s *Service) SetRole(ctx context.Context, access Access, userID uuid.UUID, role Role) error {
	if !role.May(BeMember) {
		return fault.InvalidFields(fault.FieldError{Field: "role", Err: ErrRole})
	}
	return s.changeMember(ctx, access, userID, func(tx Tx, before Membership) ([]audit.Act, error) {
		if user, err := tx.LockUser(userID); err != nil || user.Managed() {
			return nil, orElse(err, ErrManaged)
		}
		if before.Role == role {
			return nil, nil
		}
		act := s.memberAct(access.Actor(), audit.MemberUpdate, before)
		act.Detail = audit.Detail{Changes: []audit.Change{{Setting: "role", Old: string(before.Role), New: string(role)}}}
		if err := tx.SetRole(before.TenantID, before.UserID, role); err != nil || role == Owner {
			return []audit.Act{act}, err
		}
		return s.endLinks(tx, access.Actor(), invitationsBy(before), act)
	})
}

// RemoveMember removes a member, who may be the user themselves, and ends the
// invitations that they created. It returns fault.NotFound or ErrLastOwner.
func (s *Service) RemoveMember(ctx context.Context, access Access, userID uuid.UUID) error {
	return s.changeMember(ctx, access, userID, func(tx Tx, before Membership) ([]audit.Act, error) {
		act := s.memberAct(access.Actor(), audit.MemberRemove, before)
		if err := tx.DeleteMembership(before.TenantID, before.UserID); err != nil {
			return nil, err
		}
		return s.endLinks(tx, access.Actor(), invitationsBy(before), act)
	})
}

// CheckLast returns ErrLastOwner for a member whom the tenant cannot do without, as its members are now.
func (s *Service) CheckLast(ctx context.Context, access Access, userID uuid.UUID) error {
	members, err := s.store.Members(ctx, access.tenantID)
	for _, m := range members {
		switch owns := m.Role == Owner && !m.User.Managed(); {
		case owns && m.UserID == userID:
			err = ErrLastOwner
		case owns && m.User.DisabledAt == nil:
			return nil
		}
	}
	return err
}

// changeMember changes a membership and writes its entries. No other transaction changes the tenant's owners meanwhile.
func (s *Service) changeMember(
	ctx context.Context, access Access, userID uuid.UUID, change func(tx Tx, before Membership) ([]audit.Act, error),
) error {
	return s.store.UpdateAccounts(ctx, func(tx Tx) error {
		if err := tx.LockOwners(access.tenantID); err != nil {
			return err
		}
		before, err := tx.Membership(access.tenantID, userID)
		if err != nil {
			return err
		}
		acts, err := change(tx, before)
		if fault.CodeOf(err) == fault.Conflict && !errors.Is(err, ErrManaged) {
			return ErrLastOwner
		}
		return write(tx, acts, err)
	})
}
