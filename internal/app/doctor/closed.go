package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"agegate/internal/app/config"
	"agegate/internal/backoffice/insight"
	"agegate/internal/check/document"
	"agegate/internal/rules/billing"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
	"agegate/internal/store"

	"github.com/google/uuid"
)

// Ways returns a function for the ways of the document check by which shoppers of a tenant can pass in a mode. It
// reads the trusted issuers once for all tenants with the same Tenant.WalletPID.
func Ways(
	ctx context.Context, cfg config.Config, db *store.Store, now time.Time,
) func(of tenant.Tenant, livemode bool) ([]session.Way, error) {
	trusted := map[bool]bool{}
	return func(of tenant.Tenant, livemode bool) (ways []session.Way, err error) {
		for _, way := range cfg.DocumentWays {
			can, known := trusted[of.WalletPID]
			switch {
			case !of.OffersDocument() || !of.Allows(string(way)):
				continue
			case !livemode:
				can = true
			case way == session.WayPhoto:
				can = cfg.Estimator != config.EstimatorOff
			case !known:
				if can, err = document.Trusts(ctx, db, of.ID, now); err != nil {
					return nil, err
				}
				trusted[of.WalletPID] = can
			}
			if can {
				ways = append(ways, way)
			}
		}
		return ways, nil
	}
}

// Closing returns a function that says why nobody can pass a live check of a tenant: "camera" if the tenant wants
// estimates and the estimator is off, "document" if it takes documents only and has no Ways, or "" if people can pass.
func Closing(
	ctx context.Context, cfg config.Config, db *store.Store, now time.Time,
) func(tenant.Tenant) (string, error) {
	ways := Ways(ctx, cfg, db, now)
	return func(of tenant.Tenant) (string, error) {
		switch {
		case of.DocumentOnly:
			if open, err := ways(of, true); err != nil || len(open) > 0 {
				return "", err
			}
			return "document", nil
		case cfg.Estimator == config.EstimatorOff:
			return "camera", nil
		}
		return "", nil
	}
}

// tenantFindings names the tenants of which nobody can pass a live check, and those that can
// create no live session because their checks are used up.
func tenantFindings(ctx context.Context, f facts) ([]Finding, error) {
	closed, lacks := Closing(ctx, f.cfg, f.db, f.now), map[uuid.UUID]string{}
	limits := billing.Limits{FreeChecksPerMonth: f.cfg.FreeChecksPerMonth}
	var shut, spent []tenant.Tenant
	for page, err := range tenant.NewService(f.db, nil, tenant.CallbackRule{}, nil, nil).All(ctx) {
		if err != nil {
			return nil, err
		}
		page = slices.DeleteFunc(slices.Clone(page), func(t tenant.Tenant) bool { return t.Disabled })
		var ids []uuid.UUID
		for _, t := range page {
			ids = append(ids, t.ID)
		}
		funds, err := f.db.Funds(ctx, ids, f.now)
		if err != nil {
			return nil, err
		}
		for _, t := range page {
			why, err := closed(t)
			if err != nil {
				return nil, err
			}
			if why != "" {
				shut, lacks[t.ID] = append(shut, t), ", no "+why
			}
		}
		spent = append(spent, slices.DeleteFunc(page, func(t tenant.Tenant) bool {
			return !insight.Remaining(limits, t, funds[t.ID]).Spent()
		})...)
	}
	return []Finding{
		naming(shut, lacks, Finding{"no_way", "ways to pass", Problem, "nobody can pass a live check of these tenants",
			"where the camera is missing, set AGEGATE_ESTIMATOR=onnx, or let them take documents only; where a document " +
				"is, trust issuers (agegate trust) or allow another way (AGEGATE_DOCUMENT_WAYS, --document-ways)", nil},
			"people can pass live checks of every tenant"),
		naming(spent, nil, Finding{"spent", "checks left", Warning, "no live check is left to these tenants (402)",
			"agegate tenant credit ID --add, or agegate tenant set ID --free-checks", nil}, "every tenant has checks left"),
	}, nil
}

// naming completes a finding about tenants with their names, or says what is well if there are none.
func naming(about []tenant.Tenant, lacks map[uuid.UUID]string, f Finding, well string) Finding {
	if len(about) == 0 {
		return Finding{f.Name, f.Check, OK, well, "", nil}
	}
	var names []string
	f.Tenants = nil
	for _, t := range about[:min(len(about), mostNamed)] {
		names = append(names, fmt.Sprintf("%s (%s%s)", tenant.Visible(t.Name), t.ID, lacks[t.ID]))
		f.Tenants = append(f.Tenants, tenant.Tenant{ID: t.ID, Name: t.Name})
	}
	f.Found = fmt.Sprintf("%s (%d): %s", f.Found, len(about), strings.Join(names, ", "))
	return f
}
