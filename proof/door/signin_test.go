package door

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"agegate/internal/gatewaytest"
)

// callback is where a client waits for codes.
const callback = "https://client.example/back"

const clients = `[
	{"client_id": "wiki", "client_secret": "a secret", "redirect_uris": ["` + callback + `"]},
	{"client_id": "other", "client_secret": "its secret", "redirect_uris": ["` + callback + `"]},
	{"client_id": "app", "redirect_uris": ["` + callback + `"]}
]`

// signInSettings are those of a door with clients, and signing keys, the first of
// which signs.
func signInSettings(t *testing.T, clients string, keys ...[]byte) []string {
	t.Helper()
	dir := t.TempDir()
	var all []byte
	for _, k := range keys {
		all = append(all, k...)
	}
	write(t, filepath.Join(dir, "clients.json"), []byte(clients))
	write(t, filepath.Join(dir, "keys.pem"), all)
	return []string{"DOOR_CLIENTS_FILE=" + filepath.Join(dir, "clients.json"),
		"DOOR_SIGNING_KEYS_FILE=" + filepath.Join(dir, "keys.pem")}
}

func write(t *testing.T, file string, data []byte) {
	t.Helper()
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func signingKey(t *testing.T) []byte {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
}

// relying is a client of the door.
type relying struct {
	oauth2.Config
	provider *oidc.Provider
	verifier string
}

func (s *site) relying(t *testing.T, id, secret string) *relying {
	t.Helper()
	provider, err := oidc.NewProvider(t.Context(), s.url+"/_door")
	if err != nil {
		t.Fatal(err)
	}
	return &relying{oauth2.Config{ClientID: id, ClientSecret: secret, RedirectURL: callback, Scopes: []string{"openid"},
		Endpoint: provider.Endpoint()}, provider, oauth2.GenerateVerifier()}
}

// ask returns the address to which the client sends a visitor.
func (c *relying) ask(more ...oauth2.AuthCodeOption) string {
	return c.AuthCodeURL("a state", append([]oauth2.AuthCodeOption{oidc.Nonce("a nonce"),
		oauth2.S256ChallengeOption(c.verifier)}, more...)...)
}

// follow follows redirects on the site and returns the last answer, or where the
// visitor leaves the site.
func (v *visitor) follow(address string) answer {
	v.t.Helper()
	res := v.get(address)
	for res.location != "" && !strings.HasPrefix(res.location, callback) {
		res = v.get(res.location)
	}
	return res
}

// signIn takes a visitor through the client's request and returns the code.
func (s *site) signIn(t *testing.T, v *visitor, ask string) string {
	t.Helper()
	res := v.follow(ask)
	if res.status == http.StatusForbidden {
		to := wanted.FindStringSubmatch(res.body)
		hosted := v.press("/_door/begin", strings.ReplaceAll(to[1], "&amp;", "&"))
		res = v.follow(s.force(t, v, hosted, "verified"))
	}
	back, err := url.Parse(res.location)
	if err != nil || back.Query().Get("state") != "a state" || back.Query().Get("code") == "" {
		t.Fatalf("the sign-in ends with %d at %q: %s", res.status, res.location, res.body)
	}
	return back.Query().Get("code")
}

// constants are the claims that are the same for everybody, now.
var constants = []string{"iss", "aud", "azp", "client_id", "acr", "age_over_18", "agegate_test", "iat", "exp"}

// TestSignIn: a client learns that a visitor is old enough, and can follow nobody.
func TestSignIn(t *testing.T) {
	t.Parallel()
	s := startSite(t, signInSettings(t, clients, signingKey(t))...)
	c := s.relying(t, "wiki", "a secret")
	v := s.visitor(t)
	subjects := map[string]bool{}
	var first map[string]any
	for i := range 2 { // the second time with the pass, without a page
		s.clock.Advance(time.Duration(i) * time.Minute)
		token, err := c.Exchange(t.Context(), s.signIn(t, v, c.ask()), oauth2.VerifierOption(c.verifier))
		if err != nil {
			t.Fatal(err)
		}
		raw, _ := token.Extra("id_token").(string)
		id, err := c.provider.Verifier(&oidc.Config{ClientID: "wiki"}).Verify(t.Context(), raw)
		if err != nil {
			t.Fatal(err)
		}
		var claims map[string]any
		if err := id.Claims(&claims); err != nil {
			t.Fatal(err)
		}
		if claims["age_over_18"] != true || claims["acr"] != "urn:agegate:test:age_over_18" ||
			claims["agegate_test"] != true || claims["nonce"] != "a nonce" || claims["auth_time"] != nil {
			t.Errorf("claims: %v", claims)
		}
		for name, value := range claims {
			if i > 0 && name != "nonce" && reflect.DeepEqual(value, first[name]) && !slices.Contains(constants, name) {
				t.Errorf("%s is the same at two visits", name)
			}
		}
		first = claims
		info, err := c.provider.UserInfo(t.Context(), oauth2.StaticTokenSource(token))
		if err != nil || info.Subject != id.Subject {
			t.Errorf("user info: %v, %v", info, err)
		}
		subjects[id.Subject] = true
		token.AccessToken += "A"
		if _, err := c.provider.UserInfo(t.Context(), oauth2.StaticTokenSource(token)); err == nil {
			t.Error("a changed access token is taken")
		}
	}
	if len(subjects) != 2 || s.Count(t, "sessions") != 1 {
		t.Errorf("subjects %v, %d sessions", subjects, s.Count(t, "sessions"))
	}
	public := s.relying(t, "app", "")
	code := s.signIn(t, v, public.ask())
	if _, err := public.Exchange(t.Context(), code, oauth2.VerifierOption(public.verifier)); err != nil {
		t.Errorf("a client without a secret: %v", err)
	}
	var about struct {
		ResponseTypes []string `json:"response_types_supported"`
		ACR           []string `json:"acr_values_supported"`
		Revocation    string   `json:"revocation_endpoint"`
	}
	if err := c.provider.Claims(&about); err != nil || len(about.ResponseTypes) != 1 || len(about.ACR) != 1 ||
		about.Revocation != "" {
		t.Errorf("discovery: %+v, %v", about, err)
	}
}

// TestSignInRefusals: codes work once, in time, for the client that asked, with
// its secret and its verifier.
func TestSignInRefusals(t *testing.T) {
	t.Parallel()
	s := startSite(t, signInSettings(t, clients, signingKey(t))...)
	v := s.visitor(t)
	c, other := s.relying(t, "wiki", "a secret"), s.relying(t, "other", "its secret")
	refused := func(what string, c *relying, code, verifier string) {
		t.Helper()
		if _, err := c.Exchange(t.Context(), code, oauth2.VerifierOption(verifier)); err == nil {
			t.Errorf("%s is taken", what)
		}
	}
	code := s.signIn(t, v, c.ask())
	if _, err := c.Exchange(t.Context(), code, oauth2.VerifierOption(c.verifier)); err != nil {
		t.Fatal(err)
	}
	refused("a code for the second time", c, code, c.verifier)
	refused("another client's code", other, s.signIn(t, v, c.ask()), c.verifier)
	refused("a wrong verifier", c, s.signIn(t, v, c.ask()), oauth2.GenerateVerifier())
	refused("no verifier", c, s.signIn(t, v, c.ask()), "")
	refused("a changed code", c, s.signIn(t, v, c.ask())+"A", c.verifier)
	wrong := s.relying(t, "wiki", "another secret")
	refused("a wrong secret", wrong, s.signIn(t, v, wrong.ask()), wrong.verifier)
	elsewhere := s.relying(t, "wiki", "a secret")
	code = s.signIn(t, v, elsewhere.ask())
	elsewhere.RedirectURL += "/x"
	refused("another redirect_uri", elsewhere, code, elsewhere.verifier)
	late := s.signIn(t, v, c.ask())
	s.clock.Advance(3 * time.Minute)
	refused("an old code", c, late, c.verifier)

	for what, ask := range map[string]string{
		"an unknown client":           strings.Replace(c.ask(), "wiki", "nobody", 1),
		"an unregistered redirect":    strings.Replace(c.ask(), "client.example", "evil.example", 1),
		"a forged request":            s.url + "/_door/sign-in?id=AAAA",
		"a callback without a pass":   s.url + "/_door/authorize/callback?id=AAAA",
		"the plain challenge":         strings.Replace(c.ask(), "method=S256", "method=plain", 1),
		"a public one without PKCE":   strings.Replace(s.relying(t, "app", "").AuthCodeURL("a state"), "x", "x", 1),
		"a token instead of a code":   strings.Replace(c.ask(), "response_type=code", "response_type=id_token", 1),
		"a state that is far too big": strings.Replace(c.ask(), "a+state", strings.Repeat("s", 3000), 1),
	} {
		if res := v.follow(ask); strings.Contains(res.location, "code=") || strings.Contains(res.location, "token=") ||
			strings.Contains(res.location, "evil.example") {
			t.Errorf("%s: %d %s", what, res.status, res.location)
		}
	}
	stranger := s.visitor(t)
	silent := oauth2.SetAuthURLParam("prompt", "none")
	if res := stranger.follow(c.ask(silent)); !strings.Contains(res.location, "error=interaction_required") {
		t.Errorf("prompt=none leads to %d %s", res.status, res.location)
	}
	if res := stranger.get(c.ask(), "User-Agent: Googlebot/2.1"); s.Count(t, "sessions") != 1 {
		t.Errorf("a robot: %d", res.status)
	}
	// A client that wants a new check gets one.
	before := s.Count(t, "sessions")
	s.clock.Advance(-time.Minute)
	s.Clock.Advance(2 * time.Minute)
	s.signIn(t, v, c.ask(oauth2.SetAuthURLParam("max_age", "0")))
	if n := s.Count(t, "sessions"); n != before+1 {
		t.Errorf("%d sessions for max_age=0", n-before)
	}
}

// TestDutiesOfAProvider: what the library leaves to its user.
func TestDutiesOfAProvider(t *testing.T) {
	t.Parallel()
	s := startSite(t, signInSettings(t, clients, signingKey(t))...)
	c, v := s.relying(t, "wiki", "a secret"), s.visitor(t)
	s.pass(t, v, "/")
	silent := oauth2.SetAuthURLParam("prompt", "none")
	for what, ask := range map[string]string{
		"a hint that says nothing (OpenID Connect Core, 3.1.2.1)": c.ask(silent,
			oauth2.SetAuthURLParam("id_token_hint", "x.y.z")),
		"a check of the last hour (3.1.2.1)": c.ask(silent, oauth2.SetAuthURLParam("max_age", "3600")),
	} {
		if res := v.follow(ask); !strings.Contains(res.location, "code=") {
			t.Errorf("%s: %d %s", what, res.status, res.location)
		}
	}
	form := func(code, secret string) url.Values {
		return url.Values{"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {callback},
			"client_id": {"wiki"}, "client_secret": {secret}, "code_verifier": {c.verifier}}
	}
	code := s.signIn(t, v, c.ask())
	began := time.Now()
	wrong := v.do(http.MethodPost, "/_door/oauth/token", form(code, "a guess"))
	if time.Since(began) < time.Second {
		t.Error("guesses at a secret are as fast as one likes")
	}
	code = s.signIn(t, v, c.ask(oauth2.SetAuthURLParam("max_age", "3600")))
	right := v.do(http.MethodPost, "/_door/oauth/token", form(code, "a secret"))
	for name, res := range map[string]answer{"an error (RFC 6749, 5.2)": wrong, "tokens (5.1)": right} {
		if res.header.Get("Cache-Control") != "no-store" || res.header.Get("Pragma") != "no-cache" {
			t.Errorf("%s: Cache-Control %q", name, res.header.Get("Cache-Control"))
		}
	}
	var token struct {
		ID string `json:"id_token"`
	}
	if err := json.Unmarshal([]byte(right.body), &token); err != nil {
		t.Fatal(err, right.body)
	}
	id, err := c.provider.Verifier(&oidc.Config{ClientID: "wiki"}).Verify(t.Context(), token.ID)
	if err != nil {
		t.Fatal(err)
	}
	var claims struct {
		At int64 `json:"auth_time"`
	}
	if err := id.Claims(&claims); err != nil || claims.At == 0 ||
		claims.At%3600 != 0 && time.Since(time.Unix(claims.At, 0)) > time.Minute {
		t.Errorf("with max_age, auth_time is %d (%v): the second of the check", claims.At, err)
	}
	multipart := v.do(http.MethodPost, "/_door/oauth/token", nil, "Content-Type: multipart/form-data; boundary=x")
	if multipart.status != http.StatusUnsupportedMediaType {
		t.Errorf("multipart is answered %d", multipart.status)
	}
}

// TestUncheckedIsNoSignIn: a pass that an outage gave tells clients nothing.
func TestUncheckedIsNoSignIn(t *testing.T) {
	t.Parallel()
	s := startSite(t, append(signInSettings(t, clients, signingKey(t)), "DOOR_OUTAGE=allow")...)
	c, v := s.relying(t, "wiki", "a secret"), s.visitor(t)
	s.Stop()
	http.DefaultClient.CloseIdleConnections()
	v.do(http.MethodPost, "/_door/begin", url.Values{})
	if res := v.get("/"); res.status != http.StatusOK {
		t.Fatalf("the site is answered %d", res.status)
	}
	if res := v.follow(c.ask()); res.status != http.StatusForbidden || res.location != "" {
		t.Errorf("the sign-in is answered %d at %q", res.status, res.location)
	}
}

// TestSigningKeysRotate: tokens of the old key verify while the new one signs.
func TestSigningKeysRotate(t *testing.T) {
	t.Parallel()
	old := signingKey(t)
	s := startSite(t, signInSettings(t, clients, old)...)
	c, v := s.relying(t, "wiki", "a secret"), s.visitor(t)
	token, err := c.Exchange(t.Context(), s.signIn(t, v, c.ask()), oauth2.VerifierOption(c.verifier))
	if err != nil {
		t.Fatal(err)
	}
	raw, _ := token.Extra("id_token").(string)
	for _, tt := range []struct {
		keys [][]byte
		want bool
	}{{[][]byte{signingKey(t), old}, true}, {[][]byte{signingKey(t)}, false}} {
		next := httptest.NewServer(s.newDoor(t, signInSettings(t, clients, tt.keys...)...))
		keys := oidc.NewRemoteKeySet(t.Context(), next.URL+"/_door/keys")
		_, err := oidc.NewVerifier(s.url+"/_door", keys, &oidc.Config{ClientID: "wiki"}).Verify(t.Context(), raw)
		if (err == nil) != tt.want {
			t.Errorf("with %d keys: %v", len(tt.keys), err)
		}
		next.Close()
	}
}

// TestSeveralDoors: a code that was used at one door is used at all, and none is
// taken while they cannot ask.
func TestSeveralDoors(t *testing.T) {
	t.Parallel()
	address, stop := redisServer(t)
	settings := append(signInSettings(t, clients, signingKey(t)), "DOOR_REDIS="+address)
	s := startSite(t, settings...)
	second := httptest.NewServer(s.newDoor(t, settings...))
	t.Cleanup(second.Close)
	c, v := s.relying(t, "wiki", "a secret"), s.visitor(t)
	code := s.signIn(t, v, c.ask())
	there := *c
	there.Endpoint.TokenURL = second.URL + "/_door/oauth/token"
	if _, err := there.Exchange(t.Context(), code, oauth2.VerifierOption(c.verifier)); err != nil {
		t.Fatal(err)
	}
	for name, door := range map[string]*relying{"the other": c, "the same": &there} {
		if _, err := door.Exchange(t.Context(), code, oauth2.VerifierOption(c.verifier)); err == nil {
			t.Errorf("a used code is taken at %s door", name)
		}
	}
	code = s.signIn(t, v, c.ask())
	stop()
	if _, err := c.Exchange(t.Context(), code, oauth2.VerifierOption(c.verifier)); err == nil {
		t.Error("a code is taken while nobody knows whether it was used")
	}
}

// redisServer runs a Redis and returns its address and how to stop it.
func redisServer(t *testing.T) (address string, stop func()) {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "redis.sock")
	server := exec.Command("redis-server", "--port", "0", "--unixsocket", socket, "--save", "")
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	stop = func() { _ = server.Process.Kill(); _ = server.Wait() }
	t.Cleanup(stop)
	gatewaytest.WaitFor(t, "redis", func() bool { _, err := os.Stat(socket); return err == nil })
	return "unix://" + socket, stop
}

// TestDoorsShareTheirLimits: sessions count at all doors of a site, whichever made
// them, and at each alone while they cannot ask. Another site counts for itself.
func TestDoorsShareTheirLimits(t *testing.T) {
	t.Parallel()
	address, stop := redisServer(t)
	settings := []string{"DOOR_REDIS=" + address, "DOOR_LIMIT=3"}
	s := startSite(t, settings...)
	elsewhere := startSite(t, settings...)
	second := httptest.NewServer(s.newDoor(t, settings...))
	t.Cleanup(second.Close)
	begins := func(door string) int {
		t.Helper()
		return s.visitor(t).do(http.MethodPost, door+"/_door/begin", url.Values{"to": {"/"}}).status
	}
	for i, door := range []string{s.url, second.URL, second.URL} {
		if status := begins(door); status != http.StatusOK {
			t.Errorf("session %d is answered %d", i+1, status)
		}
	}
	for _, door := range []string{s.url, second.URL} {
		if status := begins(door); status != http.StatusTooManyRequests {
			t.Errorf("one more than the limit is answered %d", status)
		}
	}
	if status := begins(elsewhere.url); status != http.StatusOK {
		t.Errorf("another site is answered %d", status)
	}
	stop()
	for i, want := range []int{200, 200, 200, 429} {
		if status := begins(s.url); status != want {
			t.Errorf("without Redis, session %d is answered %d", i+1, status)
		}
	}
	if !strings.Contains(s.log.String(), "DOOR_REDIS does not answer") {
		t.Error("the log does not say that the doors count for themselves")
	}
}

// TestDoorsShareTheLimitOfANetwork: a refused session does not count for others.
func TestDoorsShareTheLimitOfANetwork(t *testing.T) {
	t.Parallel()
	address, _ := redisServer(t)
	settings := []string{"DOOR_REDIS=" + address, "DOOR_LIMIT=3", "DOOR_LIMIT_NETWORK=2"}
	s := startSite(t, settings...)
	second := httptest.NewServer(s.newDoor(t, settings...))
	t.Cleanup(second.Close)
	for i, tt := range []struct {
		door, network string
		want          int
	}{
		{s.url, "192.0.2.1", 200}, {second.URL, "192.0.2.1", 200}, {s.url, "192.0.2.1", 429}, {second.URL, "192.0.2.1", 429},
		{second.URL, "2001:db8::1", 200}, {s.url, "192.0.2.2", 429},
	} {
		res := s.visitor(t).do(http.MethodPost, tt.door+"/_door/begin", url.Values{"to": {"/"}},
			"X-Forwarded-For: "+tt.network)
		if res.status != tt.want {
			t.Errorf("session %d, of %s, is answered %d, want %d", i+1, tt.network, res.status, tt.want)
		}
	}
}
