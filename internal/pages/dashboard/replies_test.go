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
			ended:                  {anew: true},
			", status = 'EXPIRED'": {anew: true},
		} {
			body := told(t, g, shop, support, opened+state+note)
			replies := between(t, body, `data-testid="tell"`, "</details>")
			english, _, _ := strings.Cut(replies, "</p>")
			for part, want := range map[string]bool{
				"in the same browser": wants.same, "a wallet app needs no camera": wants.wallet, "choose another browser": false,
				"another device or in another browser": wants.anew && !embedded, "use another device, or": false,
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
				for key, want := range map[string]bool{"handover.use": wants.use, "handover.get": wants.get} {
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
		"opened_at = created_at" + faceless:                     true,
		"opened_at = created_at, status = 'EXPIRED'" + faceless: true,
		"opened_at = created_at, begun_at = created_at, cutoff = 25, document_opened_at = created_at, " +
			`setbacks = '[{"At":"2001-01-02T03:04:05Z","Why":"browser_missing"}]'`: false,
	} {
		replies := between(t, told(t, g, shop, support, set), `data-testid="tell"`, "</details>")
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
