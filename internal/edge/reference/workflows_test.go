package reference_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"

	"agegate/internal/check/vision/visiontest"
	"agegate/internal/gatewaytest"
	"agegate/internal/rules/tenant"
)

// TestWorkflows runs the Arazzo workflows with Redocly's runner against the
// gateway that publishes them.
func TestWorkflows(t *testing.T) {
	var gateway *url.URL
	public := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(gateway) }})
	t.Cleanup(public.Close)
	g := gatewaytest.Start(t, gatewaytest.SQLite(t), "AGEGATE_BASE_URL="+public.URL, "AGEGATE_VERIFY_URL="+public.URL)
	gateway, _ = url.Parse(g.URL)

	var visits atomic.Int32
	success := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		if req.URL.Query().Get("is_adult") == "true" {
			visits.Add(1)
		}
	}))
	t.Cleanup(success.Close)
	shop := g.Shop(t, "", func(s *tenant.Tenant) { s.SuccessURL = success.URL })

	dir := t.TempDir()
	for _, name := range []string{"openapi.yaml", "arazzo.yaml"} {
		body := get(t, g.URL+"/"+name)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(key string) ([]byte, error) {
		respect := exec.CommandContext(t.Context(), filepath.Join(visiontest.Root(), "node_modules/.bin/redocly"),
			"respect", "arazzo.yaml", "--input", "apiKey="+key)
		respect.Dir = dir
		respect.Env = append(os.Environ(), "REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true")
		return respect.CombinedOutput()
	}
	if out, err := run(shop.Test.APIKey); err != nil {
		t.Fatalf("the workflows fail: %v\n%s", err, out)
	}
	if n := visits.Load(); n != 1 {
		t.Errorf("the Success URL was visited with a pass %d times, want once", n)
	}
	if _, err := run(shop.Test.APIKey + "x"); err == nil {
		t.Error("the workflows pass with a wrong key")
	}
}
