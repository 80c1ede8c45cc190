package account

import (
	"bytes"
	"context"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"agegate/internal/rules/audit"
	"agegate/internal/rules/fault"

	"github.com/google/uuid"
)

// person returns the name and the address of the user of an ID token, in the form in which they are stored.
func (c Claims) person() (name, email string) {
	visible := func(r rune) rune {
		if !unicode.IsGraphic(r) {
			return -1
		}
		return r
	}
	for _, name = range []string{c.Name, c.Email, c.Subject, NoEmail} {
		if name = strings.TrimSpace(strings.Map(visible, strings.ToValidUTF8(name, ""))); name != "" {
			break
		}
	}
	if letters := []rune(name); len(letters) > MaxName {
		name = string(letters[:MaxName])
	}
	if email = normalEmail(c.Email); checkEmail(email) != nil {
		email = NoEmail
	}
	return name, email
}

// admitBy stores the name, the address and the roles of a provider's user, and returns the entries for what changed.
func (s *Service) admitBy(
	tx Tx, user User, known bool, c Claims, operator bool, roles map[uuid.UUID]Role,
) ([]audit.Act, error) {
	actor := audit.User(user.ID, user.Name)
	roles = maps.Clone(roles) // the transaction may run again
	if err := lockTenants(tx, user, roles); err != nil {
		return nil, err
	}
	var acts []audit.Act
	if known {
		now, err := tx.LockUser(user.ID)
		if err != nil || now.DisabledAt != nil {
			return nil, orElse(err, ErrRefused)
		}
		user = now
		if name, email := c.person(); name != user.Name || email != user.Email {
			if err := tx.SetUser(User{ID: user.ID, Name: name, Email: email}, "Name", "Email"); err != nil {
				return nil, err
			}
		}
	} else {
		if err := tx.InsertUser(user); err != nil {
			return nil, err
		}
		act := s.userAct(actor, audit.UserCreate, user.ID)
		act.Detail = audit.Detail{Params: map[string]string{"provider": hostOf(user.Issuer)}}
		acts = append(acts, act)
	}
	changed, err := s.setOperator(tx, user, actor, operator)
	if err != nil {
		return nil, err
	}
	moved, err := s.setRoles(tx, user, actor, roles)
	return slices.Concat(acts, changed, moved), err
}

// lockTenants locks the tenants in which a user may gain or lose a role, in the order
// of their IDs, and removes tenants that do not exist from roles.
func lockTenants(tx Tx, user User, roles map[uuid.UUID]Role) error {
	had, err := tx.MembershipsOf(user.ID)
	if err != nil {
		return err
	}
	affected := maps.Clone(roles)
	for _, m := range had {
		if roles[m.TenantID] == m.Role {
			delete(affected, m.TenantID)
		} else {
			affected[m.TenantID] = m.Role
		}
	}
	for _, id := range slices.SortedFunc(maps.Keys(affected),
		func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) }) {
		err := tx.LockOwners(id)
		if fault.CodeOf(err) == fault.NotFound {
			delete(roles, id)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// setOperator makes a user an operator, or ends that, and returns the entry if it changed anything.
func (s *Service) setOperator(tx Tx, user User, actor audit.Actor, operator bool) ([]audit.Act, error) {
	if user.Operator == operator {
		return nil, nil
	}
	if err := tx.SetUser(User{ID: user.ID, Operator: operator}, "Operator"); err != nil {
		return nil, err
	}
	act := s.userAct(actor, audit.UserOperator, user.ID)
	act.Detail = audit.Detail{Changes: []audit.Change{{Setting: "operator", Old: strconv.FormatBool(!operator),
		New: strconv.FormatBool(operator)}}}
	if operator {
		return []audit.Act{act}, nil
	}
	return s.endLinks(tx, actor, Link{CreatedBy: &user.ID}, act)
}

// setRoles gives a user exactly these roles, and returns the entries for what changed.
func (s *Service) setRoles(tx Tx, user User, actor audit.Actor, roles map[uuid.UUID]Role) ([]audit.Act, error) {
	had, err := tx.MembershipsOf(user.ID)
	if err != nil {
		return nil, err
	}
	var acts []audit.Act
	for _, before := range had {
		role, stays := roles[before.TenantID]
		delete(roles, before.TenantID)
		if role == before.Role {
			continue
		}
		act := s.memberAct(actor, audit.MemberRemove, before)
		if stays {
			act = s.memberAct(actor, audit.MemberUpdate, before)
			act.Detail = audit.Detail{Changes: []audit.Change{{Setting: "role", Old: string(before.Role), New: string(role)}}}
			err = tx.SetRole(before.TenantID, before.UserID, role)
		} else {
			err = tx.DeleteMembership(before.TenantID, before.UserID)
		}
		of := invitationsBy(before)
		if role == Owner {
			of = ownerInvitations(before.TenantID)
		}
		if err == nil {
			acts, err = s.endLinks(tx, actor, of, append(acts, act)...)
		}
		if err != nil {
			return nil, err
		}
	}
	for id, role := range roles {
		member := Membership{TenantID: id, UserID: user.ID, Role: role, CreatedAt: s.now()}
		err := tx.InsertMembership(member)
		acts = append(acts, s.memberAct(actor, audit.MemberAdd, member))
		if err == nil && role == Owner {
			acts, err = s.endLinks(tx, actor, ownerInvitations(id), acts...)
		}
		if err != nil {
			return nil, err
		}
	}
	return acts, nil
}

// dismiss removes all roles of a user whose groups no longer have any, and ends the user's log-ins.
func (s *Service) dismiss(ctx context.Context, user User) error {
	return s.store.UpdateAccounts(ctx, func(tx Tx) error {
		actor, none := audit.User(user.ID, user.Name), map[uuid.UUID]Role{}
		if err := lockTenants(tx, user, none); err != nil {
			return err
		}
		now, err := tx.LockUser(user.ID)
		if err != nil {
			return err
		}
		changed, err := s.setOperator(tx, now, actor, false)
		if err != nil {
			return err
		}
		moved, err := s.setRoles(tx, now, actor, none)
		if err != nil {
			return err
		}
		if _, err := tx.EndLogins(user.ID, nil, s.now()); err != nil {
			return err
		}
		return write(tx, append(changed, moved...), nil)
	})
}

// hostOf returns the host of an address, for the log and for people.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}
