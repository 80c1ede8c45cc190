package dashboard_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agegate/internal/backoffice/insight"
	"agegate/internal/gatewaytest"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
)

var cardLink = regexp.MustCompile(`data-copy="http://localhost:8080(/dashboard/card/[A-Za-z0-9_-]{43})"`)

// cards creates cards and returns their links' paths.
func (d *devBrowser) cards(t *testing.T, name, outcome string) (links []string) {
	t.Helper()
	_, body := d.fill(t, "/test/cards", 200, "name", name, "outcome", outcome, "target_age", "21")
	for _, m := range cardLink.FindAllStringSubmatch(body, -1) {
		links = append(links, m[1])
	}
	if n := strings.Count(body, "<svg viewBox="); n < len(links) {
		t.Errorf("%d codes for %d links", n, len(links))
	}
	return links
}

func scopeOf(d *devBrowser, livemode bool) insight.Scope {
	return insight.Scope{TenantID: d.shop.Tenant.ID, Livemode: livemode}
}

var onward = regexp.MustCompile(`href="(http://verify\.gateway\.example/v/[A-Za-z0-9_-]{43}\?force=[a-z]+)"`)

// TestCards: a card is created, scanned by a person without a log-in, and
// revoked.
func TestCards(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		d := newDevBrowser(t, g, "")
		nobody := g.Nobody()
		sessions := func() int {
			t.Helper()
			rows, err := g.App.Insight.Recent(t.Context(), scopeOf(d, false), 50)
			if err != nil {
				t.Fatal(err)
			}
			return len(rows)
		}
		links := d.cards(t, hostile[:50], "each")
		if len(links) != 3 {
			t.Fatalf("%d links", len(links))
		}
		d.logged(t, audit.QACardCreate, audit.QACardCreate, audit.QACardCreate)
		if list := d.see(t, 200, "/test/cards"); strings.Count(list, `data-testid="card"`) != 3 ||
			strings.Contains(list, "<img") ||
			!strings.Contains(list, html.EscapeString(hostile[:50])) || cardLink.MatchString(list) {
			t.Error("the list has a link, markup, or not the cards")
		}
		for i, status := range []string{"PASSED", "FALLBACK", "SPOOF"} {
			res, page := nobody.Get(t, links[i])
			want(t, links[i][:20], res, 200, "")
			if onward.MatchString(page) || sessions() != i || strings.Contains(page, "<img") {
				t.Error("a GET makes a session, or the name is markup")
			}
			_, page = nobody.Fill(t, links[i], nil)
			next := onward.FindStringSubmatch(page)
			if next == nil {
				t.Fatalf("no session is made: %s", problems(page))
			}
			res, err := gatewaytest.Browser().Get(g.Path(next[1]))
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
			rows, err := g.App.Insight.Recent(t.Context(), scopeOf(d, false), 1)
			if err != nil || len(rows) != 1 || string(rows[0].Status) != status || rows[0].TargetAge != 21 ||
				rows[0].Source != session.SourceForced {
				t.Errorf("the session is %+v, %v; want %s", rows, err, status)
			}
		}
		if rows, err := g.App.Insight.Recent(t.Context(), scopeOf(d, true), 1); err != nil || len(rows) != 0 {
			t.Errorf("%d live sessions, %v", len(rows), err)
		}
		if list := d.see(t, 200, "/test/cards"); strings.Count(list, "1 of 50") != 3 {
			t.Error("the scans are not counted")
		}
		token := links[0][strings.LastIndex(links[0], "/")+1:]
		if strings.Contains(g.Log.String()+dump(t, g), token) {
			t.Error("the link is in the log or the database")
		}

		// Cards belong to one tenant and only to test mode.
		stranger := newDevBrowser(t, g, "")
		id := between(t, d.see(t, 200, "/test/cards"), "/cards/", "/revoke")
		revoke := "/test/cards/" + id + "/revoke"
		stranger.see(t, 404, revoke)
		if res, _ := stranger.Post(t, stranger.base+revoke,
			url.Values{"nonce": {strings.Repeat("A", 43)}}); res.StatusCode != 404 {
			t.Errorf("a stranger revokes a card: %d", res.StatusCode)
		}
		d.see(t, 404, "/live/cards")
		res, _ := d.Fill(t, d.base+revoke, nil)
		want(t, "revoke", res, 303, d.base+"/test/cards")
		d.logged(t, audit.QACardRevoke)
		d.see(t, 404, revoke)
		for _, method := range []string{"GET", "POST"} {
			// The newest card is listed first, so the card with the last outcome
			// is revoked.
			res, _ := nobody.Send(t, method, links[2], url.Values{}, map[string]string{"Sec-Fetch-Site": "same-origin"})
			if res.StatusCode != 404 {
				t.Errorf("%s of a revoked card: %d", method, res.StatusCode)
			}
		}
		if _, page := nobody.Fill(t, links[1], nil); !onward.MatchString(page) {
			t.Error("another card was revoked, too")
		}
	})
}

// TestCardShareIsItsOwn: however often a card is scanned at the same time, it
// creates at most its share. It continues the next day, and other cards are not
// affected.
func TestCardShareIsItsOwn(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		g.Clock.Begin(time.Hour)
		d := newDevBrowser(t, g, "")
		links := d.cards(t, "Till", "each")
		nobody := g.Nobody()
		var made, refused atomic.Int64
		scan := func(link string) {
			res, page := nobody.Post(t, link, url.Values{})
			switch {
			case res.StatusCode == http.StatusOK && onward.MatchString(page):
				made.Add(1)
			case res.StatusCode == http.StatusConflict && strings.Contains(problems(page), "all its sessions of today"):
				refused.Add(1)
			default:
				t.Errorf("a scan: %d, %s", res.StatusCode, problems(page))
			}
		}
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for range session.CardShare/4 + 2 {
					scan(links[0])
				}
			})
		}
		all.Wait()
		if scans := int64(4 * (session.CardShare/4 + 2)); made.Load() != session.CardShare ||
			refused.Load() != scans-session.CardShare {
			t.Errorf("%d made and %d refused of %d", made.Load(), refused.Load(), scans)
		}
		scan(links[1])
		g.Clock.Advance(24 * time.Hour)
		scan(links[0])
		if made.Load() != session.CardShare+2 {
			t.Errorf("%d made, with another card and on the next day", made.Load())
		}
		if err := g.App.Tenants.SetDisabled(t.Context(), audit.System("test"), d.shop.Tenant.ID, true, ""); err != nil {
			t.Fatal(err)
		}
		before := refused.Load()
		scan(links[1])
		if refused.Load() != before+1 {
			t.Error("the card of a disabled tenant makes sessions")
		}
	}, "AGEGATE_TEST_DAILY_CAP=-1")
}

// TestCardFormsAnswerByField covers the forms' errors, and scans when no session
// can be created.
func TestCardFormsAnswerByField(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t), "AGEGATE_TEST_DAILY_CAP=1")
	g.Clock.Begin(time.Hour)
	d := newDevBrowser(t, g, "")
	for _, tt := range []struct{ name, outcome, age, problem string }{
		{"", "each", "18", "is needed"},
		{"  ", "each", "18", "is needed"},
		{strings.Repeat("é", 61), "each", "18", "60 characters at most"},
		{"a\u202eb", "each", "18", "none of them invisible"},
		{"\xff", "each", "18", "cannot be read"},
		{"Till", "passed", "18", "is not one of the choices"},
		{"Till", "each", "12", "from 13 to 99"},
		{"Till", "each", "x", "from 13 to 99"},
	} {
		if _, body := d.fill(t, "/test/cards", 422, "name", tt.name, "outcome", tt.outcome, "target_age",
			tt.age); !strings.Contains(problems(body), tt.problem) {
			t.Errorf("%+v: %q", tt, problems(body))
		}
	}
	var links []string
	for range session.MaxCards / 3 {
		links = d.cards(t, "Till", "each")
	}
	if _, body := d.fill(t, "/test/cards", 422, "name", "One more", "outcome", "spoof", "target_age",
		"18"); !strings.Contains(problems(body), "maximum number of cards") {
		t.Errorf("one card more: %q", problems(body))
	}
	nobody := g.Nobody()
	refuses := func(when string) {
		t.Helper()
		if res, page := nobody.Fill(t, links[0], nil); res.StatusCode != 409 ||
			!strings.Contains(problems(page), "No session could be made") {
			t.Errorf("%s: %d, %s", when, res.StatusCode, problems(page))
		}
	}
	if _, page := nobody.Fill(t, links[1], nil); !onward.MatchString(page) {
		t.Errorf("the one session of the day: %s", problems(page))
	}
	refuses("at the tenant's cap")
	g.Clock.Advance(24 * time.Hour)
	if _, err := g.App.Tenants.Update(t.Context(), audit.System("test"), d.shop.Tenant.ID,
		tenant.Changes{SuccessURL: new("")}); err != nil {
		t.Fatal(err)
	}
	if _, page := nobody.Fill(t, links[0], nil); !onward.MatchString(page) {
		t.Errorf("without a Success URL: %s", problems(page))
	}
	if res, _ := nobody.Send(t, "POST", links[0], url.Values{},
		map[string]string{"Sec-Fetch-Site": "cross-site"}); res.StatusCode != 403 {
		t.Errorf("a form of another site: %d", res.StatusCode)
	}
	for _, link := range []string{"/dashboard/card/" + strings.Repeat("A", 43), "/dashboard/card/x", links[0] + "x"} {
		if res, _ := nobody.Get(t, link); res.StatusCode != 404 {
			t.Errorf("%.20s: %d", link, res.StatusCode)
		}
	}
}

// TestSheetSaysThatItLeadsNowhere: codes that lead a phone to itself are printed in vain.
func TestSheetSaysThatItLeadsNowhere(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		d := newDevBrowser(t, g, "")
		_, sheet := d.fill(t, "/test/cards", 200, "name", "Till", "outcome", "each", "target_age", "18")
		if !strings.Contains(sheet, "No phone can open these cards") {
			t.Error("the sheet's codes lead a phone to localhost, and it does not say so")
		}
	}, "AGEGATE_BASE_URL=http://localhost:8080")
}
