package samples

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"agegate/internal/check/vision/visiontest"
	"agegate/internal/gatewaytest"
	"agegate/internal/rules/webhook"

	agegate "github.com/agegate/agegate/sdk/go"
)

// interpreters run the samples, by file extension.
var interpreters = map[string][]string{
	"sh": {"sh"}, "py": {"python3"}, "mjs": {"node"}, "go": {"go", "run"}, "php": {"php"},
}

// TestRequestSamples runs the requests shown in the reference, in every language,
// against the gateway, and then again with a key that is refused.
func TestRequestSamples(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	c := g.Shop(t, gatewaytest.NewReceiver(t).URL, nil)
	session, ended := g.Create(t, c.Test.APIKey, 18), g.Create(t, c.Test.APIKey, 18)
	g.Force(t, gatewaytest.Browser(), ended, "verified")
	events, err := g.App.Store.Events(t.Context(), webhook.Filter{Scope: webhook.OfTenant(c.Tenant.ID)})
	if err != nil || len(events) != 1 {
		t.Fatal(events, err)
	}
	for operation, want := range map[string]string{
		"createSession": "/v/", "getSessionStatus": "PENDING", "getDetectedAge": "not_consented",
		"listTestEvents": "evt_", "resendTestEvent": "evt_", "moveTestClock": "session",
	} {
		for ending, interpreter := range interpreters {
			file := filepath.Join(visiontest.Root(), "docs/samples", operation, "request."+ending)
			session := session
			if operation == "moveTestClock" { // which succeeds only once
				session = g.Create(t, c.Test.APIKey, 18)
			}
			run := func(key string) (string, error) {
				cmd := exec.CommandContext(t.Context(), interpreter[0], append(interpreter[1:], file)...)
				cmd.Env = append(os.Environ(), "AGEGATE_URL="+g.URL, "AGEGATE_API_KEY="+key, "SESSION_ID="+session.SessionID,
					"EVENT_ID="+events[0].ID)
				out, err := cmd.CombinedOutput()
				return string(out), err
			}
			if out, err := run(c.Test.APIKey); err != nil || !strings.Contains(out, want) {
				t.Errorf("%s in %s: %v\n%s", operation, ending, err, out)
			}
			if out, err := run("svc_test_wrong"); err == nil || !strings.Contains(out, "Invalid API key") &&
				!strings.Contains(out, "Missing or malformed API key") {
				t.Errorf("%s in %s takes a refusal for an answer, or does not say why: %s", operation, ending, out)
			}
			if text, err := os.ReadFile(file); err != nil || operation == "createSession" &&
				!strings.Contains(string(text), "Idempotency-Key") {
				t.Errorf("%s in %s sends no Idempotency-Key: %v", operation, ending, err)
			}
		}
	}
}

// testOtherTokenSamples gives the samples in the guide's other languages the same
// redirects as testTokenSamples.
func testOtherTokenSamples(t *testing.T, pass url.Values, session, secret string) {
	cases := redirects(t, pass, session, secret)
	input, err := json.Marshal(cases)
	if err != nil {
		t.Fatal(err)
	}
	php := script(t, "php", "check.php", sampleFile(t, "sdk/php/src/redirect.php")+`
function verifies(array $c): bool
{
    try {
        return verifyRedirect($c["Query"], $c["Session"], $c["Secret"]);
    } catch (\InvalidArgumentException) {
        return false;
    }
}
echo json_encode(array_map(verifies(...), json_decode(stream_get_contents(STDIN), true, flags: JSON_THROW_ON_ERROR)));
`)
	php.Stdin = bytes.NewReader(input)
	var verdicts []bool
	unmarshal(t, output(t, php), &verdicts)
	if len(verdicts) != len(cases) {
		t.Fatalf("PHP: %d verdicts on %d redirects", len(verdicts), len(cases))
	}
	for i, c := range cases {
		if verdicts[i] != c.Pass {
			t.Errorf("PHP: the redirect %q passes: %t, want %t", c.Name, verdicts[i], c.Pass)
		}
		if got := agegate.VerifyRedirect(c.Query, c.Session, c.Secret) == nil; got != c.Pass {
			t.Errorf("Go: the redirect %q passes: %t, want %t", c.Name, got, c.Pass)
		}
	}
}

func sampleFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(visiontest.Root(), name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// testWebhookSamples gives the sample in each language the same deliveries, good
// and forged.
func testWebhookSamples(t *testing.T, d gatewaytest.Delivery, secret string) {
	type delivery struct {
		Headers map[string]string
		Body    string
		Secret  string
		Good    bool
	}
	good := map[string]string{}
	for name := range d.Header {
		good[strings.ToLower(name)] = d.Header.Get(name)
	}
	changed := func(name, value string) map[string]string {
		headers := maps.Clone(good)
		headers[name] = value
		return headers
	}
	body := string(d.Body)
	cases := []delivery{
		{good, body, secret, true},
		{changed("webhook-signature", "v1,AAAA v2,x "+good["webhook-signature"]), body, secret, true},
		{good, strings.Replace(body, `"livemode":false`, `"livemode":true`, 1), secret, false},
		{good, body + " ", secret, false},
		{changed("webhook-id", "evt_other"), body, secret, false},
		{changed("webhook-timestamp", "1767225600"), body, secret, false},
		{changed("webhook-timestamp", ""), body, secret, false},
		{changed("webhook-timestamp", "now"), body, secret, false},
		{changed("webhook-signature", ""), body, secret, false},
		{changed("webhook-signature", "v1,"+strings.Repeat("A", 43)+"="), body, secret, false},
		{changed("webhook-signature", "v1,é"), body, secret, false},
	}
	for _, bad := range gatewaytest.BadSecrets("whsec_") {
		h := hmac.New(sha256.New, bad.Key)
		h.Write([]byte(good["webhook-id"] + "." + good["webhook-timestamp"] + "." + body))
		forged := changed("webhook-signature", "v1,"+base64.StdEncoding.EncodeToString(h.Sum(nil)))
		cases = append(cases, delivery{forged, body, bad.Text, false})
	}
	input, err := json.Marshal(cases)
	if err != nil {
		t.Fatal(err)
	}
	for language, program := range map[string]*exec.Cmd{
		"Python": script(t, "python3", "check.py", sampleFile(t, "sdk/python/agegate/webhook.py")+`
import sys
def verifies(c):
    try:
        return verify_webhook(c["Headers"], c["Body"].encode(), c["Secret"]) is not None
    except ValueError:
        return False
print(json.dumps([verifies(c) for c in json.load(sys.stdin)]))
`),
		"JavaScript": script(t, "node", "check.mjs", sampleFile(t, "sdk/typescript/webhook.js")+`
import { readFileSync } from "node:fs";
const cases = JSON.parse(readFileSync(0));
const verifies = (c) => verifyWebhook(c.Headers, c.Body, c.Secret).catch((error) => {
  if (!(error instanceof TypeError)) throw error;
  return null;
});
console.log(JSON.stringify((await Promise.all(cases.map(verifies))).map((event) => event !== null)));
`),
		"PHP": script(t, "php", "check.php", sampleFile(t, "sdk/php/src/webhook.php")+`
function verifies(array $c): bool
{
    try {
        return verifyWebhook($c["Headers"], $c["Body"], $c["Secret"]) !== null;
    } catch (\InvalidArgumentException) {
        return false;
    }
}
echo json_encode(array_map(verifies(...), json_decode(stream_get_contents(STDIN), true, flags: JSON_THROW_ON_ERROR)));
`),
	} {
		program.Stdin = bytes.NewReader(input)
		var verdicts []bool
		unmarshal(t, output(t, program), &verdicts)
		if len(verdicts) != len(cases) {
			t.Fatalf("%s: %d verdicts on %d deliveries", language, len(verdicts), len(cases))
		}
		for i, c := range cases {
			if verdicts[i] != c.Good {
				t.Errorf("%s: delivery %d under %q verifies: %t, want %t", language, i, c.Secret, verdicts[i], c.Good)
			}
		}
	}
	for i, c := range cases {
		header := http.Header{}
		for name, value := range c.Headers {
			header.Set(name, value)
		}
		event, err := agegate.VerifyWebhook(header, []byte(c.Body), c.Secret)
		if (err == nil) != c.Good || c.Good && (!event.IsAdult || event.SessionID == "") {
			t.Errorf("Go: delivery %d gives %+v, %v; want %t", i, event, err, c.Good)
		}
	}
}
