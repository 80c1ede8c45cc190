// Package samples runs the code that the documents show, in every language.
package samples

import (
	"bytes"
	"encoding/json"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"agegate/internal/check/vision/visiontest"
	"agegate/internal/gatewaytest"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/tenant"
)

// TestREADME integrates a merchant with only the samples of the README and of the
// guides it links to, run unchanged: a session is created, its pass is confirmed
// in every way that the README names, and forgeries are refused.
func TestREADME(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	receiver := gatewaytest.NewReceiver(t)
	shop := g.Shop(t, receiver.URL, func(s *tenant.Tenant) { s.SuccessURL = "https://shop.example/ok?order=1" })

	commands := readSamples(t, "README.md").commands("$AGEGATE_URL", "$VERIFICATION_URL")
	answers := paste(t, g, commands, "AGEGATE_URL="+g.URL, "AGEGATE_API_KEY="+shop.Test.APIKey)
	if !strings.Contains(answers, `"status":"PASSED"`) {
		t.Errorf("the lookup says no pass:\n%s", answers)
	}
	address := regexp.MustCompile(`(?m)^https://shop\.example/ok\?\S+$`).FindString(answers)
	pass, err := url.Parse(address)
	if err != nil || address == "" {
		t.Fatalf("no Success URL is among the answers (%v):\n%s", err, answers)
	}
	session := pass.Query().Get("session")
	for _, document := range []string{"docs/guides/verify-token.md", "openapi.yaml"} {
		t.Run(document, func(t *testing.T) {
			testTokenSamples(t, readSamples(t, document), pass.Query(), session, shop.Test.RedirectSecret)
		})
	}
	testOtherTokenSamples(t, pass.Query(), session, shop.Test.RedirectSecret)
	testWebhookSamples(t, receiver.Wait(t, 1)[0], shop.Test.WebhookSecret)
}

// TestFiveMinuteGuide runs the commands of the guide, as they are but for the address and
// the key, and gets as far as a pass.
func TestFiveMinuteGuide(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	shop := g.Shop(t, "", nil)
	own := strings.NewReplacer("https://age.example.com", g.URL, "svc_test_…", shop.Test.APIKey)
	answers := paste(t, g, own.Replace(readSamples(t, "docs/guides/integrate.md").commands("")))
	for _, want := range []string{`"verification_url":"`, "&status=VERIFIED&is_adult=true\n", `"status":"PASSED"`} {
		if !strings.Contains(answers, want) {
			t.Errorf("%q is not among the answers:\n%s", want, answers)
		}
	}
}

// paste runs commands one after the other in one shell and returns what they print.
func paste(t *testing.T, g *gatewaytest.Gateway, commands string, env ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-euc", commands)
	cmd.Dir = t.TempDir()
	return string(output(t, cmd, append(env, "http_proxy="+g.URL)...)) // where the hosted page's name leads
}

// TestSecretKeyIsKept pastes the commands that start a gateway for others twice: the
// second time finds the key of the first, which only its owner can read.
func TestSecretKeyIsKept(t *testing.T) {
	home := t.TempDir()
	settings, _, _ := strings.Cut(readSamples(t, "docs/operations/install.md").find(t, "sh",
		"export AGEGATE_SECRET_KEY="), "\nmake ")
	key := func() string {
		cmd := exec.CommandContext(t.Context(), "sh", "-euc", settings+"\nprintf %s \"$AGEGATE_SECRET_KEY\"")
		return string(output(t, cmd, "HOME="+home))
	}
	if first, second := key(), key(); len(first) != 44 || first != second { // 32 bytes in base64
		t.Errorf("the keys are of %d and %d bytes, and the same: %t", len(first), len(second), first == second)
	}
	files, err := os.ReadDir(home)
	if err != nil || len(files) != 1 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	if info, err := files[0].Info(); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key's file has mode %v: %v", info.Mode(), err)
	}
}

// redirect is a query string that reaches the Success URL, and what the shop
// knows.
type redirect struct {
	Name, Query, Session, Secret string
	Pass                         bool
}

// testTokenSamples gives the samples in both languages the same redirects, good
// and forged.
func testTokenSamples(t *testing.T, shown blocks, pass url.Values, session, secret string) {
	cases := redirects(t, pass, session, secret)
	input, err := json.Marshal(cases)
	if err != nil {
		t.Fatal(err)
	}
	for language, program := range map[string]*exec.Cmd{
		"python": script(t, "python3", "check.py", shown.find(t, "python", "def verify_redirect")+`
import json, sys
def passes(c):
    try:
        return verify_redirect(c["Query"], c["Session"], c["Secret"])
    except ValueError:
        return False
print(json.dumps([passes(c) for c in json.load(sys.stdin)]))
`),
		"js": script(t, "node", "check.mjs", shown.find(t, "js", "function verifyRedirect")+`
import { readFileSync } from "node:fs";
const cases = JSON.parse(readFileSync(0));
const passes = (c) => verifyRedirect(c.Query, c.Session, c.Secret).catch((error) => {
  if (!(error instanceof TypeError)) throw error;
  return false;
});
console.log(JSON.stringify(await Promise.all(cases.map(passes))));
`),
	} {
		program.Stdin = bytes.NewReader(input)
		var verdicts []bool
		unmarshal(t, output(t, program), &verdicts)
		if len(verdicts) != len(cases) {
			t.Fatalf("%s: %d verdicts on %d redirects", language, len(verdicts), len(cases))
		}
		for i, c := range cases {
			if verdicts[i] != c.Pass {
				t.Errorf("%s: the redirect %q passes: %t, want %t", language, c.Name, verdicts[i], c.Pass)
			}
		}
	}
}

// redirects returns a good redirect and variants of it, most of them forged.
func redirects(t *testing.T, pass url.Values, session, secret string) []redirect {
	t.Helper()
	const (
		other  = "0190c0de-0000-7000-8000-000000000001"
		known  = "3f2b8c1e-9d4a-4f6b-8a57-0c1d2e3f4a5b"
		leaked = "rdsec_test_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
	)
	good := pass.Encode()
	expires, mac, _ := strings.Cut(pass.Get("token"), ".")
	cases := []redirect{
		{"good", good, session, secret, true},
		{"further parameters", good + "&utm=1&utm=2&x", session, secret, true},
		{"of another order", good, other, secret, false},
		{"under another secret", good, session, leaked, false},
		// The contract's known answer: its signature is valid, but it expired
		// long ago.
		{"expired", "session=" + known + "&status=VERIFIED&is_adult=true&token=1767225600.slfl0m62Hp6cILJ_niu6Z16vtBKHc9YORSXIuOaA8vg", known, leaked, false},
		{"bare visit", "", session, secret, false},
		{"no parameters", "&&", session, secret, false},
		{"broken escapes", strings.Replace(good, "token=", "token=%zz%ff", 1), session, secret, false},
		{"NUL", good + "%00", session, secret, false},
	}
	for name, secret := range gatewaytest.BadSecrets("rdsec_test_", "rdsec_live_") {
		v := credential.Redirect{Session: session, Status: "VERIFIED", IsAdult: true}
		cases = append(cases, redirect{name, redirectQuery(session, v.Token(secret.Key, time.Now().Add(time.Minute))),
			session, secret.Text, false})
	}
	set := func(name, key, value string) {
		q, _ := url.ParseQuery(good)
		q.Set(key, value)
		cases = append(cases, redirect{name, q.Encode(), session, secret, false})
	}
	set("status", "status", "ROUTED_TO_FALLBACK")
	set("status in lower case", "status", "verified")
	set("is_adult", "is_adult", "false")
	set("is_adult in upper case", "is_adult", "True")
	set("session", "session", other)
	set("session in upper case", "session", strings.ToUpper(session))
	set("fields moved", "status", "VERIFIED|true")
	for name, token := range map[string]string{
		"later expiry": "9" + expires + "." + mac, "expiry with a plus": "+" + expires + "." + mac,
		"expiry with a space": " " + expires + "." + mac, "expiry with a fraction": expires + ".0." + mac,
		"expiry in full-width digits": strings.Map(func(c rune) rune { return c - '0' + '\uff10' }, expires) + "." + mac,
		"other MAC":                   expires + "." + strings.Repeat("A", 43), "no MAC": expires, "empty MAC": expires + ".",
		"MAC that is not ASCII": expires + ".\u00e9", "character beyond 16 bits": expires + "." + mac + "\U0001f600",
		"junk": expires + "." + mac + ".junk", "junk without a dot": expires + "." + mac + "junk", "dot": expires + "." +
			mac + ".",
		"padding": expires + "." + mac + "=", "more padding": expires + "." + mac + "==", "space": expires + "." + mac + " ",
		"line":  expires + "." + mac + "\n",
		"empty": "", "one dot": ".", "no expiry": "." + mac, "one character less": expires + "." + mac[:len(mac)-1],
	} {
		set("token: "+name, "token", token)
	}
	for name := range pass {
		if name != "session" && name != "status" && name != "is_adult" && name != "token" {
			continue
		}
		q, _ := url.ParseQuery(good)
		q.Del(name)
		cases = append(cases,
			redirect{"no " + name, q.Encode(), session, secret, false},
			redirect{"doubled " + name, good + "&" + name + "=" + url.QueryEscape(pass.Get(name)), session, secret, false},
			redirect{"another " + name + " after", good + "&" + name + "=x", session, secret, false},
			redirect{"another " + name + " before", name + "=x&" + good, session, secret, false},
			redirect{"empty " + name + " after", good + "&" + name, session, secret, false},
			redirect{"name of " + name + " in upper case", q.Encode() + "&" + strings.ToUpper(name) + "=" +
				url.QueryEscape(pass.Get(name)), session, secret, false})
	}
	return append(cases, besides(t, good, session, secret)...)
}

// besides returns a good redirect to Success URLs with queries that languages read
// differently: those of the vectors.
func besides(t *testing.T, good, session, secret string) (cases []redirect) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(visiontest.Root(), "sdk/vectors.json"))
	if err != nil {
		t.Fatal(err)
	}
	var vectors struct {
		Redirects []struct{ Name, Query string }
	}
	unmarshal(t, data, &vectors)
	for _, v := range vectors.Redirects {
		if strings.HasPrefix(v.Name, "beside ") {
			before, _, _ := strings.Cut(v.Query, "token=1767225600.")
			cases = append(cases, redirect{v.Name, before + good, session, secret, true})
		}
	}
	if len(cases) != 17 {
		t.Fatalf("%d vectors have a query of their own, want 17", len(cases))
	}
	return cases
}

// redirectQuery is the query of a pass with a token.
func redirectQuery(session, token string) string {
	return url.Values{"session": {session}, "status": {"VERIFIED"}, "is_adult": {"true"}, "token": {token}}.Encode()
}

// blocks are the code blocks of a document.
type blocks []struct{ language, code string }

// readSamples reads a document in Markdown, or the description of openapi.yaml.
func readSamples(t *testing.T, document string) blocks {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(visiontest.Root(), document))
	if err != nil {
		t.Fatal(err)
	}
	if document == "openapi.yaml" {
		doc, err := openapi3.NewLoader().LoadFromData(text)
		if err != nil {
			t.Fatal(err)
		}
		text = []byte(doc.Info.Description)
	}
	var all blocks
	for _, m := range regexp.MustCompile("(?ms)^```([a-z]+)\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		all = append(all, struct{ language, code string }{m[1], m[2]})
	}
	return all
}

// find returns the only sample in a language that contains a text.
func (s blocks) find(t *testing.T, language, text string) string {
	t.Helper()
	found := ""
	for _, sample := range s {
		if sample.language == language && strings.Contains(sample.code, text) {
			if found != "" {
				t.Fatalf("there are two %s samples with %q", language, text)
			}
			found = sample.code
		}
	}
	if found == "" {
		t.Fatalf("there is no %s sample with %q", language, text)
	}
	return found
}

// commands returns the shell samples that contain one of the texts, in their order.
func (s blocks) commands(texts ...string) string {
	var all strings.Builder
	for _, sample := range s {
		contained := func(text string) bool { return strings.Contains(sample.code, text) }
		if sample.language == "sh" && slices.ContainsFunc(texts, contained) {
			all.WriteString(sample.code)
		}
	}
	return all.String()
}

// script writes a program to a place where it finds the packages of package.json.
func script(t *testing.T, interpreter, name, text string) *exec.Cmd {
	t.Helper()
	dir := t.TempDir()
	if err := os.Symlink(filepath.Join(visiontest.Root(), "node_modules"),
		filepath.Join(dir, "node_modules")); err != nil {
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
