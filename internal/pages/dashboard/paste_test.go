package dashboard_test

import (
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"unicode"

	"agegate/internal/backoffice/account"
	"agegate/internal/gatewaytest"
	"agegate/internal/pages/dashboard"
)

// TestPasteBox: pasted text is recognized and leads to its record or to an
// explanation.
func TestPasteBox(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		receiver, foreignReceiver := gatewaytest.NewReceiver(t), gatewaytest.NewReceiver(t)
		d, stranger := newDevBrowser(t, g, receiver.URL), newDevBrowser(t, g, foreignReceiver.URL)
		made, foreign := g.Create(t, d.shop.Test.APIKey, 18), g.Create(t, stranger.shop.Test.APIKey, 18)
		live := g.Create(t, d.shop.Live.APIKey, 18)
		res, _ := g.Force(t, gatewaytest.Browser(), made, "verified")
		success := res.Header.Get("Location")
		g.Force(t, gatewaytest.Browser(), foreign, "verified")
		got, theirs := receiver.Wait(t, 1)[0], foreignReceiver.Wait(t, 1)[0]
		event, signature := got.Header.Get("Webhook-Id"), got.Header.Get("Webhook-Signature")
		headers := "POST /hook HTTP/1.1\nCf-Visitor: {\"scheme\":\"https\"}\n"
		for _, name := range []string{"Webhook-Id", "Webhook-Timestamp", "Webhook-Signature"} {
			headers += "> " + strings.ToLower(name) + ": " + got.Header.Get(name) + "\n"
		}
		asJSON := strings.NewReplacer("> ", `  "`, ": ",
			`": "`).Replace(strings.Join(strings.Split(headers, "\n")[2:5], "\",\n"))
		body := string(got.Body)
		const canary = "zqpasted7x"
		toSession, toEvent := "/test/sessions/"+made.SessionID, "/test/webhooks/events/"+event
		res, _ = d.Get(t, d.base+"/live/webhooks/events/"+event)
		want(t, "a test event in live mode", res, http.StatusSeeOther, d.base+toEvent)
		d.see(t, http.StatusNotFound, "/live/webhooks/events/"+theirs.Header.Get("Webhook-Id"))
		for _, tt := range []struct{ mode, text, leads, says string }{
			{"test", made.SessionID, toSession, ""},
			{"test", "  \"" + strings.ToUpper(made.SessionID) + "\",\n", toSession, ""},
			{"test", "https://gate.example" + d.base + toSession + "?lang=de", toSession, ""},
			{"test", made.VerificationURL, toSession, ""},
			{"test", made.VerificationURL + "?force=spoof", toSession, ""},
			{"test", made.VerificationURL[len(made.VerificationURL)-43:], toSession, ""},
			{"test", made.VerificationURL[:len(made.VerificationURL)-9], "", "This link is cut off: 43 characters follow"},
			{"test", `{"session_id":"` + made.SessionID + `","verification_url":"` + made.VerificationURL + `"}`, toSession, ""},
			{"test", event, toEvent, ""},
			{"live", event, toEvent, ""},
			{"live", "…" + event[len(event)-8:], toEvent, ""},
			{"test", strings.ToUpper(event[len(event)-12:]), toEvent, ""},
			{"test", theirs.Header.Get("Webhook-Id")[32:], "", "Nothing found"},
			{"test", live.SessionID, "/live/sessions/" + live.SessionID, ""},
			{"test", live.VerificationURL, "/live/sessions/" + live.SessionID, ""},

			{"test", success, toSession, ""},
			{"test", `10.0.0.1 - "GET ` + success + ` HTTP/1.1" 302 0`, toSession, ""},
			{"live", success, toSession, ""},
			{"test", strings.Replace(success, "VERIFIED", canary, 1), toSession, ""},
			{"test", headers + "\n" + body, toEvent, ""},
			{"test", strings.ReplaceAll(headers+"\n"+body, "\n", "\r\n") + "\r\n", toEvent, ""},
			{"test", body + "\n\n" + headers, toEvent, ""},
			{"test", "{\n" + asJSON + "\n}\n" + body, toEvent, ""},
			{"live", headers + "\n" + body, toEvent, ""},
			{"test", headers + "\n{\"" + canary + hostile, toEvent, ""},
			{"test", headers, toEvent, ""},
			{"test", body, toSession, ""},
			{"test", strings.Replace(headers, event, theirs.Header.Get("Webhook-Id"), 1) + "\n" + body, "",
				"No webhook event of yours has this ID"},

			{"test", foreign.SessionID, "", "No session of yours has this ID"},
			{"test", foreign.VerificationURL, "", "No session of yours has this link"},
			{"test", theirs.Header.Get("Webhook-Id"), "", "No webhook event of yours has this ID"},
			{"test", d.shop.Live.APIKey, "", "This is a secret or an API key"},
			{"test", d.shop.Test.WebhookSecret + " " + canary, "", "This is a secret or an API key"},
			{"test", canary + hostile, "", "Nothing found"},
			{"test", "", "", "is needed"},
			{"test", strings.Repeat("{\n", 8<<10), "", "Nothing found"},
			{"test", strings.Repeat("x", 16<<10+1), "", "at most 16,384 characters"},
			{"test", "\xff" + made.SessionID, "", "cannot be read"},
		} {
			res, page := d.Post(t, d.base+"/"+tt.mode+"/paste", url.Values{"text": {tt.text}})
			status, leads := 200, ""
			if tt.leads != "" {
				status, leads = 303, d.base+tt.leads
			}
			if problems(page) != "" {
				status = 422
			}
			text := html.UnescapeString(page)
			if res.StatusCode != status || res.Header.Get("Location") != leads || !strings.Contains(text, tt.says) {
				t.Errorf("%s: %.90q: %d to %q, want %q or %q", tt.mode, tt.text, res.StatusCode, res.Header.Get("Location"), leads,
					tt.says)
			}
			for _, mine := range []string{canary, "<img", signature, d.shop.Live.APIKey, d.shop.Test.WebhookSecret, "token="} {
				if strings.Contains(text, mine) {
					t.Errorf("%.60q: the page has %.12s", tt.text, mine)
				}
			}
			if theirID := theirs.Header.Get("Webhook-Id"); strings.Contains(text, theirID) ||
				strings.Contains(text, foreign.SessionID) {
				t.Errorf("%.60q: the page has a stranger's ID", tt.text)
			}
		}
		d.Post(t, d.base+"/test/paste", url.Values{"text": {live.SessionID}})
		if _, page := d.Get(t, d.base+"/live/sessions/"+live.SessionID); !strings.Contains(page,
			"This belongs to live mode") {
			t.Error("the other mode is not pointed out")
		}
		if log := g.Log.String(); strings.Contains(log+dump(t, g), canary) ||
			strings.Contains(log, made.VerificationURL[len(made.VerificationURL)-43:]) {
			t.Error("what was pasted is in the log or the database")
		}
	})
}

// TestAPasswordAloneFindsTestModeOnly: for a log-in by password alone, the search shows
// nothing of live mode.
func TestAPasswordAloneFindsTestModeOnly(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	d := newDevBrowser(t, g, "")
	weak := &devBrowser{g: g, shop: d.shop, base: d.base, Staff: g.SignIn(t, false, account.ByPassword)}
	g.Join(t, weak.Staff, d.shop.Tenant.ID, account.Owner)
	live, test := g.Create(t, d.shop.Live.APIKey, 18), g.Create(t, d.shop.Test.APIKey, 18)
	ask := func(by *devBrowser, text string) (int, string) {
		res, page := by.Post(t, d.base+"/test/paste", url.Values{"text": {text}})
		return res.StatusCode, html.UnescapeString(page)
	}
	redirect := "https://shop.example/ok?status=VERIFIED&is_adult=true&token=1.x&session="
	for _, text := range []string{live.SessionID, live.VerificationURL, redirect + live.SessionID} {
		if status, page := ask(weak, text); status != 200 || !strings.Contains(page, "No session of yours") ||
			!strings.Contains(page, "only test mode was looked at") {
			t.Errorf("%.30s: a password alone opens it: %d", text, status)
		}
		if status, _ := ask(d, text); status != 303 {
			t.Errorf("%.30s: a passkey does not open it: %d", text, status)
		}
	}
	for _, text := range []string{test.SessionID, redirect + test.SessionID} {
		if status, _ := ask(weak, text); status != 303 {
			t.Errorf("%.30s, of a test session: %d", text, status)
		}
	}
}

// FuzzRecognize: no text causes a failure, and what is looked up occurs in the
// text.
func FuzzRecognize(f *testing.F) {
	for _, seed := range []string{
		"", "{", "evt_01890c0d-e000-7000-8000-000000000000", "/v/" + strings.Repeat("A", 43), "https://x?token=1.x&session=2",
		"webhook-id: evt_1\n\n{\"type\":\"session.completed\",\"session_id\":\"1\"}", "\ufeff{\"session.completed\"",
		"svc_test_x", "٢٠٠١", "店２号",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		kind, found := dashboard.Recognize(text)
		foreign := func(c rune) bool { return c > unicode.MaxASCII && unicode.IsDigit(c) } // becomes ASCII
		if !strings.Contains(strings.ToLower(text), strings.ToLower(found)) && !strings.ContainsFunc(text, foreign) {
			t.Errorf("%s: %q is not in %q", kind, found, text)
		}
		if (kind == "secret" || kind == "") != (found == "") {
			t.Errorf("%q with the text %q", kind, found)
		}
	})
}

// TestDigitsOfOtherScripts: a number is found in the digits of any script. A name that has
// other letters too is looked up as it was typed.
func TestDigitsOfOtherScripts(t *testing.T) {
	for typed, want := range map[string]string{"٢٠٠١": "2001", "２００３": "2003", "१०४२": "1042", "𝟏𝟎𝟒𝟐": "1042",
		"order ۱۰۴۲": "order 1042", "店２号": "店２号", "Søren 2": "Søren 2"} {
		if kind, found := dashboard.Recognize(typed); kind != "word" || found != want {
			t.Errorf("%q is a %s %q, want %q", typed, kind, found, want)
		}
	}
}

// TestWordsGoOnToTheDocumentation: a few words that found nothing stand behind the "#" of the link to the
// documentation, where no server sees them. What may be a secret, a link or a letter does not, and leads to support's
// guide.
func TestWordsGoOnToTheDocumentation(t *testing.T) {
	const guide = "/support"
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		d := newDevBrowser(t, g, "")
		for text, words := range map[string]string{
			"zebra": "#q=zebra", "Säfte, zebra": guide, "säfte zebra": "#q=s%C3%A4fte&#43;zebra", "a&b=c#d": guide,
			`"><script>`: guide, "mine " + d.shop.Live.APIKey: guide, strings.Repeat("z", 25): guide,
			strings.Repeat("zebra ", 7): guide,
		} {
			for _, part := range []string{"", "?part=found"} {
				_, body := d.Post(t, d.base+"/test/paste"+part, url.Values{"text": {text}})
				link, _, found := strings.Cut(body, `" data-testid="search-docs"`)
				_, got, _ := strings.Cut(link[strings.LastIndex(link, `"`)+1:], "/docs")
				kept := strings.Contains(body, ` value="`+text+`" maxlength="16384"`)
				if part == "" && kept != (words != guide) {
					t.Errorf("the field keeps %q: %t", text, kept)
				}
				if !found || got != words || words != guide && !strings.Contains(body, "Search the documentation for these words") {
					t.Errorf("%q leads to %q, want %q", text, got, words)
				}
			}
		}
		if _, body := d.Get(t, d.base+"/test"); !strings.Contains(body, `/docs/support" data-testid="nav-support"`) {
			t.Error("no way leads to the guide for support")
		}
		_, body := d.Get(t, d.base+"/test?lang=de")
		if !strings.Contains(body, `/docs/support.de" data-testid="nav-support"`) {
			t.Error("no way leads to the guide for support in German")
		}
		if strings.Contains(g.Log.String(), "zebra") {
			t.Error("the log has the words")
		}
	})
}
