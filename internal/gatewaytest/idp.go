package gatewaytest

import (
	"cmp"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"agegate/internal/rules/credential"
)

// IDP is an identity provider of OpenID Connect that answers well until a test
// makes it misbehave. Its only client is "gate" with the secret IDPSecret.
type IDP struct {
	URL string

	mu       sync.Mutex
	key      *rsa.PrivateKey
	keyID    string
	codes    map[string]issued
	metadata map[string]any
	edit     func(claims map[string]any)
	token    func(good string) string
	hang     chan struct{} // closed when the provider answers again; nil: it answers
	pause    time.Duration // before each token
	requests int
}

// IDPSecret is the client secret at every IDP.
const IDPSecret = "canary-client-secret: not & logged"

// issued is a code that was not used yet.
type issued struct {
	challenge, redirect string
	claims              map[string]any
}

// NewIDP starts a provider.
func NewIDP(t testing.TB) *IDP {
	t.Helper()
	p := &IDP{codes: map[string]issued{}, keyID: "first"}
	var err error
	if p.key, err = rsa.GenerateKey(rand.Reader, 2048); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", p.discovery)
	mux.HandleFunc("GET /keys", p.keys)
	mux.HandleFunc("POST /token", p.exchange)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.requests++
		hang := p.hang
		p.mu.Unlock()
		if hang != nil {
			select {
			case <-hang:
			case <-r.Context().Done():
			}
			return
		}
		mux.ServeHTTP(w, r)
	}))
	p.URL = s.URL
	p.metadata = map[string]any{
		"issuer": s.URL, "authorization_endpoint": s.URL + "/authorize?own=1", "token_endpoint": s.URL + "/token",
		"jwks_uri":                              s.URL + "/keys",
		"id_token_signing_alg_values_supported": []string{"RS256", "none", "HS256"},
		"scopes_supported":                      []string{"openid", "groups"},
	}
	t.Cleanup(func() {
		p.Resume()
		s.Close()
	})
	return p
}

// Settings returns the variables that make it the instance's provider.
func (p *IDP) Settings(roles string) []string {
	return []string{
		"AGEGATE_OIDC_ISSUER=" + p.URL, "AGEGATE_OIDC_CLIENT_ID=gate", "AGEGATE_OIDC_CLIENT_SECRET=" + IDPSecret,
		"AGEGATE_OIDC_NAME=Example ID", "AGEGATE_OIDC_ROLES=" + roles,
	}
}

// Misbehave changes the next tokens: edit changes the claims, and token replaces a
// good token; both may be nil.
func (p *IDP) Misbehave(edit func(claims map[string]any), token func(good string) string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.edit, p.token = edit, token
}

// Announce changes a value of the discovery document.
func (p *IDP) Announce(name string, value any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.metadata[name] = value
}

// Rotate makes the provider sign with another key.
func (p *IDP) Rotate(t testing.TB) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.key, p.keyID = key, p.keyID+"+"
}

// Slow makes the provider wait before each token, and before each refusal of one.
func (p *IDP) Slow(pause time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pause = pause
}

// Hang makes the provider answer nothing until Resume.
func (p *IDP) Hang() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hang = make(chan struct{})
}

// Resume ends Hang.
func (p *IDP) Resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hang != nil {
		close(p.hang)
	}
	p.hang = nil
}

// Requests returns how many requests have reached the provider.
func (p *IDP) Requests() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.requests
}

// Approve lets a user log in on the provider's page at an address, and returns the
// path and query to which it sends the browser back. Claims replace those of a
// usual token.
func (p *IDP) Approve(t testing.TB, address string, claims map[string]any) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	asked := u.Query()
	if !strings.HasPrefix(address, p.URL+"/authorize?own=1&") || asked.Get("response_type") != "code" ||
		asked.Get("client_id") != "gate" ||
		asked.Get("code_challenge_method") != "S256" || len(asked.Get("state")) < 40 || len(asked.Get("nonce")) < 40 ||
		asked.Get("scope") != "openid profile email groups" {
		t.Fatalf("the provider was asked %s", address)
	}
	now := time.Now()
	all := map[string]any{
		"iss": p.URL, "aud": "gate", "sub": "ann", "name": "Ann", "email": "ann@corp.example", "email_verified": true,
		"nonce": asked.Get("nonce"),
		"iat":   now.Unix(), "exp": now.Add(24 * time.Hour).Unix(), "groups": []string{"everyone"},
	}
	if asked.Has("max_age") {
		all["auth_time"] = now.Unix()
	}
	maps.Copy(all, claims)
	code := rand.Text()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.codes[code] = issued{asked.Get("code_challenge"), asked.Get("redirect_uri"), all}
	back, err := url.Parse(asked.Get("redirect_uri"))
	if err != nil {
		t.Fatal(err)
	}
	return back.Path + "?" + url.Values{"code": {code}, "state": {asked.Get("state")}}.Encode()
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client may have gone
}

func (p *IDP) discovery(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	answer(w, http.StatusOK, p.metadata)
}

func (p *IDP) keys(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	answer(w, http.StatusOK, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: p.key.Public(), KeyID: p.keyID,
		Algorithm: "RS256", Use: "sig"}}})
}

// exchange gives the token of a code, once.
func (p *IDP) exchange(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	pause := p.pause
	p.mu.Unlock()
	time.Sleep(pause)
	p.mu.Lock()
	defer p.mu.Unlock()
	id, secret, _ := r.BasicAuth()
	code := p.codes[r.PostFormValue("code")]
	delete(p.codes, r.PostFormValue("code"))
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if name, _ := url.QueryUnescape(secret); id != "gate" || name != IDPSecret || code.claims == nil ||
		code.challenge != base64.RawURLEncoding.EncodeToString(sum[:]) || code.redirect != r.PostFormValue("redirect_uri") {
		answer(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant",
			"error_description": "canary-from-provider"})
		return
	}
	if p.edit != nil {
		p.edit(code.claims)
	}
	token, err := p.sign(code.claims)
	if err != nil {
		answer(w, http.StatusInternalServerError, nil)
		return
	}
	if p.token != nil {
		token = p.token(token)
	}
	answer(w, http.StatusOK, map[string]any{"access_token": "canary-access", "token_type": "Bearer", "expires_in": 60,
		"id_token": token})
}

func (p *IDP) sign(claims map[string]any) (string, error) {
	key := jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: p.key, KeyID: p.keyID}}
	return credential.SignJWS(key, nil, claims)
}

// LogInBy logs a browser in by a provider from the dashboard's page that begins
// it, and returns the answer to the address to which the provider sends it back.
func (s *Staff) LogInBy(t testing.TB, p *IDP, begin string, claims map[string]any) *http.Response {
	t.Helper()
	res, _ := s.Get(t, begin)
	if res.StatusCode != http.StatusSeeOther || !strings.HasPrefix(res.Header.Get("Location"), p.URL) {
		t.Fatalf("%s: %d, to %s", begin, res.StatusCode, res.Header.Get("Location"))
	}
	res, _ = s.Get(t, p.Approve(t, res.Header.Get("Location"), claims))
	return res
}

// Notice returns the notice that an answer leaves for the next page, or "".
func Notice(res *http.Response) string {
	for _, c := range res.Cookies() {
		if strings.HasSuffix(c.Name, "agegate-notice") {
			return c.Value
		}
	}
	return ""
}

// Without returns a copy of an ID token with another header and no signature.
func Without(token, header string) string {
	_, rest, _ := strings.Cut(token, ".")
	payload, _, _ := strings.Cut(rest, ".")
	return base64.RawURLEncoding.EncodeToString([]byte(cmp.Or(header, `{"alg":"none"}`))) + "." + payload + "."
}
