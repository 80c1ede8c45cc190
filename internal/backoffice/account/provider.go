package account

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"time"

	"agegate/internal/rules/fault"

	"github.com/google/uuid"
)

// Provider is an identity provider of OpenID Connect by which people log in.
//
// An account that a provider makes is separate from every other account, even from one
// with the same e-mail address. It is found by issuer and subject, and has no password
// or passkey. Its roles are those of its groups, which are read at each log-in. An
// account by a tenant's provider can enter only that tenant.
type Provider struct {
	TenantID    uuid.UUID // whose provider it is; uuid.Nil: the instance's, set by its operator
	Name        string    // on the button
	Issuer      string    // as the provider spells it
	ClientID    string
	Secret      string // never logged and never shown
	GroupsClaim string // claim of the ID token that holds the groups
	Grants      []Grant
	// Required closes the other ways to sign in. If a tenant's provider is required,
	// only owners may use other ways; if the instance's is, only operators may.
	Required bool
}

// Grant is what the members of a group may do: operate the instance, or have a
// role in a tenant.
type Grant struct {
	Group    string    `json:"group"`
	Operator bool      `json:"-"` // of the instance
	TenantID uuid.UUID `json:"-"`
	Role     Role      `json:"role"`
}

// rights returns what the members of groups may do. If several groups give a role in a
// tenant, the role that comes first in Roles counts.
func (p Provider) rights(groups []string) (operator bool, roles map[uuid.UUID]Role) {
	in := map[string]bool{}
	for _, g := range groups {
		in[groupName(g)] = true
	}
	roles = map[uuid.UUID]Role{}
	for _, g := range p.Grants {
		if !in[groupName(g.Group)] {
			continue
		}
		if g.Operator {
			operator = true
			continue
		}
		if had, ok := roles[g.TenantID]; !ok || slices.Index(Roles(), g.Role) < slices.Index(Roles(), had) {
			roles[g.TenantID] = g.Role
		}
	}
	return operator, roles
}

// groupName returns a group's name without a leading slash. Keycloak writes groups as
// paths, so a top-level group has one.
func groupName(group string) string { return strings.TrimPrefix(group, "/") }

// OpenID makes the requests of OpenID Connect. Its errors are *ProviderError and
// *GroupsError, and contain nothing that a provider answered.
type OpenID interface {
	// Check reads the provider's discovery document.
	Check(ctx context.Context, p Provider, by Caller) error
	// Begin returns the address of the provider's page for an attempt.
	Begin(ctx context.Context, p Provider, by Caller, a Attempt) (string, error)
	// Finish exchanges the code that the page sent back for an ID token, checks the
	// token in all respects, and returns its claims. With a *GroupsError, it returns
	// all claims except the groups.
	Finish(ctx context.Context, p Provider, by Caller, a Attempt, code string) (Claims, error)
}

// Caller is the user or network for which a request is sent to a provider. All requests
// for one user, or for one network if the user is unknown, wait in the same line.
type Caller struct {
	User    uuid.UUID    // a user who has signed in through this provider in the browser; uuid.Nil if none
	Network netip.Prefix // of the browser; zero if unknown
}

// Attempt is one attempt to log in by a provider.
type Attempt struct {
	Redirect string // where the provider sends the browser back to
	State    string // binds the answer to the browser
	Nonce    string // binds the ID token to the attempt
	Verifier string // binds the code to the attempt, see RFC 7636
	Again    bool   // the provider has to ask the user, whom it may know already
}

// Claims are the verified contents of an ID token.
type Claims struct {
	Subject  string
	Name     string   // may be empty
	Email    string   // verified by the provider, or empty
	HasEmail bool     // the token has an address, verified or not
	Names    []string // of all claims, in no order
	Groups   []string
	AuthTime time.Time // when the user proved their identity; zero if the provider does not say
}

// Why says why a provider could not be used.
type Why string

// The reasons.
const (
	WhyDNS     Why = "dns"     // its name did not resolve
	WhyBlocked Why = "blocked" // its address is not public
	WhyConnect Why = "connect"
	WhyTLS     Why = "tls"
	WhyTimeout Why = "timeout"
	WhyBusy    Why = "busy"   // too many requests to it are under way
	WhyKeys    Why = "keys"   // its keys cannot be read, or are too many
	WhyAnswer  Why = "answer" // it did not answer as it must
	WhyToken   Why = "token"  // its ID token is not valid
	// WhyNotAsked is the reason for refusing an ID token if the provider was told to
	// ask the user to sign in again, but the token does not say that it did.
	WhyNotAsked Why = "not_asked"
	WhyNoClaim  Why = "no_claim" // its ID token has no readable claim of groups
	WhyOverage  Why = "overage"  // its ID token names the place of the groups instead of them
	WhyNoGroup  Why = "no_group" // none of the groups has a role
	WhyDisabled Why = "disabled" // the operator has disabled the user
)

// ProviderError is returned if a provider, or its answer, cannot be used.
type ProviderError struct {
	Why   Why
	Claim string // with WhyToken, the claim that is not valid, if it is one
}

// Error contains nothing that the provider answered.
func (e *ProviderError) Error() string {
	return strings.TrimSpace("the identity provider: " + string(e.Why) + " " + e.Claim)
}

// Unwrap makes the error a fault.
func (e *ProviderError) Unwrap() error { return errProvider }

var errProvider = fault.New(fault.Unavailable, "The identity provider cannot be used")

// GroupsError refuses a log-in because of the groups in its ID token. Only WhyNoGroup
// is about the user: no group of theirs has a role, so they lose their roles.
type GroupsError struct {
	Why   Why    // WhyNoClaim, WhyOverage or WhyNoGroup
	Claim string // that has to hold the groups
	Count int    // how many it holds
}

// Error contains none of the groups.
func (e *GroupsError) Error() string { return "the groups of the identity provider: " + string(e.Why) }

// Unwrap makes the error a fault.
func (e *GroupsError) Unwrap() error { return errGroups }

var errGroups = fault.New(fault.InvalidKey, "The user's groups give no role")

// The rules of a provider's settings, in fault.FieldError.Err.
var (
	ErrIssuer    = errors.New("must be an https address without a query")
	ErrClientID  = errors.New("must be 1 to 200 visible characters")
	ErrSecret    = errors.New("must be 1 to 1000 characters")
	ErrClaim     = errors.New("must be the name of a claim")
	ErrGroup     = errors.New("must be at most 20 names of up to 200 visible characters, one a line")
	ErrNoGroups  = errors.New("must have a group for at least one role")
	ErrOwnFactor = errors.New("must be switched on by an owner who logs in without the provider, with a second factor")
)

var (
	// ErrManaged refuses to change what an identity provider decides.
	ErrManaged = fault.New(fault.Conflict, "The identity provider decides that")
	// ErrRefused refuses a log-in by a provider that the provider refused, or of a
	// disabled user.
	ErrRefused = fault.New(fault.InvalidKey, "The log-in was refused")
	// ErrProviderNeeded refuses a log-in that was not made by the provider, if the
	// provider is required.
	ErrProviderNeeded = fault.New(fault.InvalidKey, "Log-in by the identity provider is required")
)

// NoEmail is stored as the address of a user if the provider has verified no address.
const NoEmail = "-"

// Managed reports whether an identity provider made the user.
func (u User) Managed() bool { return u.Issuer != "" }

// Provider returns the tenant whose provider manages the user, uuid.Nil for the
// instance's.
func (u User) Provider() uuid.UUID {
	if u.ManagedBy == nil {
		return uuid.Nil
	}
	return *u.ManagedBy
}

// byProvider reports whether the log-in was made by an identity provider.
func (l Login) byProvider() bool { return slices.Contains(l.Methods, ByProvider) }
