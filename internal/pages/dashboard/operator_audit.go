package dashboard

import "agegate/internal/pages/dashboard/desk"

import "net/http"

const (
	operatorAuditPath       = operatorPath + "/audit"
	operatorAuditExportPath = operatorAuditPath + "/export"
)

// operatorAudit shows and exports the log of the instance, like the tenants'
// logs.
func (p *Pages) operatorAudit() desk.Feature {
	return desk.Feature{
		Routes: []desk.Route{
			{Method: http.MethodGet, Path: operatorAuditPath, MinRole: desk.Operator, Handle: p.showAudit},
			{Method: http.MethodGet, Path: operatorAuditExportPath, MinRole: desk.Operator, StepUp: desk.Always,
				Handle: p.exportAudit},
		},
		Screens: []string{"audit"},
	}
}
