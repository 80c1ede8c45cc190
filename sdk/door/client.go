package door

import (
	"context"
	"errors"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// Client is a program that may ask the door to "sign in with age". A client without a
// secret needs PKCE.
type Client struct {
	ID        string   `json:"client_id"`
	Secret    string   `json:"client_secret"`
	Redirects []string `json:"redirect_uris"`

	insecure bool // the door has no https, as in development
}

// What the library asks of a client: code flow, without logging out.

// GetID implements op.Client.
func (c Client) GetID() string { return c.ID }

// RedirectURIs implements op.Client.
func (c Client) RedirectURIs() []string { return c.Redirects }

// PostLogoutRedirectURIs implements op.Client.
func (c Client) PostLogoutRedirectURIs() []string { return nil }

// ApplicationType implements op.Client.
func (c Client) ApplicationType() op.ApplicationType { return op.ApplicationTypeWeb }

// AuthMethod implements op.Client.
func (c Client) AuthMethod() oidc.AuthMethod {
	if c.Secret == "" {
		return oidc.AuthMethodNone
	}
	return oidc.AuthMethodBasic // the library takes a posted secret as well
}

// ResponseTypes implements op.Client.
func (c Client) ResponseTypes() []oidc.ResponseType {
	return []oidc.ResponseType{oidc.ResponseTypeCode}
}

// GrantTypes implements op.Client.
func (c Client) GrantTypes() []oidc.GrantType { return []oidc.GrantType{oidc.GrantTypeCode} }

// LoginURL implements op.Client.
func (c Client) LoginURL(id string) string { return signInPath + "?id=" + id }

// AccessTokenType implements op.Client.
func (c Client) AccessTokenType() op.AccessTokenType { return op.AccessTokenTypeBearer }

// IDTokenLifetime implements op.Client.
func (c Client) IDTokenLifetime() time.Duration { return tokenLife }

// DevMode implements op.Client: http redirects without a secret.
func (c Client) DevMode() bool { return c.insecure }

// RestrictAdditionalIdTokenScopes implements op.Client.
func (c Client) RestrictAdditionalIdTokenScopes() func([]string) []string { //nolint:revive,staticcheck // its name
	return func(scopes []string) []string { return scopes }
}

// RestrictAdditionalAccessTokenScopes implements op.Client.
func (c Client) RestrictAdditionalAccessTokenScopes() func([]string) []string {
	return func(scopes []string) []string { return scopes }
}

// IsScopeAllowed implements op.Client.
func (c Client) IsScopeAllowed(string) bool { return false }

// IDTokenUserinfoClaimsAssertion implements op.Client.
func (c Client) IDTokenUserinfoClaimsAssertion() bool { return true }

// ClockSkew implements op.Client.
func (c Client) ClockSkew() time.Duration { return 0 }

// Parts of the library's interface that the door does not use: their endpoints are not
// served, or there is nothing to do.

var errUnserved = errors.New("the door does not serve this")

func (s *signIn) SaveAuthCode(context.Context, string, string) error     { return nil }
func (s *signIn) DeleteAuthRequest(context.Context, string) error        { return nil }
func (s *signIn) TerminateSession(context.Context, string, string) error { return errUnserved }
func (s *signIn) Health(context.Context) error                           { return nil }
func (s *signIn) RevokeToken(context.Context, string, string, string) *oidc.Error {
	return oidc.ErrServerError()
}
func (s *signIn) CreateAccessAndRefreshTokens(
	context.Context, op.TokenRequest, string,
) (string, string, time.Time, error) {
	return "", "", time.Time{}, errUnserved
}

func (s *signIn) TokenRequestByRefreshToken(context.Context, string) (op.RefreshTokenRequest, error) {
	return nil, errUnserved
}

func (s *signIn) GetRefreshTokenInfo(context.Context, string, string) (string, string, error) {
	return "", "", op.ErrInvalidRefreshToken
}

func (s *signIn) SetIntrospectionFromToken(
	context.Context, *oidc.IntrospectionResponse, string, string, string,
) error {
	return errUnserved
}

func (s *signIn) GetPrivateClaimsFromScopes(context.Context, string, string, []string) (map[string]any, error) {
	return nil, nil
}

func (s *signIn) GetKeyByIDAndClientID(context.Context, string, string) (*jose.JSONWebKey, error) {
	return nil, errUnserved
}

func (s *signIn) ValidateJWTProfileScopes(context.Context, string, []string) ([]string, error) {
	return nil, errUnserved
}
