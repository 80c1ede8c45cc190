package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"agegate/internal/app/config"
	"agegate/internal/check/document"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
	"agegate/internal/store"
)

// Closing returns a function that says why nobody can pass a live check of a tenant:
// "camera" if the tenant wants estimates and the estimator is off, "document" if it takes
// documents only and none can be read, or "" if people can pass.
func Closing(
	ctx context.Context, cfg config.Config, db *store.Store, now time.Time,
) func(tenant.Tenant) (string, error) {
	trusted := map[bool]bool{} // by Tenant.WalletPID
	camera := cfg.Estimator != config.EstimatorOff
	return func(of tenant.Tenant) (why string, err error) {
		allows := func(way session.Way) bool { return slices.Contains(cfg.DocumentWays, way) && of.Allows(string(way)) }
		switch {
		case camera && (!of.DocumentOnly || allows(session.WayPhoto)):
			return "", nil
		case !of.DocumentOnly:
			return "camera", nil
		case allows(session.WayWallet):
			can, known := trusted[of.WalletPID]
			if !known {
				can, err = document.Trusts(ctx, db, of.ID, now)
				trusted[of.WalletPID] = can
			}
			if can || err != nil {
				return "", err
			}
		}
		return "document", nil
	}
}

// closedFindings names the tenants of which nobody can pass a live check.
func closedFindings(ctx context.Context, f facts) ([]Finding, error) {
	found := Finding{"no_way", "ways to pass", OK, "people can pass live checks of every tenant", "", nil}
	closed, names := Closing(ctx, f.cfg, f.db, f.now), []string{}
	for page, err := range tenant.NewService(f.db, nil, tenant.CallbackRule{}, nil, nil).All(ctx) {
		if err != nil {
			return nil, err
		}
		for _, t := range page {
			why, err := closed(t)
			if err != nil {
				return nil, err
			}
			if why != "" && !t.Disabled {
				names = append(names, fmt.Sprintf("%s (%s, no %s)", tenant.Visible(t.Name), t.ID, why))
				found.Tenants = append(found.Tenants, tenant.Tenant{ID: t.ID, Name: t.Name})
			}
		}
	}
	if n := len(names); n > 0 {
		found.Grade, found.Tenants = Problem, found.Tenants[:min(n, mostNamed)]
		found.Found = fmt.Sprintf("nobody can pass a live check of these tenants (%d): %s", n,
			strings.Join(names[:min(n, mostNamed)], ", "))
		found.Advice = "where the camera is missing, set AGEGATE_ESTIMATOR=onnx, or let them take documents only; where a " +
			"document is, trust issuers (agegate trust) or allow another way (AGEGATE_DOCUMENT_WAYS, --document-ways)"
	}
	return []Finding{found}, nil
}
