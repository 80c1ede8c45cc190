// Package signon logs staff in by an OpenID Connect provider that others wrote: the
// certified provider library zitadel/oidc with its example's users and log-in page.
package signon

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"

	"agegate/internal/gatewaytest"
)

const (
	begin    = "/dashboard/login/sso/instance"
	redirect = "http://localhost:8080" + begin + "/back"
)

// directory is the example's storage with groups, in ID tokens that hold what the
// provider knows of the user.
type directory struct {
	*storage.Storage
	groups []string
}

// SetUserinfoFromRequest implements op.CanSetUserinfoFromRequest.
func (d *directory) SetUserinfoFromRequest(
	ctx context.Context, info *oidc.UserInfo, token op.IDTokenRequest, scopes []string,
) error {
	if err := d.SetUserinfoFromScopes(ctx, info, token.GetSubject(), token.GetClientID(), scopes); err != nil {
		return err
	}
	if err := d.Storage.SetUserinfoFromRequest(ctx, info, token, scopes); err != nil {
		return err
	}
	info.AppendClaims("groups", d.groups)
	return nil
}

// GetClientByClientID implements op.Storage.
func (d *directory) GetClientByClientID(ctx context.Context, id string) (op.Client, error) {
	c, err := d.Storage.GetClientByClientID(ctx, id)
	return asserting{c}, err
}

// asserting is a client whose ID tokens hold the claims of the userinfo endpoint.
type asserting struct{ op.Client }

// IDTokenUserinfoClaimsAssertion implements op.Client.
func (asserting) IDTokenUserinfoClaimsAssertion() bool { return true }

// newProvider starts the provider.
func newProvider(t *testing.T) (issuer string, d *directory) {
	t.Helper()
	front := httptest.NewUnstartedServer(nil)
	issuer = "http://" + front.Listener.Addr().String()
	storage.RegisterClients(storage.WebClient("gate", "client secret", redirect))
	d = &directory{Storage: storage.NewStorage(storage.NewUserStore(issuer))}
	front.Config.Handler = exampleop.SetupServer(issuer, d, slog.New(slog.DiscardHandler), false)
	front.Start()
	t.Cleanup(front.Close)
	return issuer, d
}

// approve logs a user in at the provider and returns where it sends the browser.
func approve(t *testing.T, authorize string) string {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	var back string
	browser := &http.Client{Jar: jar, CheckRedirect: func(req *http.Request, _ []*http.Request) error {
		if strings.HasPrefix(req.URL.String(), redirect) {
			back = req.URL.RequestURI()
			return http.ErrUseLastResponse
		}
		return nil
	}}
	res, err := browser.Get(authorize)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	id := res.Request.URL.Query().Get("authRequestID")
	if id == "" {
		t.Fatalf("the provider answers %d at %s", res.StatusCode, res.Request.URL)
	}
	res, err = browser.PostForm(res.Request.URL.String(),
		url.Values{"id": {id}, "username": {"test-user2"}, "password": {"verysecure"}})
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if back == "" {
		t.Fatalf("the provider answers %d after the log-in", res.StatusCode)
	}
	return back
}

// TestProvider: a user logs in, with the rights of the groups at that moment; a
// code is taken once.
func TestProvider(t *testing.T) {
	issuer, d := newProvider(t)
	gatewaytest.Each(t, func(t *testing.T, g *gatewaytest.Gateway) {
		shop := g.Shop(t, "", nil).Tenant.ID.String()
		g = g.Restart(t, "AGEGATE_OIDC_ISSUER="+issuer, "AGEGATE_OIDC_CLIENT_ID=gate",
			"AGEGATE_OIDC_CLIENT_SECRET=client secret",
			"AGEGATE_OIDC_ROLES=ops=operator;helpers=support@"+shop)
		for _, tt := range []struct {
			groups           []string
			notice           string
			operator, member int
		}{
			{[]string{"everybody"}, "sso_no_group", 0, 0},
			{[]string{"ops"}, "", 200, 404},
			{[]string{"everybody", "helpers"}, "", 404, 200},
		} {
			d.groups = tt.groups
			browser := g.Nobody()
			res, _ := browser.Get(t, begin)
			back := approve(t, res.Header.Get("Location"))
			res, _ = browser.Get(t, back)
			if got := gatewaytest.Notice(res); res.StatusCode != http.StatusSeeOther || got != tt.notice {
				t.Fatalf("%v: %d, notice %q, want %q", tt.groups, res.StatusCode, got, tt.notice)
			}
			if tt.notice != "" {
				continue
			}
			for path, want := range map[string]int{"/operator": tt.operator, "/dashboard/" + shop +
				"/test/sessions": tt.member} {
				if res, _ := browser.Get(t, path); res.StatusCode != want {
					t.Errorf("%v: %s answers %d, want %d", tt.groups, path, res.StatusCode, want)
				}
			}
			if res, _ := g.Nobody().Get(t, back); gatewaytest.Notice(res) == "" {
				t.Error("another browser logs in with the same code")
			}
		}
		if n := g.Count(t, "users WHERE subject = 'id2' AND email = 'test-user2@zitadel.ch'"); n != 1 {
			t.Errorf("%d users", n)
		}
	})
}
