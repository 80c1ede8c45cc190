package tenant

import (
	"agegate/internal/rules/audit"

	"github.com/google/uuid"
)

// act returns an entry for the tenant's own audit log.
func (s *Service) act(actor audit.Actor, action audit.Action, tenantID uuid.UUID, params map[string]string) audit.Act {
	return audit.Act{
		Scope: audit.OfTenant(tenantID), At: s.now(), Actor: actor, Action: action, Target: tenantID.String(),
		Detail: audit.Detail{Params: params},
	}
}

// inMode returns the parameters of an act on one mode.
func inMode(livemode bool) map[string]string {
	return map[string]string{"mode": audit.Mode(livemode)}
}
