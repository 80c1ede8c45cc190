package dashboard_test

import (
	"cmp"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"agegate/internal/backoffice/account"
	"agegate/internal/gatewaytest"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
)

// TestLookUpShopperMail: a whole mail with an order's number finds the session first and then what the guide says of
// its words. A number that is no session's order is said to be none, and no page that a word names stands for it.
func TestLookUpShopperMail(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	shop := g.Shop(t, "", nil)
	target := "https://shop.example/paid?order=1042"
	made, err := g.App.Sessions.Create(t.Context(), tenant.Caller{TenantID: shop.Tenant.ID, Livemode: true},
		session.CreateRequest{TargetAge: 18, SuccessURL: &target})
	if err != nil {
		t.Fatal(err)
	}
	support := member(t, g, shop.Tenant.ID, account.Support)
	base := "/dashboard/" + shop.Tenant.ID.String()
	at := "/live/sessions/" + made.SessionID.String()
	for text, guide := range map[string]string{
		"My son is 16 and passed, with my passport. Order 1042": "en a-parent-complains",
		"You hear from my lawyer. Order 1042":                   "en an-angry-or-legal-letter",
		"order 1042 I want a refund":                            "en charged-for-the-check",
		"Where is my photo? order 1042":                         "en a-shopper-asks-about-their-face",
		"Sie hören von meinem Anwalt. Bestellung 1042":          "de ein-w%c3%bctendes-schreiben",
		"Hello, somebody has photographed my passport and bought with it in your shop, which is identity theft, and I " +
			"go to the police with it now. It was the order 1042": "en an-angry-or-legal-letter",
	} {
		searched(t, support, base+"/live/paste?lang="+guide[:2], text, "", at+`" data-testid="hit"`, "#"+guide[3:])
		searched(t, support, base+"/live/paste?part=found&lang="+guide[:2], text, "",
			`<ul class="hits"><li><a href="`+base+at, "#"+guide[3:])
	}
	// The reply of the session itself is the open one: it does not say that the time has run out.
	_, body := support.Post(t, base+"/live/paste?lang=en", url.Values{"text": {"My link is dead! Order 1042"}})
	_, told, _ := strings.Cut(body, `data-testid="advice" open>`)
	told, _, _ = strings.Cut(told, "</bdi>")
	if !strings.Contains(told, "not started yet") || strings.Count(body, `data-testid="advice"`) != 2 ||
		strings.Count(body, `data-testid="advice" open>`) != 1 {
		t.Errorf("a mail about an open session has the reply %s", told)
	}
	for text, says := range map[string][]string{
		"order 9999 where is my parcel":                          {"<h2>Nothing found</h2>", "No session with the order 9999:"},
		"Order 7777: my camera does not work":                    {"#the-camera-does-not-open", "No session with the order 7777:"},
		"I got no mail for the orders 7771, 7772, 7773 and 7774": {"No session here has the number in your text"},
		"9999":                                  {"<h2>Nothing found</h2>"},
		"I am 34 and it refused me, order 1042": {at, "#a-shopper-was-refused-wrongly"},
	} {
		searched(t, support, base+"/live/paste?lang=en", text, "", says...)
	}
	for text, not := range map[string]string{
		"My passport expired in 2023. What now?": "No session here has", "error 503 from your camera": "No session here has",
	} {
		_, body := support.Post(t, base+"/live/paste?lang=en", url.Values{"text": {text}})
		if strings.Contains(body, not) {
			t.Errorf("%q: the page has %s", text, not)
		}
	}
	for _, text := range []string{"1042", "order 1042", "live order 1042"} {
		searched(t, support, base+"/live/paste?lang=en", text, base+at)
	}
	// Words that find nothing are counted for who types a few, and a picture's name, a date or a year is no order.
	for _, text := range []string{"I am 34 and it refused me, order 1042", "Hello, thank you for a good day, 1042",
		"On 29.11.2026, in 2026, my camera does not work: IMG_1042.jpg"} {
		_, body := support.Post(t, base+"/live/paste?lang=en", url.Values{"text": {text}})
		if strings.Contains(body, "found nothing") || strings.Contains(body, "No session") ||
			strings.Contains(body, at) == strings.Contains(text, "IMG") {
			t.Errorf("%s: %s", text, between(t, body, "<main", "</main"))
		}
	}
}

// TestLookUpOrdersAsTheyAreSpelled: an order is found in another case and with other punctuation, in both databases,
// and no other order that ends with its number.
func TestLookUpOrdersAsTheyAreSpelled(t *testing.T) {
	gatewaytest.Each(t, func(t *testing.T, g *gatewaytest.Gateway) {
		shop := g.Shop(t, "", nil)
		support, at, of := member(t, g, shop.Tenant.ID, account.Support), "", map[string]string{}
		for _, order := range []string{"L-4001", "AT-20990", "DE-20990", "DE20991", "77-DE", "B4711", "4711", "X_5_0042"} {
			target := "https://shop.example/paid?order=" + order
			made, err := g.App.Sessions.Create(t.Context(), tenant.Caller{TenantID: shop.Tenant.ID},
				session.CreateRequest{TargetAge: 18, SuccessURL: &target})
			if err != nil {
				t.Fatal(err)
			}
			at = "/dashboard/" + shop.Tenant.ID.String() + "/test"
			of[order] = at + "/sessions/" + made.SessionID.String()
		}
		for text, order := range map[string]string{
			"L4001": "L-4001", "l 4001": "L-4001", "L–4001": "L-4001", "L_4001": "L-4001", "DE20990": "DE-20990",
			"#DE 20990": "DE-20990", "order #de.20990": "DE-20990", "at20990": "AT-20990", "DE-20991": "DE20991",
			"DE 20991": "DE20991", "77DE": "77-DE", "77_de": "77-DE", "b-4711": "B4711", "C-4711": "4711", "X-5/0042": "X_5_0042",
		} {
			searched(t, support, at+"/paste", text, of[order])
		}
		const mail = "Hello, your machine is a joke, I am 34 and it refused me. Order "
		for text, order := range map[string]string{"#DE 20990, what now?": "DE-20990", "L4001!": "L-4001", "at-20990": "AT-20990"} {
			_, body := support.Post(t, at+"/paste?lang=en", url.Values{"text": {mail + text}})
			if strings.Count(body, at+"/sessions/") != strings.Count(body, of[order]) || !strings.Contains(body, of[order]) {
				t.Errorf("%s finds not %s alone", text, order)
			}
		}
		for _, text := range []string{"XL4001", "CH-20990", "DE20992"} {
			searched(t, support, at+"/paste?lang=en", text, "", "No session with the order "+text+":")
		}
	})
}

// TestGuideSaysWhatToDo: below a section of the guide stands the reply that it quotes, to copy, or else what it says to
// do, in the language of the page and without markup; the reply in the mail's language stands first, and of a table the
// row whose words the mail has. Only the first advice is open, and the list while one types has none.
func TestGuideSaysWhatToDo(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	shop := g.Shop(t, "", nil)
	support := member(t, g, shop.Tenant.ID, account.Support)
	at := "/dashboard/" + shop.Tenant.ID.String() + "/test/paste"
	for text, says := range map[string]string{
		"en I am 34, and it refused me. How can I show my age?": `<summary>What to tell the shopper</summary>` +
			"\n" + `<div class="act"><p lang="en"><bdi>We are sorry. A program estimates the age from the face, and refuses`,
		"de Ich bin 34 und wurde abgelehnt, wie kann ich mein Alter zeigen?": `data-copy="Das tut uns leid. Ein Programm ` +
			`schätzt das Alter nach dem Gesicht`,
		"en It keeps saying move closer, and the arrows never end": "or press Problems? on the page.</bdi></p>",
		"en I do not want to show my face, I will not be filmed": `<div class="act"><p lang="en"><bdi>You need not use the ` +
			`camera if the page shows Use a document instead`,
		"en Ich bin 34 und wurde abgelehnt": `<p class="muted">Deutsch</p>` +
			`<div class="act"><p lang="de"><bdi>Das tut uns`,
		"de My age was refused, I am 34": `<p class="muted">English</p>` +
			`<div class="act"><p lang="en"><bdi>We are sorry`,
		"en it says the network blocks the check":          `<strong>What to do</strong>: A network of a company or a school`,
		"en Bei mir steht: Das Netz blockiert die Prüfung": `<strong>What to do</strong>: A network of a company`,
	} {
		_, body := support.Post(t, at+"?lang="+text[:2], url.Values{"text": {text[3:]}})
		if !strings.Contains(body, says) || strings.Count(body, `data-testid="advice" open>`) != 1 {
			t.Errorf("%s: the page lacks %q, or not one advice is open: %s", text, says, between(t, body, "<main", "</main"))
		}
		if _, body = support.Post(t, at+"?part=found&lang="+text[:2], url.Values{"text": {text[3:]}}); strings.Contains(body,
			"advice") || !strings.Contains(body, `data-testid="hit"`) {
			t.Errorf("%s: the list while one types: %s", text, body)
		}
	}
}

// TestLookUpMailWithALink: a mail with a session's ID, its link or an event's ID leads to that record first and then to
// what the guide says of its words; an ID alone opens the record. A link that is nobody's is said to be none.
func TestLookUpMailWithALink(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		shop, foreign := g.Shop(t, gatewaytest.NewReceiver(t).URL, nil), g.Shop(t, "", nil)
		made, theirs := g.Create(t, shop.Test.APIKey, 18), g.Create(t, foreign.Test.APIKey, 18)
		g.Force(t, gatewaytest.Browser(), made, "fallback")
		support := member(t, g, shop.Tenant.ID, account.Support)
		base := "/dashboard/" + shop.Tenant.ID.String() + "/test"
		session := base + "/sessions/" + made.SessionID
		body := ""
		gatewaytest.WaitFor(t, "the attempt", func() bool {
			_, body = support.Get(t, session)
			return strings.Contains(body, "events/evt_")
		})
		event := "evt_" + between(t, body, "events/evt_", `"`)
		const mail = "Hello, your machine is a joke, I am 34 and it refused me: "
		const guide = "#a-shopper-was-refused-wrongly"
		for ref, leads := range map[string]string{
			made.SessionID: session, made.VerificationURL: session, event: base + "/webhooks/events/" + event,
			base + "/sessions/" + made.SessionID: session,
		} {
			searched(t, support, base+"/paste", ref, leads)
			searched(t, support, base+"/paste", "session "+ref, leads)
			searched(t, support, base+"/paste?lang=en", mail+ref, "", `<ul class="hits"><li><a href="`+leads, guide)
			searched(t, support, base+"/paste?part=found&lang=en", mail+ref, "", `<ul class="hits"><li><a href="`+leads, guide)
		}
		searched(t, support, base+"/paste?lang=en", mail+made.VerificationURL, "", ">Fallback<")
		cut := made.VerificationURL[:len(made.VerificationURL)-9]
		for _, text := range []string{mail + cut, "my link is " + cut + "… and it is refused", "Look: " + cut + "!"} {
			searched(t, support, base+"/paste?lang=en", text, "", "This link is cut off: 43 characters")
		}
		searched(t, support, base+"/paste?lang=en", "zebra lion tiger monkey", "", "Neither a session nor the guide",
			`/docs/support" data-testid="search-docs"`)
		searched(t, support, base+"/paste?lang=en", "Jane van Doe", "", "has this name")
		searched(t, support, base+"/paste?lang=en", "517 jane "+cut, "", "This link is cut off: 43 characters")
		searched(t, support, base+"/paste?lang=en", mail+theirs.VerificationURL, "", guide,
			"No session of yours has this link")
		searched(t, support, base+"/paste?lang=en", mail+theirs.SessionID, "", guide, "No session of yours has this ID")
	})
}

// TestLookUpMailsOfShoppers: of mails from which nothing was learned, nearly all lead to a section that answers them
// first, and few that none answers to any. Each line of testdata/mails.txt has the sections that answer, and a mail.
func TestLookUpMailsOfShoppers(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	shop := g.Shop(t, "", nil)
	support := member(t, g, shop.Tenant.ID, account.Support)
	raw, err := os.ReadFile("testdata/mails.txt")
	if err != nil {
		t.Fatal(err)
	}
	mails, missed := map[bool]int{}, map[bool][]string{} // by whether no section answers
	for line := range strings.Lines(string(raw)) {
		sections, text, _ := strings.Cut(strings.TrimSpace(line), "\t")
		_, body := support.Post(t, "/dashboard/"+shop.Tenant.ID.String()+"/live/paste?part=found&lang=en",
			url.Values{"text": {text}})
		_, first, _ := strings.Cut(body, "/docs/support#")
		first, _, _ = strings.Cut(first, `"`)
		none := sections == "none"
		if mails[none]++; !slices.Contains(strings.Split(sections, "|"), cmp.Or(first, "none")) {
			missed[none] = append(missed[none], first+" for "+line)
		}
	}
	for none, share := range map[bool]float64{false: 0.05, true: 0.25} {
		if got := float64(len(missed[none])) / float64(mails[none]); got > share || mails[none] < 40 {
			t.Errorf("%.1f %% of %d lead astray:\n%s", 100*got, mails[none], strings.Join(missed[none], ""))
		}
	}
}

// TestAMailHasTheReplyToWhatItAsks: a mail that names a session is answered by that session, unless it asks for money,
// data or a decision of the shop. Who passed and writes that the shop does not know of it is not told that all is done.
func TestAMailHasTheReplyToWhatItAsks(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		shop := g.Shop(t, gatewaytest.NewReceiver(t).URL, nil)
		passed, refused := g.Create(t, shop.Test.APIKey, 18), g.Create(t, shop.Test.APIKey, 18)
		g.Force(t, gatewaytest.Browser(), passed, "verified")
		g.Force(t, gatewaytest.Browser(), refused, "fallback")
		support := member(t, g, shop.Tenant.ID, account.Support)
		for text, says := range map[string]string{
			"My age was confirmed, but your shop says I am not verified. " + passed.SessionID: "may not have noted it",
			"Why was I refused, I am 34? " + refused.SessionID:                                "The camera could not confirm",
			"I want a refund, give me my money back " + refused.SessionID:                     "The age check is free for you.",
			"Please delete my data, GDPR " + refused.SessionID:                                "find the record",
			"Warum wurde ich abgelehnt? Ich bin 34 " + refused.SessionID:                      `lang="de"`,
			"Ich will mein Geld zurück " + refused.SessionID:                                  "Die Altersprüfung kostet Sie",
		} {
			_, body := support.Post(t, "/dashboard/"+shop.Tenant.ID.String()+"/test/paste?lang=en", url.Values{"text": {text}})
			_, told, _ := strings.Cut(body, `data-testid="advice" open>`)
			if told, _, _ = strings.Cut(told, "</bdi>"); !strings.Contains(told, says) {
				t.Errorf("%s: the open reply is %s", text, told)
			}
		}
	})
}
