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
		team := shop + "/team"
		confirm := `href="/dashboard/step-up?next=` + url.QueryEscape(team) + `"`
		if _, page := boss.Get(t, team); strings.Contains(page, confirm) || !strings.Contains(page, `data-testid="invite"`) {
			t.Error("who has confirmed is not shown the form")
		}
		g.Clock.Advance(account.StepUpTTL)
		if _, page := boss.Get(t, team); !strings.Contains(page, confirm) || strings.Contains(page, `data-testid="invite"`) {
			t.Error("the form is shown to who will have to confirm")
		}
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
			next := between(t, body, `name="next" value="`, `"`)
			if page := strings.TrimSuffix(form, "/save"); next != page {
				t.Errorf("%s: the confirmation leads to %s", row.Path, next)
			}
			if res, _ := boss.Get(t, next); res.StatusCode != 403 && next != team {
				t.Errorf("%s: its page asks for no confirmation: %d", row.Path, res.StatusCode)
			}
		}
		if asked < 20 {
			t.Errorf("only %d forms ask for a confirmation", asked)
		}
	})
}
