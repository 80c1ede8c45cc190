package dashboard_test

import (
	"net/url"
	"strings"
	"testing"

	"agegate/internal/backoffice/account"
	"agegate/internal/gatewaytest"
)

// TestChecksOfOneOrder: the page of a session names the other sessions of its order, the newest first and at
// most ten, and none of another mode, tenant or order.
func TestChecksOfOneOrder(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		shop, other := g.Shop(t, "", nil), g.Shop(t, "", nil)
		support := member(t, g, shop.Tenant.ID, account.Support)
		var made []string
		for _, key := range []string{shop.Test.APIKey, shop.Test.APIKey, shop.Test.APIKey, shop.Live.APIKey, other.Test.APIKey} {
			made = append(made, g.Create(t, key, 18).SessionID)
		}
		page := "/dashboard/" + shop.Tenant.ID.String() + "/test/sessions/"
		if _, body := support.Get(t, page+made[0]); strings.Contains(body, "same-order") {
			t.Error("a session without an order has others of it")
		}
		g.Exec(t, "UPDATE sessions SET order_ref = '1042'")
		g.Exec(t, "UPDATE sessions SET order_ref = '1043' WHERE id = '"+made[1]+"'")
		if _, body := support.Get(t, page+made[1]); strings.Contains(body, "same-order") {
			t.Error("the only session of an order has others of it")
		}
		_, body := support.Get(t, page+made[0])
		line := between(t, body, `data-testid="same-order"`, "</p>")
		if !strings.Contains(line, "This order has 2 checks") || strings.Count(line, page) != 1 ||
			!strings.Contains(line, page+made[2]) || strings.Index(line, made[2]) > strings.Index(line, "this one") {
			t.Errorf("the other session of the order is not named: %s", line)
		}
		for range 9 {
			g.Create(t, shop.Test.APIKey, 18)
		}
		g.Exec(t, "UPDATE sessions SET order_ref = '1042'")
		_, body = support.Get(t, page+made[0])
		line = between(t, body, `data-testid="same-order"`, "</p>")
		if !strings.Contains(line, "The newest 10 checks of this order") || strings.Count(line, page) != 10 {
			t.Errorf("not the newest ten: %s", line)
		}
	})
}

// TestFindDeletedSession: the search says that a session was deleted, and to those who read the audit log by whom.
func TestFindDeletedSession(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		shop, other := g.Shop(t, "", nil), g.Shop(t, "", nil)
		owner, support := member(t, g, shop.Tenant.ID, account.Owner), member(t, g, shop.Tenant.ID, account.Support)
		foreign := member(t, g, other.Tenant.ID, account.Owner)
		made := g.Create(t, shop.Test.APIKey, 18)
		g.Force(t, gatewaytest.Browser(), made, "verified")
		g.Exec(t, "UPDATE webhook_events SET status = 'delivered', next_attempt_at = NULL, lease_token = NULL")
		base := "/dashboard/" + shop.Tenant.ID.String() + "/test"
		g.StepUp(t, owner)
		owner.Fill(t, base+"/sessions/"+made.SessionID+"/delete", nil)
		at := g.Clock.Now().Format("2006-01-02 15:04 MST")
		deleted := "The session with this ID was deleted on " + at
		searched(t, owner, base+"/paste", made.SessionID, "", deleted+" by "+owner.User.Name+".")
		searched(t, support, base+"/paste", made.SessionID, "", deleted+".")
		searched(t, foreign, "/dashboard/"+other.Tenant.ID.String()+"/test/paste", made.SessionID, "",
			"No session of yours has this ID.")
	})
}

// TestOperatorFindsSession: the operator's search leads to a session itself if the operator may open it, in its mode.
func TestOperatorFindsSession(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		shop := g.Shop(t, "", nil)
		op, made := operating(t, g), g.Create(t, shop.Live.APIKey, 18)
		tenantAt := "/operator/tenants/" + shop.Tenant.ID.String()
		session := "/dashboard/" + shop.Tenant.ID.String() + "/live/sessions/" + made.SessionID
		searched(t, op, "/operator/find", made.SessionID, tenantAt)
		op.Fill(t, tenantAt+"/enter", url.Values{"reason": {"support case"}})
		for _, text := range []string{made.SessionID, made.VerificationURL} {
			searched(t, op, "/operator/find", text, "", "2 matches", `href="`+session+`"`, `href="`+tenantAt+`"`)
		}
		g.Exec(t, "UPDATE logins SET entered_until = '2001-01-01'")
		searched(t, op, "/operator/find", made.SessionID, tenantAt)
		g.Join(t, op, shop.Tenant.ID, account.Compliance)
		searched(t, op, "/operator/find", made.SessionID, tenantAt)
	})
}
