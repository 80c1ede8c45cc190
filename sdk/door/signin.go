package door

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/rs/cors"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// signInPath is where the provider's library sends a visitor to prove his age.
const signInPath = Prefix + "sign-in"

const (
	codeLife  = 2 * time.Minute
	tokenLife = 10 * time.Minute
	guessTime = time.Second // how long a wrong secret of a client takes
)

// signIn is the provider "Sign in with age" of OpenID Connect. It keeps nothing:
// a request for it is sealed into its own ID, and a code is the sealed ID.
type signIn struct {
	door    *Door
	clients map[string]Client
	keys    []signingKey
	used    once
	guess   chan struct{} // held by a wrong secret
}

// addSignIn serves the provider below Prefix, without the library's endpoints that
// the door has no use for.
func (d *Door) addSignIn(mux *http.ServeMux) error {
	s := &signIn{door: d, clients: map[string]Client{}, guess: make(chan struct{}, 1)}
	for _, c := range d.cfg.Clients {
		c.insecure = d.cfg.URL.Scheme == "http"
		s.clients[c.ID] = c
	}
	for _, key := range d.cfg.SigningKeys {
		s.keys = append(s.keys, newSigningKey(key))
	}
	s.used = &localOnce{now: d.now, used: map[string]time.Time{}}
	if d.shared != nil {
		s.used = redisOnce{d.shared}
	}
	issuer := d.cfg.URL.String() + strings.TrimSuffix(Prefix, "/")
	options := []op.Option{op.WithCrypto(codeCrypto{d.seal}),
		op.WithCORSOptions(&cors.Options{AllowedHeaders: []string{"Authorization", "Content-Type"}})}
	if d.cfg.URL.Scheme == "http" {
		options = append(options, op.WithAllowInsecure())
	}
	provider, err := op.NewProvider(&op.Config{CodeMethodS256: true, AuthMethodPost: true,
		SupportedScopes: []string{oidc.ScopeOpenID}, SupportedClaims: []string{"sub", "iss", "aud", "exp", "iat", "auth_time",
			"nonce", "acr", s.claim()}}, s, op.StaticIssuer(issuer), options...)
	if err != nil {
		return err
	}
	endpoints := formOnly(unhinted(http.StripPrefix(strings.TrimSuffix(Prefix, "/"), provider)))
	for _, path := range []string{"authorize", "authorize/callback", "oauth/token", "userinfo", "keys"} {
		mux.Handle(Prefix+path, endpoints)
	}
	discovery := "GET " + strings.TrimSuffix(Prefix, "/") + oidc.DiscoveryEndpoint
	mux.HandleFunc(discovery, func(w http.ResponseWriter, r *http.Request) {
		about := op.CreateDiscoveryConfig(op.ContextWithIssuer(r.Context(), issuer), provider, s)
		about.ResponseTypesSupported = []string{string(oidc.ResponseTypeCode)}
		about.GrantTypesSupported = []oidc.GrantType{oidc.GrantTypeCode}
		about.ACRValuesSupported = []string{s.acr()}
		about.IntrospectionEndpoint, about.RevocationEndpoint = "", ""
		about.EndSessionEndpoint, about.DeviceAuthorizationEndpoint = "", ""
		op.Discover(w, about)
	})
	mux.HandleFunc("GET "+signInPath, s.prove)
	return nil
}

// unhinted does what the library leaves to its user: answers with tokens or claims are
// kept nowhere (RFC 6749, section 5.1), and a hint of who is meant does not count, because
// no subject comes twice.
func unhinted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/keys") {
			w.Header().Set("Cache-Control", "no-store")
			w.Header().Set("Pragma", "no-cache")
		}
		r.Form.Del("id_token_hint") // formOnly has parsed it
		r.PostForm.Del("id_token_hint")
		next.ServeHTTP(w, r)
	})
}

func (s *signIn) claim() string { return "age_over_" + strconv.Itoa(s.door.cfg.Age) }

// acr names how the age was confirmed: by this gateway's check of this age, or by a test.
func (s *signIn) acr() string {
	if s.door.cfg.Live() {
		return "urn:agegate:" + s.claim()
	}
	return "urn:agegate:test:" + s.claim()
}

// prove sends a visitor with a pass back to the client. Any other visitor gets the
// door's page, whose button leads back here after the check.
func (s *signIn) prove(w http.ResponseWriter, r *http.Request) {
	id := r.URL.Query().Get("id")
	found, err := s.AuthRequestByID(r.Context(), id)
	req, ok := found.(*request)
	if err != nil || !ok {
		http.Error(w, "This sign-in has ended. Go back and begin again.", http.StatusBadRequest)
		return
	}
	p, ok := s.door.pass(r)
	switch {
	case ok && !p.Unchecked && p.At >= req.Oldest && p.meets(s.door.demand(r, signInPath)):
		req.Subject, req.At, req.Expires = rand.Text(), p.At, s.door.now().Add(codeLife).Unix()
		id = s.door.seal.seal("request", req)
	case !req.Silent:
		s.door.refuse(w, r, r.URL.RequestURI())
		return
	}
	http.Redirect(w, r, Prefix+"authorize/callback?id="+url.QueryEscape(id), http.StatusFound)
}

// asksAgain reports whether a target is a client's request for a newer check than a
// pass had.
func (d *Door) asksAgain(target string, p pass) bool {
	u, err := url.Parse(target)
	var req request
	return err == nil && u.Path == signInPath &&
		d.seal.open("request", u.Query().Get("id"), &req) == nil && p.At < req.Oldest
}

// request is a client's request. It implements op.AuthRequest.
type request struct {
	ID        string            `json:"-"`
	Once      string            `json:"1"` // names the one code
	Client    string            `json:"c"`
	Redirect  string            `json:"r"`
	State     string            `json:"s,omitempty"`
	Nonce     string            `json:"n,omitempty"`
	Challenge string            `json:"h,omitempty"`
	Mode      oidc.ResponseMode `json:"m,omitempty"`
	Silent    bool              `json:"q,omitempty"` // without a page
	Oldest    int64             `json:"o,omitempty"` // the oldest check that the client takes
	Expires   int64             `json:"e"`
	Subject   string            `json:"u,omitempty"`
	At        int64             `json:"a,omitempty"`
	Aged      bool              `json:"d,omitempty"` // the client asked for max_age
	acr       string            // of the provider
	now       time.Time         // when the request was opened
}

// What the library asks of a request.

func (r *request) GetID() string                      { return r.ID }
func (r *request) GetACR() string                     { return r.acr }
func (r *request) GetAMR() []string                   { return nil }
func (r *request) GetAudience() []string              { return []string{r.Client} }
func (r *request) GetClientID() string                { return r.Client }
func (r *request) GetNonce() string                   { return r.Nonce }
func (r *request) GetRedirectURI() string             { return r.Redirect }
func (r *request) GetResponseType() oidc.ResponseType { return oidc.ResponseTypeCode }
func (r *request) GetResponseMode() oidc.ResponseMode { return r.Mode }
func (r *request) GetScopes() []string                { return []string{oidc.ScopeOpenID} }
func (r *request) GetState() string                   { return r.State }
func (r *request) GetSubject() string                 { return r.Subject }
func (r *request) Done() bool                         { return r.Subject != "" }

// GetAuthTime returns no time unless the client asked for it by max_age, and then one of
// the last hour: the second of a check would be the same at every site.
func (r *request) GetAuthTime() time.Time {
	if !r.Aged {
		return time.Time{}
	}
	hour := time.Unix(r.At, 0).Truncate(time.Hour).Add(time.Hour)
	if r.now.Before(hour) {
		return r.now
	}
	return hour
}

func (r *request) GetCodeChallenge() *oidc.CodeChallenge {
	if r.Challenge == "" {
		return nil
	}
	return &oidc.CodeChallenge{Challenge: r.Challenge, Method: oidc.CodeChallengeMethodS256}
}

// CreateAuthRequest seals a request that the library has checked.
func (s *signIn) CreateAuthRequest(_ context.Context, in *oidc.AuthRequest, _ string) (op.AuthRequest, error) {
	if in.CodeChallenge != "" && in.CodeChallengeMethod != oidc.CodeChallengeMethodS256 {
		return nil, oidc.ErrInvalidRequest().WithDescription("code_challenge_method must be S256")
	}
	if in.CodeChallenge == "" && s.clients[in.ClientID].Secret == "" {
		return nil, oidc.ErrInvalidRequest().WithDescription("a client without a secret needs code_challenge")
	}
	now := s.door.now()
	req := &request{Once: rand.Text(), Client: in.ClientID, Redirect: in.RedirectURI, State: in.State, Nonce: in.Nonce,
		Challenge: in.CodeChallenge, Mode: in.ResponseMode, Expires: now.Add(visitLife).Unix()}
	for _, prompt := range in.Prompt {
		req.Silent = req.Silent || prompt == oidc.PromptNone
	}
	if in.MaxAge != nil {
		// The age of a check is measured by the gateway's clock, which may be behind.
		req.Aged = true
		req.Oldest = now.Add(-maxSkew).Unix() - int64(*in.MaxAge) //nolint:gosec // so long an age asks for nothing
	}
	if req.ID = s.door.seal.seal("request", req); len(req.ID) > maxTarget-len(signInPath+"?id=") {
		return nil, oidc.ErrInvalidRequest().WithDescription("state, nonce and redirect_uri are too long")
	}
	return req, nil
}

// AuthRequestByID opens a request.
func (s *signIn) AuthRequestByID(_ context.Context, id string) (op.AuthRequest, error) {
	req := &request{ID: id, acr: s.acr(), now: s.door.now()}
	if err := s.door.seal.open("request", id, req); err != nil {
		return nil, err
	}
	if s.door.now().Unix() > req.Expires {
		return nil, errors.New("the request is too old")
	}
	return req, nil
}

// AuthRequestByCode opens the request of a code, once.
func (s *signIn) AuthRequestByCode(ctx context.Context, code string) (op.AuthRequest, error) {
	id, err := codeCrypto{s.door.seal}.Decrypt(code)
	if err != nil {
		return nil, err
	}
	found, err := s.AuthRequestByID(ctx, id)
	if err != nil {
		return nil, err
	}
	if req, ok := found.(*request); ok && req.Done() && s.used.take(ctx, req.Once) {
		s.door.metrics.tokens.WithLabelValues("exchanged").Inc()
		return req, nil
	}
	s.door.metrics.tokens.WithLabelValues("refused").Inc()
	return nil, errors.New("the code was used before")
}

// CreateAccessToken returns the time when the token ends, as its ID and as its expiry.
// The library seals the ID together with the subject.
func (s *signIn) CreateAccessToken(context.Context, op.TokenRequest) (string, time.Time, error) {
	end := s.door.now().Add(tokenLife)
	return strconv.FormatInt(end.Unix(), 10), end, nil
}

// SetUserinfoFromToken gives a client with an access token the claims of the ID token.
func (s *signIn) SetUserinfoFromToken(_ context.Context, info *oidc.UserInfo, token, subject, _ string) error {
	end, err := strconv.ParseInt(token, 10, 64)
	if err != nil || s.door.now().Unix() > end {
		return errors.New("the access token has ended")
	}
	s.describe(info, subject)
	return nil
}

// SetUserinfoFromScopes fills the ID token.
func (s *signIn) SetUserinfoFromScopes(_ context.Context, info *oidc.UserInfo, subject, _ string, _ []string) error {
	s.describe(info, subject)
	return nil
}

func (s *signIn) describe(info *oidc.UserInfo, subject string) {
	info.Subject = subject
	info.AppendClaims(s.claim(), true)
	if !s.door.cfg.Live() {
		info.AppendClaims("agegate_test", true)
	}
}

// GetClientByClientID returns a client.
func (s *signIn) GetClientByClientID(_ context.Context, id string) (op.Client, error) {
	if c, ok := s.clients[id]; ok {
		return c, nil
	}
	return nil, errors.New("no such client")
}

// AuthorizeClientIDSecret compares a client's secret.
func (s *signIn) AuthorizeClientIDSecret(ctx context.Context, id, secret string) error {
	c, ok := s.clients[id]
	if ok && c.Secret != "" && subtle.ConstantTimeCompare([]byte(c.Secret), []byte(secret)) == 1 {
		return nil
	}
	// One guess after the other, a second each. The right secret does not wait for them.
	select {
	case s.guess <- struct{}{}:
		defer func() { <-s.guess }()
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-time.After(guessTime):
	case <-ctx.Done():
	}
	return errors.New("the client's secret is wrong")
}

// codeCrypto seals codes and access tokens. The library's own encryption does not
// authenticate them.
type codeCrypto struct{ seal sealer }

func (c codeCrypto) Encrypt(text string) (string, error)   { return c.seal.sealText("code", text), nil }
func (c codeCrypto) Decrypt(sealed string) (string, error) { return c.seal.openText("code", sealed) }

// signingKey is one of the keys of ID tokens.
type signingKey struct {
	id  string
	key any // the private or the public half
}

func newSigningKey(key *rsa.PrivateKey) signingKey {
	thumbprint, _ := (&jose.JSONWebKey{Key: key.Public()}).Thumbprint(crypto.SHA256) // RSA keys have one
	return signingKey{base64.RawURLEncoding.EncodeToString(thumbprint), key}
}

// What the library asks of a key.

func (k signingKey) ID() string                                  { return k.id }
func (k signingKey) Key() any                                    { return k.key }
func (k signingKey) Use() string                                 { return "sig" }
func (k signingKey) Algorithm() jose.SignatureAlgorithm          { return jose.RS256 }
func (k signingKey) SignatureAlgorithm() jose.SignatureAlgorithm { return jose.RS256 }

// SigningKey returns the key that signs.
func (s *signIn) SigningKey(context.Context) (op.SigningKey, error) { return s.keys[0], nil }

// SignatureAlgorithms returns what every client has to know.
func (s *signIn) SignatureAlgorithms(context.Context) ([]jose.SignatureAlgorithm, error) {
	return []jose.SignatureAlgorithm{jose.RS256}, nil
}

// KeySet returns the public halves of all keys.
func (s *signIn) KeySet(context.Context) (set []op.Key, _ error) {
	for _, k := range s.keys {
		private, ok := k.key.(*rsa.PrivateKey)
		if !ok {
			return nil, fmt.Errorf("key %s is no RSA key", k.id)
		}
		set = append(set, signingKey{k.id, private.Public()})
	}
	return set, nil
}
