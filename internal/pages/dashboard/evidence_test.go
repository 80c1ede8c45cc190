package dashboard_test

import (
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"agegate/internal/backoffice/evidence"
	"agegate/internal/gatewaytest"
)

// TestEvidence: an owner downloads a pack that verifies with the displayed key.
// Errors are shown at their fields.
func TestEvidence(t *testing.T) {
	gatewaytest.Each(t, func(t *testing.T, g *gatewaytest.Gateway) {
		o := newStaffed(t, g, nil)
		path, today := o.at("/evidence"), g.Clock.Now().Format(time.DateOnly)
		send := func(from, to, target, sessions string) (int, string) {
			res, body := o.owner.Post(t, path, url.Values{
				"from": {from}, "to": {to}, "target": {target}, "language": {"de"}, "sessions": {sessions},
			})
			return res.StatusCode, body
		}
		status, pack := send(today, today, "18", "")
		if status != 200 {
			t.Fatalf("%d: %s", status, pack)
		}
		found, err := evidence.Verify([]byte(pack), nil)
		if err != nil || found.Manifest.TenantID != o.shop.Tenant.ID.String() || found.Manifest.Language != "de" {
			t.Fatalf("%+v, %v", found.Manifest, err)
		}
		if _, body := o.owner.Get(t, path); !strings.Contains(body, found.Key.ID()) {
			t.Error("the page does not show the key")
		}
		for _, language := range evidence.Languages {
			if _, body := o.owner.Get(t, path+"?lang="+language); !strings.Contains(body, `value="`+language+`" selected`) {
				t.Errorf("the page in %s does not suggest a pack in it", language)
			}
		}
		o.owner.Get(t, path+"?lang=en")
		for name, row := range map[string]struct{ from, to, target, sessions, text string }{
			"no day":      {"soon", today, "18", "", "Enter a day"},
			"backwards":   {today, "2026-01-01", "18", "", "first day must come before"},
			"target":      {today, today, "12", "", "from 13 to 60"},
			"no ID":       {today, today, "18", "x", "IDs of your sessions"},
			"not of ours": {today, today, "18", o.shop.Tenant.ID.String(), "IDs of your sessions"},
		} {
			if status, body := send(row.from, row.to, row.target, row.sessions); status != 422 ||
				!strings.Contains(body, row.text) {
				t.Errorf("%s: %d", name, status)
			}
		}
	})
}

// TestReceiptOfASession: those who may prove get it, once there is a result, and it
// verifies with the displayed key.
func TestReceiptOfASession(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		o := newStaffed(t, g, nil)
		ended, open := g.Create(t, o.shop.Test.APIKey, 18), g.Create(t, o.shop.Test.APIKey, 18)
		g.Force(t, gatewaytest.Browser(), ended, "verified")
		page := func(id string) string { return o.at("/test/sessions/" + id) }

		_, body := o.owner.Get(t, o.at("/evidence"))
		pem := regexp.MustCompile(`(?s)-----BEGIN.*?-----END PUBLIC KEY-----\n`).FindString(html.UnescapeString(body))
		key, err := evidence.ParsePublicKey([]byte(pem))
		if err != nil {
			t.Fatal(err)
		}
		res, receipt := o.owner.Get(t, page(ended.SessionID)+"/receipt")
		stated, err := evidence.VerifyReceipt(receipt, key)
		if err != nil || stated.SessionID != ended.SessionID || res.Header.Get("Content-Type") != "application/jwt" {
			t.Errorf("%+v, %v, %s", stated, err, res.Header.Get("Content-Type"))
		}
		for _, row := range []struct {
			who    *gatewaytest.Staff
			id     string
			status int
		}{{o.owner, open.SessionID, 404}, {o.viewer, ended.SessionID, 403}} {
			if res, _ := row.who.Get(t, page(row.id)+"/receipt"); res.StatusCode != row.status {
				t.Errorf("%d, want %d", res.StatusCode, row.status)
			}
			if _, body := row.who.Get(t, page(row.id)); strings.Contains(body, `data-testid="receipt"`) {
				t.Error("a receipt is offered")
			}
		}
		if _, body := o.owner.Get(t, page(ended.SessionID)); !strings.Contains(body, `data-testid="receipt"`) {
			t.Error("no receipt is offered")
		}
	})
}
