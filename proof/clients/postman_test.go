package clients

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"agegate/internal/gatewaytest"
)

// TestPostman runs the published document with Newman, as Postman's own converter
// imports it with the two settings that docs/guides/clients.md names.
func TestPostman(t *testing.T) {
	public := "http://127.0.0.1:" + freePort(t)
	g := gatewaytest.Start(t, gatewaytest.SQLite(t), "AGEGATE_LISTEN="+strings.TrimPrefix(public, "http://"),
		"AGEGATE_BASE_URL="+public, "AGEGATE_VERIFY_URL="+public)
	c := g.Shop(t, "", nil)
	dir := t.TempDir()
	_, document := get(t, http.DefaultClient, g.URL+"/openapi.json")
	write(t, filepath.Join(dir, "openapi.json"), document)
	run(t, dir, nil, generators(t, "openapi2postmanv2"), "-s", "openapi.json", "-o", "imported.json",
		"-O", "parametersResolution=Example,enableOptionalParameters=false")
	imported := readFile(t, filepath.Join(dir, "imported.json"))
	var converted struct {
		Variable []struct{ Key, Value string }
	}
	if err := json.Unmarshal([]byte(imported), &converted); err != nil {
		t.Fatal(err)
	}
	if len(converted.Variable) != 1 || converted.Variable[0].Value != public {
		t.Errorf("the imported document has the variables %v", converted.Variable)
	}
	for range 2 { // a fixed Idempotency-Key would give the first session again
		run(t, dir, nil, generators(t, "newman"), "run", "imported.json", "--disable-unicode", "--color", "off",
			"--folder", "Create a verification session", "--env-var", "apiKey="+c.Test.APIKey)
	}
	if n := g.Count(t, "sessions"); n != 2 {
		t.Errorf("two runs of the imported request made %d sessions", n)
	}
}

// generators returns the path of a program that npm has installed.
func generators(t *testing.T, program string) string {
	t.Helper()
	path, err := filepath.Abs("../../internal/tools/generators/node_modules/.bin/" + program)
	if err != nil {
		t.Fatal(err)
	}
	return path
}
