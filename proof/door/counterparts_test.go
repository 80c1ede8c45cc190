package door

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
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
