package dashboard_test

import (
	"database/sql"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"agegate/internal/backoffice/account"
	"agegate/internal/gatewaytest"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/tenant"

	"github.com/google/uuid"
)

// devBrowser is a developer's browser at the pages of a tenant. It keeps every answer.
type devBrowser struct {
	*gatewaytest.Staff
	g      *gatewaytest.Gateway
	shop   tenant.Credentials
	base   string // address of the tenant
	bodies []string
}

func newDevBrowser(t *testing.T, g *gatewaytest.Gateway, webhookURL string) *devBrowser {
	t.Helper()
	d := &devBrowser{g: g, shop: g.Shop(t, webhookURL, nil), Staff: g.SignIn(t, false, account.ByPasskey)}
	g.Join(t, d.Staff, d.shop.Tenant.ID, account.Developer)
	d.base = "/dashboard/" + d.shop.Tenant.ID.String()
	return d
}

// stepUp gives all log-ins a recent confirmation.
func (d *devBrowser) stepUp(t *testing.T) {
	t.Helper()
	d.g.Exec(t, "UPDATE logins SET stepped_up_until = '2099-01-01 00:00:00+00:00'")
}

func (d *devBrowser) see(t *testing.T, status int, path string) string {
	t.Helper()
	res, body := d.Get(t, d.base+path)
	want(t, path, res, status, "")
	d.bodies = append(d.bodies, body)
	return body
}

// fill opens a form, sends it filled in, and sends the same copy again, which
// must do nothing. It returns the first answer.
func (d *devBrowser) fill(t *testing.T, path string, status int, pairs ...string) (*http.Response, string) {
	t.Helper()
	form := url.Values{"nonce": {nonceOf(t, d.see(t, 200, path))}}
	for i := 0; i < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	res, body := d.Post(t, d.base+path, form)
	if res.StatusCode != status {
		t.Errorf("POST %s: %d, want %d: %s", path, res.StatusCode, status, problems(body))
	}
	d.bodies = append(d.bodies, body)
	if res.StatusCode < 400 {
		again, twice := d.Post(t, d.base+path, form)
		if again.StatusCode != http.StatusConflict {
			t.Errorf("POST %s again: %d", path, again.StatusCode)
		}
		d.bodies = append(d.bodies, twice)
	}
	return res, body
}

func nonceOf(t *testing.T, body string) string {
	t.Helper()
	_, after, found := strings.Cut(body, `name="nonce" value="`)
	if !found {
		t.Fatal("the page has no form")
	}
	return after[:43]
}

var problemText = regexp.MustCompile(`class="problem"[^>]*>([^<]*)|data-testid="summary">\s*<p>([^<]*)`)

// problems returns the errors in a refused form.
func problems(body string) string {
	var all []string
	for _, m := range problemText.FindAllStringSubmatch(body, -1) {
		all = append(all, html.UnescapeString(m[1]+m[2]))
	}
	return strings.Join(all, "; ")
}

var shownSecret = regexp.MustCompile(`data-copy="((?:svc_|whsec_|rdsec_)[^"]+)"`)

// shown returns the secrets that a page shows.
func shown(body string) (secrets []string) {
	for _, m := range shownSecret.FindAllStringSubmatch(body, -1) {
		secrets = append(secrets, html.UnescapeString(m[1]))
	}
	return secrets
}

// mustShow returns the only secret that a page shows.
func mustShow(t *testing.T, res *http.Response, body string) string {
	t.Helper()
	if got := shown(body); len(got) == 1 && res.Header.Get("Cache-Control") == "no-store" &&
		res.Header.Get("Content-Encoding") == "" {
		return got[0]
	}
	t.Fatalf("the page shows %d secrets, Cache-Control %q", len(shown(body)), res.Header.Get("Cache-Control"))
	return ""
}

// checkSecrets checks that each value was in exactly n answers, and is in neither
// the log nor the database.
func (d *devBrowser) checkSecrets(t *testing.T, n int, secrets ...string) {
	t.Helper()
	stored := dump(t, d.g)
	for _, secret := range secrets {
		times := 0
		for _, body := range d.bodies {
			if strings.Contains(html.UnescapeString(body), secret) {
				times++
			}
		}
		if times != n {
			t.Errorf("%s… is in %d answers, want %d", secret[:9], times, n)
		}
		bare := secret[strings.LastIndexByte(secret, '_')+1:]
		if strings.Contains(d.g.Log.String(), bare) || strings.Contains(stored, bare) {
			t.Errorf("%s… is in the log or the database", secret[:9])
		}
	}
}

// dump returns everything that is in the database.
func dump(t *testing.T, g *gatewaytest.Gateway) string {
	t.Helper()
	if path, ok := strings.CutPrefix(g.DB, "sqlite:"); ok {
		var all []byte
		for _, name := range []string{path, path + "-wal"} {
			raw, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, raw...)
		}
		return string(all)
	}
	db, err := sql.Open("pgx", g.DB)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var all string
	if err := db.QueryRowContext(t.Context(), "SELECT schema_to_xml('public', true, true, '')").Scan(&all); err != nil {
		t.Fatal(err)
	}
	return all
}

// accepts waits until the gateway answers a key with a status, because it may
// remember a key for a second.
func (d *devBrowser) accepts(t *testing.T, key string, status int) {
	t.Helper()
	d.g.Clock.Advance(time.Second)
	d.g.Do(t, gatewaytest.Row{Name: "key", Path: "/api/v1/sessions/create", Key: key, Body: `{"target_age":18}`,
		Status: status})
}

const hostile = `"><img src=x onerror=alert(1)>'</script><svg/onload=alert(2)>`

func TestKeyIsMadeRolledAndRevoked(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		d := newDevBrowser(t, g, "")
		res, body := d.fill(t, "/test/keys/new", 200, "name", hostile[:60])
		first := mustShow(t, res, body)
		d.accepts(t, first, 201)
		list := d.see(t, 200, "/test/keys")
		if strings.Contains(list, "<img") || !strings.Contains(list, html.EscapeString(hostile[:60])) {
			t.Error("the list has markup of the name, or not the name")
		}
		if n := strings.Count(list, `data-testid="key"`); n != 2 {
			t.Errorf("%d keys", n)
		}
		id := d.keyID(t, first)
		res, body = d.fill(t, "/test/keys/"+id+"/roll", 200, "grace", "1h")
		second := mustShow(t, res, body)
		d.accepts(t, first, 201)
		d.accepts(t, second, 201)
		g.Clock.Advance(time.Hour)
		d.accepts(t, first, 401)
		d.accepts(t, second, 201)
		res, body = d.fill(t, "/test/keys/"+d.keyID(t, second)+"/roll", 200, "grace", "0")
		third := mustShow(t, res, body)
		d.accepts(t, second, 401)
		d.accepts(t, third, 201)
		g.Clock.Advance(15 * time.Second) // the counts are cached for this long
		revoke := "/test/keys/" + d.keyID(t, third) + "/revoke"
		if confirm := d.see(t, 200, revoke); !strings.Contains(confirm, "last used at") ||
			!strings.Contains(confirm, "1 session was created") {
			t.Error("the page before does not say what the key does now")
		}
		d.fill(t, revoke, 303)
		d.accepts(t, third, 401)
		d.see(t, 200, "/test/keys")
		d.see(t, 404, revoke)
		d.checkSecrets(t, 1, first, second, third)
		d.logged(t, audit.APIKeyCreate, audit.APIKeyRoll, audit.APIKeyRoll, audit.APIKeyRevoke)

		g.Clock.Advance(31 * 24 * time.Hour)
		other := g.SignIn(t, false, account.ByPasskey)
		g.Join(t, other, d.shop.Tenant.ID, account.Developer)
		if _, list := other.Get(t, d.base+"/test/keys"); strings.Count(list, "Not used for 30 days") != 1 {
			t.Error("the unused key is not pointed out")
		}
	})
}

// keyID returns the ID of a key that is in force.
func (d *devBrowser) keyID(t *testing.T, plain string) string {
	t.Helper()
	keys, err := d.g.App.Tenants.Keys(t.Context(), d.shop.Tenant.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range keys {
		if k.InForceAt(d.g.Clock.Now()) && strings.HasSuffix(plain, k.LastFour) {
			return k.ID.String()
		}
	}
	t.Fatal("no such key")
	return ""
}

// logged checks that the tenant's log ends with these acts of the user.
func (d *devBrowser) logged(t *testing.T, acts ...audit.Action) {
	t.Helper()
	entries, err := d.g.App.Store.AuditEntries(t.Context(),
		audit.Filter{Scope: audit.OfTenant(d.shop.Tenant.ID), Limit: len(acts)})
	if err != nil || len(entries) != len(acts) {
		t.Fatalf("%d entries, %v", len(entries), err)
	}
	for i, act := range acts {
		if e := entries[len(acts)-1-i]; e.Action != act || e.Actor.ID != d.User.ID.String() {
			t.Errorf("entry %d is %s by %s, want %s", i, e.Action, e.Actor.ID, act)
		}
	}
}

func TestKeyFormsAnswerByField(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	d := newDevBrowser(t, g, "")
	id := d.keyID(t, d.shop.Test.APIKey)
	for _, tt := range []struct{ path, field, value, problem string }{
		{"/test/keys/new", "name", "", "is needed"},
		{"/test/keys/new", "name", strings.Repeat("é", 61), "at most 60 characters"},
		{"/test/keys/new", "name", "a\u202eb", "invisible"},
		{"/test/keys/new", "name", "\xff", "cannot be read"},
		{"/test/keys/" + id + "/roll", "grace", "5h", "is not one of the choices"},
		{"/test/keys/" + id + "/roll", "grace", "", "is needed"},
		{"/test/webhooks/rotate", "overlap", "-1h", "is not one of the choices"},
		{"/test/webhooks/resend", "since", "1000h", "is not one of the choices"},
		{"/test/webhooks/test", "outcome", "spoof", "is not one of the choices"},
		{"/test/webhooks/test", "outcome", "verified", "No Webhook URL is set"},
	} {
		if _, body := d.fill(t, tt.path, 422, tt.field, tt.value); !strings.Contains(problems(body), tt.problem) {
			t.Errorf("%s with %s=%.20q: %q, want %q", tt.path, tt.field, tt.value, problems(body), tt.problem)
		}
	}
	keys, err := g.App.Tenants.Keys(t.Context(), d.shop.Tenant.ID)
	if err != nil || len(keys) != 2 {
		t.Errorf("%d keys, %v", len(keys), err)
	}
}

// TestForeignObjectsLookMissing covers objects of other tenants, and of the other
// mode.
func TestForeignObjectsLookMissing(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		receiver := gatewaytest.NewReceiver(t)
		receiver.Answer(http.StatusGone)
		d, stranger := newDevBrowser(t, g, receiver.URL), newDevBrowser(t, g, receiver.URL)
		d.stepUp(t)
		foreign := stranger.objects(t, "test", stranger.shop.Test.APIKey)
		own := d.objects(t, "test", d.shop.Test.APIKey)
		d.objects(t, "test", d.shop.Test.APIKey)
		live := map[string]string{"key": d.keyID(t, d.shop.Live.APIKey), "event": own["event"], "endpoint": own["endpoint"]}
		missing := map[string]string{
			"key": uuid.Must(uuid.NewV7()).String(), "event": "evt_" + uuid.Must(uuid.NewV7()).String(), "endpoint": "ep_" +
				strings.Repeat("0", 32),
		}
		for _, tt := range []struct{ method, object, path string }{
			{"GET", "key", "/keys/%s/roll"}, {"POST", "key", "/keys/%s/roll"}, {"GET", "key", "/keys/%s/revoke"},
			{"POST", "key", "/keys/%s/revoke"},
			{"GET", "event", "/webhooks/events/%s"}, {"POST", "event", "/webhooks/events/%s/resend"},
			{"GET", "endpoint", "/webhooks/endpoints/%s/enable"}, {"POST", "endpoint", "/webhooks/endpoints/%s/enable"},
		} {
			ask := func(mode, id string) (int, string) {
				form := url.Values{"nonce": {nonceOf(t, d.see(t, 200, "/test/keys/new"))}, "grace": {"1h"}}
				res, body := d.Send(t, tt.method, d.base+mode+fmt.Sprintf(tt.path, id), form,
					map[string]string{"Sec-Fetch-Site": "same-origin"})
				return res.StatusCode, body
			}
			status, nothing := ask("/test", missing[tt.object])
			if status != 404 {
				t.Errorf("%s %s of nothing: %d", tt.method, tt.path, status)
			}
			other := map[string]string{"/test": foreign[tt.object], "/live": own[tt.object]}
			switch {
			case tt.method == "GET" && tt.object == "event":
				other["/live"] = foreign["event"] // the page of one's own leads to its mode
			case tt.object == "key":
				other = map[string]string{"/test": live["key"], "/live": own["key"]}
				if status, body := ask("/test", foreign["key"]); status != 404 || body != nothing {
					t.Errorf("%s %s of a stranger: %d", tt.method, tt.path, status)
				}
			}
			for mode, id := range other {
				_, nothing := ask(mode, missing[tt.object])
				if status, body := ask(mode, id); status != 404 || body != nothing {
					t.Errorf("%s %s%s of others: %d, or another page", tt.method, mode, tt.path, status)
				}
			}
		}
	})
}

// objects creates an event at a disabled endpoint, and returns the IDs of the
// tenant's objects.
func (d *devBrowser) objects(t *testing.T, mode, key string) map[string]string {
	t.Helper()
	d.g.Force(t, gatewaytest.Browser(), d.g.Create(t, key, 18), "verified")
	var found []string
	gatewaytest.WaitFor(t, "the endpoint to be disabled", func() bool {
		_, body := d.Get(t, d.base+"/"+mode+"/webhooks")
		found = regexp.MustCompile(`events/(evt_[^"]+)|endpoints/(ep_[^/]+)/enable`).FindAllString(body, -1)
		return len(found) >= 2
	})
	ids := map[string]string{"key": d.keyID(t, key)}
	for _, f := range found {
		if _, id, ok := strings.Cut(f, "events/"); ok {
			ids["event"] = id
		}
		if _, id, ok := strings.Cut(f, "endpoints/"); ok {
			ids["endpoint"] = strings.TrimSuffix(id, "/enable")
		}
	}
	return ids
}

// TestLiveSecretsNeedAConfirmation: without a confirmation neither the page nor
// the act is allowed.
func TestLiveSecretsNeedAConfirmation(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	d := newDevBrowser(t, g, "")
	key := "/live/keys/" + d.keyID(t, d.shop.Live.APIKey)
	for _, path := range []string{
		"/live/keys/new", key + "/roll", key + "/revoke", "/live/webhooks/secret", "/live/webhooks/rotate",
		"/live/redirect-secret/secret", "/live/redirect-secret/stage", "/live/redirect-secret/promote",
		"/live/redirect-secret/retire",
	} {
		nonce := nonceOf(t, d.see(t, 200, "/test/keys/new"))
		for _, method := range []string{"GET", "POST"} {
			form := url.Values{"nonce": {nonce}, "name": {"x"}, "grace": {"0"}, "overlap": {"0"}}
			res, body := d.Send(t, method, d.base+path, form, map[string]string{"Sec-Fetch-Site": "same-origin"})
			if res.StatusCode < 300 || shown(body) != nil {
				t.Errorf("%s %s: %d, %d secrets", method, path, res.StatusCode, len(shown(body)))
			}
		}
	}
	d.accepts(t, d.shop.Live.APIKey, 201) // the old key is still accepted
	d.stepUp(t)
	if body := d.see(t, 200, "/live/webhooks/secret"); shown(body) != nil {
		t.Error("GET shows the secret")
	}
	res, body := d.Post(t, d.base+"/live/webhooks/secret", url.Values{})
	if got := mustShow(t, res, body); got != d.shop.Live.WebhookSecret {
		t.Error("another secret is shown")
	}
}
