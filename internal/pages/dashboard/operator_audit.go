package dashboard

import "net/http"

const (
	operatorAuditPath       = operatorPath + "/audit"
	operatorAuditExportPath = operatorAuditPath + "/export"
)

// operatorAudit shows and exports the log of the instance, like the tenants'
// logs.
func (p *Pages) operatorAudit() feature {
	return feature{
		routes: []route{
			{method: http.MethodGet, path: operatorAuditPath, minRole: operator, handle: p.showAudit},
			{method: http.MethodGet, path: operatorAuditExportPath, minRole: operator, stepUp: always, handle: p.exportAudit},
		},
		screens: []string{"audit"},
	}
}
