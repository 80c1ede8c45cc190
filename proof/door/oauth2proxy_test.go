//go:build frameworks

package door

import (
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"agegate/internal/store/pgtest"
)

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
