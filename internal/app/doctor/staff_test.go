package doctor_test

import (
	"net"
	"strings"
	"testing"

	"agegate/internal/app/doctor"
	"agegate/internal/gatewaytest"
	"agegate/internal/store/pgtest"

	"github.com/emersion/go-smtp"
	"github.com/google/uuid"
)

// open is a mail server that asks for no password.
type open struct{ smtp.Session }

func (open) NewSession(*smtp.Conn) (smtp.Session, error) { return open{}, nil }
func (open) Logout() error                               { return nil }

func mailServer(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := smtp.NewServer(open{})
	s.Domain = "localhost"
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	return l.Addr().String()
}

func TestMail(t *testing.T) {
	address := mailServer(t)
	for url, is := range map[string]struct {
		grade doctor.Grade
		text  string
	}{
		"":                  {doctor.OK, "not set"},
		"smtp://" + address: {doctor.OK, "takes the connection and the credentials"},
		// no password without TLS,
		"smtp://gate:" + canary + "@" + address: {doctor.Problem, "it does not offer STARTTLS, or no way to log in"},
		"smtps://" + address:                    {doctor.Problem, "the TLS handshake fails"},
		"smtp://" + pgtest.FreeAddr(t):          {doctor.Problem, "it takes no connection"},
		"smtp://no-such-name.invalid":           {doctor.Problem, "its name does not resolve"},
	} {
		found := examine(t, "AGEGATE_DATABASE_URL=sqlite:"+t.TempDir()+"/none.db", "AGEGATE_SMTP_URL="+url,
			"AGEGATE_MAIL_FROM=no-reply@gate.example")
		want(t, found, "AGEGATE_SMTP_URL", is.grade, is.text)
	}
}

func TestSingleSignOn(t *testing.T) {
	idp := gatewaytest.NewIDP(t)
	for issuer, is := range map[string]struct {
		grade doctor.Grade
		text  string
	}{
		idp.URL:       {doctor.OK, "/dashboard/login/sso/instance/back"},
		idp.URL + "/": {doctor.Problem, "of exactly this issuer"},
		strings.Replace(idp.URL, "http:", "https:", 1): {doctor.Problem, "does not speak TLS"},
		"https://no-such-name.invalid":                 {doctor.Problem, "name is not known"},
	} {
		found := examine(t, append(idp.Settings("ops=operator"), "AGEGATE_OIDC_ISSUER="+issuer,
			"AGEGATE_DATABASE_URL=sqlite:"+t.TempDir()+"/none.db")...)
		want(t, found, "AGEGATE_OIDC_ISSUER", is.grade, is.text)
	}
}

// TestRolesOfNoTenant: a group that gets a role in a tenant that does not exist is named by its number.
func TestRolesOfNoTenant(t *testing.T) {
	g := start(t, gatewaytest.SQLite(t))
	shop, idp := g.Shop(t, "", nil).Tenant.ID.String(), gatewaytest.NewIDP(t)
	roles := "ops=operator;shop=owner@" + shop + ";shop=viewer@" + uuid.NewString()
	found := examine(t, append(idp.Settings(roles), "AGEGATE_DATABASE_URL="+g.DB)...)
	want(t, found, "AGEGATE_OIDC_ROLES", doctor.Warning, "entry 3: no tenant has this ID")
}
