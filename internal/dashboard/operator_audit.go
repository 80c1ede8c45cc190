package dashboard

import "net/http"

const operatorAuditPath = operatorPath + "/audit"

// operatorAudit shows the log of the instance on the page of the tenants' logs.
func (p *Pages) operatorAudit() feature {
	return feature{
		routes:  []route{{method: http.MethodGet, path: operatorAuditPath, least: operator, handle: p.showAudit}},
		screens: []string{"audit"},
	}
}
