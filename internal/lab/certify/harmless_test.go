package certify_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"agegate/internal/lab/certify"
	"agegate/internal/lab/suite"
	"agegate/internal/lab/testkey"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/tenant"
	"agegate/internal/rules/webhook"

	"github.com/google/uuid"
)

// TestItIsNoWeapon covers what a run must never do.
func TestItIsNoWeapon(t *testing.T) {
	g := start(t, "AGEGATE_WEBHOOK_ALLOW_NETS=192.0.2.0/24")
	elsewhere, onward := serve(t)
	var strayed atomic.Int32
	*onward = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { strayed.Add(1) })
	server, handler := serve(t)
	c := register(t, g, server.URL)
	shop := &carelessShop{gateway: g.URL, now: g.Clock.Now}
	shop.use(t, c.Test)
	*handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/thanks" {
			shop.thanks(w, r)
			http.Redirect(w, r, elsewhere.URL, http.StatusFound)
			return
		}
		shop.ServeHTTP(w, r)
	})
	target := targetOf(t, server.URL)
	report, err := attack(t, g, c, target, tools(g), certify.Options{})
	if err != nil || !report.Passed() || len(report.Results) != len(certify.Plan()) {
		t.Fatalf("%v\n%s", err, show(t, report))
	}
	if strayed.Load() > 0 {
		t.Error("a redirect was followed")
	}
	for _, format := range suite.Formats {
		var text bytes.Buffer
		if err := report.Write(&text, format); err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{canary, c.Test.WebhookSecret, c.Test.RedirectSecret, c.Test.APIKey, "/v/", "token=",
			"v1,"} {
			if strings.Contains(text.String(), secret) {
				t.Errorf("the report as %s holds %q", format, secret)
			}
		}
	}
}

// TestItNamesNoOtherSession: nothing is signed for a session that was not created
// for the run.
func TestItNamesNoOtherSession(t *testing.T) {
	g := start(t, "AGEGATE_WEBHOOK_ALLOW_NETS=192.0.2.0/24")
	stranger := g.Shop(t, "", nil)
	type link func() (address, session string)
	made := func(key string) (string, string) {
		shop := &carelessShop{gateway: g.URL, secrets: tenant.ModeSecrets{APIKey: key}}
		session := shop.call(http.MethodPost, "/api/v1/sessions/create", `{"target_age":18}`)
		return session["verification_url"], session["session_id"]
	}
	for _, tt := range []struct {
		name string
		link func(own tenant.Credentials) link
	}{
		{"of a live key", func(own tenant.Credentials) link {
			return func() (string, string) { return made(own.Live.APIKey) }
		}},
		{"of another tenant", func(tenant.Credentials) link {
			return func() (string, string) { return made(stranger.Test.APIKey) }
		}},
		{"made before", func(own tenant.Credentials) link {
			address, session := made(own.Test.APIKey)
			return func() (string, string) { return address, session }
		}},
		{"of nobody", func(tenant.Credentials) link {
			return func() (string, string) { return "https://verify.example/v/nothing", uuid.NewString() }
		}},
		{"without a name", func(own tenant.Credentials) link {
			return func() (string, string) {
				address, _ := made(own.Test.APIKey)
				return address, ""
			}
		}},
		{"without a link", func(tenant.Credentials) link {
			return func() (string, string) { return "/checkout", "" }
		}},
	} {
		server, handler := serve(t)
		c := register(t, g, server.URL)
		order := tt.link(c)
		var attacked atomic.Int32
		*handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/buy" {
				attacked.Add(1)
				return
			}
			address, session := order()
			w.Header().Set("Agegate-Session", session)
			http.Redirect(w, r, address, http.StatusSeeOther)
		})
		target := targetOf(t, server.URL)
		target.SuccessURL = "" // a first order tells it: the shop must begin another for each case
		_, err := attack(t, g, c, target, tools(g), certify.Options{})
		if !errors.Is(err, certify.ErrCannotRun) || attacked.Load() > 0 {
			t.Errorf("a session %s: %v, %d requests", tt.name, err, attacked.Load())
		}
	}
}

// TestOneSessionForAllOrders: the error for a shop that sends one Idempotency-Key for
// every order names the Idempotency-Key.
func TestOneSessionForAllOrders(t *testing.T) {
	g := start(t, "AGEGATE_WEBHOOK_ALLOW_NETS=192.0.2.0/24")
	server, handler := serve(t)
	c := register(t, g, server.URL)
	shop := &carelessShop{gateway: g.URL, secrets: c.Test, now: g.Clock.Now}
	made := shop.call(http.MethodPost, "/api/v1/sessions/create", `{"target_age":18}`)
	*handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Agegate-Session", made["session_id"])
		w.Header().Set("Location", made["verification_url"])
		w.WriteHeader(http.StatusSeeOther)
	})
	_, err := attack(t, g, c, targetOf(t, server.URL), tools(g), certify.Options{Cases: []string{"redirect.*"}})
	if !errors.Is(err, certify.ErrCannotRun) || !strings.Contains(err.Error(), "Idempotency-Key") {
		t.Errorf("the cause is told as %v", err)
	}
}

// TestItRepeatsNoLink: the error for a verification URL that cannot be read does not repeat it.
func TestItRepeatsNoLink(t *testing.T) {
	g := start(t, "AGEGATE_WEBHOOK_ALLOW_NETS=192.0.2.0/24")
	server, handler := serve(t)
	c := register(t, g, server.URL)
	shop := &carelessShop{gateway: g.URL, secrets: c.Test, now: g.Clock.Now}
	*handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		made := shop.call(http.MethodPost, "/api/v1/sessions/create", `{"target_age":18}`)
		made["verification_url"] = "https://verify.example:port/v/" + canary
		_ = json.NewEncoder(w).Encode(made)
	})
	_, err := attack(t, g, c, targetOf(t, server.URL), tools(g), certify.Options{Cases: []string{"redirect.referer"}})
	if !errors.Is(err, certify.ErrCannotRun) || strings.Contains(err.Error(), canary) {
		t.Errorf("the cause is told as %v", err)
	}
}

// TestItSaysWhatEndsIt: the error of a run says what has ended it, also where requests go side by side.
func TestItSaysWhatEndsIt(t *testing.T) {
	g := start(t, "AGEGATE_WEBHOOK_ALLOW_NETS=192.0.2.0/24")
	server, handler := serve(t)
	c := register(t, g, server.URL)
	shop := &carelessShop{gateway: g.URL, now: g.Clock.Now}
	shop.use(t, c.Test)
	*handler = shop
	gateway, err := testkey.New(g.URL, c.Test.APIKey)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"webhook.good", "webhook.at-once"} {
		_, err := certify.Attack(t.Context(), gateway, certify.Secrets{Webhook: []byte("short")}, targetOf(t, server.URL),
			tools(g), certify.Options{Cases: []string{name}})
		if !errors.Is(err, certify.ErrCannotRun) || !strings.Contains(err.Error(), "a signing key has") {
			t.Errorf("%s: the cause is told as %v", name, err)
		}
	}
}

// TestWhereItDoesNotGo: a run refuses hosts that are not registered and addresses
// that the guard refuses.
func TestWhereItDoesNotGo(t *testing.T) {
	g := start(t, "AGEGATE_WEBHOOK_ALLOW_NETS=192.0.2.0/24")
	server, handler := serve(t)
	var reached atomic.Int32
	*handler = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) })
	c := register(t, g, server.URL)
	run := func(edit func(*certify.Target), with certify.Tools) error {
		target := targetOf(t, server.URL)
		if edit != nil {
			edit(&target)
		}
		_, err := attack(t, g, c, target, with, certify.Options{})
		return err
	}
	for name, edit := range map[string]func(*certify.Target){
		"order":   func(t *certify.Target) { t.Order.URL = "http://localhost/buy" },
		"poll":    func(t *certify.Target) { t.Poll.URL = "http://127.0.0.1:1/{session}" },
		"probe":   func(t *certify.Target) { t.Probe.URL = "http://127.0.0.2/{session}" },
		"success": func(t *certify.Target) { t.SuccessURL = "http://127.0.0.2/thanks" },
		"webhook": func(t *certify.Target) { t.WebhookURL = "http://127.0.0.2/webhook" },
	} {
		if err := run(edit, tools(g)); !errors.Is(err, certify.ErrCannotRun) ||
			!regexp.MustCompile(name+"[._]url: its host and port").MatchString(err.Error()) {
			t.Errorf("%s elsewhere: %v", name, err)
		}
	}
	for range 10 { // the same field is named each time
		err := run(func(t *certify.Target) { t.SuccessURL, t.WebhookURL, t.CancelURL = "a", "b", "c" }, tools(g))
		if err == nil || !strings.Contains(err.Error(), ": success_url:") {
			t.Errorf("several addresses that cannot be reached: %v", err)
		}
	}
	guarded := tools(g)
	guarded.Client = webhook.NewClient(nil, nil)
	if err := run(nil, guarded); !errors.Is(err, certify.ErrCannotRun) || !strings.Contains(err.Error(), "blocked") {
		t.Errorf("an address that is not public: %v", err)
	}
	if reached.Load() > 0 {
		t.Errorf("%d requests were made", reached.Load())
	}
	g.Clock.Advance(10 * time.Minute) // the gateway no longer relies on what it has read of the key
	if err := g.App.Tenants.SetDisabled(t.Context(), audit.System("test"), c.Tenant.ID, true, ""); err != nil {
		t.Fatal(err)
	}
	if err := run(nil, tools(g)); !errors.Is(err, certify.ErrCannotRun) || !strings.Contains(err.Error(), "disabled") {
		t.Errorf("the key of a disabled tenant: %v", err)
	}
}
