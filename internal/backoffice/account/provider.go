package account

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"time"

	"agegate/internal/rules/fault"

	"github.com/google/uuid"
)

// Provider is the identity provider of OpenID Connect by which an instance's people log
// in. The operator has chosen it, and the gateway trusts it.
//
// An account that the provider makes is separate from every other account, even from
// one with the same e-mail address. It is found by issuer and subject, and has no
// password or passkey. Its roles are those of its groups, which are read at each log-in.
type Provider struct {
	Name        string // on the button
	Issuer      string // as the provider spells it; empty: there is no provider
	ClientID    string
	Secret      string // never logged and never shown
	GroupsClaim string // claim of the ID token that holds the groups
	Grants      []Grant
	Roles       string // the grants, as they were set
	Required    bool   // only operators may sign in by other ways
}

// DefaultGroupsClaim is the claim that holds groups where no other is chosen.
const DefaultGroupsClaim = "groups"

// Grant is what the members of a group may do: operate the instance, or have a role in a tenant.
type Grant struct {
	Group    string
	Operator bool // of the instance
	TenantID uuid.UUID
	Role     Role
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

// OpenID makes the requests of OpenID Connect to the provider. Its errors are
// *ProviderError and *GroupsError, and contain nothing that the provider answered.
type OpenID interface {
	// Begin returns the address of the provider's page for an attempt.
	Begin(ctx context.Context, by Caller, a Attempt) (string, error)
	// Finish exchanges the code that the page sent back for an ID token, checks the
	// token in all respects, and returns its claims.
	Finish(ctx context.Context, by Caller, a Attempt, code string) (Claims, error)
}

// Caller is the user or network for which a request is sent to the provider. All requests
// for one user, or for one network if the user is unknown, wait in the same line.
type Caller struct {
	User    uuid.UUID    // a user who has signed in through the provider in the browser; uuid.Nil if none
	Network netip.Prefix // of the browser; zero if unknown
}

// Attempt is one attempt to log in by the provider.
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
	Name     string // may be empty
	Email    string // verified by the provider, or empty
	Groups   []string
	AuthTime time.Time // when the user proved their identity; zero if the provider does not say
}

// Why says why the provider could not be used.
type Why string

// The reasons.
const (
	WhyDNS     Why = "dns" // its name did not resolve
	WhyConnect Why = "connect"
	WhyTLS     Why = "tls"
	WhyTimeout Why = "timeout"
	WhyBusy    Why = "busy"   // too many requests to it are under way
	WhyAnswer  Why = "answer" // it did not answer as it must
	WhyToken   Why = "token"  // its ID token is not valid
	// WhyNotAsked is the reason for refusing an ID token if the provider was told to
	// ask the user to sign in again, but the token does not say that it did.
	WhyNotAsked Why = "not_asked"
	WhyNoClaim  Why = "no_claim" // its ID token has no readable claim of groups
	WhyOverage  Why = "overage"  // its ID token names the place of the groups instead of them
	WhyNoGroup  Why = "no_group" // none of the groups has a role
)

// ProviderError is returned if the provider, or its answer, cannot be used.
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

var (
	// ErrManaged refuses to change what the identity provider decides.
	ErrManaged = fault.New(fault.Conflict, "The identity provider decides that")
	// ErrRefused refuses a log-in by the provider that the provider refused, or of a disabled user.
	ErrRefused = fault.New(fault.InvalidKey, "The log-in was refused")
	// ErrProviderNeeded refuses a log-in that was not made by the provider, if the provider is required.
	ErrProviderNeeded = fault.New(fault.InvalidKey, "Log-in by the identity provider is required")
)

// NoEmail is stored as the address of a user if the provider has verified no address.
const NoEmail = "-"

// Managed reports whether the identity provider made the user.
func (u User) Managed() bool { return u.Issuer != "" }
