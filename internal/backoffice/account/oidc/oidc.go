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
	"sync/atomic"
	"time"

	"agegate/internal/backoffice/account"
	"agegate/internal/rules/turn"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/google/uuid"
	"golang.org/x/oauth2"
)

const (
	// exchangeTime bounds all requests of one step together.
	exchangeTime = 10 * time.Second
	// maxDocument and maxToken limit how many bytes are read of a provider's published
	// document, and of its answer with tokens. Anyone can make the gateway read them,
	// and a hostile provider could make them large and deep.
	maxDocument = 128 << 10
	maxToken    = 512 << 10
	// knownFor is how long a discovery document is used. Keys are read again when a
	// token names an unknown one.
	knownFor = time.Hour
	// failedFor is how long a provider is not asked again for its discovery document
	// after a failure.
	failedFor = 5 * time.Second
	// maxKnown is how many providers are remembered.
	maxKnown = 1000
	// checksAtOnce is how many answers are checked at a time: they share the cores
	// with the estimates. checksWaiting is how many of one provider may wait.
	checksAtOnce  = 2
	checksWaiting = 40
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

	turns *turn.Queue // for what answers make the gateway compute

	mu     sync.Mutex
	places map[uuid.UUID]*places
	known  map[uuid.UUID]discovered
}

var _ account.OpenID = (*Client)(nil)

// discovered is what is known about a provider, of a tenant or of the instance.
type discovered struct {
	issuer   string
	provider *provider // nil after a failure
	err      error
	until    time.Time
}

// provider is the content of a discovery document, with the keys that were read last.
type provider struct {
	endpoint oauth2.Endpoint
	scopes   []string
	keysAt   string
	keys     atomic.Pointer[keySet]
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
		turns:  turn.NewQueue(checksAtOnce, checksWaiting),
		places: map[uuid.UUID]*places{}, known: map[uuid.UUID]discovered{},
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
		limit := int64(maxDocument)
		if req.Method == http.MethodPost {
			limit = maxToken
		}
		res.Body = http.MaxBytesReader(nil, res.Body, limit)
	}
	return res, err
}

// clientOf returns the client for requests to a provider.
func (c *Client) clientOf(p account.Provider) *http.Client {
	if p.TenantID == uuid.Nil {
		return c.instance
	}
	return c.tenants
}

// Check implements account.OpenID. It always asks the provider.
func (c *Client) Check(ctx context.Context, p account.Provider, by account.Caller) error {
	c.mu.Lock()
	delete(c.known, p.TenantID)
	c.mu.Unlock()
	_, err := c.discover(ctx, p, by)
	return err
}

// remembered returns what earlier requests have found out about a provider. A failure
// is remembered for failedFor.
func (c *Client) remembered(p account.Provider) (found discovered, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok = c.known[p.TenantID]
	return found, ok && found.issuer == p.Issuer && c.cfg.Now().Before(found.until)
}

// discover returns a provider with its addresses and keys.
func (c *Client) discover(ctx context.Context, p account.Provider, by account.Caller) (*provider, error) {
	if found, ok := c.remembered(p); ok {
		return found.provider, found.err
	}
	ctx, end, err := c.begin(ctx, p, by)
	if err != nil {
		return nil, err
	}
	defer end()
	if found, ok := c.remembered(p); ok { // found out while this request waited
		return found.provider, found.err
	}
	found := discovered{issuer: p.Issuer, until: c.cfg.Now().Add(knownFor)}
	// The request must not fail for other browsers if this one leaves.
	found.provider, found.err = c.fetch(context.WithoutCancel(ctx), p)
	if found.err != nil {
		found.until = c.cfg.Now().Add(failedFor)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) >= maxKnown {
		clear(c.known)
	}
	c.known[p.TenantID] = found
	return found.provider, found.err
}

// fetch reads a discovery document and checks its addresses. It asks for the scope
// "groups" only if the provider lists it, because others refuse unknown scopes.
func (c *Client) fetch(ctx context.Context, p account.Provider) (*provider, error) {
	document, err := oidc.NewProvider(ctx, p.Issuer)
	if err != nil {
		return nil, c.failure(err)
	}
	var further struct {
		Keys   string   `json:"jwks_uri"`
		Scopes []string `json:"scopes_supported"`
		Auth   []string `json:"token_endpoint_auth_methods_supported"`
	}
	if document.Claims(&further) != nil {
		return nil, &account.ProviderError{Why: account.WhyAnswer}
	}
	found := &provider{
		endpoint: document.Endpoint(), keysAt: further.Keys, scopes: []string{oidc.ScopeOpenID, "profile", "email"},
	}
	issuer, err := url.Parse(p.Issuer)
	for _, address := range []string{found.endpoint.AuthURL, found.endpoint.TokenURL, found.keysAt} {
		u, wrong := url.Parse(address)
		if err != nil || wrong != nil || u.Host == "" || u.User != nil || u.Scheme != "https" &&
			(u.Scheme != "http" || issuer.Scheme != "http") {
			return nil, &account.ProviderError{Why: account.WhyAnswer}
		}
	}
	if slices.Contains(further.Scopes, "groups") {
		found.scopes = append(found.scopes, "groups")
	}
	found.endpoint.AuthStyle = oauth2.AuthStyleInHeader // a second try in another style would use the code twice
	if len(further.Auth) > 0 && !slices.Contains(further.Auth, "client_secret_basic") {
		found.endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	return found, nil
}

// failure returns the error of a request that failed.
func (c *Client) failure(err error) error {
	// If the library hides the transport's error in a text, the error counts as an
	// answer.
	if _, transport := errors.AsType[*url.Error](err); !transport {
		return &account.ProviderError{Why: account.WhyAnswer}
	}
	return &account.ProviderError{Why: c.cfg.Classify(err)}
}

// flow returns the settings of the flow.
func (d *provider) flow(p account.Provider, redirect string) *oauth2.Config {
	return &oauth2.Config{ClientID: p.ClientID, ClientSecret: p.Secret, Endpoint: d.endpoint, RedirectURL: redirect,
		Scopes: d.scopes}
}

// Begin implements account.OpenID.
func (c *Client) Begin(
	ctx context.Context, p account.Provider, by account.Caller, a account.Attempt,
) (string, error) {
	found, err := c.discover(ctx, p, by)
	if err != nil {
		return "", err
	}
	options := []oauth2.AuthCodeOption{oidc.Nonce(a.Nonce), oauth2.S256ChallengeOption(a.Verifier)}
	if a.Again {
		options = append(options, oauth2.SetAuthURLParam("prompt", "login"), oauth2.SetAuthURLParam("max_age", "0"))
	}
	return found.flow(p, a.Redirect).AuthCodeURL(a.State, options...), nil
}
