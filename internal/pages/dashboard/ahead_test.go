package dashboard_test

import (
	"net/url"
	"strings"
	"testing"

	"agegate/internal/backoffice/account"
	"agegate/internal/gatewaytest"
	"agegate/internal/rules/tenant"
)

// mailed returns the reply in the page's own language.
func mailed(t *testing.T, body string) string {
	t.Helper()
	return between(t, body, `<bdi>`, "</bdi>")
}

// TestRepliesSayEachThingOnce: in every language, a reply of an open check has the cause in its first paragraph and
// then what to do and until when, and no sentence twice. None names another device or a wallet that nothing suggests.
func TestRepliesSayEachThingOnce(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	shop := g.Shop(t, "", nil)
	support := member(t, g, shop.Tenant.ID, account.Support)
	const begun, offered = "opened_at = created_at, begun_at = created_at", ", document_opened_at = created_at"
	for _, set := range []string{begun + offered, begun + later("again"), begun + later("left"), begun + later("astray"),
		begun + later("unmoved"), begun + later("hasty"), begun + later("drawn"), begun + ", strikes = 1" + later("unsure"),
		begun + later("busy"), begun + offered + later("doubtful"), begun + offered + later("photo_document"),
		begun + offered + later("photo_face"), begun + offered + ", document_attempts = 1" + later("document_expired")} {
		replies := between(t, told(t, g, shop, support, set), `data-testid="tell"`, "</ul>")
		for _, tag := range tenant.Languages {
			text := mailed(t, replies)
			if tag != "en" {
				text = between(t, replies, `<p lang="`+tag+`" dir="auto">`, "</p>")
			}
			if paragraphs := strings.Split(text, "\n\n"); len(paragraphs) != 3 {
				t.Errorf("%s in %s: %d paragraphs", set, tag, len(paragraphs))
			}
			seen := map[string]bool{}
			for _, said := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(".。\n", r) }) {
				if said = strings.TrimSpace(said); said != "" && seen[said] {
					t.Errorf("%s in %s: says %q twice", set, tag, said)
				}
				seen[said] = true
			}
			if strings.Contains(text, shopperText(t, tag, "camera.again")) ||
				strings.Contains(text, shopperText(t, tag, "handover.use")) || tag == "pl" && strings.Contains(text, "roszę") {
				t.Errorf("%s in %s: %s", set, tag, text)
			}
		}
	}
}

// TestRepliesCalmAfterAnEstimate: the reply of a check that a refused estimate leads to a document says in every language
// why, as after the end.
func TestRepliesCalmAfterAnEstimate(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	shop := g.Shop(t, "", nil)
	support := member(t, g, shop.Tenant.ID, account.Support)
	const below = "opened_at = created_at, begun_at = created_at, cutoff = 25"
	const offered = below + ", document_opened_at = created_at"
	after := between(t, told(t, g, shop, support, below+", status = 'FALLBACK', source = 'camera', "+
		"completed_at = created_at"), `data-testid="tell"`, "</ul>")
	replies := between(t, told(t, g, shop, support, offered), `data-testid="tell"`, "</ul>")
	other := between(t, told(t, g, shop, support, strings.Replace(offered, "25", "NULL", 1)), `data-testid="tell"`, "</ul>")
	for _, tag := range tenant.Languages {
		of := func(replies string) string {
			if tag == "en" {
				return mailed(t, replies)
			}
			return between(t, between(t, replies, `<p lang="`+tag+`" dir="auto">`, "</p>"), "<bdi>", "</bdi>")
		}
		calm, _, _ := strings.Cut(of(after), "\n\n")
		if said, _, _ := strings.Cut(of(replies), "\n\n"); !strings.HasSuffix(said, " "+calm) ||
			strings.Contains(of(other), calm) {
			t.Errorf("%s: no %q in %q, or in %q", tag, calm, said, of(other))
		}
	}
}

// TestRepliesKnowWhatIsAhead: a reply of an open check names the documents that may still be shown, also after one of
// somebody too young, and that a failed liveness check is the last but one.
func TestRepliesKnowWhatIsAhead(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	shop := g.Shop(t, "", nil)
	support := member(t, g, shop.Tenant.ID, account.Support)
	const offered, end = "opened_at = created_at, document_opened_at = created_at, document_attempts = ",
		"If no live person can be confirmed once more, the check ends."
	for set, says := range map[string]string{
		offered + "1" + later("document_under_age"): "That " +
			"document says that you are not old enough. You can still show two more",
		offered + "2" + later("document_expired"): "That " +
			"document has expired. You can still show one more document.",
		"opened_at = created_at, begun_at = created_at, attempts = 1, strikes = 1" + later("unsure"): end,
		"opened_at = created_at, begun_at = created_at, attempts = 2, strikes = 1" + later("astray"): end,
	} {
		body := told(t, g, shop, support, set)
		if reply := mailed(t, body); !strings.Contains(reply, says) || !strings.Contains(reply, "still open") {
			t.Errorf("%s: no %q in %s", set, says, reply)
		}
		if n := "Refused documents: " + set[len(offered):len(offered)+1] + " of 3"; strings.HasPrefix(set, offered) &&
			!strings.Contains(body, n) {
			t.Errorf("%s: no %q", set, n)
		}
	}
}

// TestAnotherDeviceIsTold: timeline, story and reply follow a check to the device that joined it by a code.
func TestAnotherDeviceIsTold(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		shop := g.Shop(t, "", nil)
		support := member(t, g, shop.Tenant.ID, account.Support)
		made := g.Create(t, shop.Test.APIKey, 18)
		g.Exec(t, "UPDATE sessions SET opened_at = created_at, begun_at = created_at"+
			strings.Replace(later("browser_missing"), "2099", "2002", 1))
		g.Exec(t, "INSERT INTO handovers (link_hash, nonce, token_hash, expires_at) "+
			"SELECT link_hash, substr(link_hash, 1, 16), link_hash, '2098-01-01 00:00:00+00:00' FROM sessions")
		page := "/dashboard/" + shop.Tenant.ID.String() + "/test/sessions/" + made.SessionID
		for _, taken := range []bool{false, true} {
			if taken {
				g.Exec(t, "UPDATE handovers SET phone_hash = link_hash")
			}
			_, body := support.Get(t, page)
			for says, want := range map[string]bool{"<strong>Code for another device shown; none has joined": !taken,
				"<strong>Code for another device shown; one has joined": taken,
				"and the check goes on there.":                          taken, "you have connected another device to it": taken,
				"“Use another device”": false} {
				if strings.Contains(body, says) != want {
					t.Errorf("joined %t: %q is said: %t", taken, says, !want)
				}
			}
		}
	})
}

// TestOldAddressOfADeletedSession: who opens it reads when the session was deleted, and others nothing.
func TestOldAddressOfADeletedSession(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		shop, other := g.Shop(t, "", nil), g.Shop(t, "", nil)
		owner, support := member(t, g, shop.Tenant.ID, account.Owner), member(t, g, shop.Tenant.ID, account.Support)
		made := g.Create(t, shop.Test.APIKey, 18)
		g.Exec(t, "UPDATE sessions SET status = 'SPOOF', completed_at = created_at")
		page := "/dashboard/" + shop.Tenant.ID.String() + "/test/sessions/" + made.SessionID
		g.StepUp(t, owner)
		owner.Fill(t, page+"/delete", url.Values{})
		res, body := support.Get(t, page)
		if res.StatusCode != 404 || !strings.Contains(body, "The session with this ID was deleted on "+
			g.Clock.Now().Format("2006-01-02 15:04 MST")) {
			t.Errorf("%d %s", res.StatusCode, body)
		}
		foreign := strings.Replace(page, shop.Tenant.ID.String(), other.Tenant.ID.String(), 1)
		if res, body := member(t, g, other.Tenant.ID, account.Owner).Get(t, foreign); res.StatusCode != 404 ||
			strings.Contains(body, "deleted on") {
			t.Errorf("of another tenant: %d", res.StatusCode)
		}
	})
}
