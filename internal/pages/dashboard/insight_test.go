package dashboard_test

import (
	"bytes"
	"html"
	"image/png"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"agegate/internal/backoffice/account"
	"agegate/internal/backoffice/insight"
	"agegate/internal/gatewaytest"
	"agegate/internal/pages/dashboard"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"

	"github.com/google/uuid"
)

// eventually requests a page until it contains a text.
func eventually(t *testing.T, s *gatewaytest.Staff, path, text string) string {
	t.Helper()
	for limit := time.Now().Add(2 * time.Minute); time.Now().Before(limit); time.Sleep(20 * time.Millisecond) {
		if _, body := s.Get(t, path); strings.Contains(body, text) {
			return body
		}
	}
	t.Fatalf("%s never shows %q", path, text)
	return ""
}

func member(t *testing.T, g *gatewaytest.Gateway, tenantID uuid.UUID, role account.Role) *gatewaytest.Staff {
	t.Helper()
	s := g.SignIn(t, false, account.ByPasskey)
	g.Join(t, s, tenantID, role)
	return s
}

// TestNewcomersPath goes from an empty overview to a verified session with an
// answered webhook, with the page's own forms and links.
func TestNewcomersPath(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		receiver := gatewaytest.NewReceiver(t)
		shop := g.Shop(t, receiver.URL, nil)
		base := "/dashboard/" + shop.Tenant.ID.String() + "/test"
		dev := member(t, g, shop.Tenant.ID, account.Developer)
		_, body := dev.Get(t, base)
		if strings.Count(body, "Create a test session") != 1 || strings.Contains(body, "<svg class=\"bars\"") ||
			strings.Contains(body, `data-testid="window-`) {
			t.Error("the empty overview does not offer its one button, or a choice of figures")
		}
		_, after, _ := strings.Cut(body, `name="nonce" value="`)
		form := url.Values{"nonce": {after[:43]}, "target_age": {"18"}}
		res, _ := dev.Post(t, base+"/playground", form)
		try := res.Header.Get("Location")
		if res.StatusCode != http.StatusSeeOther || !strings.HasPrefix(try, base+"/playground/") {
			t.Fatalf("created: %d to %q", res.StatusCode, try)
		}
		res, _ = dev.Post(t, base+"/playground", form)
		want(t, "the form sent twice", res, http.StatusSeeOther, try)
		form.Set("target_age", "21")
		res, _ = dev.Post(t, base+"/playground", form)
		want(t, "the form sent twice with another age", res, http.StatusConflict, "")

		_, body = dev.Get(t, try)
		_, after, found := strings.Cut(body, `href="http://verify.gateway.example/v/`)
		link, _, _ := strings.Cut(after, `"`)
		details := strings.Replace(try, "/playground/", "/sessions/", 1)
		for role, offered := range map[account.Role]bool{account.Viewer: false, account.Developer: true} {
			if _, page := member(t, g, shop.Tenant.ID, role).Get(t, details); strings.Contains(page, "?force=") != offered {
				t.Errorf("the links that force a result, to a %s: %v", role, !offered)
			}
		}
		if !found || !strings.HasSuffix(link, "?force=verified") {
			t.Fatalf("the first link of the page is not the one that verifies: %q", link)
		}
		res, picture := dev.Get(t, try+"/qr.png")
		if _, err := png.Decode(bytes.NewReader([]byte(picture))); err != nil ||
			res.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("QR code: %v, %v", err, res.Header)
		}
		res, err := gatewaytest.Browser().Get(g.URL + "/v/" + link)
		if err != nil || res.StatusCode != http.StatusSeeOther {
			t.Fatalf("forced: %v, %v", res, err)
		}
		_ = res.Body.Close()
		receiver.Wait(t, 1)
		eventually(t, dev, try+"?part=timeline", "Webhook answered 204")
		body = eventually(t, dev, details, "Webhook answered 204")
		if strings.Contains(body, "force=") {
			t.Error("a session that has ended offers to force it")
		}
		if _, body = dev.Get(t, base+"?part=recent"); strings.Contains(body, "<html") || !strings.Contains(body, "Passed") {
			t.Error("the live part of the overview does not show the session")
		}
		if res, _ := dev.Get(t, base+"?part=nothing"); res.StatusCode != http.StatusNotFound {
			t.Errorf("a part that is not there: %d", res.StatusCode)
		}
		g.Clock.Advance(16 * time.Second) // the figures are computed every 15 s
		for _, window := range []string{"24h", "7d", "30d"} {
			_, body = dev.Get(t, base+"?window="+window)
			if !strings.Contains(body, `<path class="s-PASSED" d="M`) ||
				!strings.Contains(body, "<strong>–</strong> <small>not counting 1 forced by tests<") ||
				!strings.Contains(body, "<strong>0</strong> <small>of 0 decided<") {
				t.Errorf("%s: the overview does not count the session, or its forced result as one that was earned", window)
			}
		}
		res, _ = dev.Get(t, base+"?window=1y")
		want(t, "an unknown window", res, http.StatusNotFound, "")
	})
}

func TestPlaygroundAnswersByField(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		shop := g.Shop(t, "", func(s *tenant.Tenant) { s.CancelURL = "" })
		path := "/dashboard/" + shop.Tenant.ID.String() + "/test/playground"
		dev := member(t, g, shop.Tenant.ID, account.Developer)
		for _, tt := range []struct{ field, value, problem string }{
			{"target_age", "", "is needed"}, {"target_age", "12", "from 13 to 99"}, {"target_age", "1e", "from 13 to 99"},
			{"target_age", "100", "2 characters"},
			{"success_url", "https://evil.example/", "no registered URL"}, {"success_url", "nothing", "not a complete URL"},
			{"success_url", "ftp://shop.example/", "https://"}, {"success_url", "https://u:p@shop.example/", "user name"},
			{"success_url", "https://shöp.example/", "ASCII"},
			{"success_url", "https://shop.example/" + strings.Repeat("x", 2048), "2,048 characters"},
			{"success_url", `"><script>alert(1)</script>`, "not a complete URL"},
		} {
			form := url.Values{"target_age": {"18"}, "success_url": {"https://shop.example/own"},
				"cancel_url": {"https://shop.example/own"}}
			form.Set(tt.field, tt.value)
			res, body := dev.Fill(t, path, form)
			_, after, _ := strings.Cut(body, `id="p-`+tt.field+`">`)
			problem, _, _ := strings.Cut(after, "<")
			if res.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(problem, tt.problem) {
				t.Errorf("%s=%q: %d %q, want %q", tt.field, tt.value, res.StatusCode, problem, tt.problem)
			}
			if strings.Contains(body, "<script>alert") || tt.field != "target_age" && !strings.Contains(body, `value="18"`) {
				t.Errorf("%s=%q: the page does not keep what was typed as text", tt.field, tt.value)
			}
		}
	}, "AGEGATE_TEST_DAILY_CAP=1")
}

// TestPlaygroundWithoutURLs: test sessions of staff lead to a built-in page while
// a URL is not registered. The API still refuses to create such sessions.
func TestPlaygroundWithoutURLs(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		const cancel = "https://shop.example/cancel"
		shop := g.Shop(t, "", func(s *tenant.Tenant) { s.SuccessURL, s.CancelURL = "", cancel })
		id := shop.Tenant.ID
		dev := member(t, g, id, account.Developer)
		res, _ := dev.Fill(t, "/dashboard/"+id.String()+"/test/playground", url.Values{"target_age": {"18"}})
		made, err := uuid.Parse(res.Header.Get("Location")[strings.LastIndexByte(res.Header.Get("Location"), '/')+1:])
		if err != nil {
			t.Fatal(err)
		}
		record, err := g.App.Store.SessionByID(t.Context(), id, made)
		if err != nil || record.SuccessURL != "http://localhost:8080/dashboard/returned?tenant="+id.String() ||
			record.CancelURL != cancel {
			t.Errorf("the session leads to %q and %q, %v", record.SuccessURL, record.CancelURL, err)
		}
		res, page := g.Nobody().Get(t, "/dashboard/returned?tenant="+id.String()+"&session="+made.String()+
			"&status=VERIFIED&token=%3Cb%3E")
		want(t, "the built-in page", res, http.StatusOK, "")
		for _, link := range []string{"/test/playground/" + made.String(), "/settings/urls"} {
			if !strings.Contains(page, `href="/dashboard/`+id.String()+link+`"`) {
				t.Errorf("the built-in page does not lead to %s", link)
			}
		}
		if strings.Contains(page, "<b>") || strings.Contains(page, "token=") {
			t.Error("the built-in page shows its address")
		}
		german := "?session=" + made.String() + "&status=VERIFIED&tenant=" + id.String() + "&lang=de"
		if !strings.Contains(html.UnescapeString(page), `href="`+german+`"`) {
			t.Error("the built-in page's link to German does not keep the result")
		}
		_, page = g.Nobody().Get(t, "/dashboard/returned"+german)
		if !strings.Contains(page, "/test/playground/"+made.String()) || !strings.Contains(page, `lang="de"`) {
			t.Error("the built-in page in German is about another result")
		}
	})
}

// TestPlaygroundCountsAgainstTheCap: sessions of the playground count, for every
// role that may use it.
func TestPlaygroundCountsAgainstTheCap(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		g.Clock.Begin(time.Hour)
		shop := g.Shop(t, "", nil)
		path := "/dashboard/" + shop.Tenant.ID.String() + "/test/playground"
		dev := member(t, g, shop.Tenant.ID, account.Developer)
		form := url.Values{"target_age": {"18"}}
		if res, _ := dev.Fill(t, path, form); res.StatusCode != http.StatusSeeOther {
			t.Errorf("the first: %d", res.StatusCode)
		}
		if res, body := dev.Fill(t, path, form); res.StatusCode != http.StatusUnprocessableEntity ||
			!strings.Contains(body, "used up") {
			t.Errorf("the second: %d", res.StatusCode)
		}
		res, _ := dev.Post(t, path, form)
		want(t, "without a nonce", res, http.StatusConflict, "")
		res, _ = dev.Get(t, strings.Replace(path, "/test/", "/live/", 1))
		want(t, "live", res, http.StatusNotFound, "")
	}, "AGEGATE_TEST_DAILY_CAP=1")
}

// TestForeignSessionLooksMissing covers every page about one session.
func TestForeignSessionLooksMissing(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		own, foreign := g.Shop(t, "", nil), g.Shop(t, "", nil)
		boss := member(t, g, own.Tenant.ID, account.Owner)
		g.StepUp(t, boss)
		theirs, live := g.Create(t, foreign.Test.APIKey, 18).SessionID, g.Create(t, own.Live.APIKey, 18).SessionID
		rows, err := dashboard.Table()
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			if !strings.Contains(row.Path, ":session") {
				continue
			}
			answer := func(id string) string {
				path := strings.NewReplacer(":tenant", own.Tenant.ID.String(), ":mode", "test", ":session", id).Replace(row.Path)
				res, body := boss.Send(t, row.Method, path, url.Values{}, map[string]string{"Sec-Fetch-Site": "same-origin"})
				want(t, row.Method+" "+path, res, http.StatusNotFound, "")
				return body
			}
			missing := answer(uuid.Must(uuid.NewV7()).String())
			for _, id := range []string{theirs, live, "x", strings.ToUpper(theirs)} {
				if id == live && row.Method == http.MethodGet && strings.HasSuffix(row.Path, "sessions/:session") {
					continue // leads to the session's page in live mode, see TestLookUp
				}
				if answer(id) != missing {
					t.Errorf("%s %s: %s differs from a missing session", row.Method, row.Path, id)
				}
			}
		}
		base := "/dashboard/" + own.Tenant.ID.String() + "/test"
		list := base + "/sessions"
		// A session created without an idempotency key has a link that only its
		// creator knows.
		made := g.Create(t, own.Test.APIKey, 18).SessionID
		res, body := boss.Get(t, list+"/"+made)
		if want(t, "a session of the API", res, http.StatusOK, ""); strings.Contains(body, "force=") ||
			strings.Contains(body, "/v/") {
			t.Error("its page has its link")
		}
		res, _ = boss.Get(t, base+"/playground/"+made)
		want(t, "the same in the playground", res, http.StatusNotFound, "")
		res, _ = boss.Get(t, list+"?id="+theirs)
		want(t, "search", res, http.StatusSeeOther, list+"/"+theirs)
		if _, body := boss.Get(t, list); strings.Contains(body, theirs) || strings.Contains(body, live) {
			t.Error("the list shows a session of another tenant or mode")
		}
	})
}

// TestNoEstimateIsShown: no page of a session shows its estimated age.
func TestNoEstimateIsShown(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		shop := g.Shop(t, "", func(s *tenant.Tenant) { s.AgeVisibility = true })
		made := g.Create(t, shop.Test.APIKey, 18)
		link := made.VerificationURL[strings.LastIndex(made.VerificationURL, "/")+1:]
		sess, err := g.App.Sessions.ByLink(t.Context(), link)
		if err == nil {
			err = g.App.Sessions.Consent(t.Context(), sess, true)
		}
		estimate := 87.3
		if err == nil {
			_, err = g.App.Sessions.Resolve(t.Context(), sess,
				session.CheckResult{Result: session.ResultVerified, Source: session.SourceCamera, Estimate: &estimate, Cutoff: 20.5})
		}
		if err != nil {
			t.Fatal(err)
		}
		view, err := g.App.Sessions.DetectedAge(t.Context(), shop.Tenant.ID, sess.ID)
		if err != nil || view.DetectedAge == nil {
			t.Fatalf("no estimate is stored: %+v, %v", view, err)
		}
		boss := member(t, g, shop.Tenant.ID, account.Owner)
		base := "/dashboard/" + shop.Tenant.ID.String() + "/test"
		for _, path := range []string{base, base + "/sessions", base + "/sessions/" + made.SessionID, base + "/sessions/" +
			made.SessionID + "?part=timeline"} {
			res, body := boss.Get(t, path)
			want(t, path, res, http.StatusOK, "")
			if strings.Contains(body, "87.3") || strings.Contains(body, "87,3") {
				t.Errorf("%s shows the estimate", path)
			}
		}
		if _, body := boss.Get(t, base+"/sessions/"+made.SessionID); !strings.Contains(body, "your backend can look it up") ||
			!strings.Contains(body, "20.5 years") {
			t.Error("the page does not say that there is an estimate, and what was needed")
		}
		_, _ = boss.Post(t, "/dashboard/account/language", url.Values{"locale": {"de"}})
		if _, body := boss.Get(t, base+"/sessions/"+made.SessionID); !strings.Contains(body, "20,5 Jahre") ||
			!strings.Contains(body, "18 &#43; 2,5 Jahren") {
			t.Errorf("the German page does not say what was needed with a decimal comma:\n%s", body)
		}
	})
}

// TestURLsAreText: a session's own callback URLs are written as text.
func TestURLsAreText(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	shop := g.Shop(t, "", nil)
	created := g.Create(t, shop.Test.APIKey, 18)
	// The rule of callback URLs refuses these; the pages do not rely on it.
	for _, column := range []string{"success_url", "cancel_url", "webhook_url"} {
		g.Exec(t, "UPDATE sessions SET "+column+
			` = 'https://shop.example/?a="><script>alert(1)</script><img src=x onerror=alert(1)>{{.}}'`)
	}
	boss := member(t, g, shop.Tenant.ID, account.Owner)
	_, body := boss.Get(t, "/dashboard/"+shop.Tenant.ID.String()+"/test/sessions/"+created.SessionID)
	if strings.Contains(body, "<script>alert") || strings.Contains(body, "<img src=x") ||
		strings.Count(body, "&lt;script&gt;alert(1)") != 3 {
		t.Error("the URL is not shown as text")
	}
}

// TestSessionList: pages of fifty, filters, and what they refuse.
func TestSessionList(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		g.Clock.Begin(time.Hour)
		shop := g.Shop(t, "", nil)
		list := "/dashboard/" + shop.Tenant.ID.String() + "/test/sessions"
		look := member(t, g, shop.Tenant.ID, account.Viewer)
		count := func(body string) int { return strings.Count(body, `data-testid="session"`) }
		if _, body := look.Get(t, list); !strings.Contains(body, "No sessions yet") {
			t.Error("the empty list does not say so")
		}
		for i := range insight.PageSize + 3 {
			g.Create(t, shop.Test.APIKey, 18+3*(i%2))
		}
		res, body := look.Get(t, list)
		_, after, _ := strings.Cut(body, `href="?before=`)
		next, _, _ := strings.Cut(after, `"`)
		if count(body) != insight.PageSize || next == "" || res.StatusCode != http.StatusOK {
			t.Errorf("the first page: %d rows", count(body))
		}
		if _, body = look.Get(t, list+"?before="+next); count(body) != 3 || strings.Contains(body, `rel="next"`) {
			t.Errorf("the last page: %d rows", count(body))
		}
		today, tomorrow := g.Clock.Now().Format(time.DateOnly), g.Clock.Now().AddDate(0, 0, 1).Format(time.DateOnly)
		for query, n := range map[string]int{
			"age=21": 26, "age=99": 0, "status=PENDING&age=18": 27, "status=SPOOF": 0, "from=" + today + "&to=" + tomorrow +
				"&age=21": 26,
			"to=2020-01-01": 0,
		} {
			if _, body := look.Get(t, list+"?"+query); count(body) != n {
				t.Errorf("%s: %d rows, want %d", query, count(body), n)
			}
		}
		for _, wrong := range []string{"age=x", "age=12", "from=yesterday", "to=2026-13-01", "from=2026-02-02&to=2026-02-01",
			"status=GOOD", "id=x"} {
			if res, body := look.Get(t, list+"?"+wrong); res.StatusCode != http.StatusUnprocessableEntity ||
				!strings.Contains(body, `class="problem"`) {
				t.Errorf("%s: %d", wrong, res.StatusCode)
			}
		}
		res, _ = look.Get(t, list+"?before=x")
		want(t, "a wrong cursor", res, http.StatusNotFound, "")
	}, "AGEGATE_TEST_DAILY_CAP=-1")
}

// TestDeleteSession: an owner deletes an ended session, after a page that says
// what will be deleted.
func TestDeleteSession(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		shop := g.Shop(t, "", nil)
		made := g.Create(t, shop.Test.APIKey, 18)
		page := "/dashboard/" + shop.Tenant.ID.String() + "/test/sessions/" + made.SessionID
		boss, dev := member(t, g, shop.Tenant.ID, account.Owner), member(t, g, shop.Tenant.ID, account.Developer)
		if res, _ := boss.Post(t, page+"/delete", nil); res.StatusCode == http.StatusSeeOther &&
			res.Header.Get("Location") != "" &&
			!strings.Contains(res.Header.Get("Location"), "confirm") {
			t.Errorf("without a confirmation: %d", res.StatusCode)
		}
		g.StepUp(t, boss)
		g.StepUp(t, dev)
		if _, body := dev.Get(t, page); strings.Contains(body, "Delete session") {
			t.Error("a developer is offered to delete")
		}
		res, body := boss.Fill(t, page+"/delete", nil)
		if want(t, "an open one", res, http.StatusConflict, ""); !strings.Contains(body, "still open") {
			t.Error("the page does not say why")
		}
		_, body = boss.Get(t, page+"/delete?lang=en")
		if !strings.Contains(body, "still open") || strings.Contains(body, `data-testid="confirm"`) {
			t.Error("of an open one the page asks first, and refuses then")
		}
		g.Clock.Advance(31 * time.Minute)
		g.StepUp(t, boss)
		_, body = boss.Get(t, page+"/delete")
		g.Exec(t, "UPDATE sessions SET order_ref = '<1042>' WHERE id = '"+made.SessionID+"'")
		_, ordered := boss.Get(t, page+"/delete")
		created := g.Clock.Now().Add(-31 * time.Minute).Format("2006-01-02")
		for text, in := range map[string]string{
			"answer 404": body, "ledger line": body, "Order: –. Created: " + created: body, " UTC. Status: Expired.": body,
			"Order: &lt;1042&gt;. Created: " + created: ordered,
		} {
			if !strings.Contains(in, text) {
				t.Errorf("the page does not say which session goes, what goes and what stays: %q", text)
			}
		}
		res, _ = boss.Fill(t, page+"/delete", nil)
		want(t, "delete", res, http.StatusSeeOther, strings.TrimSuffix(page, "/"+made.SessionID))
		res, body = boss.Get(t, page)
		want(t, "afterwards", res, http.StatusNotFound, "")
		if !strings.Contains(body, "The session with this ID was deleted on ") {
			t.Error("the page does not say why there is nothing")
		}
	})
}
