package doctor

import (
	"context"

	"agegate/internal/rules/tenant"
)

// mostNamed is how many tenants a finding names.
const mostNamed = 20

// back reports what the previous release, beside this one or after going back, would
// check less strictly. It fits an installation that never goes back, so nothing is wrong.
func (e *examiner) back(ctx context.Context, tenants *tenant.Service) {
	const check = "going back to 0.2.0"
	var cameras, margins []tenant.Tenant
	for batch, err := range tenants.All(ctx) {
		if err != nil {
			e.problem(check, err.Error(), "look for the cause in the database's own log")
			return
		}
		for _, t := range batch {
			if t.DocumentOnly {
				cameras = append(cameras, t)
			}
			if len(t.Margins) > 0 {
				margins = append(margins, t)
			}
		}
	}
	tell := func(what string, of []tenant.Tenant) {
		if len(of) > 0 {
			e.ok(check, naming(of, nil, Finding{Found: "0.2.0 would " + what}, "").Found)
		}
	}
	tell("offer the camera where tenants check documents only", cameras)
	tell("ignore the margins of tenants", margins)
	if e.Config.SSO.Required {
		e.ok(check, "0.2.0 would let staff in by password or passkey, although AGEGATE_OIDC_REQUIRED is set")
	}
}
