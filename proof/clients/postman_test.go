package clients

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"agegate/internal/gatewaytest"
)

// TestPostman runs the published collection with Newman, and the published
// document as Postman's own converter imports it with its examples.
func TestPostman(t *testing.T) {
	public := "http://127.0.0.1:" + freePort(t)
	g := gatewaytest.Start(t, gatewaytest.SQLite(t), "AGEGATE_LISTEN="+strings.TrimPrefix(public, "http://"),
		"AGEGATE_BASE_URL="+public, "AGEGATE_VERIFY_URL="+public)
	receiver := gatewaytest.NewReceiver(t)
	c := g.Shop(t, receiver.URL, nil)
	dir := t.TempDir()
	newman := func(collection string, args ...string) string {
		t.Helper()
		return run(t, dir, nil, append([]string{generators(t, "newman"), "run", collection, "--disable-unicode", "--color",
			"off"}, args...)...)
	}

	_, collection := get(t, http.DefaultClient, g.URL+"/postman.json")
	if strings.Count(collection, "{{$guid}}") != 1 || !strings.Contains(collection, `"value": "`+public+`"`) {
		t.Errorf("the collection is %s", collection)
	}
	write(t, filepath.Join(dir, "postman.json"), collection)
	for range 2 { // a fixed Idempotency-Key would give the first session again, which has ended
		newman("postman.json", "--env-var", "api_key="+c.Test.APIKey)
	}
	if n := g.Count(t, "sessions"); n != 2 {
		t.Errorf("two runs made %d sessions", n)
	}
	receiver.Wait(t, 4) // each event, and again

	_, document := get(t, http.DefaultClient, g.URL+"/openapi.json")
	write(t, filepath.Join(dir, "openapi.json"), document)
	run(t, dir, nil, generators(t, "openapi2postmanv2"), "-s", "openapi.json", "-o", "imported.json",
		"-O", "folderStrategy=Tags,parametersResolution=Example,enableOptionalParameters=false")
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
	before := g.Count(t, "sessions")
	said := newman("imported.json", "--folder", "Create a verification session", "--env-var", "apiKey="+c.Test.APIKey)
	if n := g.Count(t, "sessions"); n != before+1 {
		t.Errorf("the imported request creates no session: %s", said)
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
