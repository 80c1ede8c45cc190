package account

import (
	"context"
	"slices"
	"time"

	"agegate/internal/rules/audit"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/fault"

	"github.com/google/uuid"
)

// Identity is a signed-in user. Only Service.Identify and IdentifySender return an Identity that is not zero.
type Identity struct {
	user  User
	login Login
	token string // of the cookie
	nonce string // of the form that was sent, see IdentifySender
}

// User returns the signed-in user.
func (i Identity) User() User { return i.user }

// Login returns the log-in of the request.
func (i Identity) Login() Login { return i.login }

// Actor returns the user as an actor in a tenant's log.
func (i Identity) Actor() audit.Actor { return audit.User(i.user.ID, i.user.Name) }

// Strong reports whether the log-in was made with two factors, or by the identity provider, which decides itself how
// many factors it asks for. A log-in that is not strong opens test mode only.
func (i Identity) Strong() bool {
	m := i.login.Methods
	return slices.Contains(m, ByPasskey) || slices.Contains(m, ByProvider) ||
		slices.Contains(m, ByPassword) && (slices.Contains(m, ByTOTP) || slices.Contains(m, ByCode))
}

// SteppedUp reports whether the user has confirmed their identity within StepUpTTL before now.
func (i Identity) SteppedUp(now time.Time) bool {
	until := i.login.SteppedUpUntil
	return until != nil && now.Before(*until)
}

// Access is a signed-in user's right to a tenant. Only Service.Enter returns an Access
// that is not zero. Services take the tenant's ID from it, never from a form.
type Access struct {
	Identity
	tenantID uuid.UUID
	role     Role
	livemode bool
	readOnly bool
}

// TenantID returns the tenant that the user may open.
func (a Access) TenantID() uuid.UUID { return a.tenantID }

// Role returns the user's role in the tenant.
func (a Access) Role() Role { return a.role }

// Livemode returns the mode of the page: false for test and for pages without a mode.
func (a Access) Livemode() bool { return a.livemode }

// ReadOnly reports whether the user is an operator who looks into a tenant
// without being a member: they may change nothing.
func (a Access) ReadOnly() bool { return a.readOnly }

// ErrSignedOut is returned for a cookie without a valid log-in.
var ErrSignedOut = fault.New(fault.InvalidKey, "Not signed in")

// Identify returns the user behind a cookie's token, or ErrSignedOut.
func (s *Service) Identify(ctx context.Context, token string) (Identity, error) {
	if len(token) != tokenLen {
		return Identity{}, ErrSignedOut
	}
	login, user, err := s.store.LoginByHash(ctx, credential.HashToken(token))
	now := s.now()
	switch {
	case fault.CodeOf(err) == fault.NotFound:
		return Identity{}, ErrSignedOut
	case err != nil:
		return Identity{}, err
	case user.DisabledAt != nil, !now.Before(login.EndsAt), now.Sub(login.SeenAt) >= LoginIdle, s.shutOut(user, login):
		return Identity{}, ErrSignedOut
	}
	identity := Identity{user: user, login: login, token: token}
	if now.Sub(login.SeenAt) >= seenEvery {
		// The page is shown even if the time of last use cannot be stored.
		_ = s.store.UpdateAccounts(ctx, func(tx Tx) error { return tx.TouchLogin(login.Hash, now) })
	}
	return identity, nil
}

// ErrNoSuchTenant is returned both for a tenant that does not exist and for one
// that the user may not open, so that the two look alike.
var ErrNoSuchTenant = fault.New(fault.NotFound, "Not found")

// Enter returns a user's access to a tenant in a mode, or ErrNoSuchTenant. It does not check the role: the caller
// compares it with what the page needs. An operator who has entered the tenant sees what viewers see, and the audit
// log; the caller refuses every change with a read-only access.
func (s *Service) Enter(ctx context.Context, who Identity, tenantID uuid.UUID, livemode bool) (Access, error) {
	membership, err := s.store.Membership(ctx, tenantID, who.user.ID)
	if fault.CodeOf(err) == fault.NotFound {
		if !who.inside(tenantID, s.now()) {
			return Access{}, ErrNoSuchTenant
		}
		return Access{Identity: who, tenantID: tenantID, role: Viewer, livemode: livemode, readOnly: true}, nil
	}
	if err != nil {
		return Access{}, err
	}
	return Access{Identity: who, tenantID: tenantID, role: membership.Role, livemode: livemode}, nil
}
