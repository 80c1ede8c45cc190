// Package oidc makes the requests of OpenID Connect for package account: the authorization code flow with PKCE
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
	"agegate/internal/rules/turn"
	"agegate/internal/rules/webhook"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/google/uuid"
	"golang.org/x/oauth2"
)

const (
	// exchangeTime bounds all requests of one step together.
	exchangeTime = 10 * time.Second
	// maxAnswer limits how many bytes are read of an answer of the provider.
	maxAnswer = 512 << 10
	// knownFor is how long a discovery document is used. Keys are read again when a token names an unknown one.
	knownFor = time.Hour
	// failedFor is how long the provider is not asked again for its discovery document after a failure.
	failedFor = 5 * time.Second
)

// How many requests to the provider may be under way. Further ones wait, so strangers cannot keep people from logging
// in: their browsers have separate places, shared by network.
const (
	knownAtOnce  = 2 // in browsers in which a user of the provider has signed in
	othersAtOnce = 6
	// waiting is how many requests of a known user, or of a network, may wait.
	waiting = 100
)

// Client implements account.OpenID.
type Client struct {
	provider      account.Provider
	now           func() time.Time
	http          *http.Client
	known, others *turn.Queue // see knownAtOnce

	mu    sync.Mutex
	found *discovered // nil before the first request
	err   error       // of the last request for a discovery document, if it failed
	until time.Time   // when the document is read again
}

var _ account.OpenID = (*Client)(nil)

// discovered is the content of a discovery document, with the provider's keys.
type discovered struct {
	endpoint oauth2.Endpoint
	scopes   []string
	keys     *oidc.RemoteKeySet
}

// New returns a client of the provider, which may be in a private network.
func New(p account.Provider, now func() time.Time) *Client {
	transport := &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
		TLSHandshakeTimeout:    5 * time.Second,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2:      true,
		DisableKeepAlives:      true, // log-ins are rare
		MaxResponseHeaderBytes: 16 << 10,
	}
	return &Client{
		provider: p, now: now,
		http: &http.Client{
			Transport: bounded{transport}, Timeout: exchangeTime,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		known: turn.NewQueue(knownAtOnce, waiting), others: turn.NewQueue(othersAtOnce, waiting),
	}
}

// bounded limits the size of answers.
type bounded struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := b.next.RoundTrip(req)
	if err == nil {
		res.Body = http.MaxBytesReader(nil, res.Body, maxAnswer)
	}
	return res, err
}

// begin waits for a place at the provider. It returns the context for the requests of
// one step, which limits their time.
func (c *Client) begin(ctx context.Context, by account.Caller) (_ context.Context, end func(), _ error) {
	queue, party := c.others, uuid.UUID(by.Network.Addr().As16())
	if by.User != uuid.Nil {
		queue, party = c.known, by.User
	}
	leave, err := queue.Take(ctx, party)
	if err != nil {
		return nil, nil, &account.ProviderError{Why: account.WhyBusy}
	}
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, c.http), exchangeTime)
	return ctx, func() {
		cancel()
		leave()
	}, nil
}

// Check reads the provider's discovery document.
func (c *Client) Check(ctx context.Context) error {
	_, err := c.discover(ctx, account.Caller{})
	return err
}

// Failed reports whether the last request for the provider's discovery document failed.
func (c *Client) Failed() bool {
	_, _, err := c.remembered()
	return err != nil
}

// remembered returns what the last request has found out. ok is false if it is too old.
func (c *Client) remembered() (found *discovered, ok bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.found, c.now().Before(c.until), c.err
}

// discover returns the content of the provider's discovery document.
func (c *Client) discover(ctx context.Context, by account.Caller) (*discovered, error) {
	if found, ok, err := c.remembered(); ok {
		return found, err
	}
	ctx, end, err := c.begin(ctx, by)
	if err != nil {
		return nil, err
	}
	defer end()
	if found, ok, err := c.remembered(); ok { // found out while this request waited
		return found, err
	}
	// The request must not fail for other browsers if this one leaves.
	found, err := c.fetch(context.WithoutCancel(ctx))
	until := c.now().Add(knownFor)
	if err != nil {
		until = c.now().Add(failedFor)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.found, c.err, c.until = found, err, until
	return found, err
}

// fetch reads a discovery document and checks its addresses. It asks for the scope
// "groups" only if the provider lists it, because others refuse unknown scopes.
func (c *Client) fetch(ctx context.Context) (*discovered, error) {
	document, err := oidc.NewProvider(ctx, c.provider.Issuer)
	if err != nil {
		return nil, failure(err)
	}
	var further struct {
		Keys   string   `json:"jwks_uri"`
		Scopes []string `json:"scopes_supported"`
		Auth   []string `json:"token_endpoint_auth_methods_supported"`
	}
	if document.Claims(&further) != nil {
		return nil, &account.ProviderError{Why: account.WhyAnswer}
	}
	found := &discovered{
		endpoint: document.Endpoint(), scopes: []string{oidc.ScopeOpenID, "profile", "email"},
		keys: oidc.NewRemoteKeySet(ctx, further.Keys),
	}
	issuer, err := url.Parse(c.provider.Issuer)
	for _, address := range []string{found.endpoint.AuthURL, found.endpoint.TokenURL, further.Keys} {
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
func failure(err error) error {
	// If the library hides the transport's error in a text, the error counts as an answer.
	if _, transport := errors.AsType[*url.Error](err); !transport {
		return &account.ProviderError{Why: account.WhyAnswer}
	}
	return &account.ProviderError{Why: account.Why(webhook.Classify(err))} // the same words
}

// flow returns the settings of the flow.
func (c *Client) flow(found *discovered, redirect string) *oauth2.Config {
	return &oauth2.Config{ClientID: c.provider.ClientID, ClientSecret: c.provider.Secret, Endpoint: found.endpoint,
		RedirectURL: redirect, Scopes: found.scopes}
}

// Begin implements account.OpenID.
func (c *Client) Begin(ctx context.Context, by account.Caller, a account.Attempt) (string, error) {
	found, err := c.discover(ctx, by)
	if err != nil {
		return "", err
	}
	options := []oauth2.AuthCodeOption{oidc.Nonce(a.Nonce), oauth2.S256ChallengeOption(a.Verifier)}
	if a.Again {
		options = append(options, oauth2.SetAuthURLParam("prompt", "login"), oauth2.SetAuthURLParam("max_age", "0"))
	}
	return c.flow(found, a.Redirect).AuthCodeURL(a.State, options...), nil
}
