package dashboard_test

import (
	"encoding/json"
	"io/fs"
	"net/url"
	"strings"
	"testing"
	"time"

	"agegate/internal/backoffice/account"
	"agegate/internal/gatewaytest"
	"agegate/internal/rules/tenant"
	"agegate/templates"
)

// TestTheShopWasNotTold: where a result's webhook failed, its session says what the shop may do, and the
// lists mark it. It does not say that nothing is left to do. Its box sends the webhook again, and copies for developers.
func TestTheShopWasNotTold(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		receiver := gatewaytest.NewReceiver(t)
		shop := g.Shop(t, receiver.URL, nil)
		support := member(t, g, shop.Tenant.ID, account.Support)
		base := "/dashboard/" + shop.Tenant.ID.String() + "/test"
		made := g.Create(t, shop.Test.APIKey, 18)
		g.Force(t, gatewaytest.Browser(), made, "verified")
		gatewaytest.WaitFor(t, "the attempt", func() bool {
			_, body := support.Get(t, base+"/sessions/"+made.SessionID)
			return strings.Contains(body, `data-testid="moment-webhook"`)
		})
		g.Exec(t, "UPDATE sessions SET source = 'camera', order_ref = '1042'")
		about := "&#10;Order 1042&#10;Session: " + made.SessionID + "&#10;" + "http://localhost:8080" +
			base + "/sessions/" + made.SessionID + "&#10;"
		for _, tt := range []struct {
			set, says string
			marked    bool
		}{
			{"status = 'delivered', next_attempt_at = NULL, lease_token = NULL", "", false},
			{"status = 'pending', next_attempt_at = '2099-01-01', last_class = 'timeout'",
				"in time. agegate tries again by itself", true},
			{"status = 'failed', next_attempt_at = NULL, last_class = 'status'",
				"refused the message about this result. agegate does not try again by itself", true},
			{"status = 'waiting', last_class = ''", "<p>agegate sends nothing until an owner", true},
		} {
			g.Exec(t, "UPDATE webhook_events SET "+tt.set)
			_, body := support.Get(t, base+"/sessions/"+made.SessionID)
			story := between(t, body, `data-live="story"`, "</section>")
			if !strings.Contains(story, tt.says) || strings.Contains(story, `data-testid="untold"`) != (tt.says != "") ||
				strings.Contains(story, "Our shop may not have noted it yet") != (tt.says != "") ||
				strings.Contains(story, "need to do nothing more") == (tt.says != "") ||
				strings.Contains(story, `data-testid="told"`) == (tt.says != "") ||
				tt.says != "" && !strings.Contains(story, `href="`+base+"/webhooks/events/evt_") ||
				strings.Contains(story, `</p><p class="small">Delivery: `) != (tt.says != "") ||
				strings.Contains(story, `data-testid="resend"`) != (tt.says != "") ||
				strings.Contains(story, `data-testid="copy-summary" data-copy="Event: evt_`) != (tt.says != "") ||
				strings.Contains(story, about) != (tt.says != "") ||
				strings.Count(body, `data-testid="resend"`) != 1 {
				t.Errorf("%s: %s", tt.set, story)
			}
			const back = "<p>The shop may know it all the same, as the browser was sent back with the signed result: <time"
			if strings.Contains(story, back) != (tt.says != "") {
				t.Errorf("%s: the redirect: %s", tt.set, story)
			}
			for _, list := range []string{"", "/sessions", "/sessions?age=18", "/sessions?id=" + made.SessionID[:8]} {
				_, body := support.Get(t, base+list)
				if strings.Contains(body, ">Webhook not accepted</span>") != tt.marked {
					t.Errorf("%s: whether %s marks the session is wrong", tt.set, list)
				}
			}
			_, found := support.Post(t, base+"/paste?part=found", url.Values{"text": {"1042"}})
			if strings.Contains(found, ">Webhook not accepted</span>") != tt.marked {
				t.Errorf("%s: whether the search marks the session is wrong: %s", tt.set, found)
			}
		}
		searched(t, support, base+"/paste", "webhook not accepted", base+"/sessions?status=UNTOLD")
		for _, told := range []bool{false, true} {
			if told {
				g.Exec(t, "UPDATE webhook_events SET status = 'delivered'")
			}
			_, list := support.Get(t, base+"/sessions?status=UNTOLD&age=18")
			_, file := support.Get(t, base+"/sessions.csv?status=UNTOLD")
			if strings.Contains(list, made.SessionID) == told || strings.Contains(file, made.SessionID) == told {
				t.Errorf("the filter selects a session of which the shop was told: %t", told)
			}
			_, file = support.Get(t, base+"/sessions.csv")
			if !strings.Contains(file, map[bool]string{true: ",false\n", false: ",true\n"}[told]) {
				t.Errorf("the file does not say whether the shop was told: %s", file)
			}
		}
		for _, failing := range []bool{false, true} {
			if failing {
				fails(t, g, shop.Tenant, false, g.Clock.Now())
				forget(g)
			}
			if _, body := support.Get(t, base); strings.Contains(body, `data-testid="failing"`) != failing {
				t.Errorf("the overview says that webhooks fail: %t", !failing)
			}
		}
		for _, former := range []bool{false, true} {
			if former {
				g.Exec(t, "UPDATE tenants SET webhook_url = 'https://moved.example/hook'")
				forget(g)
			}
			if _, body := support.Get(t, base); strings.Contains(body, "Former Webhook URL <code>") != former {
				t.Errorf("the overview says that a former address fails: %t", !former)
			}
		}
	})
}

// TestWhyTheShopWasNotTold: the box says for every class of failure what is true of it, and not to wait where only a
// mended address or server helps.
func TestWhyTheShopWasNotTold(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	o := newStaffed(t, g, nil)
	made := g.Create(t, o.shop.Test.APIKey, 18)
	g.Force(t, gatewaytest.Browser(), made, "verified")
	for class, says := range map[string]string{
		"status": "refused the message", "connect": "took no connection",
		"dns":      "the host name in the Webhook URL is not known",
		"redirect": "the Webhook URL must be the final address. Tell your developers now: every attempt fails",
		"blocked":  "the address in the Webhook URL is not public, and this gateway’s operator has not allowed it. Tell",
		"tls":      "the certificate of the shop’s server is not trusted", "timeout": "did not answer the message",
		"delivered": "it is sent once more. agegate tries again by itself: wait",
	} {
		// Without its lease, an attempt that is under way writes nothing any more.
		g.Exec(t, "UPDATE webhook_events SET status = 'pending', next_attempt_at = '2099-01-01', lease_token = NULL, "+
			"last_at = '2026-11-30 17:08:38', last_status = 503, last_class = '"+class+"'")
		_, body := o.developer.Get(t, o.at("/test/sessions/"+made.SessionID))
		story := between(t, body, `data-testid="untold"`, "</p>")
		if !strings.Contains(body, " 503, <time datetime=\"2026-11-30T17:08:38") {
			t.Errorf("%s: when the shop answered last is not said: %s", class, body)
		}
		mended := class == "dns" || class == "redirect" || class == "blocked" || class == "tls"
		if !strings.Contains(story, says) || strings.Contains(story, "by itself: wait") == mended {
			t.Errorf("%s: %s", class, story)
		}
	}
}

// TestAForcedFallbackBeforeADocument: a test that forces a fallback where a document is asked for says so.
func TestAForcedFallbackBeforeADocument(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	shop := g.Shop(t, "", func(shop *tenant.Tenant) { shop.DocumentCheck = true })
	support := member(t, g, shop.Tenant.ID, account.Support)
	made := g.Create(t, shop.Test.APIKey, 18)
	g.Force(t, gatewaytest.Browser(), made, "fallback")
	_, body := support.Get(t, "/dashboard/"+shop.Tenant.ID.String()+"/test/sessions/"+made.SessionID)
	body = strings.ReplaceAll(body, "</li><li>", " ")
	for says, want := range map[string]bool{
		"A test forced the camera check to end in a fallback. The shopper is now asked for a document.": true,
		"A test forced a fallback": true, "Link opened": true, "no shopper waits": true, "skipped": false,
		`data-testid="reply"`: true, "Attempt without a result": false,
	} {
		if strings.Contains(body, says) != want {
			t.Errorf("whether the page says %q is wrong", says)
		}
	}
}

// TestOneWordForOneState: the overview and the operator's pages call the states of a webhook as its own page does, from
// the first failure on, and the operator is warned only of one that fails.
func TestOneWordForOneState(t *testing.T) {
	for _, tag := range []string{"en", "de"} {
		texts := map[string]any{}
		for _, file := range []string{"overview", "system", "webhooks"} {
			data, err := fs.ReadFile(templates.Dashboard(), "locales/"+tag+"/"+file+".json")
			if err != nil || json.Unmarshal(data, &texts) != nil {
				t.Fatal(file, err)
			}
		}
		for _, key := range []string{"overview.failed", "system.failed"} {
			if same := "delivery.failed"; texts[key] != texts[same] {
				t.Errorf("%s: %s is %q, and %s is %q", tag, key, texts[key], same, texts[same])
			}
		}
	}
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		o, op := newStaffed(t, g, nil), operating(t, g)
		g.Create(t, o.shop.Live.APIKey, 18)
		fails(t, g, o.shop.Tenant, true, g.Clock.Now())
		for _, tt := range []struct {
			state, set string
			warns      bool
		}{
			{"Retrying", "disabled_at = NULL", false},
			{"Failing", "first_failure_at = '2026-01-02 03:04:05+00:00'", true},
			{"Disabled", "disabled_at = first_failure_at, disabled_reason = 'failing'", true},
		} {
			g.Exec(t, "UPDATE webhook_endpoints SET "+tt.set)
			g.Clock.Advance(time.Minute) // figures are computed every 15 s
			for path, by := range map[string]*gatewaytest.Staff{
				o.at("/live"): o.developer, o.at("/live/webhooks"): o.developer,
				"/operator/system": op, operatedAt(o.shop.Tenant.ID): op,
			} {
				_, body := by.Get(t, path+"?lang=en")
				for _, state := range []string{"Retrying", "Failing", "Disabled"} {
					if strings.Contains(body, ">"+state+"</span>") != (state == tt.state) {
						t.Errorf("%s, to be called %s: %s is wrong", path, tt.state, state)
					}
				}
			}
			forget(g)
			_, list := op.Get(t, "/operator?lang=en")
			_, system := op.Get(t, "/operator/system?lang=en")
			if strings.Contains(list, "Webhooks fail") != tt.warns ||
				strings.Contains(system, `data-testid="finding-webhooks"`) != tt.warns {
				t.Errorf("%s: the operator is warned: %t", tt.state, !tt.warns)
			}
		}
	})
}
