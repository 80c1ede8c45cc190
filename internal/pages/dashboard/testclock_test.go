package dashboard_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"agegate/internal/backoffice/account"
	"agegate/internal/gatewaytest"
	"agegate/internal/lab/verify"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"

	"github.com/google/uuid"
)

// stored returns the session from the database.
func stored(t *testing.T, g *gatewaytest.Gateway, c gatewaytest.Created) session.Session {
	t.Helper()
	s, err := g.App.Sessions.ByLink(t.Context(), c.VerificationURL[strings.LastIndexByte(c.VerificationURL, '/')+1:])
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestExpireNow: only the expiry moves, the lookup writes EXPIRED, and the log
// has the act once.
func TestExpireNow(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		d := newDevBrowser(t, g, "")
		made := g.Create(t, d.shop.Test.APIKey, 18)
		before, page := stored(t, g, made), "/test/sessions/"+made.SessionID
		late := d.see(t, 200, page+"/expire") // opened while the session is open
		if body := d.see(t, 200, page); !strings.Contains(body, page+"/expire") ||
			!strings.Contains(body, page+"/expire-redirect") {
			t.Error("the page of an open session has no test clock")
		}
		res, _ := d.Fill(t, d.base+page+"/expire", nil)
		want(t, "expire", res, 303, d.base+page)
		moved := stored(t, g, made)
		if moved.Status != session.StatusPending || !moved.ExpiresAt.Before(before.ExpiresAt) ||
			moved.ExpiresAt.After(g.Clock.Now()) {
			t.Errorf("the session is %s until %s", moved.Status, moved.ExpiresAt)
		}
		if before.ExpiresAt = moved.ExpiresAt; !moved.CreatedAt.Equal(before.CreatedAt) || moved.CompletedAt != nil {
			t.Errorf("more than the expiry moved: %+v", moved)
		}
		if got := g.StatusOf(t, d.shop.Test.APIKey, made); got != "EXPIRED" ||
			stored(t, g, made).Status != session.StatusExpired {
			t.Errorf("the lookup says %s", got)
		}
		e := newest(t, g, audit.OfTenant(d.shop.Tenant.ID))
		if e.Action != audit.SessionExpire || e.Target != made.SessionID || e.Actor != audit.User(d.User.ID, d.User.Name) {
			t.Errorf("the log has %s of %s by %v", e.Action, e.Target, e.Actor)
		}
		res, body := d.Post(t, d.base+page+"/expire", map[string][]string{"nonce": {nonceOf(t, late)}})
		if res.StatusCode != 409 || !strings.Contains(body, "has ended in the meantime") {
			t.Errorf("expired again: %d", res.StatusCode)
		}
		if again := newest(t, g, audit.OfTenant(d.shop.Tenant.ID)); again.Seq != e.Seq {
			t.Error("a refused act is in the log")
		}
		if strings.Contains(d.see(t, 200, page), page+"/expire") {
			t.Error("the page of an expired session has a test clock")
		}

		live := g.Create(t, d.shop.Live.APIKey, 18)
		for _, path := range []string{"/live/sessions/" + live.SessionID + "/expire", "/test/sessions/" + live.SessionID +
			"/expire", "/test/sessions/" + uuid.NewString() + "/expire"} {
			d.see(t, 404, path)
		}
	})
}

// TestExpiredRedirect: the next redirect is signed but expired; the one after it
// is valid.
func TestExpiredRedirect(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		d := newDevBrowser(t, g, "")
		made := g.Create(t, d.shop.Test.APIKey, 18)
		page := "/test/sessions/" + made.SessionID
		res, _ := d.Fill(t, d.base+page+"/expire-redirect", nil)
		want(t, "expire-redirect", res, 303, d.base+page)
		if body := d.see(t, 200, page); !strings.Contains(body, "The next redirect will already have expired") {
			t.Error("the page does not say that the next redirect will have expired")
		}
		key, err := verify.Secret(d.shop.Test.RedirectSecret)
		if err != nil {
			t.Fatal(err)
		}
		browser := gatewaytest.Browser()
		for _, expired := range []bool{true, false} {
			res, _ := g.Force(t, browser, made, "verified")
			to, err := res.Location()
			if err != nil {
				t.Fatalf("%d, %v", res.StatusCode, err)
			}
			claims := credential.Redirect{Session: made.SessionID, Status: "VERIFIED", IsAdult: true}
			err = verify.RedirectToken(key, to.Query().Get("token"), claims, g.Clock.Now())
			if errors.Is(err, verify.ErrTokenExpired) != expired || err != nil && !expired {
				t.Errorf("want expired %t: %v", expired, err)
			}
			early := verify.RedirectToken(key, to.Query().Get("token"), claims, g.Clock.Now().Add(-time.Hour))
			if early != nil {
				t.Errorf("the token is wrong in more than its age: %v", early)
			}
		}
		g.Clock.Advance(session.RedirectGrace + time.Minute)
		res, body := d.Fill(t, d.base+page+"/expire-redirect", nil)
		if res.StatusCode != 409 || !strings.Contains(body, "has no further redirect") {
			t.Errorf("after the last redirect: %d", res.StatusCode)
		}
	})
}

// TestRetryNow: the next attempt is made at once and counts as the scheduled one;
// the schedule continues from there.
func TestRetryNow(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
		}))
		t.Cleanup(receiver.Close)
		d := newDevBrowser(t, g, receiver.URL)
		made := g.Create(t, d.shop.Test.APIKey, 18)
		g.Force(t, gatewaytest.Browser(), made, "verified")
		session := "/test/sessions/" + made.SessionID
		var body string
		gatewaytest.WaitFor(t, "the first attempt", func() bool {
			body = d.see(t, 200, session)
			return strings.Contains(body, "delivery-link")
		})
		_, after, _ := strings.Cut(body, `<a class="id" href="`)
		event, _, _ := strings.Cut(strings.TrimPrefix(after, d.base), `"`)
		if body := d.see(t, 200, event); !strings.Contains(body, `href="`+d.base+session+`"`) ||
			!strings.Contains(body, event+"/retry") || strings.Contains(body, event+"/resend") {
			t.Error("the delivery does not lead to its session and to a retry alone")
		}
		list := d.see(t, 200, "/test/webhooks")
		if !strings.Contains(list, `warn">Retrying<`) || !strings.Contains(list, `/settings/urls" data-testid="edit-url"`) {
			t.Error("the list does not say that the delivery is tried again, or where to change its URL")
		}
		for role, retries := range map[account.Role]bool{account.Developer: true, account.Support: false} {
			who := member(t, g, d.shop.Tenant.ID, role)
			for _, path := range []string{session, session + "?part=story", event} {
				_, body := who.Get(t, d.base+path)
				if strings.Contains(body, event+"/retry") != retries || strings.Contains(body, event+"/resend") == retries {
					t.Errorf("%s, as %s, has not one way to send the event: it is to be the early attempt: %t", path, role, retries)
				}
			}
		}
		for attempts := 2; attempts <= 3; attempts++ {
			res, _ := d.Fill(t, d.base+event+"/retry", nil)
			want(t, "retry", res, 303, d.base+event)
			e := newest(t, g, audit.OfTenant(d.shop.Tenant.ID))
			if e.Action != audit.EventRetry || !strings.HasSuffix(event, e.Target) {
				t.Errorf("the log has %s of %s", e.Action, e.Target)
			}
			gatewaytest.WaitFor(t, "the attempt", func() bool {
				return strings.Count(d.see(t, 200, event), `data-testid="attempt"`) == attempts
			})
			if n := strings.Count(d.see(t, 200, session), "Next attempt"); n != 1 {
				t.Errorf("after %d attempts, the session's page has %d next ones", attempts, n)
			}
		}
	}, "AGEGATE_WEBHOOK_RETRY_TEST=1h,1h,1h,1h")
}

// TestDocumentTimeline: the timeline shows the result of a document check, and
// nothing of a document.
func TestDocumentTimeline(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		shop := g.Shop(t, "", func(t *tenant.Tenant) { t.DocumentCheck = true })
		viewer := member(t, g, shop.Tenant.ID, "viewer")
		refuse := func(s session.Session) (session.Session, error) {
			return g.App.Sessions.RefuseDocument(t.Context(), s, session.Document{Way: session.WayWallet, Why: "expired"})
		}
		end := func(v session.CheckResult) func(session.Session) (session.Session, error) {
			return func(s session.Session) (session.Session, error) { return g.App.Sessions.Resolve(t.Context(), s, v) }
		}
		offer := end(session.CheckResult{Result: session.ResultFallback, Source: session.SourceCamera})
		for name, tt := range map[string]struct {
			steps []func(session.Session) (session.Session, error)
			shown []string
		}{
			"open": {[]func(session.Session) (session.Session, error){offer, refuse},
				[]string{"Document check offered", "Last method: A wallet on a phone", "Refused documents: 1"}},
			"proved": {
				[]func(session.Session) (session.Session, error){offer,
					end(session.CheckResult{Result: session.ResultVerified, Source: session.SourceDocument, Way: session.WayWallet})},
				[]string{"Age shown by a document: A wallet on a phone"},
			},
			"refused": {[]func(session.Session) (session.Session, error){offer, refuse, refuse, refuse},
				[]string{"Refused documents: 3", "The limit of refused documents was reached"}},
			"declined": {[]func(session.Session) (session.Session, error){offer,
				end(session.CheckResult{Result: session.ResultFallback, Source: session.SourceDocument})},
				[]string{"went on without a document"}},
		} {
			s := stored(t, g, g.Create(t, shop.Test.APIKey, 18))
			for _, step := range tt.steps {
				var err error
				if s, err = step(s); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
			}
			_, body := viewer.Get(t, "/dashboard/"+shop.Tenant.ID.String()+"/test/sessions/"+s.ID.String())
			for _, text := range tt.shown {
				if !strings.Contains(body, text) {
					t.Errorf("%s: the page does not say %q", name, text)
				}
			}
		}
	})
}
