package dashboard_test

import (
	"strings"
	"testing"

	"agegate/internal/backoffice/account"
	"agegate/internal/check/document/wallet"
	"agegate/internal/gatewaytest"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
)

// later is the column of a session whose last setback or note came after everything else.
func later(why string) string {
	return `, setbacks = '[{"At":"2099-01-02T03:04:05Z","Why":"` + why + `"}]'`
}

// TestRepliesNameWhyADocumentProvedNothing: while a check is open and after its end, the story, the timeline and the
// reply in every language say why the last document proved nothing, in the words of the hosted page. None says that no
// document was shown.
func TestRepliesNameWhyADocumentProvedNothing(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	shop := g.Shop(t, "", nil)
	support := member(t, g, shop.Tenant.ID, account.Support)
	keys := map[string]string{}
	for _, word := range wallet.Complaints {
		keys[session.NoteWallet+"_"+word] = "wallet.refused." + word
	}
	for _, word := range []string{"expired", "revoked", "undated", "another_face"} {
		keys[session.NoteDocument+"_"+word] = "document.refused." + word
	}
	const open, ended = "opened_at = created_at, document_opened_at = created_at",
		", status = 'FALLBACK', source = 'document', completed_at = created_at"
	for why, key := range keys {
		for _, set := range []string{open, open + ended, open + ended + ", cutoff = 25", open + ", status = 'EXPIRED'"} {
			body := told(t, g, shop, support, set+later(why))
			replies := between(t, body, `data-testid="tell"`, "</ul>")
			english, _, _ := strings.Cut(replies, "</p>")
			if bare := strings.Contains(english, "without showing a document"); bare != (why == "wallet_declined" &&
				set == open+ended) || strings.Contains(body, "then declined a document") != (why == "wallet_declined" &&
				strings.Contains(set, ended)) {
				t.Errorf("%s, %s: whether no document was shown is wrong in %s", why, set, english)
			}
			for _, tag := range tenant.Languages {
				text := english
				if tag != "en" {
					text = between(t, replies, `<p lang="`+tag+`" dir="auto">`, "</p>")
				}
				if !strings.Contains(text, shopperText(t, tag, key)) {
					t.Errorf("%s, %s: no %s in %s", why, set, key, text)
				}
			}
		}
	}
	body := told(t, g, shop, support, open+ended+later("wallet_issuer_unknown"))
	for _, says := range []string{"A document was then shown, but it did not prove the age. The latest attempt " +
		"gave no " +
		"result: the issuer of the wallet’s document is not trusted here.</li>",
		"<strong>Attempt without a result</strong></p><p class=\"muted\">By a wallet: no trusted issuer"} {
		if !strings.Contains(body, says) {
			t.Errorf("the page does not say %q", says)
		}
	}
	body = told(t, g, shop, support, open+ended+later("photo_document"))
	if strings.Contains(body, "without showing a document") || !strings.Contains(body, "before the document "+
		"was fully seen.") ||
		!strings.Contains(body, "The document that you photographed was not accepted.") {
		t.Error("the page does not tell of photographs that broke off")
	}
}

// TestAttemptsWithoutTheMovement: after the last attempt, story and reply name the movement that was not seen.
func TestAttemptsWithoutTheMovement(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	shop := g.Shop(t, "", nil)
	body := told(t, g, shop, member(t, g, shop.Tenant.ID, account.Support), "opened_at = created_at, begun_at = "+
		"created_at, attempts = 5, status = 'FALLBACK', source = 'camera', completed_at = created_at"+later("unmoved"))
	for _, says := range []string{"every attempt was used. The latest attempt gave no result: the head did not move",
		"The camera could not estimate your age.", "Point your nose further where each arrow points."} {
		if !strings.Contains(body, says) {
			t.Errorf("the page does not say %q", says)
		}
	}
}

// TestAnotherBrowserIsTold: the timeline and, while the check is open, the reply tell of a second browser; beside
// what explains more.
func TestAnotherBrowserIsTold(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	shop := g.Shop(t, "", nil)
	support := member(t, g, shop.Tenant.ID, account.Support)
	const help, line = "If you no longer have that one, begin again from our shop.", "<strong>Link opened in " +
		"another browser</strong>"
	const both = `, setbacks = '[{"At":"2098-01-02T03:04:05Z","Why":"astray"},` +
		`{"At":"2099-01-02T03:04:05Z","Why":"link_other"}]'`
	for set, helps := range map[string]bool{"begun_at = created_at, opened_at = created_at" + later("link_other"): true,
		"opened_at = created_at, document_opened_at = created_at" + later("link_other"): true,
		"opened_at = created_at, status = 'EXPIRED'" + later("link_other"):              false,
		"opened_at = created_at, begun_at = '2098-06-01 00:00:00+00:00'" + both:         true,
		"opened_at = created_at, begun_at = created_at" + both:                          true} {
		body := told(t, g, shop, support, set)
		if !strings.Contains(body, line) || strings.Contains(body, help) != helps ||
			strings.HasSuffix(set, both) != strings.Contains(body, "Slowly point your nose") {
			t.Errorf("%s: no line, or the wrong help, in %s", set, between(t, body, `data-live="story"`, "</section>"))
		}
	}
}

// TestGuideOfEachStory: the link below a session's story leads to the part of support's guide about it.
func TestGuideOfEachStory(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	shop := g.Shop(t, "", nil)
	support := member(t, g, shop.Tenant.ID, account.Support)
	const begun, offered, expired, ended = "opened_at = created_at, begun_at = created_at", ", " +
		"document_opened_at = created_at",
		", status = 'EXPIRED'", ", status = 'FALLBACK', completed_at = created_at, source = "
	const closed, step, after, over = "a-shopper-closed-the-page", "the-document-step-does-not-go-on",
		"what-comes-after-a-fallback", "the-link-has-expired"
	const refused, camera, moves = "a-document-was-refused", "the-camera-does-not-open",
		"the-camera-check-does-not-go-on"
	for set, part := range map[string]string{
		"status = 'PENDING'": closed, "opened_at = created_at": closed, begun: closed, begun + later("left"): closed,
		begun + later("link_other"): closed, begun + later("unmoved"): moves, begun + later("browser_refused"): camera,
		begun + later("camera_faceless"):            camera,
		begun + later("hasty"):                      moves,
		begun + offered:                             step,
		begun + offered + ", cutoff = 25":           step,
		begun + offered + later("photo_document"):   step,
		begun + offered + later("photo_face"):       step,
		begun + offered + later("doubtful"):         refused,
		begun + offered + later("wallet_declined"):  refused,
		begun + offered + later("document_expired"): refused,
		begun + expired:                             over, "status = 'EXPIRED'": over, begun + offered + expired: over,
		begun + offered + expired + ", cutoff = 25":                                      after,
		begun + expired + later("browser_refused"):                                       camera,
		begun + ended + "'camera'":                                                       after,
		begun + ended + "'camera', cutoff = 25":                                          after,
		begun + ended + "'camera', attempts = 5" + later("unmoved"):                      moves,
		begun + offered + ended + "'document'":                                           after,
		begun + offered + ended + "'document', cutoff = 25":                              after,
		begun + offered + ended + "'document'" + later("wallet_issuer_unknown"):          refused,
		begun + offered + ended + "'document'" + later("photo_document"):                 step,
		begun + offered + ended + "'document', document_way = 'photo'" + later("unlive"): after,
		begun + offered + ended + "'document'" + later("document_under_age"):             refused,
		begun + ended + "'forced'":                                                       after,
		"status = 'SPOOF', source = 'camera', completed_at = created_at":                 "no-live-person",
		"status = 'PASSED', source = 'camera', completed_at = created_at": "passed-but-the-shop-says-not-verified-or-" +
			"the-order-stays-open",
	} {
		body := told(t, g, shop, support, set)
		before, _, _ := strings.Cut(body, `" data-testid="guide"`)
		if _, got, _ := strings.Cut(before[strings.LastIndex(before, "/docs/"):], "#"); got != part {
			t.Errorf("%s: leads to %s, want %s", set, got, part)
		}
	}
}

// TestAForcedResultHasItsReplyToo: a forced result shows, marked as a test, the reply of a real one.
func TestAForcedResultHasItsReplyToo(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	shop := g.Shop(t, "", nil)
	support := member(t, g, shop.Tenant.ID, account.Support)
	const mark = "This was a test; no shopper waits for it.</small>\n<div class=\"act\"><p lang=\"en\"><bdi>"
	const offered, early = "document_opened_at = created_at, ",
		`, setbacks = '[{"At":"2000-01-02T03:04:05Z","Why":"forced_fallback"}]'`
	for set, says := range map[string]string{
		"status = 'PASSED', source = 'forced', completed_at = created_at":   "Your age check is done.",
		"status = 'FALLBACK', source = 'forced', completed_at = created_at": "The camera could not confirm your age.",
		"status = 'SPOOF', source = 'forced', completed_at = created_at": "Your age check could not be " +
			"completed, because",
		offered + "status = 'FALLBACK', source = 'forced', completed_at = created_at" +
			early: "The camera could not confirm your age. That also happens to adults, because the check leaves a margin.\n\nPlease",
		offered + "document_way = 'photo', status = 'FALLBACK', source = 'forced', completed_at = created_at" +
			early: "Your age check ended without a valid document.",
		offered + "opened_at = created_at" + early: "Your age check is still open and now asks for a",
		"status = 'EXPIRED', source = 'receiver'":  "",
	} {
		body := told(t, g, shop, support, set)
		if says != "" && !strings.Contains(body, mark+says) ||
			strings.Contains(body, `data-testid="reply"`) != (says != "") || !strings.Contains(body, "no shopper waits") {
			t.Errorf("%s: no %q in %s", set, says, body)
		}
	}
}
