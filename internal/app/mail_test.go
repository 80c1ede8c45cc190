package app_test

import (
	"io"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"agegate/internal/app"
	"agegate/internal/backoffice/account"
	"agegate/internal/gatewaytest"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/tenant"

	"github.com/emersion/go-smtp"
)

// letterBox is a mail server that takes everything.
type letterBox struct {
	mu      sync.Mutex
	letters map[string][]string // by recipient
}

type drop struct {
	box *letterBox
	to  string
}

func (b *letterBox) NewSession(*smtp.Conn) (smtp.Session, error) { return &drop{box: b}, nil }
func (d *drop) Mail(string, *smtp.MailOptions) error             { return nil }
func (d *drop) Rcpt(to string, _ *smtp.RcptOptions) error {
	d.to = to
	return nil
}
func (d *drop) Data(r io.Reader) error {
	raw, err := io.ReadAll(r)
	d.box.mu.Lock()
	defer d.box.mu.Unlock()
	d.box.letters[d.to] = append(d.box.letters[d.to], strings.NewReplacer("=\r\n", "", "=3D", "=").Replace(string(raw)))
	return err
}
func (d *drop) Reset()        {}
func (d *drop) Logout() error { return nil }

// openLetterBox starts the server and returns its address.
func openLetterBox(t *testing.T) (box *letterBox, address string) {
	t.Helper()
	box = &letterBox{letters: map[string][]string{}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := smtp.NewServer(box)
	s.Domain = "localhost"
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	return box, "smtp://" + l.Addr().String()
}

// wait returns the letters to somebody once there are n.
func (b *letterBox) wait(t *testing.T, to string, n int) []string {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		b.mu.Lock()
		got := slices.Clone(b.letters[to])
		b.mu.Unlock()
		if len(got) >= n {
			return got
		}
		if time.Now().After(end) {
			t.Fatalf("%s has %d letters, want %d", to, len(got), n)
		}
	}
}

// TestMailCarriesLinksAndAlerts: an invitation and a recovery link arrive and work;
// staff with the right get one mail about a disabled endpoint, and one about low credit.
func TestMailCarriesLinksAndAlerts(t *testing.T) {
	box, address := openLetterBox(t)
	gatewaytest.Each(t, func(t *testing.T, g *gatewaytest.Gateway) {
		receiver := gatewaytest.NewReceiver(t)
		receiver.Answer(410)
		below := int64(1000)
		shop := g.Shop(t, receiver.URL, func(s *tenant.Tenant) { s.AlertBelow = &below })
		if err := app.LookForAlerts(t.Context(), g.App); err != nil { // nobody is there to be told
			t.Fatal(err)
		}
		boss, dev, looker := g.SignIn(t, false, account.ByPasskey), g.SignIn(t, false, account.ByPasskey),
			g.SignIn(t, false, account.ByPasskey)
		g.Join(t, boss, shop.Tenant.ID, account.Owner)
		g.Join(t, dev, shop.Tenant.ID, account.Developer)
		g.Join(t, looker, shop.Tenant.ID, account.Viewer)
		g.StepUp(t, boss)
		team := "/dashboard/" + shop.Tenant.ID.String() + "/team/invitations/new"
		guest := strings.ReplaceAll(t.Name(), "/", ".") + "@guest.example"
		guest = strings.ToLower(guest)
		res, body := boss.Fill(t, team, url.Values{"role": {"support"}, "email": {guest}})
		if res.StatusCode != 200 || !strings.Contains(body, "agegate also mails this link to "+guest+
			". If it does not arrive, pass it on yourself.") {
			t.Fatalf("invited: %d", res.StatusCode)
		}
		const linked = "mails JOIN links ON links.hash = mails.link WHERE links.kind = "
		if n := g.Count(t, linked+"'invitation'"); n != 1 {
			t.Errorf("%d mails end with their invitation", n)
		}
		linkIn := func(letter string) string {
			_, link, _ := strings.Cut(letter, "http://localhost:8080")
			link, _, _ = strings.Cut(link, "\r\n")
			return link
		}
		if res, _ := g.Nobody().Get(t, linkIn(box.wait(t, guest, 1)[0])); res.StatusCode != 200 {
			t.Errorf("the mailed invitation: %d", res.StatusCode)
		}
		if res, _ := boss.Fill(t, team, url.Values{"role": {"support"}, "email": {"no address"}}); res.StatusCode != 422 {
			t.Errorf("no address: %d", res.StatusCode)
		}
		if _, err := g.App.Accounts.NewRecoveryLink(t.Context(), audit.System("test"), looker.User.ID); err != nil {
			t.Fatal(err)
		}
		if _, body := boss.Get(t, "/dashboard/"+shop.Tenant.ID.String()+"/team"); !strings.Contains(body,
			"<strong>"+guest+"</strong></span>") {
			t.Error("the open invitations do not say for whom one is, or one whose mail was sent waits")
		}
		if n := g.Count(t, linked+"'recovery'"); n != 1 {
			t.Errorf("%d mails end with their recovery link", n)
		}
		if res, _ := g.Nobody().Get(t, linkIn(box.wait(t, looker.User.Email, 1)[0])); res.StatusCode != 200 {
			t.Errorf("the mailed recovery link: %d", res.StatusCode)
		}

		g.Force(t, gatewaytest.Browser(), g.Create(t, shop.Test.APIKey, 18), "verified")
		for end := time.Now().Add(2 * time.Minute); g.Count(t,
			"webhook_endpoints WHERE disabled_at IS NOT NULL") == 0; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("the endpoint is not disabled")
			}
		}
		for range 2 {
			if err := app.LookForAlerts(t.Context(), g.App); err != nil {
				t.Fatal(err)
			}
		}
		all := strings.Join(box.wait(t, boss.User.Email, 2), "\n")
		if !strings.Contains(all, "no more webhooks are sent to") || !strings.Contains(all, "500 checks are left") {
			t.Errorf("the owner was told %s", all)
		}
		if told := box.wait(t, dev.User.Email, 1); len(told) != 1 || !strings.Contains(told[0], "/test/webhooks") {
			t.Errorf("the developer was told %s", told)
		}
		if n := g.Count(t, "mails"); n != 5 {
			t.Errorf("%d mails were made, want 5", n)
		}
		log := g.Log.String()
		if strings.Contains(log, guest) || strings.Contains(log, linkIn(box.wait(t, guest, 1)[0])[len(account.LinkPath):]) {
			t.Error("the log has a recipient or a link")
		}
	}, "AGEGATE_SMTP_URL="+address, "AGEGATE_MAIL_FROM=agegate <no-reply@gate.example>")
}

// TestFirstOwnerByMail: the operator's page mails the invitation of a new tenant's
// first owner, where it is given an address.
func TestFirstOwnerByMail(t *testing.T) {
	box, address := openLetterBox(t)
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		boss := g.SignIn(t, true, account.ByPasskey)
		g.StepUp(t, boss)
		guest := strings.ToLower(strings.ReplaceAll(t.Name(), "/", ".")) + "@guest.example"
		for _, tt := range []struct {
			email         string
			status, mails int
		}{{"no address", 422, 0}, {"", 200, 0}, {guest, 200, 1}} {
			res, body := boss.Fill(t, "/operator/tenants/new", url.Values{"name": {"New shop"}, "email": {tt.email}})
			told := strings.Contains(body, "agegate also mails this link")
			if res.StatusCode != tt.status || told != (tt.mails > 0) ||
				g.Count(t, "mails") != tt.mails {
				t.Errorf("%q: %d, %d mails", tt.email, res.StatusCode, g.Count(t, "mails"))
			}
		}
		if n := g.Count(t, "tenants"); n != 2 {
			t.Errorf("%d tenants", n)
		}
		letter := box.wait(t, guest, 1)[0]
		_, link, _ := strings.Cut(letter, "http://localhost:8080")
		link, _, _ = strings.Cut(link, "\r\n")
		if res, body := g.Nobody().Get(t, link); res.StatusCode != 200 || !strings.Contains(body, "as an owner") {
			t.Errorf("the mailed invitation: %d", res.StatusCode)
		}
		// The same by the tenant's page: the new link is mailed, and the old one is gone.
		_, body := boss.Get(t, "/operator")
		tenants := regexp.MustCompile(`/operator/tenants/[0-9a-f-]{36}`).FindAllString(body, -1)
		again := tenants[len(tenants)-1] + "/invite"
		for _, tt := range []struct {
			email  string
			status int
		}{{"no address", 422}, {guest, 200}} {
			res, body := boss.Fill(t, again, url.Values{"email": {tt.email}})
			told := strings.Contains(body, "agegate also mails this link")
			if res.StatusCode != tt.status || told != (tt.status == 200) {
				t.Errorf("again, %q: %d", tt.email, res.StatusCode)
			}
		}
		box.wait(t, guest, 2)
		if n := g.Count(t, "links WHERE note = '"+guest+"'"); n != 1 {
			t.Errorf("%d invitations of the first owner", n)
		}
	}, "AGEGATE_SMTP_URL="+address, "AGEGATE_MAIL_FROM=agegate <no-reply@gate.example>")
}
