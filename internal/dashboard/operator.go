package dashboard

import (
	"net/http"

	"agegate/internal/tenant"
)

func (p *Pages) operator() feature {
	return feature{
		routes:  []route{{method: http.MethodGet, path: "/operator", least: operator, handle: p.showOperator}},
		screens: []string{"operator"},
	}
}

type operatorView struct {
	layout
	Tenants []tenant.Tenant
}

// showOperator lists the tenants.
func (p *Pages) showOperator(r *request) error {
	tenants, err := p.cfg.Tenants.Tenants(r.ctx())
	if err != nil {
		return err
	}
	return r.render(http.StatusOK, "operator", &operatorView{Tenants: tenants})
}
