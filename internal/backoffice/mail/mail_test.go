package mail_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"mime/quotedprintable"
	"net"
	"net/http"
	"net/http/httptest"
	netmail "net/mail"
	"strings"
	"sync"
	"testing"
	"time"

	"agegate/internal/backoffice/account"
	"agegate/internal/backoffice/mail"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/tenant"
	"agegate/internal/store"
	"agegate/internal/store/dbtest"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
	"github.com/google/uuid"
)

// postOffice is a mail server. Its users have one password.
type postOffice struct {
	mu     sync.Mutex
	got    []string // messages, as they came
	to     []string
	secure []bool // whether each came over TLS and after a log-in
	answer error  // to the next messages
}

type visit struct {
	office *postOffice
	conn   *smtp.Conn
	known  bool
	to     string
}

func (o *postOffice) NewSession(c *smtp.Conn) (smtp.Session, error) {
	return &visit{office: o, conn: c}, nil
}
func (v *visit) AuthMechanisms() []string { return []string{sasl.Plain} }
func (v *visit) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if v.known = user == "gate" && password == "p@ss"; !v.known {
			return errors.New("no")
		}
		return nil
	}), nil
}
func (v *visit) Mail(string, *smtp.MailOptions) error { return nil }
func (v *visit) Rcpt(to string, _ *smtp.RcptOptions) error {
	v.to = to
	return nil
}
func (v *visit) Data(r io.Reader) error {
	raw, err := io.ReadAll(r)
	v.office.mu.Lock()
	defer v.office.mu.Unlock()
	if err != nil {
		return err
	}
	if v.office.answer != nil {
		return v.office.answer // the server looks at its very type
	}
	_, encrypted := v.conn.TLSConnectionState()
	v.office.got, v.office.to, v.office.secure = append(v.office.got, string(raw)), append(v.office.to, v.to),
		append(v.office.secure, encrypted && v.known)
	return nil
}
func (v *visit) Reset()        {}
func (v *visit) Logout() error { return nil }

func (o *postOffice) say(answer error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.answer = answer
}

func (o *postOffice) received() (messages, to []string, secure []bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.got, o.to, o.secure
}

// open starts the server with no encryption (smtp), STARTTLS (starttls) or TLS from
// the start (smtps), and returns how it is reached.
func (o *postOffice) open(t *testing.T, how string) mail.Server {
	t.Helper()
	certified := httptest.NewUnstartedServer(nil)
	certified.StartTLS()
	t.Cleanup(certified.Close)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := smtp.NewServer(o)
	s.Domain, s.AllowInsecureAuth = "localhost", true
	scheme := "smtp"
	switch how {
	case "starttls":
		s.TLSConfig = &tls.Config{Certificates: certified.TLS.Certificates, MinVersion: tls.VersionTLS12}
	case "smtps":
		scheme, l = "smtps", tls.NewListener(l,
			&tls.Config{Certificates: certified.TLS.Certificates, MinVersion: tls.VersionTLS12})
	}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	server, err := mail.ParseServer(scheme + "://gate:p%40ss@" + l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	server.From = "agegate <no-reply@gate.example>"
	server.TLS = certified.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	server.TLS.ServerName = "127.0.0.1"
	return server
}

// office is an outbox with a database and a clock.
type office struct {
	db     *store.Store
	outbox *mail.Outbox
	now    time.Time
	log    bytes.Buffer
}

func newOffice(t *testing.T, url string) *office {
	t.Helper()
	o := &office{now: time.Now().UTC().Truncate(time.Microsecond)}
	key := make([]byte, 32)
	_, _ = rand.Read(key)
	sealer, err := credential.NewSealer(key, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	o.db, o.outbox = dbtest.Open(t, url), mail.NewOutbox(sealer, func() time.Time { return o.now })
	return o
}

func (o *office) shop(t *testing.T) *uuid.UUID {
	t.Helper()
	id := uuid.Must(uuid.NewV7())
	act := audit.Act{Scope: audit.OfTenant(id), At: o.now, Actor: audit.System("test"), Action: audit.TenantCreate,
		Target: id.String()}
	if err := o.db.CreateTenant(t.Context(), tenant.Tenant{ID: id, Name: "Shop", CreatedAt: o.now}, nil, nil,
		act); err != nil {
		t.Fatal(err)
	}
	return &id
}

func (o *office) post(ctx context.Context, m mail.Message, life time.Duration) error {
	made, err := o.outbox.Compose(m, life)
	if err != nil {
		return err
	}
	return o.db.UpdateAccounts(ctx, func(tx account.Tx) error { return tx.InsertMail(made) })
}

func (o *office) deliverer(s mail.Server) *mail.Deliverer {
	return mail.NewDeliverer(o.db, o.outbox, s, slog.New(slog.NewTextHandler(&o.log, nil)))
}

func (o *office) round(t *testing.T, d *mail.Deliverer, want int) {
	t.Helper()
	if n, err := d.Round(t.Context()); err != nil || n != want {
		t.Errorf("a round tried %d mails, %v; want %d", n, err, want)
	}
}

func invitation(to *uuid.UUID) mail.Message {
	return mail.Message{
		Kind: mail.Invitation, TenantID: to, To: "bob@shop.example", Tenant: "Käse & Öl", By: "Ada", Role: "viewer",
		Locale: "de-AT", Link: "https://gate.example/dashboard/link/secret",
	}
}

// each runs a test on both databases.
func each(t *testing.T, test func(t *testing.T, o *office)) {
	for name, url := range dbtest.URLs(t) {
		t.Run(name, func(t *testing.T) { test(t, newOffice(t, url(t))) })
	}
}

// TestMailsAreDelivered: over STARTTLS and TLS, after a log-in, in the reader's
// language, once, and what they say is gone afterwards.
func TestMailsAreDelivered(t *testing.T) {
	for _, how := range []string{"starttls", "smtps"} {
		t.Run(how, func(t *testing.T) {
			each(t, func(t *testing.T, o *office) {
				there := &postOffice{}
				d := o.deliverer(there.open(t, how).Strict())
				shop := o.shop(t)
				o.outbox.Operator = "Wein AG"
				if err := o.post(t.Context(), invitation(shop), time.Hour); err != nil {
					t.Fatal(err)
				}
				o.round(t, d, 1)
				o.now = o.now.Add(48 * time.Hour)
				o.round(t, d, 0)
				got, to, secure := there.received()
				if len(got) != 1 || to[0] != "bob@shop.example" || !secure[0] {
					t.Fatalf("the server has %d mails to %v, safely %v; log: %s", len(got), to, secure, o.log.String())
				}
				message, err := netmail.ReadMessage(strings.NewReader(got[0]))
				if err != nil {
					t.Fatal(err)
				}
				body, _ := io.ReadAll(quotedprintable.NewReader(message.Body))
				if h := message.Header; !strings.Contains(string(body), "zu Käse & Öl ein (Rolle: Betrachter). Mit agegate, "+
					"betrieben von Wein AG, prüft Käse & Öl das Alter") || h.Get("User-Agent")+h.Get("X-Mailer") != "" {
					t.Errorf("operator, role or purpose is missing, or the sender's program is named: %s", got[0])
				}
				if !strings.Contains(string(body), "https://gate.example/dashboard/link/secret") ||
					!strings.HasPrefix(message.Header.Get("Subject"), "=?UTF-8?q?Einladung_zu_K=C3=A4se") {
					t.Errorf("the mail is %s", got[0])
				}
			})
		})
	}
}

// TestMailsAreTriedAgain: a mail that is not taken now is tried later, one that is
// refused for good or too old is not, and the log names no recipient.
func TestMailsAreTriedAgain(t *testing.T) {
	each(t, func(t *testing.T, o *office) {
		there := &postOffice{}
		d := o.deliverer(there.open(t, "starttls"))
		shop := o.shop(t)
		there.say(&smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 3, 0}, Message: "bob@shop.example: later"})
		if err := o.post(t.Context(), invitation(shop), time.Hour); err != nil {
			t.Fatal(err)
		}
		o.round(t, d, 1)
		o.round(t, d, 0) // not before its time
		there.say(nil)
		o.now = o.now.Add(2 * time.Minute)
		o.round(t, d, 1)
		if got, _, _ := there.received(); len(got) != 1 {
			t.Errorf("the server has %d mails", len(got))
		}
		there.say(&smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "bob@shop.example: unknown"})
		if err := o.post(t.Context(), invitation(shop), 72*time.Hour); err != nil {
			t.Fatal(err)
		}
		o.round(t, d, 1)
		there.say(&smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 3, 0}, Message: "later"})
		if err := o.post(t.Context(), invitation(shop), time.Minute); err != nil {
			t.Fatal(err)
		}
		o.round(t, d, 1)
		there.say(nil)
		o.now = o.now.Add(48 * time.Hour)
		o.round(t, d, 1) // its time is over
		o.round(t, d, 0)
		if got, _, _ := there.received(); len(got) != 1 {
			t.Errorf("the server has %d mails", len(got))
		}
		log := o.log.String()
		if strings.Contains(log, "bob@") || strings.Contains(log, "secret") || !strings.Contains(log, "answered 550") ||
			!strings.Contains(log, "its time is over") {
			t.Errorf("the log says %s", log)
		}
	})
}

// TestMailsWaitForTheOperator: a mail of which the server refuses the sender, or to relay it, waits, because the
// recipient is not the reason: so System shows it, and it goes once the operator has mended the settings.
func TestMailsWaitForTheOperator(t *testing.T) {
	o := newOffice(t, dbtest.URLs(t)["sqlite"](t))
	there := &postOffice{}
	d := o.deliverer(there.open(t, "starttls"))
	there.say(&smtp.SMTPError{Code: 554, EnhancedCode: smtp.EnhancedCode{5, 7, 1}, Message: "relay access denied"})
	if err := o.post(t.Context(), invitation(o.shop(t)), time.Hour); err != nil {
		t.Fatal(err)
	}
	o.round(t, d, 1)
	there.say(nil)
	o.now = o.now.Add(2 * time.Minute)
	o.round(t, d, 1)
	if got, _, _ := there.received(); len(got) != 1 || !strings.Contains(o.log.String(), "answered 554") {
		t.Errorf("the server has %d mails; log: %s", len(got), o.log.String())
	}
}

// TestMailsEndWithTheirLinks: a mail that waits is not sent, nor kept, once its link was used, replaced or revoked.
func TestMailsEndWithTheirLinks(t *testing.T) {
	each(t, func(t *testing.T, o *office) {
		there, shop := &postOffice{}, o.shop(t)
		d := o.deliverer(there.open(t, "starttls"))
		there.say(&smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 3, 0}, Message: "later"})
		for i, role := range []account.Role{account.Owner, account.Viewer} {
			link := account.Link{Hash: bytes.Repeat([]byte{byte(i)}, 32), Kind: account.LinkInvitation, TenantID: shop,
				Role: role, CreatedAt: o.now, ExpiresAt: o.now.Add(time.Hour)}
			made, err := o.outbox.Compose(invitation(shop), time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			made.Link = link.Hash
			if err := o.db.UpdateAccounts(t.Context(), func(tx account.Tx) error {
				return errors.Join(tx.InsertLink(link), tx.InsertMail(made))
			}); err != nil {
				t.Fatal(err)
			}
		}
		o.round(t, d, 2)
		if err := o.db.UpdateAccounts(t.Context(), func(tx account.Tx) error {
			_, err := tx.DeleteLinks(account.Link{Kind: account.LinkInvitation, TenantID: shop, Role: account.Owner})
			return err
		}); err != nil {
			t.Fatal(err)
		}
		there.say(nil)
		o.now = o.now.Add(2 * time.Minute)
		o.round(t, d, 2)
		o.now = o.now.Add(time.Hour / 2)
		o.round(t, d, 0)
		if got, _, _ := there.received(); len(got) != 1 || !strings.Contains(o.log.String(), "used, replaced or revoked") {
			t.Errorf("the server has %d mails; log: %s", len(got), o.log.String())
		}
	})
}

// TestNoMailWithoutEncryption: a server on another machine gets nothing, and no password, unless it encrypts.
func TestNoMailWithoutEncryption(t *testing.T) {
	o := newOffice(t, dbtest.URLs(t)["sqlite"](t))
	there := &postOffice{}
	d := o.deliverer(there.open(t, "smtp").Strict())
	if err := o.post(t.Context(), invitation(o.shop(t)), time.Hour); err != nil {
		t.Fatal(err)
	}
	o.round(t, d, 1)
	if got, _, _ := there.received(); len(got) != 0 ||
		!strings.Contains(o.log.String(), "it does not offer STARTTLS") {
		t.Errorf("the server has %d mails; log: %s", len(got), o.log.String())
	}
}

// TestCheck: the server is asked for everything that a mail needs, and gets none.
func TestCheck(t *testing.T) {
	for _, how := range []string{"starttls", "smtps"} {
		there := &postOffice{}
		server := there.open(t, how)
		if err := server.Check(t.Context()); err != nil {
			t.Errorf("%s: %v", how, err)
		}
		wrong := server.With("canary-password")
		if err := wrong.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "answered 454") {
			t.Errorf("%s, a wrong password: %v", how, err)
		}
		if got, _, _ := there.received(); len(got) != 0 {
			t.Errorf("%s: %d mails", how, len(got))
		}
	}
	if err := (&postOffice{}).open(t, "smtp").Strict().Check(t.Context()); err == nil {
		t.Error("a server without encryption is well")
	}
}

// TestWhyAServerCannotBeUsed: the log tells a certificate from a connection and from a name.
func TestWhyAServerCannotBeUsed(t *testing.T) {
	for _, how := range []string{"starttls", "smtps"} {
		o, there := newOffice(t, dbtest.URLs(t)["sqlite"](t)), &postOffice{}
		server := there.open(t, how)
		server.TLS.Time = func() time.Time { return time.Now().AddDate(200, 0, 0) }
		if err := o.post(t.Context(), invitation(o.shop(t)), time.Hour); err != nil {
			t.Fatal(err)
		}
		o.round(t, o.deliverer(server), 1)
		if log := o.log.String(); !strings.Contains(log, "its certificate has expired") ||
			strings.Contains(log, "127.0.0.1") {
			t.Errorf("%s: the log says %s", how, log)
		}
		if err := server.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "its certificate has expired") {
			t.Errorf("%s: %v", how, err)
		}
	}
	for address, why := range map[string]string{
		"smtp://127.0.0.1:1": "it takes no connection", "smtp://no-such-name.invalid": "its name does not resolve",
	} {
		server, err := mail.ParseServer(address)
		if err != nil {
			t.Fatal(err)
		}
		if err := server.Check(t.Context()); err == nil || !strings.HasSuffix(err.Error(), ": "+why) {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// TestTenantsShareTheOutbox: a tenant can make so many mails a day and no more, and takes nobody's turn.
func TestTenantsShareTheOutbox(t *testing.T) {
	each(t, func(t *testing.T, o *office) {
		busy, quiet := o.shop(t), o.shop(t)
		for range mail.MaxADay {
			if err := o.post(t.Context(), invitation(busy), time.Hour); err != nil {
				t.Fatal(err)
			}
		}
		if err := o.post(t.Context(), invitation(busy), time.Hour); !errors.Is(err, mail.ErrTooMany) {
			t.Errorf("one mail more: %v", err)
		}
		o.now = o.now.Add(time.Second)
		for _, other := range []*uuid.UUID{quiet, nil} {
			if err := o.post(t.Context(), invitation(other), time.Hour); err != nil {
				t.Errorf("another's mail: %v", err)
			}
		}
		claimed, err := o.db.ClaimMails(t.Context(), o.now, time.Hour, 10)
		if err != nil || len(claimed) != 10 {
			t.Fatalf("%d mails, %v", len(claimed), err)
		}
		others := 0
		for _, m := range claimed {
			if m.TenantID == nil || *m.TenantID == *quiet {
				others++
			}
			if bytes.Contains(m.Sealed, []byte("bob@")) || bytes.Contains(m.Sealed, []byte("link/secret")) {
				t.Error("a mail is stored as it is")
			}
		}
		if others != 2 {
			t.Errorf("%d of the first ten mails are others'", others)
		}
		o.now = o.now.Add(25 * time.Hour)
		if err := o.post(t.Context(), invitation(busy), time.Hour); err != nil {
			t.Errorf("a mail on the next day: %v", err)
		}
	})
}

// TestServerAddresses: what is accepted as a mail server's address. An error does not repeat it.
func TestServerAddresses(t *testing.T) {
	for address, ok := range map[string]bool{
		"smtp://mail.example": true, "smtps://u:p@mail.example:465": true, "smtp://[::1]:25": true,
		"": false, "mail.example:25": false, "http://mail.example": false, "smtp://": false, "smtp://canary.example/x": false,
		"smtp://canary.example:0": false, "smtp://canary.example:99999": false, "smtp://u:canary@host?x=1": false,
		"smtp://u:canary\x00@host": false,
	} {
		_, err := mail.ParseServer(address)
		if (err == nil) != ok || err != nil && strings.Contains(err.Error(), "canary") {
			t.Errorf("%q: %v", address, err)
		}
	}
}
