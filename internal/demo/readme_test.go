package demo_test

import (
	"bytes"
	"encoding/json"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"agegate/internal/proof/harness"
	"agegate/internal/tenant"
	"agegate/internal/vision/visiontest"
)

// TestREADME integrates a merchant with nothing but the README's samples, run
// as they stand there: a session is created, its pass is confirmed in every
// way the README names, and what is forged is refused.
func TestREADME(t *testing.T) {
	samples := readSamples(t)
	g := harness.Start(t, harness.SQLite(t))
	receiver := harness.NewReceiver(t)
	shop := g.Shop(t, receiver.URL, func(s *tenant.Tenant) { s.SuccessURL = "https://shop.example/ok?order=1" })

	shell := func(sample string, env ...string) []byte {
		t.Helper()
		command := strings.ReplaceAll(sample, "http://localhost:8080", g.URL)
		return output(t, exec.CommandContext(t.Context(), "sh", "-c", command), append(env, "API_KEY="+shop.Test.APIKey)...)
	}
	var session harness.Created
	unmarshal(t, shell(samples.find(t, "sh", "sessions/create")), &session)
	res, _ := g.Force(t, harness.Browser(), session, "verified")
	pass, err := url.Parse(res.Header.Get("Location"))
	if err != nil {
		t.Fatal(err)
	}
	testTokenSamples(t, samples, pass.Query(), session.SessionID, shop.Test.RedirectSecret)
	testWebhookSample(t, samples, receiver.Wait(t, 1)[0], session.SessionID, shop.Test.WebhookSecret)

	var status struct{ Status string }
	unmarshal(t, shell(samples.find(t, "sh", "$SESSION_ID/status"), "SESSION_ID="+session.SessionID), &status)
	if status.Status != "PASSED" {
		t.Errorf("the lookup says %q", status.Status)
	}
}

// testTokenSamples gives both languages the same redirects, good and forged.
func testTokenSamples(t *testing.T, samples samples, pass url.Values, session, secret string) {
	type redirect struct{ Name, Query, Session, Secret string }
	cases := []redirect{{"good", pass.Encode(), session, secret}}
	forge := func(name string, edit func(q url.Values)) {
		q, _ := url.ParseQuery(pass.Encode())
		edit(q)
		cases = append(cases, redirect{name, q.Encode(), session, secret})
	}
	expires, mac, _ := strings.Cut(pass.Get("token"), ".")
	forge("status", func(q url.Values) { q.Set("status", "ROUTED_TO_FALLBACK") })
	forge("is_adult", func(q url.Values) { q.Set("is_adult", "false") })
	forge("session", func(q url.Values) { q.Set("session", "0190c0de-0000-7000-8000-000000000001") })
	forge("later expiry", func(q url.Values) { q.Set("token", "9"+expires+"."+mac) })
	forge("other MAC", func(q url.Values) { q.Set("token", expires+"."+strings.Repeat("A", 43)) })
	forge("not ASCII", func(q url.Values) { q.Set("token", expires+".é") })
	forge("tail", func(q url.Values) { q.Set("token", expires+"."+mac+".x") })
	forge("no MAC", func(q url.Values) { q.Set("token", expires) })
	forge("empty", func(q url.Values) { q.Set("token", "") })
	forge("no token", func(q url.Values) { q.Del("token") })
	forge("no session", func(q url.Values) { q.Del("session") })
	// The known answer of the contract: it holds, and expired long ago.
	cases = append(cases,
		redirect{"of another order", pass.Encode(), "0190c0de-0000-7000-8000-000000000001", secret},
		redirect{"under another secret", pass.Encode(), session, "rdsec_test_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="},
		redirect{"expired", "session=3f2b8c1e-9d4a-4f6b-8a57-0c1d2e3f4a5b&status=VERIFIED&is_adult=true&token=1767225600.slfl0m62Hp6cILJ_niu6Z16vtBKHc9YORSXIuOaA8vg",
			"3f2b8c1e-9d4a-4f6b-8a57-0c1d2e3f4a5b", "rdsec_test_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="})
	input, err := json.Marshal(cases)
	if err != nil {
		t.Fatal(err)
	}
	for language, program := range map[string]*exec.Cmd{
		"python": script(t, "python3", "check.py", samples.find(t, "python", "def is_pass")+`
import json, sys, urllib.parse
cases = json.load(sys.stdin)
print(json.dumps([is_pass(dict(urllib.parse.parse_qsl(c["Query"])), c["Session"], c["Secret"]) for c in cases]))
`),
		"js": script(t, "node", "check.mjs", samples.find(t, "js", "function isPass")+`
import { readFileSync } from "node:fs";
const cases = JSON.parse(readFileSync(0));
console.log(JSON.stringify(cases.map((c) => isPass(new URLSearchParams(c.Query), c.Session, c.Secret))));
`),
	} {
		program.Stdin = bytes.NewReader(input)
		var verdicts []bool
		unmarshal(t, output(t, program), &verdicts)
		for i, c := range cases {
			if want := c.Name == "good"; verdicts[i] != want {
				t.Errorf("%s: the redirect %q passes: %t, want %t", language, c.Name, verdicts[i], want)
			}
		}
	}
}

// testWebhookSample hands the sample a delivery, then the same with another
// body.
func testWebhookSample(t *testing.T, samples samples, d harness.Delivery, session, secret string) {
	headers := map[string]string{}
	for name := range d.Header {
		headers[strings.ToLower(name)] = d.Header.Get(name)
	}
	for body, want := range map[string]string{
		string(d.Body): "released",
		strings.Replace(string(d.Body), `"livemode":false`, `"livemode":true`, 1): "refused",
	} {
		input, err := json.Marshal(map[string]any{"headers": headers, "body": body})
		if err != nil {
			t.Fatal(err)
		}
		imports, sample, ok := strings.Cut(samples.find(t, "js", "new Webhook("), ";\n")
		if !ok {
			t.Fatal("the webhook's sample does not begin with its import")
		}
		program := script(t, "node", "hook.mjs", imports+`;
import { readFileSync } from "node:fs";
const { headers, body: rawBody } = JSON.parse(readFileSync(0));
const expected = "`+session+`", order = {};
const release = () => console.log("released");
try {
`+sample+`
} catch { console.log("refused"); }
`)
		program.Stdin = bytes.NewReader(input)
		if got := strings.TrimSpace(string(output(t, program, "WEBHOOK_SECRET="+secret))); got != want {
			t.Errorf("the webhook is %q, want %q", got, want)
		}
	}
}

// samples are the README's code blocks.
type samples []struct{ language, code string }

func readSamples(t *testing.T) samples {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(visiontest.Root(), "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var all samples
	for _, m := range regexp.MustCompile("(?ms)^```([a-z]+)\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		all = append(all, struct{ language, code string }{m[1], m[2]})
	}
	return all
}

// find returns the one sample of a language that holds a text.
func (s samples) find(t *testing.T, language, text string) string {
	t.Helper()
	found := ""
	for _, sample := range s {
		if sample.language == language && strings.Contains(sample.code, text) {
			if found != "" {
				t.Fatalf("README.md has two %s samples with %q", language, text)
			}
			found = sample.code
		}
	}
	if found == "" {
		t.Fatalf("README.md has no %s sample with %q", language, text)
	}
	return found
}

// script writes a program where it finds the packages of package.json.
func script(t *testing.T, interpreter, name, text string) *exec.Cmd {
	t.Helper()
	dir := t.TempDir()
	if err := os.Symlink(filepath.Join(visiontest.Root(), "node_modules"), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return exec.CommandContext(t.Context(), interpreter, path)
}

func output(t *testing.T, cmd *exec.Cmd, env ...string) []byte {
	t.Helper()
	cmd.Env = append(os.Environ(), env...)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd.Args[0], err, &complaint)
	}
	return out
}

func unmarshal(t *testing.T, data []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatalf("%v: %q", err, data)
	}
}
