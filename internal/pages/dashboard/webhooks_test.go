package dashboard_test

import (
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"agegate/internal/backoffice/account"
	"agegate/internal/gatewaytest"
	"agegate/internal/lab/verify"
	"agegate/internal/pages/dashboard"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/fault"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// failsForLong checks that an endpoint without a success for more than an hour is called failing, and why.
func failsForLong(t *testing.T, g *gatewaytest.Gateway, d *devBrowser) {
	t.Helper()
	g.Exec(t, "UPDATE webhook_endpoints SET first_failure_at = '2026-01-01 00:00:00+00:00'")
	if !strings.Contains(d.see(t, 200, "/test/webhooks"), `warn">Failing<`) {
		t.Error("the page does not say that it fails")
	}
	g.Exec(t, "UPDATE webhook_events SET status = 'waiting'")
	if !strings.Contains(d.see(t, 200, "/test/webhooks"), "Refused</strong>: Only 2xx counts") {
		t.Error("the page does not say why it fails")
	}
	_, told := member(t, g, d.shop.Tenant.ID, account.Support).Get(t, d.base+"/test/webhooks")
	if !strings.Contains(told, "Refused</strong>: Tell your developers") || strings.Contains(told, "Only 2xx counts") {
		t.Error("support is told what developers do")
	}
	g.Exec(t, "UPDATE webhook_events SET status = 'failed'")
}

// TestFailedDeliveriesAreSentAgain: the receiver fails with an answer full of
// markup, the page shows it, the receiver is repaired, and everything is sent.
func TestFailedDeliveriesAreSentAgain(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		var mended atomic.Bool
		var asked atomic.Pointer[http.Header]
		receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			asked.Store(new(req.Header.Clone()))
			if mended.Load() {
				return
			}
			w.Header().Set("X-Hostile", hostile)
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = w.Write([]byte(hostile + "\x1b[2J\u202e\x00\xff"))
		}))
		t.Cleanup(receiver.Close)
		d := newDevBrowser(t, g, receiver.URL)
		if untried := d.see(t, 200, "/test/webhooks"); !strings.Contains(untried, "Nothing delivered to this address yet") ||
			strings.Contains(untried, "Working") {
			t.Error("an endpoint that was never tried works")
		}
		for range 2 {
			res, _ := d.Post(t, d.base+"/test/webhooks/test", url.Values{
				"nonce": {nonceOf(t, d.see(t, 200, "/test/webhooks/test"))}, "outcome": {"fallback"},
			})
			event, found := strings.CutPrefix(res.Header.Get("Location"), d.base)
			if !found || res.StatusCode != 303 {
				t.Fatalf("test event: %d to %q", res.StatusCode, event)
			}
			gatewaytest.WaitFor(t, "the delivery to have failed",
				func() bool { return strings.Contains(d.see(t, 200, event), `bad">Failed<`) })
			page := d.see(t, 200, event)
			if strings.Contains(page, "<img") || strings.Contains(page, "<svg/") ||
				!strings.Contains(page, html.EscapeString(hostile)) {
				t.Error("the answer is missing or markup")
			}
			for _, name := range []string{"Content-Type", "User-Agent", "webhook-id", "webhook-timestamp"} {
				if line := name + ": " + asked.Load().Get(name) + "\n"; !strings.Contains(page, line) {
					t.Errorf("the page lacks the header %q", line)
				}
			}
			if strings.Contains(page, asked.Load().Get("webhook-signature")) {
				t.Error("the page has a signature")
			}
			if body := html.UnescapeString(page); !strings.Contains(body,
				"\n  <span class=\"f\">\"livemode\"</span>: <span class=\"k\">false</span>") ||
				!strings.Contains(body, `"livemode":false`) {
				t.Error("the body is not shown formatted and copied as it was sent")
			}
			if strings.ContainsAny(page, "\x1b\u202e\x00") || !strings.Contains(page, `\u001b[2J\u202e\u0000\ufffd`) {
				t.Error("hidden characters of the answer are not escaped")
			}
		}
		list := d.see(t, 200, "/test/webhooks")
		boss, event := member(t, g, d.shop.Tenant.ID, account.Owner), between(t, list, "/webhooks/events/", `"`)
		tellsDevelopers(t, member(t, g, d.shop.Tenant.ID, account.Support), d.base+"/test/webhooks/events/"+event)
		session := between(t, d.see(t, 200, "/test/webhooks/events/"+event), d.base+"/test/sessions/", `"`)
		for status, offered := range map[string]bool{"waiting": false, "failed": true} {
			g.Exec(t, "UPDATE webhook_events SET status = '"+status+"'")
			_, page := boss.Get(t, d.base+"/test/sessions/"+session)
			if strings.Contains(page, `data-testid="delete"`) != offered ||
				strings.Contains(page, `data-testid="kept"`) == offered {
				t.Errorf("%s: the session's page offers to delete: %t", status, !offered)
			}
		}
		g.Exec(t, "UPDATE webhook_events SET status = 'failed'")
		failsForLong(t, g, d)
		if !strings.Contains(list, `warn">Retrying<`) || strings.Count(list, `bad">Failed<`) != 2 {
			t.Error("the list does not say that it fails")
		}
		if strings.Count(d.see(t, 200, "/test/webhooks?status=failed&class=status"), `bad">Failed<`) != 2 ||
			!strings.Contains(d.see(t, 200, "/test/webhooks?status=delivered"), "Nothing found") {
			t.Error("the filters select others")
		}
		d.see(t, 404, "/test/webhooks?status=sent")
		d.see(t, 404, "/test/webhooks?to=today")
		now := g.Clock.Now().UTC()
		if strings.Count(d.see(t, 200, "/test/webhooks?to="+now.Format(time.DateOnly)), `bad">Failed<`) != 2 ||
			!strings.Contains(d.see(t, 200, "/test/webhooks?to="+now.AddDate(0, 0, -1).Format(time.DateOnly)), "Nothing found") {
			t.Error("the list does not end with the day")
		}
		mended.Store(true)
		if confirm := d.see(t, 200, "/test/webhooks/resend"); !strings.Contains(confirm,
			"In the last 24 hours: 2 failed deliveries.") {
			t.Error("the page before does not say how many are sent")
		}
		d.fill(t, "/test/webhooks/resend", 303, "since", "1h")
		gatewaytest.WaitFor(t, "the deliveries to be sent", func() bool {
			list = d.see(t, 200, "/test/webhooks")
			// read before the list
			return strings.Count(list, `good">Delivered<`) == 2 && !strings.Contains(list, `warn">Failing<`)
		})
		if !strings.Contains(list, "Working") || strings.Contains(list, "Nothing delivered to this address yet") {
			t.Error("the endpoint does not accept")
		}
		d.logged(t, audit.EventResendFailed)
		event = list[strings.Index(list, "/test/webhooks/events/"):]
		event = event[:strings.IndexByte(event, '"')]
		res, _ := d.Post(t, d.base+event+"/resend", url.Values{"nonce": {nonceOf(t, d.see(t, 200, event))}})
		want(t, "resend one", res, 303, d.base+event)
		gatewaytest.WaitFor(t, "the fourth attempt",
			func() bool { return strings.Count(d.see(t, 200, event), `data-testid="attempt"`) == 4 })
	}, "AGEGATE_WEBHOOK_RETRY_TEST=1s")
}

// tellsDevelopers fails unless a page about a delivery that failed leaves what can be done to the developers.
func tellsDevelopers(t *testing.T, support *gatewaytest.Staff, event string) {
	t.Helper()
	_, told := support.Get(t, event)
	if strings.Count(told, "Tell your developers") != 1 || strings.Count(told, `"attempt"`) < 2 ||
		strings.Contains(told, "agegate-dev") || strings.Contains(told, `data-testid="headers"`) {
		t.Error("support reads what developers do about a failure")
	}
}

// TestSentAgainFromTheTimeline: who may send webhooks again can do so at the last
// attempt in a session's timeline; others see no button, and are refused.
func TestSentAgainFromTheTimeline(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		receiver := gatewaytest.NewReceiver(t)
		shop := g.Shop(t, receiver.URL, nil)
		made := g.Create(t, shop.Test.APIKey, 18)
		g.Force(t, gatewaytest.Browser(), made, "verified")
		page := "/dashboard/" + shop.Tenant.ID.String() + "/test/sessions/" + made.SessionID
		const button = `data-testid="resend"`
		for i, role := range []account.Role{account.Support, account.Developer, account.Owner} {
			who := member(t, g, shop.Tenant.ID, role)
			var body string
			gatewaytest.WaitFor(t, "the attempts", func() bool {
				_, body = who.Get(t, page)
				return strings.Count(body, `data-testid="moment-webhook"`) == i+1
			})
			if strings.Count(body, button) != 1 {
				t.Fatalf("%s: %d buttons after %d attempts", role, strings.Count(body, button), i+1)
			}
			form := body[strings.LastIndex(body[:strings.Index(body, button)], "<form"):]
			resend := between(t, form, `action="`, `"`)
			res, _ := member(t, g, shop.Tenant.ID, account.Viewer).Post(t, resend, url.Values{"nonce": {nonceOf(t, form)}})
			want(t, "a viewer", res, http.StatusForbidden, "")
			res, _ = who.Post(t, resend, url.Values{"nonce": {nonceOf(t, form)}})
			want(t, string(role), res, http.StatusSeeOther, page) // and not to the page for developers
			_, sent := who.Get(t, page)
			if !strings.Contains(sent, "has the answer.<noscript>") || strings.Contains(sent, "being sent") {
				t.Errorf("%s is asked to load a page again that does so by itself", role)
			}
			receiver.Wait(t, i+2)
		}
		if _, body := member(t, g, shop.Tenant.ID, account.Viewer).Get(t, page); strings.Contains(body, button) {
			t.Error("a viewer sees the button")
		}
		support, words := member(t, g, shop.Tenant.ID, account.Support), "This goes to a former Webhook URL again"
		_, body := support.Get(t, page)
		event := between(t, body, shop.Tenant.ID.String()+"/test/webhooks/events/", `"`)
		for _, former := range []bool{false, true} {
			if former {
				g.Exec(t, "UPDATE tenants SET webhook_url = 'https://moved.example/hook'")
			}
			for _, path := range []string{page, "/dashboard/" + shop.Tenant.ID.String() + "/test/webhooks/events/" + event} {
				if _, body := support.Get(t, path); strings.Contains(body, words) != former {
					t.Errorf("%s says that sending again reaches a former address: %t", path, !former)
				}
			}
		}
	})
}

// TestEndpointIsEnabled: enabling an endpoint sends the waiting events.
func TestEndpointIsEnabled(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	receiver := gatewaytest.NewReceiver(t)
	receiver.Answer(http.StatusGone)
	d := newDevBrowser(t, g, receiver.URL)
	id := d.objects(t, "test", d.shop.Test.APIKey)["endpoint"]
	receiver.Answer(http.StatusNoContent)
	enable := "/test/webhooks/endpoints/" + id + "/enable"
	if page := d.see(t, 200, enable); !strings.Contains(page, "1 delivery waits") {
		t.Error("the page before does not say what waits")
	}
	d.fill(t, enable, 303)
	gatewaytest.WaitFor(t, "the delivery", func() bool {
		return strings.Contains(d.see(t, 200, "/test/webhooks"),
			`good">Delivered<`)
	})
	d.see(t, 404, enable)
}

// TestSecretsAreReplacedWithoutLoss: the webhook secret is rotated and the
// redirect secret staged and promoted, while the shop accepts everything.
func TestSecretsAreReplacedWithoutLoss(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		receiver := gatewaytest.NewReceiver(t)
		d := newDevBrowser(t, g, receiver.URL)
		webhookSecret, redirectSecrets := d.shop.Test.WebhookSecret, []string{d.shop.Test.RedirectSecret}
		n := 0
		pass := func() {
			t.Helper()
			n++
			res, _ := g.Force(t, gatewaytest.Browser(), g.Create(t, d.shop.Test.APIKey, 18), "verified")
			if back, err := url.Parse(res.Header.Get("Location")); err != nil ||
				!d.redirected(t, redirectSecrets, back.Query()) {
				t.Errorf("redirect %d is refused", n)
			}
			got := receiver.Wait(t, n)[n-1]
			wh, err := standardwebhooks.NewWebhook(webhookSecret)
			if err != nil {
				t.Fatal(err)
			}
			// On SQLite the timestamp comes from the clock that the test moves.
			if err := wh.VerifyIgnoringTimestamp(got.Body, got.Header); err != nil {
				t.Errorf("webhook %d: %v", n, err)
			}
		}
		pass()
		res, body := d.fill(t, "/test/webhooks/rotate", 200, "overlap", "24h")
		rotated := mustShow(t, res, body)
		pass() // still signed with the old one
		webhookSecret = rotated
		pass()
		res, body = d.fill(t, "/test/redirect-secret/stage", 200)
		staged := mustShow(t, res, body)
		redirectSecrets = append(redirectSecrets, staged)
		pass()
		d.fill(t, "/test/redirect-secret/promote", 303)
		pass()
		redirectSecrets = redirectSecrets[1:]
		pass()
		d.fill(t, "/test/redirect-secret/retire", 303)
		pass()
		if page := d.see(t, 200, "/test/redirect-secret"); strings.Contains(page, "secret-retiring") ||
			!strings.Contains(page, "secret-active") {
			t.Error("the old secret is still listed")
		}
		d.checkSecrets(t, 1, rotated, staged)
		d.logged(t, audit.WebhookSecretRotate, audit.RedirectSecretStage, audit.RedirectSecretPromote,
			audit.RedirectSecretRetire)
		_, body = d.Post(t, d.base+"/test/redirect-secret/secret", url.Values{})
		if got := shown(body); len(got) != 1 || got[0] != staged {
			t.Error("the secret in force is not shown again")
		}
		d.logged(t, audit.RedirectSecretReveal)
	})
}

// redirected reports whether one of the secrets signs a redirect.
func (d *devBrowser) redirected(t *testing.T, secrets []string, query url.Values) bool {
	t.Helper()
	for _, secret := range secrets {
		key, err := verify.Secret(secret)
		if err != nil {
			t.Fatal(err)
		}
		r := credential.Redirect{Session: query.Get("session"), Status: query.Get("status"),
			IsAdult: query.Get("is_adult") == "true"}
		if verify.RedirectToken(key, query.Get("token"), r, d.g.Clock.Now()) == nil {
			return true
		}
	}
	return false
}

func TestRefusalsAreListed(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		d := newDevBrowser(t, g, "")
		if page := d.see(t, 200, "/test/refusals"); !strings.Contains(page, "No requests were rejected") ||
			!strings.Contains(page, `so they are not listed. <a href="https://api.gateway.example/docs/errors#401"`) {
			t.Error("the empty page does not say so")
		}
		_, body := d.fill(t, "/test/keys/new", 200, "name", "Backend <b>")
		for range 3 {
			g.Do(t, gatewaytest.Row{Name: "refused", Path: "/api/v1/sessions/create", Key: shown(body)[0],
				Body: `{"target_age":0}`, Status: 422})
		}
		g.Do(t, gatewaytest.Row{Name: "a text", Path: "/api/v1/sessions/create", Key: shown(body)[0],
			Body: `{"target_age":"18"}`, Status: 422})
		var page string
		gatewaytest.WaitFor(t, "the refusal to be listed", func() bool {
			g.WriteRefusals(t)
			page = d.see(t, 200, "/test/refusals")
			return strings.Count(page, `data-testid="refusal"`) == 2
		})
		for _, part := range []string{"<code>POST /<wbr>api/<wbr>v1/<wbr>sessions/<wbr>create<wbr></code>", "422", "body.target_age", "Backend &lt;b&gt;",
			"<span>3</span>", "target_age was too small.", "target_age was not a number. A number in quotes is text."} {
			if !strings.Contains(page, part) {
				t.Errorf("the list lacks %s", part)
			}
		}
		id := between(t, page, `<tr id="`, `"`)
		res, _ := d.Post(t, d.base+"/live/paste", url.Values{"text": {id + "\n"}})
		want(t, "a request ID", res, 303, d.base+"/test/refusals?page=1#"+id)
		for text, anchor := range map[string]string{
			"extra_forbidden": "extra_forbidden", "Missing or malformed API key": "missing-or-malformed-api-key",
			`{"detail":[{"type":"int_type","loc":["body","target_age"],"msg":"x"}]}`: "int_type",
		} {
			_, found := d.Post(t, d.base+"/test/paste", url.Values{"text": {text}})
			if !strings.Contains(found, `<a href="https://api.gateway.example/docs/errors#`+anchor+`" data-testid="hit">`) {
				t.Errorf("%s does not lead to its part of the guide", text)
			}
		}
		key, once := shown(body)[0], map[string]string{"Idempotency-Key": "1"}
		g.Do(t, gatewaytest.Row{Name: "created", Path: "/api/v1/sessions/create", Key: key, Header: once,
			Body: `{"target_age":18}`, Status: 201})
		g.Do(t, gatewaytest.Row{Name: "conflict", Path: "/api/v1/sessions/create", Key: key, Header: once,
			Body: `{"target_age":19}`, Status: 409})
		g.Do(t, gatewaytest.Row{Name: "unknown", Path: "/api/v1/sessions/0190c0de-5a3b-7c1d-9e2f-4b6a8d0c1e3f/status",
			Key: key, Status: 404})
		g.Do(t, gatewaytest.Row{Name: "user name", Path: "/api/v1/sessions/create", Key: key,
			Body: `{"target_age":18,"success_url":"https://u@shop.example/"}`, Status: 422})
		g.Do(t, gatewaytest.Row{Name: "form", Path: "/api/v1/sessions/create", Key: key,
			Header: map[string]string{"Content-Type": "text/plain"}, Body: `{"target_age":18}`, Status: 422})
		for heading, why := range map[string]string{
			"greater_than_equal": "target_age was too small.", "value_error": "success_url had a user name.",
			"idempotency-key-reused-with-a-different-request": "The Idempotency-Key had been used for another request.",
			"model_attributes_type":                           "The Content-Type was not application/json.",
			"session-not-found":                               "Nothing with this ID belongs to this key.",
		} {
			gatewaytest.WaitFor(t, "a link to "+heading, func() bool {
				g.WriteRefusals(t)
				return strings.Contains(d.see(t, 200, "/test/refusals"),
					why+`<br><a href="https://api.gateway.example/docs/errors#`+heading+`"`)
			})
		}
		if other := d.see(t, 200, "/live/refusals"); strings.Contains(other, "body.target_age") {
			t.Error("the other mode lists it")
		}
		d.see(t, 404, "/test/refusals?page=0")
	})
}

// TestRefusalsHaveReasonsInWords: every type in the guide to errors that a tenant's
// request can have is also said in words.
func TestRefusalsHaveReasonsInWords(t *testing.T) {
	guide, err := os.ReadFile("../../../docs/guides/errors.md")
	if err != nil {
		t.Fatal(err)
	}
	keys := []string{"refusals.why.missing_url", "refusals.why.value_error_header",
		"refusals.why.model_attributes_type.content_type", "refusals.why.url_parsing.host",
		"refusals.why.value_error.userinfo"}
	for _, part := range []string{"409", "429"} { // a code for several
		code := map[string]string{"409": "conflict", "429": "too_many"}[part]
		_, list, _ := strings.Cut(string(guide), "\n## "+part+":")
		list, _, _ = strings.Cut(list, "\n## ")
		for _, m := range regexp.MustCompile(`(?m)^### (.*)$`).FindAllStringSubmatch(list, -1) {
			keys = append(keys, "refusals.why."+code+"."+strings.ReplaceAll(strings.ToLower(m[1]), " ", "-"))
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^### ([a-z_]+)$`).FindAllStringSubmatch(string(guide), -1) {
		keys = append(keys, "refusals.why."+m[1])
	}
	for _, code := range []fault.Code{
		fault.InvalidKey, fault.TenantDisabled, fault.LiveKey, fault.NotFound, fault.Conflict, fault.TooMany,
	} {
		keys = append(keys, "refusals.why."+string(code))
	}
	if missing, err := dashboard.Missing(keys); err != nil || len(missing) > 0 || len(keys) < 25 {
		t.Errorf("of %d reasons there are no texts %v (%v)", len(keys), missing, err)
	}
}
