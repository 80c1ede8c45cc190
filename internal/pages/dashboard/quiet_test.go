package dashboard_test

import (
	"encoding/json"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"agegate/internal/backoffice/account"
	"agegate/internal/gatewaytest"
	"agegate/internal/rules/tenant"
	"agegate/templates"
)

// TestNothingIsSaidInOneLine: a page has no card and no second heading over what is not
// there: it says in one line what is missing.
func TestNothingIsSaidInOneLine(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		op, o := operating(t, g), newStaffed(t, g, nil)
		g.Create(t, o.shop.Test.APIKey, 18)
		for _, tt := range []struct {
			by    *gatewaytest.Staff
			path  string
			has   string
			lacks []string
		}{
			{op, "/operator/system", "No webhook endpoint fails or is disabled. No webhook was given up. Figures appear",
				[]string{">Webhook endpoints with failures<", ">Failed webhooks<", ">Figures<"}},
			{o.owner, o.at("/billing"), "Every live session and every top-up is listed here.", []string{`class="empty"`}},
			{o.owner, o.at("/test"), "Last sessions", []string{"Webhooks in the last 24 hours"}},
		} {
			_, body := tt.by.Get(t, tt.path)
			if !strings.Contains(body, tt.has) {
				t.Errorf("%s lacks %q", tt.path, tt.has)
			}
			for _, part := range tt.lacks {
				if strings.Contains(body, part) {
					t.Errorf("%s has %q", tt.path, part)
				}
			}
		}
	})
}

// TestCardsSayWhatTheyAre: the cards of evidence have headings, and its fields in one row
// have the same lines above them; each tile of System has a caption; and Billing says
// whom the gateway warns of a low balance.
func TestCardsSayWhatTheyAre(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		op, o := operating(t, g), newStaffed(t, g, nil)
		_, body := o.owner.Get(t, o.at("/evidence"))
		_, body, _ = strings.Cut(body, "<main") // the navigation has headings of its own
		if cards := strings.Count(body, `<section class="panel">`); strings.Count(body, "<h2>") != cards {
			t.Errorf("%d headings of %d cards", strings.Count(body, "<h2>"), cards)
		}
		if n := strings.Count(body, `class="hint"`); n != 1 { // of the receipts, in a row of its own
			t.Errorf("the form of evidence has %d hints", n)
		}
		_, body = op.Get(t, "/operator/system")
		if tiles := strings.Count(body, `class="tile"`); tiles == 0 || strings.Count(body, "</strong> <small>") != tiles {
			t.Errorf("%d captions of %d tiles", strings.Count(body, "</strong> <small>"), tiles)
		}
		for _, below := range []string{"", "50"} {
			o.owner.Post(t, o.at("/settings"), o.filled(t, o.owner, url.Values{"alert_below": {below}}))
			if _, body := o.viewer.Get(t, o.at("/billing")); !strings.Contains(body, "owners get an e-mail") {
				t.Errorf("with a threshold of %q, the page does not say who is told", below)
			}
		}
	})
}

// TestDeliverySaysOnceThatItWasAccepted covers a delivery's page after a success.
func TestDeliverySaysOnceThatItWasAccepted(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		receiver := gatewaytest.NewReceiver(t)
		shop := g.Shop(t, receiver.URL, nil)
		dev := member(t, g, shop.Tenant.ID, account.Developer)
		send := "/dashboard/" + shop.Tenant.ID.String() + "/test/webhooks/test"
		res, _ := dev.Fill(t, send, url.Values{"outcome": {"verified"}})
		page := eventually(t, dev, res.Header.Get("Location"), "Accepted")
		if strings.Contains(page, "2xx") || strings.Count(page, "<code>204</code>") != 1 {
			t.Error("the page does not say once what the receiver answered")
		}
	})
}

// TestATestEventUnderWay: while its first attempt is under way, its page shows no time of a next one and is soon read
// again; and nobody has opened the link of its session.
func TestATestEventUnderWay(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		asked, answer := make(chan bool, 9), make(chan bool)
		receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			asked <- true
			<-answer
		}))
		t.Cleanup(receiver.Close)
		shop := g.Shop(t, receiver.URL, func(shop *tenant.Tenant) { shop.DocumentCheck = true })
		dev := member(t, g, shop.Tenant.ID, account.Developer)
		base := "/dashboard/" + shop.Tenant.ID.String() + "/test"
		res, _ := dev.Fill(t, base+"/webhooks/test", url.Values{"outcome": {"fallback"}})
		<-asked
		_, page := dev.Get(t, res.Header.Get("Location"))
		if strings.Contains(page, "Next attempt<") || !strings.Contains(page, "data-soon") {
			t.Error("the page shows when the lease ends as the next attempt, or waits long to be read again")
		}
		close(answer)
		page = eventually(t, dev, res.Header.Get("Location"), "Accepted")
		if strings.Contains(page, "data-soon") {
			t.Error("the page of what was delivered is read again soon")
		}
		session := between(t, page, base+"/sessions/", `"`)
		if _, page = dev.Get(t, base+"/sessions/"+session); strings.Contains(page, `data-testid="moment-opened"`) ||
			!strings.Contains(page, `data-testid="moment-created"`) {
			t.Error("somebody has opened the link of a test event's session")
		}
	})
}

// TestNumbersKeepTheirUnits: no line breaks between a number and its unit, in any text
// of the catalogues and in a size.
func TestNumbersKeepTheirUnits(t *testing.T) {
	broken := regexp.MustCompile(`[0-9}] (ms|s|%|[KMGT]i?B|kB)([^a-zA-Z]|$)`)
	err := fs.WalkDir(templates.Dashboard(), "locales", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		raw, err := fs.ReadFile(templates.Dashboard(), path)
		if err != nil {
			return err
		}
		var texts map[string]any
		if err := json.Unmarshal(raw, &texts); err != nil {
			return err
		}
		for key, text := range texts {
			if text, ok := text.(string); ok && broken.MatchString(text) {
				t.Errorf("%s: %s has a plain space before a unit", path, key)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	size := regexp.MustCompile(`<strong>[0-9.]+\x{a0}[KM]iB</strong>`)
	if _, body := operating(t, g).Get(t, "/operator/system"); !size.MatchString(body) {
		t.Error("the size of the database is not one word")
	}
}
