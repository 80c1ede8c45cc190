package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"agegate/internal/credential"
)

// console runs commands on one database, as an operator does.
type console struct {
	t   *testing.T
	env map[string]string
}

func newConsole(t *testing.T) *console {
	return &console{t, map[string]string{
		"AGEGATE_DATABASE_URL": "sqlite:" + filepath.Join(t.TempDir(), "agegate.db"),
		"AGEGATE_SECRET_KEY":   "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
	}}
}

// output runs a command and returns what it printed to each stream.
func (c *console) output(args ...string) (stdout, stderr string, err error) {
	var out, errs bytes.Buffer
	err = run(c.t.Context(), args, func(name string) (string, bool) { v, ok := c.env[name]; return v, ok }, &out, &errs)
	return out.String(), errs.String(), err
}

func (c *console) try(args ...string) (string, error) {
	stdout, stderr, err := c.output(args...)
	return stdout + stderr, err
}

func (c *console) run(args ...string) string {
	c.t.Helper()
	out, err := c.try(args...)
	if err != nil {
		c.t.Fatalf("agegate %s: %v", strings.Join(args, " "), err)
	}
	return out
}

// parsed runs a command that prints JSON.
func parsed[T any](c *console, args ...string) T {
	c.t.Helper()
	var v T
	stdout, _, err := c.output(args...)
	dec := json.NewDecoder(strings.NewReader(stdout))
	dec.DisallowUnknownFields()
	if err := errors.Join(err, dec.Decode(&v)); err != nil {
		c.t.Fatalf("agegate %s: %v", strings.Join(args, " "), err)
	}
	return v
}

func TestTenantCreatePrintsEverythingOnce(t *testing.T) {
	c := newConsole(t)
	made := parsed[createdTenant](c, "tenant", "create", "--name", "Shop", "--success-url", "https://s.example/ok",
		"--webhook-url", "https://s.example/hook", "--document-check", "--age-visibility", "--free-checks", "-1", "--credit", "5", "--json")
	for key, livemode := range map[string]bool{made.APIKeys.Test: false, made.APIKeys.Live: true} {
		if got, err := credential.ParseAPIKey(key); err != nil || got != livemode {
			t.Errorf("API key of live mode %t: %t, %v", livemode, got, err)
		}
	}
	for secret, shape := range map[string]string{
		made.WebhookSecrets.Test: `^whsec_[A-Za-z0-9+/]{43}=$`, made.WebhookSecrets.Live: `^whsec_[A-Za-z0-9+/]{43}=$`,
		made.RedirectSecrets.Test: `^rdsec_test_[A-Za-z0-9+/]{43}=$`, made.RedirectSecrets.Live: `^rdsec_live_[A-Za-z0-9+/]{43}=$`,
	} {
		if !regexp.MustCompile(shape).MatchString(secret) {
			t.Errorf("a secret is not of the shape %s", shape)
		}
	}
	listing := c.run("tenant", "list", "--json") + c.run("tenant", "list") + c.run("key", "list", made.TenantID.String())
	for _, secret := range []string{made.APIKeys.Test, made.APIKeys.Live, made.WebhookSecrets.Test, made.RedirectSecrets.Live} {
		if strings.Contains(listing, secret) {
			t.Error("a listing shows a key or a secret")
		}
	}
	tenants := parsed[[]listedTenant](c, "tenant", "list", "--json")
	if len(tenants) != 1 || tenants[0].Credit != 5 || !tenants[0].DocumentCheck || *tenants[0].FreeChecks != -1 {
		t.Errorf("listed %+v", tenants)
	}
}

func TestTenantSettings(t *testing.T) {
	c := newConsole(t)
	id := parsed[createdTenant](c, "tenant", "create", "--name", "Shop", "--cancel-url", "https://s.example/", "--document-check", "--json").TenantID.String()
	c.run("tenant", "set", id, "--cancel-url", "", "--document-check=false", "--name", "New")
	c.run("tenant", "disable", id)
	c.run("tenant", "credit", id, "--add", "7")
	got := parsed[[]listedTenant](c, "tenant", "list", "--json")[0]
	if got.CancelURL != "" || got.DocumentCheck || got.Name != "New" || !got.Disabled || got.Credit != 7 {
		t.Errorf("got %+v", got)
	}
	c.run("tenant", "enable", id)
	if parsed[[]listedTenant](c, "tenant", "list", "--json")[0].Disabled {
		t.Error("still disabled")
	}
}

func TestKeys(t *testing.T) {
	c := newConsole(t)
	id := parsed[createdTenant](c, "tenant", "create", "--name", "Shop", "--json").TenantID.String()
	made := parsed[struct {
		KeyID string `json:"key_id"`
		Key   string `json:"key"`
	}](c, "key", "create", id, "--mode", "live", "--json")
	if livemode, err := credential.ParseAPIKey(made.Key); err != nil || !livemode {
		t.Errorf("%t, %v", livemode, err)
	}
	c.run("key", "revoke", made.KeyID)
	for _, k := range parsed[[]listedKey](c, "key", "list", id, "--json") {
		if (k.RevokedAt != nil) != (k.KeyID.String() == made.KeyID) {
			t.Errorf("key %s revoked at %v", k.KeyID, k.RevokedAt)
		}
	}
}

func TestWebhookCommands(t *testing.T) {
	c := newConsole(t)
	made := parsed[createdTenant](c, "tenant", "create", "--name", "Shop", "--json")
	rotated := parsed[map[string]string](c, "webhook", "rotate", made.TenantID.String(), "--mode", "test", "--overlap", "1h", "--json")
	if s := rotated["webhook_secret"]; s == made.WebhookSecrets.Test || !strings.HasPrefix(s, "whsec_") {
		t.Error("the secret is not new")
	}
	if got := parsed[[]listedEvent](c, "webhook", "list", "--json"); len(got) != 0 {
		t.Errorf("listed %v", got)
	}
	if got := parsed[[]listedEndpoint](c, "webhook", "endpoints", "--json"); len(got) != 0 {
		t.Errorf("listed %v", got)
	}
	if got := parsed[map[string]int](c, "webhook", "resend", "--failed-since", "24h", "--json"); got["resent"] != 0 {
		t.Errorf("resent %v", got)
	}
}

func TestRedirectCommands(t *testing.T) {
	c := newConsole(t)
	id := parsed[createdTenant](c, "tenant", "create", "--name", "Shop", "--json").TenantID.String()
	if _, err := c.try("redirect", "promote", id, "--mode", "live"); err == nil {
		t.Error("promoted what was never staged")
	}
	staged := parsed[map[string]string](c, "redirect", "stage", id, "--mode", "live", "--json")
	if !strings.HasPrefix(staged["redirect_secret"], "rdsec_live_") {
		t.Errorf("staged %d characters", len(staged["redirect_secret"]))
	}
	c.run("redirect", "promote", id, "--mode", "live")
}

func TestClearErrors(t *testing.T) {
	t.Setenv("WEBHOOK_SECRET", "")
	c := newConsole(t)
	id := parsed[createdTenant](c, "tenant", "create", "--name", "Shop", "--json").TenantID.String()
	const nobody = "0190c0de-0000-7000-8000-000000000001"
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"tenant", "create"}, `required flag(s) "name" not set`},
		{[]string{"tenant", "create", "--name", " "}, "name must not be empty"},
		{[]string{"tenant", "create", "--name", "X\x1b[2J"}, "name must not have control or invisible characters"},
		{[]string{"tenant", "set", id, "--name", "X\u202eY"}, "name must not have control or invisible characters"},
		{[]string{"tenant", "create", "--name", "X", "--success-url", "http://s.example/"}, "success URL is not acceptable: the scheme must be https"},
		{[]string{"tenant", "create", "--name", "X", "--webhook-url", "https://s.example/#f"}, "webhook URL is not acceptable: it must not have a fragment"},
		{[]string{"tenant", "create", "--name", "X", "--success-url", "https://b\u00fccher.example/"}, "success URL is not acceptable: the host must be ASCII: write an internationalized name in punycode"},
		{[]string{"tenant", "set", id, "--cancel-url", "https://\uff53hop.example/"}, "cancel URL is not acceptable: the host must be ASCII"},
		{[]string{"tenant", "set", id, "--webhook-url", "https://shop.example./"}, "webhook URL is not acceptable: it is not an absolute URL with a valid host"},
		{[]string{"tenant", "create", "--name", "X", "--free-checks", "-2"}, "free checks must be"},
		{[]string{"tenant", "set", nobody, "--name", "X"}, "not found"},
		{[]string{"tenant", "set", "x"}, "the ID must be a UUID"},
		{[]string{"tenant", "disable"}, "give exactly one TENANT_ID"},
		{[]string{"tenant", "credit", id, "--add", "0"}, "credit to add must be from 1 to"},
		{[]string{"tenant", "credit", id, "--add", "9223372036854775807"}, "credit to add must be from 1 to"},
		{[]string{"tenant", "create", "--name", "X", "--credit", "1000000001"}, "--credit must be from 0 to"},
		{[]string{"tenant", "credit", nobody, "--add", "1"}, "tenant not found"},
		{[]string{"tenant", "set", id}, "at least one setting"},
		{[]string{"tenant", "enable", nobody}, "tenant not found"},
		{[]string{"key", "create", id, "--mode", "prod"}, "--mode must be test or live"},
		{[]string{"key", "create", nobody, "--mode", "test"}, "tenant not found"},
		{[]string{"key", "list", nobody}, "tenant not found"},
		{[]string{"key", "revoke", nobody}, "API key not found"},
		{[]string{"redirect", "promote", id, "--mode", "test"}, "staged redirect secret not found"},
		{[]string{"webhook", "show", "evt_" + nobody}, "event not found"},
		{[]string{"webhook", "resend", "evt_" + nobody}, "event not found"},
		{[]string{"webhook", "list", "--tenant", nobody}, "tenant not found"},
		{[]string{"webhook", "list", "--status", "lost"}, "--status must be pending, "},
		{[]string{"webhook", "resend"}, "give either an EVENT_ID or --failed-since"},
		{[]string{"webhook", "rotate", id, "--mode", "test", "--overlap", "2h"}, "overlap must be"},
		{[]string{"webhook", "verify"}, "WEBHOOK_SECRET must be set"},
		{[]string{"nonsense"}, `unknown command "nonsense"`},
		{[]string{"tenant", "nonsense"}, `unknown command "nonsense" for "agegate tenant"`},
		{[]string{"tenant", "list", "--database-url", "postgres://u@127.0.0.1:1/none"}, "AGEGATE_DATABASE_URL: Database unavailable"},
		{[]string{"tenant", "list", "--database-url", "postgres://u:canary@127.0.0.1:1/none"}, "--database-url must not have a password"},
		{[]string{"serve", "--database-url=postgresql://127.0.0.1:1/none?user=u&password=canary"}, "set AGEGATE_DATABASE_URL instead"},
	} {
		_, err := c.try(tt.args...)
		if err == nil || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(tt.want)) || strings.Contains(err.Error(), "canary") {
			t.Errorf("agegate %s: got %v, want %q", strings.Join(tt.args, " "), err, tt.want)
		}
	}
}

// The variable takes the password that the flag refuses.
func TestTheDatabasesPasswordIsAVariable(t *testing.T) {
	c := newConsole(t)
	c.env["AGEGATE_DATABASE_URL"] = "postgres://u:canary@127.0.0.1:1/none"
	_, err := c.try("tenant", "list")
	if err == nil || !strings.Contains(err.Error(), "AGEGATE_DATABASE_URL: Database unavailable") || strings.Contains(err.Error(), "canary") {
		t.Errorf("got %v", err)
	}
}

func TestAFlagWinsOverItsVariable(t *testing.T) {
	c := newConsole(t)
	c.env["AGEGATE_LOG_LEVEL"] = "nonsense"
	c.env["AGEGATE_AGE_MARGIN"] = "-1"
	_, err := c.try("migrate", "--log-level", "info")
	if err == nil || strings.Contains(err.Error(), "LOG_LEVEL") || !strings.Contains(err.Error(), "AGEGATE_AGE_MARGIN must be") {
		t.Errorf("got %v", err)
	}
	c.run("migrate", "--age-margin", "3", "--log-level", "info")
}

func TestServeNamesWhatIsMissing(t *testing.T) {
	c := newConsole(t)
	c.env["AGEGATE_MODELS_DIR"] = t.TempDir()
	if _, err := c.try("serve", "--listen", "127.0.0.1:0"); err == nil || !strings.Contains(err.Error(), "make models") {
		t.Errorf("without models: %v", err)
	}
	delete(c.env, "AGEGATE_SECRET_KEY")
	if _, err := c.try("serve"); err == nil || !strings.Contains(err.Error(), "AGEGATE_SECRET_KEY must be set") {
		t.Errorf("without a key: %v", err)
	}
}

func TestTheSecretKeyMustFitTheDatabase(t *testing.T) {
	c := newConsole(t)
	id := parsed[createdTenant](c, "tenant", "create", "--name", "Shop", "--json").TenantID.String()
	c.env["AGEGATE_SECRET_KEY"] = "HxweHRwbGhkYFxYVFBMSERAPDg0MCwoJCAcGBQQDAgE="
	for _, args := range [][]string{{"tenant", "create", "--name", "X"}, {"serve", "--listen", "127.0.0.1:0", "--estimator", "off"}} {
		if _, err := c.try(args...); err == nil || !strings.Contains(err.Error(), "AGEGATE_SECRET_KEY does not fit the database") {
			t.Errorf("agegate %s: %v", args[0], err)
		}
	}
	// The way back after the loss of the key.
	for _, mode := range []string{"test", "live"} {
		for _, args := range [][]string{{"webhook", "rotate", "--overlap", "0"}, {"redirect", "stage"}} {
			if out := c.run(append(args, id, "--mode", mode)...); !strings.Contains(out, "Warning: AGEGATE_SECRET_KEY does not fit") {
				t.Errorf("agegate %s does not warn: %q", args[0], out)
			}
		}
		if _, err := c.try("tenant", "create", "--name", "Y"); err == nil {
			t.Error("the key fits before every secret is new")
		}
		c.run("redirect", "promote", id, "--mode", mode)
	}
	c.run("tenant", "create", "--name", "Y")
}

func TestHelpAndVersion(t *testing.T) {
	c := newConsole(t)
	help := c.run("--help")
	for _, want := range []string{"serve", "migrate", "tenant", "key", "webhook", "demo", "version", "--database-url", "AGEGATE_DATABASE_URL"} {
		if !strings.Contains(help, want) {
			t.Errorf("the help does not name %s", want)
		}
	}
	if strings.Contains(help, "--secret-key ") {
		t.Error("the secret key has a flag")
	}
	if out := c.run("version"); !strings.HasPrefix(out, "agegate ") {
		t.Errorf("version prints %q", out)
	}
}

// TestWebhookVerify reads the contract's known answer: signed right, and old.
func TestWebhookVerify(t *testing.T) {
	c, dir := newConsole(t), t.TempDir()
	headers, body := filepath.Join(dir, "headers"), filepath.Join(dir, "body")
	for path, text := range map[string]string{
		headers: "webhook-id: evt_0190c0de-0000-7000-8000-000000000001\nwebhook-timestamp: 1767225600\n" +
			"webhook-signature: v1,HPLpc4ifH6GmEayx2xf9moVUseVcUDt5r1AiPSWht3g=\n",
		body: `{"type":"session.completed","timestamp":"2026-01-01T00:00:00Z","session_id":"3f2b8c1e-9d4a-4f6b-8a57-0c1d2e3f4a5b",` +
			`"status":"VERIFIED","is_adult":true,"livemode":false,"target_age":18}`,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for secret, want := range map[string]string{
		"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=": "ok    signature",
		"AQECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=": "FAIL  signature",
	} {
		t.Setenv("WEBHOOK_SECRET", "whsec_"+secret)
		out, err := c.try("webhook", "verify", "--headers", headers, "--body", body)
		if err == nil || !strings.Contains(out, want) || !strings.Contains(out, "FAIL  timestamp") || strings.Contains(out, secret) {
			t.Errorf("%v, want %q in:\n%s", err, want, out)
		}
	}
}
