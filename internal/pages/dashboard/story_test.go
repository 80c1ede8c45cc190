package dashboard_test

import (
	"encoding/json"
	"io/fs"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"agegate/internal/backoffice/account"
	"agegate/internal/gatewaytest"
	"agegate/internal/pages/page"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/tenant"
	"agegate/templates"
)

// told returns a session's page, as somebody sees it after columns of its row were set.
func told(t *testing.T, g *gatewaytest.Gateway, shop tenant.Credentials, who *gatewaytest.Staff, set string) string {
	t.Helper()
	made := g.Create(t, shop.Test.APIKey, 18)
	g.Exec(t, "UPDATE sessions SET "+set+" WHERE id = '"+made.SessionID+"'")
	_, body := who.Get(t, "/dashboard/"+shop.Tenant.ID.String()+"/test/sessions/"+made.SessionID)
	return strings.ReplaceAll(body, "</li><li>", " ") // what happened, as one text
}

// TestStory: a session's page says what happened, who decided and what to tell
// the shopper, but never the estimate.
func TestStory(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	shop := g.Shop(t, "", nil)
	boss := member(t, g, shop.Tenant.ID, account.Viewer)
	const begun, offered, ended = "begun_at = created_at, attempts = 1, ", "document_opened_at = created_at, ",
		"completed_at = created_at"
	const early, late = `, setbacks = '[{"At":"2000-01-02T03:04:05Z","Why":"astray"}]'`,
		`, setbacks = '[{"At":"2000-01-02T03:04:05Z","Why":"astray"},{"At":"2099-01-02T03:04:05Z","Why":"`
	for _, tt := range []struct{ set, story, tell, decided string }{
		{"status = 'PENDING'", "Nobody has opened the link yet.", "Your age check has not started yet.", ""},
		{"opened_at = created_at", "The shopper has opened the link. No face has been checked yet.",
			"Your age check is still open.\n\nPlease", ""},
		{begun + "opened_at = created_at", "The shopper is at the camera check.", "Your age check is still " +
			"open.\n\nPlease", ""},
		{begun + "opened_at = created_at" + early, "The shopper is at the camera check. The latest attempt gave " +
			"no result: " +
			"the head did not follow the arrows.",
			"still open. Your last attempt gave no result, because your head did not follow the arrows. Slowly point your " +
				"nose where each arrow points.\n\nPlease open the check again in the same browser", ""},
		{begun + offered + "cutoff = 25" + early,
			"The camera’s estimate was below 18 &#43; 7 years. The shopper is now asked for a document.</li>",
			"still open and now asks for a document", ""},
		{begun + offered + "opened_at = created_at, cutoff = 25" + late + "doubtful\"}]'",
			"The camera’s estimate was below 18 &#43; 7 years. The shopper is now asked for a document. " +
				"The latest attempt gave no result: the pictures did not clearly",
			"did not clearly show a real document. Please show the original", ""},
		{begun + offered + "opened_at = created_at, cutoff = 25, document_attempts = 1" + late + "document_expired\"}]'",
			"The camera’s estimate was below 18 &#43; 7 years. The shopper is now asked for a document. " +
				"The last document had expired.</li>", "still open and now asks for a document", ""},
		{begun + offered + "cutoff = 25, document_attempts = 1, document_way = 'photo', status = 'FALLBACK', " +
			"source = 'document', " + ended + late + "document_another_face\"}]'",
			"The camera’s estimate was below 18 &#43; 7 years. A document was then shown, but it did not prove the age. " +
				"The face did not match the photo in the last document.</li>", "Your age check ended without a valid document.",
			"No document accepted"},
		{offered + "status = 'EXPIRED', opened_at = created_at, document_preferred = true" + late + "document_undated\"}]'",
			"No camera check was made: the shopper went straight to a document. The shopper did not finish the document " +
				"check in time. The last document has no full date of birth.</li>",
			"The time for your age check was up. Your last document was not accepted. That", ""},
		{
			begun + offered + "cutoff = 25, status = 'FALLBACK', source = 'document', document_way = 'photo', " + ended +
				late + "unlive\"}]'",
			"The camera’s estimate was below 18 &#43; 7 years. A document was then shown, but no live person",
			"choose “Use a document instead” at its start. When the page", "No document accepted",
		},
		{begun + offered + "cutoff = 25",
			"The camera’s estimate was below 18 &#43; 7 years. The shopper is now asked for a document.",
			"still open and now asks for a document", ""},
		{
			begun + "cutoff = 25, status = 'PASSED', source = 'camera', detected_age = 87.3, consented_at = created_at, " +
				ended,
			"The camera’s estimate was at least 18 &#43; 7 years.", "Your age check is done. You need", "Camera",
		},
		{begun + "cutoff = 25, status = 'FALLBACK', source = 'camera', " + ended,
			"The camera’s estimate was below 18 &#43; 7 years.",
			"The camera could not confirm your age. That also", "Camera"},
		{
			begun + offered + "cutoff = 25, status = 'FALLBACK', source = 'document', " + ended,
			"The camera’s estimate was below 18 &#43; 7 years. The shopper then declined a document.",
			"choose “Use a document instead” at its start, and show",
			"Document declined",
		},
		{
			begun + offered + "cutoff = 25, status = 'FALLBACK', source = 'document', document_way = 'photo', " + ended,
			"The camera’s estimate was below 18 &#43; 7 years. A document was then shown, but it did not prove the age",
			"Your age check ended without a valid document.", "No document accepted",
		},
		{
			begun + offered + "cutoff = 25, status = 'FALLBACK', source = 'document', document_attempts = 3, " + ended + late +
				"document_expired\"}]'",
			"The camera’s estimate was below 18 &#43; 7 years. The shopper’s documents were then refused, as often as is " +
				"allowed. The last document had expired.</li>",
			"Your age check ended without a valid document.", "No document accepted",
		},
		{
			offered + `setbacks = '[{"At":"2000-01-02T03:04:05Z","Why":"forced_fallback"}]'`,
			"A test forced the camera check to end in a fallback. The shopper is now asked for a document.</li>",
			"no shopper waits", "",
		},
		{"opened_at = created_at" + late + "browser_refused\"}]'", "The shopper has opened the link. No face has been " +
			"checked yet. The browser said that the camera is blocked for the page.</li>",
			"still open. Your camera gave the page no picture. Allow the camera for this page in your browser", ""},
		{"attempts = 1, opened_at = created_at, begun_at = '2099-02-01 00:00:00+00:00'" + late + "browser_refused\"}]'",
			"The shopper is at the camera check.</li>", "Your age check is still open.\n\nPlease", ""},
		{"opened_at = created_at, status = 'EXPIRED'" + late + "browser_missing\"}]'", "The shopper opened the link, but " +
			"no face was checked in time. The browser said that it found no camera.</li>",
			"no picture.\n\nPlease start a new check in our shop: you get a new link there. On a computer, connect", ""},
		{"opened_at = created_at" + late + "camera_faceless\"}]'",
			"The shopper has opened the link. No face has been " +
				"checked yet. The camera ran, and no face was seen well enough to begin, which counts as no attempt.</li>",
			"still open. No face was in the picture: uncover the camera", ""},
		{"opened_at = created_at" + late + "again\"}]'", "The shopper has opened the link. No face has been " +
			"checked yet. The camera ran, and no face was seen well enough to begin, which counts as no attempt.</li>",
			"still open. No face was in the picture: uncover the camera", ""},
		{"opened_at = created_at, document_opened_at = created_at" + late + "camera_faceless\"}]'",
			"The camera made no estimate: its check was " +
				"skipped. The shopper is now asked for a document.</li>", "still open and now asks for a document", ""},
		{"opened_at = created_at, status = 'EXPIRED'" + late + "astray\"}]'",
			"The shopper opened the link, but no face was checked " +
				"in time. The latest attempt gave no result: the head did not follow the arrows.</li>",
			"was up. Your last attempt gave no result, because your head did not follow the arrows. Slowly", ""},
		{"opened_at = created_at, status = 'EXPIRED'" + late + "unsure\"}]'",
			"The shopper opened the link, but no face was " +
				"checked in time. The latest attempt gave no result: no live person", "was up. Your last attempt gave " +
				"no result, because no live person", ""},
		{"opened_at = created_at, begun_at = created_at, attempts = 1" + late + "left\"}]'",
			"The shopper is at the camera check. " +
				"The latest attempt gave no result: the shopper left before its end, or", "Your last attempt broke off " +
				"before it gave a result.\n\nPlease", ""},
		{"opened_at = created_at, status = 'FALLBACK', source = 'camera', " + ended + late + "browser_blocked\"}]'",
			"The camera made no estimate: its check was skipped. The browser said that the network lets no pictures " +
				"through.</li>",
			"The camera could not estimate your age.", "Camera"},
		{"opened_at = created_at, document_opened_at = '2199-01-01 00:00:00+00:00', status = 'FALLBACK', " +
			"source = 'document', " +
			ended + late + "browser_refused\"}]'", "The camera made no estimate: its check was skipped. The shopper then " +
			"declined a document. The browser said that the camera is blocked", "Your camera gave the page no picture, so " +
			"your age could not be estimated.\n\nPlease start the check again in our shop. Allow the camera for this page in " +
			"your browser, next to the address, and in your device’s settings. Then try again.\n\nIf the camera still " +
			"does not work, begin on another device or in another browser, or choose on the page “Use another device” or, " +
			"if it " +
			"offers that, “Use a document instead”.", ""},
		{"opened_at = created_at, status = 'FALLBACK', source = 'camera', " + ended + late + "browser_in_use\"}]'",
			"The camera made no estimate: its check was skipped. The browser said that another program uses the camera.</li>",
			"Your camera gave the page no picture", "Camera"},
		{
			begun + offered + "cutoff = 25, status = 'PASSED', source = 'document', document_way = 'photo', " + ended,
			"The camera’s estimate was below 18 &#43; 7 years. A photographed document then showed",
			"Your age check is done. You need",
			"Photographed document",
		},
		{
			"begun_at = created_at, attempts = 5, status = 'FALLBACK', source = 'camera', " + ended,
			"The camera made no estimate: every attempt was used.", "The camera could not estimate your age.", "Camera",
		},
		{"status = 'FALLBACK', source = 'camera', " + ended, "The camera made no estimate: its check was skipped.",
			"The camera could not estimate your age.", "Camera"},
		{"opened_at = created_at, document_opened_at = created_at, document_preferred = true",
			"No camera check was made: the shopper went straight to a document. The shopper is now asked for a document.",
			"still open and now asks for a document",
			""},
		{
			offered + "document_preferred = true, status = 'PASSED', source = 'document', document_way = 'wallet', " + ended,
			"No camera check was made: the shopper went straight to a document. ", "Your age check is done. You need",
			"Wallet",
		},
		{
			offered + "document_preferred = true, document_attempts = 3, document_way = 'wallet', status = 'FALLBACK', " +
				"source = 'document', " + ended,
			"No camera check was made: the shopper went straight to a document. The shopper’s documents were then " +
				"refused",
			"No document from your wallet app was accepted", "No document accepted",
		},
		{
			offered + "document_preferred = true, status = 'FALLBACK', source = 'document', " + ended,
			"No camera check was made: the shopper went straight to a document. The shopper then declined a document.",
			"You ended your age check without showing a document.", "Document declined",
		},
		{
			offered + "status = 'FALLBACK', source = 'document', " + ended,
			"The camera made no estimate: its check was skipped. The shopper then declined a document.",
			"You ended your age check without showing a document.", "Document declined",
		},
		{begun + "strikes = 2, status = 'SPOOF', source = 'camera', " + ended,
			"The camera did not see a living person, twice.", "hold your own face in front", "Camera"},
		{"status = 'PASSED', source = 'forced', " + ended, "A test forced the result Passed.", "no shopper waits",
			"Forced in test mode"},
		{"status = 'EXPIRED', source = 'receiver'", "A test of your receiver created this session", "no shopper waits",
			"Receiver test"},
		{"status = 'EXPIRED'", "Nobody opened the link in time.",
			"Please start a new check in our shop: you get a new link there.", ""},
		{begun + "opened_at = created_at, status = 'EXPIRED'",
			"The shopper began the camera check and did not finish it in time.",
			"Please start a new check in our shop: you get a new link there.", ""},
		{begun + offered + "opened_at = created_at, cutoff = 25, status = 'EXPIRED'", "The camera’s estimate was below",
			"choose “Use a document instead” at its start, and show", ""},
	} {
		body := told(t, g, shop, boss, tt.set)
		if !strings.Contains(body, `data-testid="story"><li>`+tt.story) {
			_, story, _ := strings.Cut(body, `data-testid="story">`)
			t.Errorf("%s: the page says %q", tt.set, story[:min(len(story), 160)])
		}
		if !strings.Contains(body, tt.tell) {
			t.Errorf("%s: the page does not say what to tell the shopper", tt.set)
		}
		if decided := "<dt>Decided by</dt><dd>" + tt.decided + "</dd>"; tt.decided != "" && !strings.Contains(body, decided) {
			t.Errorf("%s: the page does not have %q", tt.set, decided)
		}
		if strings.Contains(body, "87.3") {
			t.Errorf("%s: the page has the estimate", tt.set)
		}
	}
}

// TestNobodyWasAsked: a session's page says that a shopper did not consent only where
// one was asked, and does not say who made a session that no key made.
func TestNobodyWasAsked(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	shop := g.Shop(t, "", nil)
	viewer := member(t, g, shop.Tenant.ID, account.Viewer)
	const unasked = "<dt>Estimated age</dt><dd>Not stored: your settings do not ask for it<"
	for _, set := range []string{"opened_at = created_at", "opened_at = created_at, begun_at = created_at, " +
		"status = 'PASSED', source = 'camera', completed_at = created_at, cutoff = 25"} {
		if body := told(t, g, shop, viewer, set); !strings.Contains(body, unasked) {
			t.Errorf("%s: the page lacks %q", set, unasked)
		}
	}
	g.Exec(t, "UPDATE tenants SET age_visibility = true")
	for set, says := range map[string]string{
		"opened_at = created_at": "<dt>Estimated age</dt><dd>Not yet known<",
		"status = 'PASSED', source = 'forced', completed_at = created_at": "<dt>Estimated age</dt>" +
			"<dd>Not stored: a test forced the result, and nobody was asked<",
		"status = 'PASSED', source = 'forced', completed_at = created_at, begun_at = created_at, cutoff = 25": "" +
			"<dt>Estimated age</dt><dd>Not stored: that needs the shopper’s consent<",
		"status = 'PASSED', source = 'camera', completed_at = created_at, cutoff = 25": "<dt>Estimated age</dt>" +
			"<dd>Not stored: that needs the shopper’s consent<",
		"begun_at = created_at, document_opened_at = created_at, cutoff = 25": "<dt>Estimated age</dt>" +
			"<dd>Not stored: that needs the shopper’s consent<",
		"document_opened_at = created_at, document_preferred = true": "<dt>Estimated age</dt>" +
			"<dd>Not stored: no estimate was made<",
		"status = 'PASSED', source = 'receiver', completed_at = created_at": "<dt>Estimated age</dt>" +
			"<dd>Not stored: a test of your receiver created this session, and nobody was asked<",
		"api_key_id = NULL": `<dt>API key</dt><dd><span class="muted">None: not created through the API<`,
	} {
		body := told(t, g, shop, viewer, set)
		if !strings.Contains(body, says) || strings.Contains(body, ">–<") {
			t.Errorf("%s: the page lacks %q, or has a lone dash", set, says)
		}
	}
}

// TestTheTimelineIsTrue: no camera check ends that has not begun, and a doubtful photograph has a line.
func TestTheTimelineIsTrue(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	shop := g.Shop(t, "", nil)
	support := member(t, g, shop.Tenant.ID, account.Support)
	for set, says := range map[string]string{
		"document_preferred = true":          "<strong>No camera check</strong></p><p class=\"muted\">The shopper went",
		"attempts = 0":                       "<strong>No camera check</strong></p><p class=\"muted\">No estimate: the camera",
		"begun_at = created_at, cutoff = 25": "<strong>Camera check ended</strong></p><p class=\"muted\">The estimate was",
		`setbacks = '[{"At":"2099-01-02T03:04:05Z","Why":"doubtful"}]'`: "The pictures did not clearly show one document</p>",
	} {
		body := told(t, g, shop, support, "document_opened_at = created_at, "+set)
		line := between(t, body, `data-live="timeline"`, "</section>")
		if !strings.Contains(line, says) || strings.Contains(line, "Camera check ended") != strings.HasPrefix(set, "begun") {
			t.Errorf("%s: no %q, or an end of what never began, in %s", set, says, line)
		}
	}
}

// TestReplyToTheShopper: a session's page has a reply by how it ended, in every
// language of the hosted page. Shoppers who never opened the link are not told to open it again.
// After a refused estimate, a reply that tells the shopper to start again also names the page's button
// that leads to a document.
func TestReplyToTheShopper(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	shop := g.Shop(t, "", nil)
	support := member(t, g, shop.Tenant.ID, account.Support)
	const below = "begun_at = created_at, cutoff = 25, "
	const young = `, setbacks = '[{"At":"2099-01-02T03:04:05Z","Why":"document_under_age"}]'`
	const minor = "Nach dem Dokument, das Sie gezeigt haben, sind Sie jünger, als unser Shop verlangt. Was dieses"
	for set, says := range map[string]string{
		"document_opened_at = NULL":                         "Ihre Altersprüfung hat noch nicht begonnen.",
		"document_opened_at = NULL, opened_at = created_at": "Ihre Altersprüfung ist noch offen.\n\nBitte",
		"status = 'PENDING', opened_at = created_at":        "Ihre Altersprüfung ist noch offen und fragt jetzt",
		"status = 'PENDING', opened_at = created_at, " +
			`setbacks = '[{"At":"2099-01-02T03:04:05Z","Why":"unsure"}]'`: "Ihre Altersprüfung ist noch offen und " +
			"fragt jetzt nach einem Dokument. Ihr letzter Versuch brachte",
		"status = 'EXPIRED'": "Die Zeit für Ihre Altersprüfung",
		below + "status = 'EXPIRED'": "Die Kamera konnte Ihr Alter nicht bestätigen. Das geht auch Erwachsenen so, " +
			"weil die Prüfung einen Abstand lässt. Die Zeit für Ihre Altersprüfung war abgelaufen.\n\nBitte",
		"status = 'PASSED', source = 'camera'":           "Ihre Altersprüfung ist abgeschlossen.",
		"status = 'SPOOF', source = 'camera'":            "Ihre Altersprüfung konnte nicht",
		"status = 'FALLBACK', source = 'camera'":         "Die Kamera konnte Ihr Alter nicht schätzen.",
		below + "status = 'FALLBACK', source = 'camera'": "Die Kamera konnte Ihr Alter nicht bestätigen.",
		below + "status = 'FALLBACK', source = 'document', document_attempts = 3": "Ihre Altersprüfung endete ohne " +
			"gültiges Dokument.\n\nWenn Sie ein anderes haben",
		below + "status = 'FALLBACK', source = 'document'": "Die Kamera konnte Ihr Alter nicht bestätigen.",
		below + "status = 'FALLBACK', source = 'document', document_way = 'photo', " +
			`setbacks = '[{"At":"2099-01-02T03:04:05Z","Why":"unlive"}]'`: "Ihre Altersprüfung konnte nicht",
		"status = 'FALLBACK', source = 'document', document_way = 'wallet'": "Kein Nachweis aus Ihrer",
		"status = 'FALLBACK', source = 'document', document_way = 'photo'": "Das " +
			"fotografierte Dokument",
		"status = 'FALLBACK', source = 'document'": "Sie haben Ihre " +
			"Altersprüfung beendet",
		"status = 'FALLBACK', source = 'document', document_way = 'wallet'" + young:             minor,
		"status = 'FALLBACK', source = 'document', document_way = 'photo', cutoff = 25" + young: minor,
		"status = 'EXPIRED'" + young: minor,
		"status = 'EXPIRED', " + `setbacks = '[{"At":"2099-01-02T03:04:05Z","Why":"browser_refused"}]'`: "Die Zeit für Ihre " +
			"Altersprüfung war abgelaufen. Ihre Kamera lieferte der Seite kein Bild.\n\nBitte beginnen Sie in unserem Shop " +
			"eine neue Prüfung: Dort erhalten Sie einen neuen Link. Erlauben Sie die Kamera",
		"document_opened_at = NULL, status = 'EXPIRED', " +
			`setbacks = '[{"At":"2099-01-02T03:04:05Z","Why":"browser_embedded"}]'`: "Die Zeit für Ihre Altersprüfung war " +
			"abgelaufen.\n\nBitte beginnen Sie in unserem Shop eine neue Prüfung: Dort erhalten Sie einen neuen Link.\n\n" +
			"Öffnen Sie unseren Shop diesmal",
	} {
		body := told(t, g, shop, support, "document_opened_at = created_at, completed_at = created_at, "+set)
		replies := between(t, body, `data-testid="tell"`, "</ul>")
		if n := strings.Count(replies, "data-copy="); n != len(tenant.Languages) ||
			!strings.Contains(replies, `<p lang="de" dir="auto"><bdi>`+says) {
			t.Errorf("%s: %d replies, or no %q in %s", set, n, says, replies)
		}
		for _, tag := range tenant.Languages {
			text, _, _ := strings.Cut(replies, "</p>") // what the page itself says
			if tag != "en" {
				text = between(t, replies, `<p lang="`+tag+`" dir="auto">`, "</p>")
			}
			leads := strings.Contains(text, shopperText(t, tag, "intro.prefer"))
			if leads != (strings.HasPrefix(set, below) && !strings.HasSuffix(set, "'camera'") ||
				strings.Contains(set, "browser_refused")) {
				t.Errorf("%s: whether it leads to a document instead of the camera is wrong in %s", set, text)
			}
		}
	}
}

// TestReplyOfADisabledTenant: where no check can be made, no reply sends the shopper back to the link or to a new
// one. Who is too young is not told to try later.
func TestReplyOfADisabledTenant(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	shop := g.Shop(t, "", nil)
	support := member(t, g, shop.Tenant.ID, account.Support)
	const under = `setbacks = '[{"At":"2026-11-01T00:00:00Z","Why":"document_under_age"}]'`
	says := map[string]string{}
	for set, text := range map[string]string{"opened_at = created_at": "are not available at the moment",
		"status = 'EXPIRED'": "are not available at the moment", "status = 'PASSED'": "Your age check is done.",
		"status = 'FALLBACK', source = 'camera'": "are not available at the moment",
		"status = 'SPOOF', source = 'camera'":    "are not available at the moment",
		under:                                    "younger than our shop requires",
		"status = 'EXPIRED', " + under:           "younger than our shop requires"} {
		made := g.Create(t, shop.Test.APIKey, 18)
		g.Exec(t, "UPDATE sessions SET "+set+" WHERE id = '"+made.SessionID+"'")
		says[made.SessionID] = text
	}
	by := audit.User(support.User.ID, "op")
	if err := g.App.Tenants.SetDisabled(t.Context(), by, shop.Tenant.ID, true, "own"); err != nil {
		t.Fatal(err)
	}
	for id, text := range says {
		_, body := support.Get(t, "/dashboard/"+shop.Tenant.ID.String()+"/test/sessions/"+id)
		if tell := between(t, body, `data-testid="tell"`, "</p>"); !strings.Contains(tell, text) {
			t.Errorf("no %q in %s", text, tell)
		}
	}
}

// TestTwoPortugueses: the replies and the hosted page are Brazilian in pt, and European in pt-PT.
func TestTwoPortugueses(t *testing.T) {
	data, err := fs.ReadFile(templates.Dashboard(), "shopper-replies.json")
	if err != nil {
		t.Fatal(err)
	}
	var replies []map[string]string
	if err := json.Unmarshal(data, &replies); err != nil {
		t.Fatal(err)
	}
	for tag, foreign := range map[string][]string{
		"pt": {"câmara", " aceite", " partilh", "ecrã", "telemóvel", "está a ", "estão a "},
		"pt-PT": {"câmera", " aceito", "compartilh", " tela", "celular", "está usando", "você", "aplicativo", " aba ",
			"equipe", "arquivo"},
	} {
		shown, err := fs.ReadFile(templates.Shopper(), "locales/"+tag+".json")
		if err != nil {
			t.Fatal(err)
		}
		texts := []string{string(shown)}
		for _, reply := range replies {
			if want := page.LanguageName(reply["tag"]); reply["name"] != want {
				t.Errorf("the language %s is called %q in the replies, and %q in lists", reply["tag"], reply["name"], want)
			}
			if reply["tag"] == tag {
				texts = append(texts, slices.Collect(maps.Values(reply))...)
			}
		}
		for _, word := range foreign {
			for _, text := range texts {
				if strings.Contains(strings.ToLower(text), word) {
					t.Errorf("%s has %q, from the other side of the ocean", tag, word)
				}
			}
		}
	}
}

// shopperText returns a text of the hosted page.
func shopperText(t *testing.T, tag, key string) string {
	t.Helper()
	data, err := fs.ReadFile(templates.Shopper(), "locales/"+tag+".json")
	texts := map[string]any{}
	if err == nil {
		err = json.Unmarshal(data, &texts)
	}
	text, ok := texts[key].(string)
	if err != nil || !ok {
		t.Fatalf("%s has no text %s: %v", tag, key, err)
	}
	return text
}

// TestStatusIsSaidOnce: a session's page and that of a test session to try out have one
// badge with the status. What happened comes before the tools of test mode, and an ended
// try leads to the session's page.
func TestStatusIsSaidOnce(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	shop := g.Shop(t, "", nil)
	dev := member(t, g, shop.Tenant.ID, account.Developer)
	base := "/dashboard/" + shop.Tenant.ID.String() + "/test/"
	for status, says := range map[string]string{
		"PENDING": "Open", "PASSED": "Passed", "FALLBACK": "Fallback", "SPOOF": "Spoof", "EXPIRED": "Expired",
	} {
		res, _ := dev.Fill(t, base+"playground", url.Values{"target_age": {"18"}})
		try := res.Header.Get("Location")
		id := strings.TrimPrefix(try, base+"playground/")
		g.Exec(t, "UPDATE sessions SET opened_at = created_at, status = '"+status+"' WHERE id = '"+id+"'")
		if status != "PENDING" && status != "EXPIRED" {
			g.Exec(t, "UPDATE sessions SET source = 'forced', completed_at = created_at WHERE id = '"+id+"'")
		}
		_, tried := dev.Get(t, try)
		_, session := dev.Get(t, base+"sessions/"+id)
		for name, body := range map[string]string{"try": tried, "session": session} {
			main := between(t, body, "<main", "</main>")
			if n := strings.Count(main, `<span class="badge `); n != 1 || !strings.Contains(main, ">"+says+"</span>") {
				t.Errorf("%s of %s: %d badges, or none that says %s", name, status, n, says)
			}
		}
		_, below, found := strings.Cut(session, `data-live="story"`)
		if !found || strings.Contains(below, `data-testid="expire`) {
			t.Errorf("%s: the test clock is below what happened, not in the menu above", status)
		}
		ended := between(t, tried, `class="panel ended"`, "</section>")
		if !strings.Contains(ended, `href="`+base+"sessions/"+id+`"`) {
			t.Errorf("%s: an ended try does not lead to its session", status)
		}
	}
}
