package door

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"agegate/internal/store/pgtest"
)

// modules are npm packages that others wrote, which `make test-all` installs.
const modules = "../../internal/tools/generators/node_modules"

// signInScript is a client with the certified library openid-client. It prints
// where to send the visitor, reads where he came back, and prints the claims.
const signInScript = `
import * as client from 'openid-client';
import { createInterface } from 'node:readline';
const { ISSUER, CALLBACK } = process.env;
const config = await client.discovery(new URL(ISSUER), 'wiki', 'a secret', undefined,
	{ execute: [client.allowInsecureRequests] });
const pkceCodeVerifier = client.randomPKCECodeVerifier();
const code_challenge = await client.calculatePKCECodeChallenge(pkceCodeVerifier);
console.log(client.buildAuthorizationUrl(config, { redirect_uri: CALLBACK, scope: 'openid', state: 'a state',
	nonce: 'a nonce', code_challenge, code_challenge_method: 'S256' }).href);
for await (const line of createInterface({ input: process.stdin })) {
	const tokens = await client.authorizationCodeGrant(config, new URL(line), { pkceCodeVerifier,
		expectedState: 'a state', expectedNonce: 'a nonce' });
	const info = await client.fetchUserInfo(config, tokens.access_token, tokens.claims().sub);
	let again = '';
	try {
		await client.authorizationCodeGrant(config, new URL(line), { pkceCodeVerifier, expectedState: 'a state',
			expectedNonce: 'a nonce' });
	} catch (e) { again = e.error; }
	console.log(JSON.stringify({ claims: tokens.claims(), info, again }));
	break;
}
`

// TestOpenIDClient signs in with openid-client.
func TestOpenIDClient(t *testing.T) {
	t.Parallel()
	s := startSite(t, signInSettings(t, clients, signingKey(t))...)
	dir := t.TempDir()
	installed, err := filepath.Abs(modules)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(installed, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "client.mjs"), []byte(signInScript))
	cmd := exec.CommandContext(t.Context(), "node", "client.mjs")
	cmd.Dir = dir
	cmd.Env = append(cmd.Environ(), "ISSUER="+s.url+"/_door", "CALLBACK="+callback)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := json.NewDecoder(out)
	var ask bytes.Buffer
	for b := make([]byte, 1); ; ask.Write(b) {
		if _, err := out.Read(b); err != nil {
			t.Fatalf("openid-client: %v\n%s", err, &complaint)
		}
		if b[0] == '\n' {
			break
		}
	}
	v := s.visitor(t)
	code := s.signIn(t, v, ask.String())
	if _, err := in.Write([]byte(callback + "?code=" + code + "&state=a+state\n")); err != nil {
		t.Fatal(err)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Claims, Info map[string]any
		Again        string
	}
	if err := lines.Decode(&got); err != nil {
		t.Fatalf("openid-client: %v\n%s", err, &complaint)
	}
	if got.Claims["age_over_18"] != true || got.Info["age_over_18"] != true || got.Again != "invalid_grant" {
		t.Errorf("%+v", got)
	}
	_ = cmd.Wait()
}

// TestOAuth2Proxy gates a site by oauth2-proxy, with the door as its provider.
func TestOAuth2Proxy(t *testing.T) {
	t.Parallel()
	dir, address := t.TempDir(), pgtest.FreeAddr(t)
	install := exec.CommandContext(t.Context(), "go", "install", "github.com/oauth2-proxy/oauth2-proxy/v7@v7.15.6")
	install.Env = append(install.Environ(), "GOBIN="+dir, "GOFLAGS=-buildvcs=false", "CGO_ENABLED=0")
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	list := strings.ReplaceAll(clients, callback, "http://"+address+"/oauth2/callback")
	s := startSite(t, signInSettings(t, list, signingKey(t))...)
	run(t, dir, address, nil, filepath.Join(dir, "oauth2-proxy"), "--provider=oidc", "--oidc-issuer-url="+s.url+"/_door",
		"--client-id=wiki", "--client-secret=a secret", "--redirect-url=http://"+address+"/oauth2/callback", "--scope=openid",
		"--code-challenge-method=S256", "--oidc-email-claim=sub", "--email-domain=*", "--skip-provider-button",
		"--cookie-secret=0123456789abcdef", "--cookie-secure=false", "--upstream="+upstream(t), "--http-address="+address)
	v := s.visitor(t)
	res := v.travel("http://" + address + "/thread?id=7")
	if res.status != http.StatusForbidden || strings.Contains(res.body, "the site") {
		t.Fatalf("without a pass: %d %s", res.status, res.body)
	}
	to := wanted.FindStringSubmatch(res.body)
	hosted := v.press("/_door/begin", strings.ReplaceAll(to[1], "&amp;", "&"))
	if res = v.travel(s.force(t, v, hosted, "verified")); res.status != http.StatusOK ||
		!strings.Contains(res.body, "the site at /thread") {
		t.Errorf("with a pass: %d %s", res.status, res.body)
	}
}

// travel follows redirects across sites.
func (v *visitor) travel(address string) answer {
	v.t.Helper()
	res := v.get(address)
	for at := address; res.location != ""; res = v.get(at) {
		if strings.HasPrefix(res.location, "/") {
			at = strings.Join(strings.SplitN(at, "/", 4)[:3], "/") + res.location
		} else {
			at = res.location
		}
	}
	return res
}
