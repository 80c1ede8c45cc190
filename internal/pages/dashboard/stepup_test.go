package dashboard_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"agegate/internal/backoffice/account"
	"agegate/internal/gatewaytest"
	"agegate/internal/pages/dashboard"
)

// TestStepUpComesBeforeTheForm: the page of a form that needs a confirmation asks
// for it first, so that the form's content is not lost, and a form that comes too
// late leads back to its page.
func TestStepUpComesBeforeTheForm(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		boss, shop := owner(t, g, "ada") // ada is also the operator
		enrol(t, g, boss)
		g.Clock.Advance(account.StepUpTTL)
		rows, err := dashboard.Table()
		if err != nil {
			t.Fatal(err)
		}
		asked := 0
		for _, row := range rows {
			if row.Method != http.MethodPost || !row.ConfirmedLive {
				continue
			}
			asked++
			form := fillIn(row.Path, strings.TrimPrefix(shop, "/dashboard/"), "live")
			res, body := boss.Post(t, form, nil)
			want(t, row.Path, res, 403, "")
			if act := between(t, body, `data-testid="act">`, "</p>"); !strings.Contains(act, " <strong>") {
				t.Errorf("%s: the confirmation names no act: %s", row.Path, act)
			}
			next := between(t, body, `name="next" value="`, `"`)
			if page := strings.TrimSuffix(form, "/save"); next != page {
				t.Errorf("%s: the confirmation leads to %s", row.Path, next)
			}
			if res, _ := boss.Get(t, next); res.StatusCode != 403 {
				t.Errorf("%s: its page asks for no confirmation: %d", row.Path, res.StatusCode)
			}
		}
		if asked < 20 {
			t.Errorf("only %d forms ask for a confirmation", asked)
		}
	})
}

// TestStepUpKeepsTheFilledForm: a form that was sent too late is there again after
// the confirmation, filled in as it was, for its sender and page only. Cancel leads
// to the nearest page that asks for nothing.
func TestStepUpKeepsTheFilledForm(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		boss, tenant := g.SignIn(t, true, account.ByPasskey), g.Shop(t, "", nil).Tenant.ID
		g.Join(t, boss, tenant, account.Owner)
		shop := "/dashboard/" + tenant.String()
		for _, tt := range []struct{ path, field, cancel, names string }{
			{shop + "/settings/urls", "success_url", shop + "/settings",
				"<small>Settings</small> <strong>Change the callback URLs</strong>"},
			{shop + "/live/keys/new", "name", shop + "/live/keys", "<small>API keys</small> <strong>Create the key</strong>"},
			{"/operator/tenants/new", "name", "/operator", "<small>Tenants</small> <strong>Create a tenant</strong>"},
		} {
			g.Clock.Advance(account.StepUpTTL)
			const typed = "https://shop.example/typed"
			res, body := boss.Post(t, tt.path, url.Values{tt.field: {typed}})
			if want(t, tt.path, res, 403, ""); !strings.Contains(body, tt.names) ||
				!strings.Contains(body, `<a href="`+tt.cancel+`" data-testid="back"`) || strings.Contains(body, typed) {
				t.Errorf("%s: the confirmation does not name %s or lead back to %s", tt.path, tt.names, tt.cancel)
			}
			g.StepUp(t, boss)
			if _, body := boss.Get(t, shop+"/live/webhooks/rotate"); strings.Contains(body, typed) {
				t.Error("another page shows what was typed")
			}
			if _, body := boss.Get(t, tt.path); !strings.Contains(body, `value="`+typed+`"`) {
				t.Errorf("%s: what was typed is lost", tt.path)
			}
			if _, body := boss.Get(t, tt.path); strings.Contains(body, `value="`+typed+`"`) {
				t.Errorf("%s: what was typed stays", tt.path)
			}
		}
	})
}
