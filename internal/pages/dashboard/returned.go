package dashboard

import (
	"net/http"
	"net/url"

	"agegate/internal/pages/dashboard/desk"
	"agegate/internal/rules/session"

	"github.com/google/uuid"
)

// returnedPath is where test sessions of staff lead while their tenant has no callback URLs. Anyone may open
// it, because a phone that scanned a QR code is not logged in.
const returnedPath = homePath + "/returned"

// returnURL is the address of the built-in return page for a tenant's sessions.
func (p *Pages) returnURL(tenantID uuid.UUID) string {
	return p.cfg.URL + returnedPath + "?" + url.Values{"tenant": {tenantID.String()}}.Encode()
}

func (p *Pages) returned() desk.Feature {
	return desk.Feature{
		Routes: []desk.Route{{Method: http.MethodGet, Path: returnedPath, Kept: []string{"tenant", "session", "status"},
			Handle: p.showReturned}},
		Screens: []string{"returned"},
	}
}

type returnedView struct {
	desk.Layout
	Passed  bool   // the address has the parameters of a pass, which are not verified
	Session string // address of the session in the dashboard; may be empty
	URLs    string // address where callback URLs are set; may be empty
}

// showReturned replaces the shop's page. It reads nothing of the tenant, and
// shows only whether its address looks like a pass.
func (p *Pages) showReturned(r *desk.Request) error {
	v := &returnedView{Passed: r.QueryParam("status") == string(session.ResultVerified)}
	tenantID, err := uuid.Parse(r.QueryParam("tenant"))
	if err == nil {
		v.URLs = desk.Href(urlsPath, tenantID.String(), "")
	}
	if id, wrong := uuid.Parse(r.QueryParam("session")); err == nil && wrong == nil {
		v.Session = desk.Href(playgroundPath, tenantID.String(), "test") + "/" + id.String()
	}
	return r.Show(http.StatusOK, "returned", v)
}
