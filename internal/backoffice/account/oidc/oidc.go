// Package oidc makes the requests of OpenID Connect for package account: the
// authorization code flow with PKCE
// (https://openid.net/specs/openid-connect-core-1_0.html, section 3.1).
package oidc

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"agegate/internal/backoffice/account"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/google/uuid"
	"golang.org/x/oauth2"
)

const (
	// exchangeTime bounds all requests of one step together.
	exchangeTime = 10 * time.Second
	// maxBody is how much of an answer is read, in bytes.
	maxBody = 1 << 20
	// knownFor is how long a discovery document is used. Keys are read again when a
	// token has an unknown one.
	knownFor = time.Hour
	// failedFor is how long a provider is not asked again for its discovery document
	// after a failure.
	failedFor = 5 * time.Second
	// atOnce is how many requests to one provider may be under way. Others are
	// refused, not queued, so that a slow provider holds only so much.
	atOnce = 8
	// maxKnown is how many providers are remembered.
	maxKnown = 1000
)

// Config holds what a Client needs.
type Config struct {
	// Instance makes the requests to the instance's provider, which the operator
	// chose and which may be in a private network.
	Instance http.RoundTripper
	// Tenants makes those to the providers that tenants chose. It has to refuse
	// addresses that are not public.
	Tenants http.RoundTripper
	// Classify returns the reason of an error of these transports.
	Classify func(error) account.Why
	Now      func() time.Time
}

// Client implements account.OpenID.
type Client struct {
	cfg      Config
	instance *http.Client
	tenants  *http.Client

	mu    sync.Mutex
	busy  map[uuid.UUID]int
	known map[uuid.UUID]discovered
}

var _ account.OpenID = (*Client)(nil)

// discovered is what is known of a tenant's provider, or of the instance's.
type discovered struct {
	issuer   string
	provider *oidc.Provider // nil after a failure
	err      error
	until    time.Time
}

// New returns a client.
func New(cfg Config) *Client {
	client := func(transport http.RoundTripper) *http.Client {
		return &http.Client{
			Transport:     bounded{transport},
			Timeout:       exchangeTime,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	return &Client{
		cfg: cfg, instance: client(cfg.Instance), tenants: client(cfg.Tenants),
		busy: map[uuid.UUID]int{}, known: map[uuid.UUID]discovered{},
	}
}

// Unguarded returns a transport that also reaches private networks, for a provider
// that the operator chose.
func Unguarded() http.RoundTripper {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
		TLSHandshakeTimeout:    5 * time.Second,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2:      true,
		DisableKeepAlives:      true, // log-ins are rare
		MaxResponseHeaderBytes: 16 << 10,
	}
}

// bounded limits the size of answers.
type bounded struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := b.next.RoundTrip(req)
	if err == nil {
		res.Body = http.MaxBytesReader(nil, res.Body, maxBody)
	}
	return res, err
}

// begin takes one of the places of a tenant's provider, or of the instance's, and
// bounds the time.
func (c *Client) begin(ctx context.Context, of uuid.UUID) (context.Context, func(), error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy[of] >= atOnce {
		return nil, nil, &account.ProviderError{Why: account.WhyBusy}
	}
	c.busy[of]++
	client := c.tenants
	if of == uuid.Nil {
		client = c.instance
	}
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, client), exchangeTime)
	return ctx, func() {
		cancel()
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.busy[of]--; c.busy[of] == 0 {
			delete(c.busy, of)
		}
	}, nil
}

// Check implements account.OpenID. It always asks the provider.
func (c *Client) Check(ctx context.Context, p account.Provider) error {
	c.forget(p.TenantID)
	_, err := c.discover(ctx, p)
	return err
}

func (c *Client) forget(of uuid.UUID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.known, of)
}

// discover returns a provider with its addresses and keys. What other requests
// have found out is used again, a failure too for a moment.
func (c *Client) discover(ctx context.Context, p account.Provider) (*oidc.Provider, error) {
	now := c.cfg.Now()
	c.mu.Lock()
	found, ok := c.known[p.TenantID]
	c.mu.Unlock()
	if ok && found.issuer == p.Issuer && now.Before(found.until) {
		return found.provider, found.err
	}
	// A browser that leaves must not make it fail for the others.
	ctx, end, err := c.begin(context.WithoutCancel(ctx), p.TenantID)
	if err != nil {
		return nil, err
	}
	defer end()
	found = discovered{issuer: p.Issuer, until: now.Add(knownFor)}
	found.provider, found.err = c.fetch(ctx, p)
	if found.err != nil {
		found.provider, found.until = nil, now.Add(failedFor)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) >= maxKnown {
		clear(c.known)
	}
	c.known[p.TenantID] = found
	return found.provider, found.err
}

// fetch reads a discovery document and checks its addresses.
func (c *Client) fetch(ctx context.Context, p account.Provider) (*oidc.Provider, error) {
	provider, err := oidc.NewProvider(ctx, p.Issuer)
	if err != nil {
		return nil, c.failure(err)
	}
	var further struct {
		Keys string `json:"jwks_uri"`
	}
	if provider.Claims(&further) != nil {
		return nil, &account.ProviderError{Why: account.WhyAnswer}
	}
	issuer, err := url.Parse(p.Issuer)
	for _, address := range []string{provider.Endpoint().AuthURL, provider.Endpoint().TokenURL, further.Keys} {
		u, wrong := url.Parse(address)
		if err != nil || wrong != nil || u.Host == "" || u.User != nil || u.Scheme != "https" &&
			(u.Scheme != "http" || issuer.Scheme != "http") {
			return nil, &account.ProviderError{Why: account.WhyAnswer}
		}
	}
	return provider, nil
}

// failure returns the error of a request that failed.
func (c *Client) failure(err error) error {
	// The library hides the transport's error in some texts, so those are answers.
	if _, transport := errors.AsType[*url.Error](err); !transport {
		return &account.ProviderError{Why: account.WhyAnswer}
	}
	return &account.ProviderError{Why: c.cfg.Classify(err)}
}

// config returns the settings of the flow. Groups are asked for where the provider
// knows that scope: others refuse scopes that they do not know.
func config(p account.Provider, provider *oidc.Provider, redirect string) oauth2.Config {
	var further struct {
		Scopes []string `json:"scopes_supported"`
		Auth   []string `json:"token_endpoint_auth_methods_supported"`
	}
	_ = provider.Claims(&further) // it was read before
	endpoint := provider.Endpoint()
	endpoint.AuthStyle = oauth2.AuthStyleInHeader // a second try in another style would use the code twice
	if len(further.Auth) > 0 && !slices.Contains(further.Auth, "client_secret_basic") {
		endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	scopes := []string{oidc.ScopeOpenID, "profile", "email"}
	if slices.Contains(further.Scopes, "groups") {
		scopes = append(scopes, "groups")
	}
	return oauth2.Config{ClientID: p.ClientID, ClientSecret: p.Secret, Endpoint: endpoint, RedirectURL: redirect,
		Scopes: scopes}
}

// Begin implements account.OpenID.
func (c *Client) Begin(ctx context.Context, p account.Provider, a account.Attempt) (string, error) {
	provider, err := c.discover(ctx, p)
	if err != nil {
		return "", err
	}
	options := []oauth2.AuthCodeOption{oidc.Nonce(a.Nonce), oauth2.S256ChallengeOption(a.Verifier)}
	if a.Again {
		options = append(options, oauth2.SetAuthURLParam("prompt", "login"), oauth2.SetAuthURLParam("max_age", "0"))
	}
	flow := config(p, provider, a.Redirect)
	return flow.AuthCodeURL(a.State, options...), nil
}
