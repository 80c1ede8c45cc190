package dashboard

import (
	"net/http"

	"agegate/internal/tenant"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"
)

func (p *Pages) operator() feature {
	return feature{
		routes:  []route{{method: http.MethodGet, path: "/operator", least: operator, handle: p.showOperator}},
		screens: []string{"operator"},
	}
}

type operatorView struct {
	layout
	Tenants      []tenant.Tenant
	Newer, Older string // addresses for the pager
}

// showOperator lists the tenants.
func (p *Pages) showOperator(r *request) error {
	after := uuid.Nil
	if given := r.QueryParam("after"); given != "" {
		var err error
		if after, err = uuid.Parse(given); err != nil {
			return echo.ErrNotFound
		}
	}
	tenants, err := p.cfg.Tenants.Tenants(r.ctx(), after)
	if err != nil {
		return err
	}
	v := &operatorView{Tenants: tenants}
	if len(tenants) == tenant.MaxPage {
		v.Newer = "?after=" + tenants[len(tenants)-1].ID.String()
	}
	return r.render(http.StatusOK, "operator", v)
}
