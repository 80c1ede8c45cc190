package dashboard_test

import (
	"strings"
	"testing"

	"agegate/internal/backoffice/account"
	"agegate/internal/gatewaytest"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
)

// TestRepliesAboutACamera: a reply about a camera without pictures names the buttons of the page that its shopper
// gets, and nothing of a page that has gone. What was opened inside another app goes on by the page's own link only.
func TestRepliesAboutACamera(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	shop := g.Shop(t, "", nil)
	support := member(t, g, shop.Tenant.ID, account.Support)
	const opened, offered, ended = "opened_at = created_at", ", document_opened_at = created_at",
		", document_opened_at = created_at, status = 'FALLBACK', source = 'document', completed_at = created_at"
	for _, trouble := range session.Troubles {
		note := `, setbacks = '[{"At":"2099-01-02T03:04:05Z","Why":"browser_` + trouble + `"}]'`
		embedded := trouble == "embedded"
		for state, wants := range map[string]struct{ same, use, get, anew, wallet bool }{
			"":                     {same: !embedded, use: !embedded, get: embedded},
			offered:                {same: !embedded, use: !embedded, get: embedded, wallet: true},
			ended:                  {anew: true, use: !embedded},
			", status = 'EXPIRED'": {anew: true, use: !embedded},
		} {
			body := told(t, g, shop, support, opened+state+note)
			replies := between(t, body, `data-testid="tell"`, "</ul>")
			english, _, _ := strings.Cut(replies, "</p>")
			for part, want := range map[string]bool{
				"in the same browser": wants.same, "a wallet app needs no camera": wants.wallet, "choose another browser": false,
				"another device or in another browser": wants.anew && !embedded, "another way that the page": false,
				"not inside another app": wants.anew && embedded,
			} {
				if got := strings.Contains(strings.ToLower(english), part); got != want {
					t.Errorf("%s%s: %q is there: %t, in %s", trouble, state, part, got, english)
				}
			}
			for _, tag := range tenant.Languages {
				text := english
				if tag != "en" {
					text = between(t, replies, `<p lang="`+tag+`" dir="auto">`, "</p>")
				}
				for key, want := range map[string]bool{"handover.use": wants.use, "handover.get": wants.get,
					"intro.prefer": wants.use && state != offered} {
					if got := strings.Contains(text, shopperText(t, tag, key)); got != want {
						t.Errorf("%s%s: names %s: %t, in %s", trouble, state, key, got, text)
					}
				}
			}
		}
	}
}

// TestRepliesNameAnotherDevice: after a camera that showed no face, and on a computer without a camera whose phone got
// no result by estimate, the reply names the page's button for another device.
func TestRepliesNameAnotherDevice(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	shop := g.Shop(t, "", nil)
	support := member(t, g, shop.Tenant.ID, account.Support)
	const faceless = `, setbacks = '[{"At":"2099-01-02T03:04:05Z","Why":"camera_faceless"}]'`
	for set, picks := range map[string]bool{
		"opened_at = created_at" + faceless:                                                 true,
		"opened_at = created_at" + strings.Replace(faceless, "camera_faceless", "again", 1): true,
		"opened_at = created_at, status = 'EXPIRED'" + faceless:                             true,
		"opened_at = created_at, begun_at = created_at, cutoff = 25, document_opened_at = created_at, " +
			`setbacks = '[{"At":"2001-01-02T03:04:05Z","Why":"browser_missing"}]'`: false,
	} {
		replies := between(t, told(t, g, shop, support, set), `data-testid="tell"`, "</ul>")
		for _, tag := range tenant.Languages {
			text, _, _ := strings.Cut(replies, "</p>")
			if tag != "en" {
				text = between(t, replies, `<p lang="`+tag+`" dir="auto">`, "</p>")
			}
			if !strings.Contains(text, shopperText(t, tag, "handover.use")) ||
				picks && !strings.Contains(text, shopperText(t, tag, "camera.picker")) {
				t.Errorf("%s: the button for another device, or the choice of the camera, is wrong in %s", set, text)
			}
		}
	}
}

// TestRepliesAboutTimeAndAge: the reply of an open check says until when it is open, that after a document of somebody
// too young who may go on, and that after a spoof or a fallback the document only where a new check offers it; all in
// every language.
func TestRepliesAboutTimeAndAge(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	shop := g.Shop(t, "", nil)
	support := member(t, g, shop.Tenant.ID, account.Support)
	shows := func(set, part string, want bool) {
		t.Helper()
		replies := between(t, told(t, g, shop, support, set), `data-testid="tell"`, "</ul>")
		n := strings.Count(replies, part)
		if part == "intro.prefer" {
			n = 0
			for _, tag := range tenant.Languages {
				n += min(1, strings.Count(replies, shopperText(t, tag, part)))
			}
		}
		if want != (n >= len(tenant.Languages)) || !want && n > 0 {
			t.Errorf("%s: %d times %q in %s", set, n, part, replies)
		}
	}
	open := "opened_at = created_at, document_opened_at = created_at, expires_at = '2099-02-03T14:05:00Z'"
	until := "2099-02-03 14:05 (UTC)"
	shows(open, until, true)
	shows(open+", status = 'EXPIRED'", until, false)
	shows(open+", status = 'PASSED'", until, false)
	english := func(set string) string {
		text, _, _ := strings.Cut(between(t, told(t, g, shop, support, set), `data-testid="tell"`, "</ul>"), "</p>")
		return text
	}
	const only = "Go on only if that document was not your own or was misread."
	if said := english(open + ", document_attempts = 1" + later("document_under_age")); !strings.Contains(said, only) {
		t.Errorf("somebody too young is asked to go on: %s", said)
	}
	if said := english(open + ", document_attempts = 1" + later("document_expired")); strings.Contains(said, only) {
		t.Errorf("an expired document is taken for one of somebody too young: %s", said)
	}
	over := open + ", status = 'EXPIRED', document_attempts = 1" + later("document_under_age")
	if said := english(over); !strings.Contains(said, "not your own or was misread, please tell us") {
		t.Errorf("the last word about somebody too young leaves no way out: %s", said)
	}
	const spoof = "status = 'SPOOF', source = 'camera', completed_at = created_at"
	if said := english(spoof); strings.Contains(said, "other way") || !strings.Contains(said, "ask us") {
		t.Errorf("a way that may not exist after a spoof: %s", said)
	}
	for offers, set := range map[bool]string{true: "true", false: "false"} {
		g.Exec(t, "UPDATE tenants SET document_check = "+set)
		shows(spoof, "intro.prefer", offers)
		shows("cutoff = 25, begun_at = created_at, status = 'FALLBACK', source = 'camera', completed_at = created_at",
			"intro.prefer", offers)
	}
}

// TestNoReplyAccuses: where no live person was recognized, the reply says in every language that this also happens to
// real people, by the light.
func TestNoReplyAccuses(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	shop := g.Shop(t, "", nil)
	support := member(t, g, shop.Tenant.ID, account.Support)
	light := map[string]string{"en": "bad light", "ar": "إضاءة سيئة", "da": "dårligt lys", "de": "schlechtem Licht",
		"es": "mala luz", "fr": "mauvaise lumière", "it": "luce scarsa", "ja": "明るさが十分でない", "nl": "slecht licht",
		"pl": "złym świetle", "pt": "luz ruim", "pt-PT": "má luz", "sv": "dåligt ljus", "tr": "kötü ışık", "zh-Hans": "光线不佳"}
	for _, set := range []string{"status = 'SPOOF', source = 'camera', completed_at = created_at",
		"document_opened_at = created_at, document_way = 'photo', completed_at = created_at, status = 'FALLBACK', " +
			"source = 'document'" + later("unlive")} {
		replies := between(t, told(t, g, shop, support, set), `data-testid="tell"`, "</ul>")
		for _, tag := range tenant.Languages {
			text, _, _ := strings.Cut(replies, "</p>")
			if tag != "en" {
				text = between(t, replies, `<p lang="`+tag+`" dir="auto">`, "</p>")
			}
			if first, _, _ := strings.Cut(text, "\n\n"); !strings.Contains(first, light[tag]) {
				t.Errorf("%s: %s accuses: %s", set, tag, first)
			}
		}
	}
}

// TestATryWithoutAFace: a time that was up without a face, before the first attempt, is no attempt in the timeline
// either, as in the sessions' CSV; after it, it is one.
func TestATryWithoutAFace(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	shop := g.Shop(t, "", nil)
	support := member(t, g, shop.Tenant.ID, account.Support)
	for set, want := range map[string]bool{"opened_at = created_at": true,
		"opened_at = created_at, begun_at = '2099-02-01 00:00:00+00:00', attempts = 1": true,
		"opened_at = created_at, begun_at = created_at, attempts = 1":                  false} {
		body := told(t, g, shop, support, set+later("again"))
		if strings.Contains(body, `data-testid="moment-setback"`) == want ||
			strings.Contains(body, "Try without a face, which counts as no attempt") != want {
			t.Errorf("%s: a try without a face is not %t: %s", set, want, between(t, body, `class="timeline"`, "</ol>"))
		}
	}
}

// TestRepliesAboutASilentWallet: where a wallet was asked and did not answer, or its proof did not reach the page, a
// session's page says so once, in the story and in the reply of every language, until the shopper takes another way.
func TestRepliesAboutASilentWallet(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		shop := g.Shop(t, "", nil)
		support := member(t, g, shop.Tenant.ID, account.Support)
		id := g.Create(t, shop.Test.APIKey, 18).SessionID
		const offered = "opened_at = created_at, document_opened_at = created_at"
		g.Exec(t, "UPDATE sessions SET "+offered)
		shows := func(story, reply, guide string) {
			t.Helper()
			_, body := support.Get(t, "/dashboard/"+shop.Tenant.ID.String()+"/test/sessions/"+id+"?lang=en")
			said := between(t, body, `data-testid="story"`, "</p>")
			replies := between(t, body, `data-testid="tell"`, "</ul>")
			if story != "" && (strings.Count(said, story) != 1 || strings.Count(replies, reply) != 2) { // one to copy
				t.Errorf("%q is not said once in %s, or %q in %s", story, said, reply, replies)
			}
			if story == "" && (strings.Contains(said, "allet") || strings.Contains(replies, "allet app")) {
				t.Errorf("a wallet that was not asked is named: %s %s", said, replies)
			}
			if reply != "" && strings.Count(replies, "Ihre Wallet-App") != 2 {
				t.Errorf("the German reply does not name the wallet: %s", replies)
			}
			if !strings.Contains(between(t, body, `data-live="story"`, "</section>"), "/docs/support#"+guide) {
				t.Errorf("the guide is not opened at %s", guide)
			}
		}
		const step, refused, asked = "the-document-step-does-not-go-on", "a-document-was-refused",
			"A wallet was asked and has not answered."
		const answered, returns = "its answer has not reached the page on which the shopper began.",
			"did not return to the browser in which the shopper began."
		shows("", "", step)
		g.Exec(t, "INSERT INTO wallet_requests SELECT link_hash, substr(link_hash, 1, 16), '', FALSE FROM sessions")
		shows(asked, "The page asked your wallet app, but no answer came.", step)
		g.Exec(t, "UPDATE sessions SET status = 'EXPIRED'")
		shows(asked, "The time for your age check was up. The page asked your wallet app, but no answer came.", step)
		const late = "was up. Your wallet app has answered, but its answer has not reached the page on which you " +
			"began.\n\nPlease start a new check in our shop: you get a new link there."
		g.Exec(t, "UPDATE wallet_requests SET outcome = 'proved, returns'")
		shows(returns, late, step)
		g.Exec(t, "UPDATE wallet_requests SET outcome = 'proved'")
		shows(answered, late, step)
		g.Exec(t, "UPDATE wallet_requests SET outcome = 'declined'")
		shows("", "", "the-link-has-expired")
		// While the check is open, nothing but the answer matters, and no document is asked for. An answer that
		// has to return is asked for again.
		g.Exec(t, "UPDATE sessions SET status = 'PENDING', document_attempts = 1, setbacks = "+
			`'[{"At":"2099-01-02T03:04:05Z","Why":"document_expired"}]'`)
		g.Exec(t, "UPDATE wallet_requests SET outcome = 'proved'")
		shows(answered, "Your wallet app has answered, but its answer has not reached the page on which you began.\n\n"+
			"Please open the check again in the same browser, from our shop or by its link: it goes on by itself, and "+
			"no document is needed again.\n\nThe check is open until ", refused)
		g.Exec(t, "UPDATE wallet_requests SET outcome = 'proved, returns'")
		shows(returns, "page on which you began. You can still show two more documents.\n\nPlease open the check again "+
			"in the same browser, from our shop or by its link, with your own valid document at hand", refused)
	})
}

// TestRepliesPromiseNoOtherWay: no reply speaks of another way of the shop, which it may not have: each asks for a
// question instead. That also holds of each reply about a check without a document that proved the age.
func TestRepliesPromiseNoOtherWay(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	shop := g.Shop(t, "", nil)
	support := member(t, g, shop.Tenant.ID, account.Support)
	const ended = ", completed_at = created_at, status = 'FALLBACK', source = "
	asks := map[string]string{"en": "ask us", "ar": "سؤالنا", "da": "pørg os", "de": "ragen Sie ", "es": "regúntanos",
		"fr": "emandez-nous", "it": "hiedici", "ja": "お問い合わせください", "nl": "raag ons", "pl": "apytaj nas", "pt": "ergunte-nos",
		"pt-PT": "ergunte-nos", "sv": "råga oss", "tr": "bize sorun", "zh-Hans": "向我们询问"}
	for _, set := range []string{
		"cutoff = 25, begun_at = created_at" + ended + "'camera'",  // fallback
		"attempts = 5, begun_at = created_at" + ended + "'camera'", // no_estimate
		"cutoff = 25, begun_at = created_at, document_opened_at = created_at, document_attempts = 3" + ended + "'document'",
		"cutoff = 25, begun_at = created_at, document_opened_at = created_at" + ended + "'document'", // declined
		"document_opened_at = created_at" + ended + "'document'",
		"document_opened_at = created_at, document_way = 'photo'" + ended + "'document'",
		"document_opened_at = created_at, document_way = 'wallet'" + ended + "'document'",
		"document_opened_at = created_at, document_way = 'photo'" + ended + "'document'" + later("unlive"),
	} {
		replies := between(t, told(t, g, shop, support, set), `data-testid="tell"`, "</ul>")
		for _, tag := range tenant.Languages {
			text, _, _ := strings.Cut(replies, "</p>")
			if tag != "en" {
				text = between(t, replies, `<p lang="`+tag+`" dir="auto">`, "</p>")
			}
			if !strings.Contains(text, asks[tag]) || strings.Contains(text, "other way") {
				t.Errorf("%s: %s speaks of another way: %s", set, tag, text)
			}
		}
	}
}
