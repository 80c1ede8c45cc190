package account

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"agegate/internal/rules/fault"

	"github.com/google/uuid"
)

// maxTried is how many claims, and how many groups, a trial returns.
const maxTried = 50

// Trial shows what a log-in by a tenant's provider would have led to, and the claims
// in its ID token that decide it. Nothing is stored, and nobody is signed in.
type Trial struct {
	By         Access // the owner who made it
	Issuer     string
	Email      bool         // the token has an address
	Verified   bool         // and the provider has verified it
	Claims     []string     // names of the first claims, in order
	ClaimCount int          // how many there are
	Groups     []TriedGroup // the first ones, those with a role before others
	GroupCount int          // how many there are
	Claim      string       // that has to hold the groups
	Role       Role         // that the user would have
	Why        Why          // why the log-in would be refused; empty: it would not
}

// TriedGroup is a group in an ID token, and the role that it gives; empty: none.
type TriedGroup struct {
	Name string
	Role Role
}

// BeginTrial begins a trial of a tenant's provider. It does what BeginSSO does, for an
// owner who has just confirmed who they are, and returns ErrStartAgain for others.
func (s *Service) BeginTrial(ctx context.Context, of uuid.UUID, b Browser) (address, cookie string, err error) {
	by, err := s.trier(ctx, of, b)
	if err == nil && (!by.Strong() || !by.SteppedUp(s.now())) {
		err = ErrStartAgain
	}
	if err != nil {
		return "", "", err
	}
	return s.beginFlow(ctx, flow{Of: of, Trial: by.login.Hash}, b)
}

// trier returns the tenant's owner who is signed in in a browser, or ErrStartAgain.
func (s *Service) trier(ctx context.Context, of uuid.UUID, b Browser) (by Access, err error) {
	who, err := s.Identify(ctx, b.Login)
	if err == nil {
		by, err = s.Enter(ctx, who, of, false)
	}
	code := fault.CodeOf(err)
	if code == fault.InvalidKey || code == fault.NotFound || err == nil && !by.role.May(Own) {
		err = ErrStartAgain
	}
	return by, err
}

// trierOf returns the owner who began the trial of a flow, in the same log-in, or
// ErrStartAgain.
func (s *Service) trierOf(ctx context.Context, f flow, b Browser) (Access, error) {
	by, err := s.trier(ctx, f.Of, b)
	if err == nil && !bytes.Equal(by.login.Hash, f.Trial) {
		err = ErrStartAgain
	}
	return by, err
}

// try returns what signInBy would do with an ID token, or the error with which it would
// refuse the token. unread is the error of reading the token, or nil.
func (s *Service) try(ctx context.Context, by Access, p Provider, c Claims, unread error) (*Trial, error) {
	groups, isGroups := errors.AsType[*GroupsError](unread)
	if unread != nil && !isGroups {
		return nil, unread
	}
	_, roles := p.rights(c.Groups)
	t := &Trial{
		By: by, Issuer: p.Issuer, Email: c.HasEmail, Verified: c.Email != "", Claim: p.GroupsClaim,
		ClaimCount: len(c.Names), Groups: p.tried(c.Groups), GroupCount: len(c.Groups), Role: roles[p.TenantID],
	}
	slices.Sort(c.Names)
	t.Claims = c.Names[:min(len(c.Names), maxTried)]
	user, err := s.store.UserByProvider(ctx, p.TenantID, p.Issuer, c.Subject)
	known := err == nil
	if err != nil && fault.CodeOf(err) != fault.NotFound {
		return nil, err
	}
	switch {
	case isGroups:
		t.Why = groups.Why
	case user.DisabledAt != nil:
		t.Why = WhyDisabled
	case t.Role == "":
		t.Why = WhyNoGroup
	case !known:
		err := s.store.UpdateAccounts(ctx, func(tx Tx) error {
			return s.takeNewcomer(tx, User{ManagedBy: &p.TenantID})
		})
		return t, err
	}
	return t, nil
}

// tried returns groups, at most maxTried, with the role that each gives in the
// provider's tenant. Those with a role come first.
func (p Provider) tried(groups []string) []TriedGroup {
	gives := map[string]Role{}
	for _, g := range p.Grants {
		_, roles := p.rights([]string{g.Group})
		gives[groupName(g.Group)] = roles[p.TenantID]
	}
	var with, without []TriedGroup
	for _, name := range groups {
		role := gives[groupName(name)]
		switch {
		case role != "" && len(with) < maxTried:
			with = append(with, TriedGroup{name, role})
		case role == "" && len(without) < maxTried:
			without = append(without, TriedGroup{Name: name})
		}
	}
	all := slices.Concat(with, without)
	return all[:min(len(all), maxTried)]
}
