package doctor

import (
	"context"
	"fmt"

	"agegate/internal/rules/tenant"

	"github.com/google/uuid"
)

// mostNamed is how many tenants a finding names.
const mostNamed = 20

// back reports what the previous release, beside this one or after going back, would
// check less strictly. It fits an installation that never goes back, so nothing is wrong.
func (e *examiner) back(ctx context.Context, tenants *tenant.Service) {
	const check = "going back to 0.2.0"
	var cameras, margins []uuid.UUID
	for batch, err := range tenants.All(ctx) {
		if err != nil {
			e.problem(check, err.Error(), "look for the cause in the database's own log")
			return
		}
		for _, t := range batch {
			if t.DocumentOnly {
				cameras = append(cameras, t.ID)
			}
			if len(t.Margins) > 0 {
				margins = append(margins, t.ID)
			}
		}
	}
	if len(cameras) > 0 {
		e.ok(check, fmt.Sprintf("0.2.0 would offer the camera where tenants check documents only (%d): %v",
			len(cameras), cameras[:min(len(cameras), mostNamed)]))
	}
	if len(margins) > 0 {
		e.ok(check, fmt.Sprintf("0.2.0 would ignore the margins of tenants (%d): %v",
			len(margins), margins[:min(len(margins), mostNamed)]))
	}
	if e.Config.SSO.Required {
		e.ok(check, "0.2.0 would let staff in by password or passkey, although AGEGATE_OIDC_REQUIRED is set")
	}
}
