package gatewaytest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"agegate/internal/rules/audit"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
)

// lookedUp is the body of a status lookup.
type lookedUp struct {
	Status   string    `json:"status"`
	StatusAt time.Time `json:"status_at"`
}

func (g *Gateway) lookUp(t *testing.T, key, id string) lookedUp {
	t.Helper()
	body := g.Do(t, Row{Name: "status", Path: "/api/v1/sessions/" + id + "/status", Key: key, Status: 200,
		Not: []string{"signature", "is_adult", "token"}})
	var out lookedUp
	dec := json.NewDecoder(strings.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestForcedOutcomes(t *testing.T) {
	Each(t, func(t *testing.T, g *Gateway) {
		c := g.Shop(t, "", nil)
		for _, tt := range []struct {
			force, status string
			code          int
		}{
			{"verified", "PASSED", http.StatusSeeOther},
			{"fallback", "FALLBACK", http.StatusOK},
			{"spoof", "SPOOF", http.StatusOK},
		} {
			s := g.Create(t, c.Test.APIKey, 18)
			pending := g.lookUp(t, c.Test.APIKey, s.SessionID)
			if expires, err := time.Parse(time.RFC3339, s.ExpiresAt); err != nil ||
				expires.Sub(pending.StatusAt) != 30*time.Minute || pending.Status != "PENDING" {
				t.Errorf("%s: before: %+v, expires %s", tt.force, pending, s.ExpiresAt)
			}
			before := g.Clock.Now()
			if res, body := g.Force(t, Browser(), s, tt.force); res.StatusCode != tt.code {
				t.Errorf("%s: page status %d, want %d: %s", tt.force, res.StatusCode, tt.code, body)
			}
			after := g.lookUp(t, c.Test.APIKey, s.SessionID)
			if after.Status != tt.status || after.StatusAt.Before(before) {
				t.Errorf("%s: after: %+v, want %s from %s", tt.force, after, tt.status, before)
			}
			for _, other := range []string{"verified", "fallback", "spoof", "nonsense"} {
				g.Force(t, Browser(), s, other)
			}
			if again := g.lookUp(t, c.Test.APIKey, s.SessionID); again != after {
				t.Errorf("%s: a terminal session changed from %+v to %+v", tt.force, after, again)
			}
		}
	})
}

func TestForceIsRefused(t *testing.T) {
	Each(t, func(t *testing.T, g *Gateway) {
		c := g.Shop(t, "", nil)
		live, test := g.Create(t, c.Live.APIKey, 18), g.Create(t, c.Test.APIKey, 18)
		for _, tt := range []struct {
			s     Created
			key   string
			force string
		}{
			{live, c.Live.APIKey, "verified"}, {live, c.Live.APIKey, "fallback"}, {live, c.Live.APIKey, "spoof"},
			{live, c.Live.APIKey, "x"}, {live, c.Live.APIKey, ""},
			{test, c.Test.APIKey, canary}, {test, c.Test.APIKey, "VERIFIED"}, {test, c.Test.APIKey, ""},
		} {
			res, body := g.Force(t, Browser(), tt.s, tt.force)
			if res.StatusCode != http.StatusBadRequest || strings.Contains(body, canary) {
				t.Errorf("force=%s: status %d, want 400", tt.force, res.StatusCode)
			}
			if s := g.StatusOf(t, tt.key, tt.s); s != "PENDING" {
				t.Errorf("force=%s: the session became %s", tt.force, s)
			}
		}
	})
}

func TestExpiry(t *testing.T) {
	Each(t, func(t *testing.T, g *Gateway) {
		receiver := NewReceiver(t)
		c := g.Shop(t, receiver.URL, nil)
		s := g.Create(t, c.Test.APIKey, 18)
		g.Clock.Advance(30*time.Minute + time.Second)
		if res, _ := g.Force(t, Browser(), s, "verified"); res.StatusCode != http.StatusGone {
			t.Errorf("a late result: page status %d, want 410", res.StatusCode)
		}
		g.Do(t, Row{Name: "estimate", Path: "/api/v1/sessions/" + s.SessionID + "/detected-age", Key: c.Test.APIKey,
			Status: 200})
		if row := g.session(t, s); row.Status != session.StatusPending {
			t.Errorf("before the lookup, %s is written", row.Status)
		}
		got := g.lookUp(t, c.Test.APIKey, s.SessionID)
		if row := g.session(t, s); row.Status != session.StatusExpired {
			t.Errorf("after the lookup, %s is written", row.Status)
		}
		if got.Status != "EXPIRED" || got.StatusAt.Format(time.RFC3339Nano) != s.ExpiresAt {
			t.Errorf("got %+v, want EXPIRED at %s", got, s.ExpiresAt)
		}
		// The next completion's webhook arrives; the expired session has none.
		later := g.Create(t, c.Test.APIKey, 18)
		g.Force(t, Browser(), later, "verified")
		if d := receiver.Wait(t, 1); !strings.Contains(string(d[0].Body), later.SessionID) {
			t.Errorf("webhook %s is not of the completed session", d[0].Body)
		}
	}, "AGEGATE_SESSION_TTL=30m")
}

func TestCompletionTimeIsNeverFabricated(t *testing.T) {
	Each(t, func(t *testing.T, g *Gateway) {
		c := g.Shop(t, "", nil)
		for force, status := range map[string]string{"verified": "PASSED", "fallback": "FALLBACK", "spoof": "SPOOF"} {
			s := g.Create(t, c.Test.APIKey, 18)
			g.Force(t, Browser(), s, force)
			g.Exec(t, "UPDATE sessions SET completed_at = NULL WHERE id = '"+s.SessionID+"'")
			g.Do(t, Row{Name: status, Path: "/api/v1/sessions/" + s.SessionID + "/status", Key: c.Test.APIKey,
				Status: http.StatusConflict, JSON: `{"detail":"Session completion timestamp missing"}`})
		}
	})
}

func TestTenantIsolation(t *testing.T) {
	Each(t, func(t *testing.T, g *Gateway) {
		mine, other := g.Shop(t, "", nil), g.Shop(t, "", nil)
		s := g.Create(t, mine.Test.APIKey, 18)
		for _, op := range []string{"status", "detected-age"} {
			var answers [2]string
			for i, id := range []string{s.SessionID, someID} {
				res, body := g.send(t, Row{Path: "/api/v1/sessions/" + id + "/" + op, Key: other.Test.APIKey})
				res.Header.Del("Date")
				res.Header.Del("X-Request-Id")
				answers[i] = fmt.Sprint(res.StatusCode, res.Header, body)
			}
			if answers[0] != answers[1] || !strings.Contains(answers[0], notFound) {
				t.Errorf("%s: another tenant's session answers %s, a missing one %s", op, answers[0], answers[1])
			}
		}
		// A tenant's live key may look its test session up: isolation is between tenants.
		if got := g.StatusOf(t, mine.Live.APIKey, s); got != "PENDING" {
			t.Errorf("status with the tenant's other key: %s", got)
		}
	})
}

func TestFrozenDestinations(t *testing.T) {
	Each(t, func(t *testing.T, g *Gateway) {
		first, second := NewReceiver(t), NewReceiver(t)
		c := g.Shop(t, first.URL, nil)
		s, refused := g.Create(t, c.Test.APIKey, 18), g.Create(t, c.Test.APIKey, 18)
		moved := "https://moved.example/"
		if _, err := g.App.Tenants.Update(t.Context(), audit.System("test"), c.Tenant.ID,
			tenant.Changes{SuccessURL: &moved, CancelURL: &moved, WebhookURL: &second.URL}); err != nil {
			t.Fatal(err)
		}
		res, _ := g.Force(t, Browser(), s, "verified")
		if to := res.Header.Get("Location"); !strings.HasPrefix(to, "https://shop.example/ok?order=1&") {
			t.Errorf("redirected to %s", to)
		}
		first.Wait(t, 1)
		if _, page := g.Force(t, Browser(), refused, "fallback"); !strings.Contains(page, `"https://shop.example/back"`) {
			t.Errorf("the fallback page does not lead to the frozen cancel URL: %s", page)
		}
		first.Wait(t, 2)

		none := ""
		if _, err := g.App.Tenants.Update(t.Context(), audit.System("test"), c.Tenant.ID,
			tenant.Changes{CancelURL: &none}); err != nil {
			t.Fatal(err)
		}
		for _, row := range []Row{
			{Name: "removed", Body: `{"target_age":18}`, Status: 422,
				JSON: violations(violation("missing", "body", "cancel_url"))},
			{Name: "no longer registered", Body: `{"target_age":18,"cancel_url":"https://shop.example/back"}`, Status: 422,
				JSON: violations(violation("value_error", "body", "cancel_url"))},
			{Name: "its own", Body: `{"target_age":18,"cancel_url":"https://moved.example/back"}`, Status: 201},
		} {
			row.Path, row.Key = createPath, c.Test.APIKey
			g.Do(t, row)
		}
	})
}

func TestDetectedAge(t *testing.T) {
	Each(t, func(t *testing.T, g *Gateway) {
		c := g.Shop(t, "", func(shop *tenant.Tenant) { shop.AgeVisibility = true })
		key := c.Test.APIKey
		estimate := func(s Created, availability string) {
			t.Helper()
			g.Do(t, Row{Name: availability, Path: "/api/v1/sessions/" + s.SessionID + "/detected-age", Key: key, Status: 200,
				JSON: fmt.Sprintf(`{"session_id":%q,"detected_age":null,"availability":%q}`, s.SessionID, availability)})
		}
		consent := func(s Created) {
			t.Helper()
			sess := g.session(t, s)
			if err := g.App.Sessions.Consent(t.Context(), sess, true); err != nil {
				t.Fatal(err)
			}
		}
		plain := g.Create(t, key, 18)
		estimate(plain, "not_consented")
		agreed := g.Create(t, key, 18)
		consent(agreed)
		estimate(agreed, "pending")
		g.Force(t, Browser(), agreed, "verified")
		estimate(agreed, "not_estimated")
		lapsed := g.Create(t, key, 18)
		consent(lapsed)
		g.Clock.Advance(31 * time.Minute)
		estimate(lapsed, "not_estimated")
	})
}

// The language of a hosted page and that of the dashboard are two choices of a browser,
// even on one host.
func TestLanguagesOfPagesAreApart(t *testing.T) {
	Page(t, func(t *testing.T, g *Gateway) {
		c := g.Shop(t, "", nil)
		browser := g.Nobody()
		page := strings.TrimPrefix(g.Path(g.Create(t, c.Test.APIKey, 18).VerificationURL), g.URL)
		for _, step := range []struct{ path, want string }{
			{page + "?lang=de", "de"}, {"/dashboard/login", "en"}, {"/dashboard/login?lang=de", "de"},
			{page + "?lang=fr", "fr"}, {"/dashboard/login", "de"}, {page, "fr"},
		} {
			if res, _ := browser.Get(t, step.path); res.Header.Get("Content-Language") != step.want {
				t.Errorf("%s: %s instead of %s", step.path, res.Header.Get("Content-Language"), step.want)
			}
		}
	})
}
