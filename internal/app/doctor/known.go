package doctor

import (
	"cmp"
	"context"
	"slices"
	"time"

	"agegate/internal/app/config"
	"agegate/internal/check/document"
	"agegate/internal/store"
)

// Names returns the names of the findings that Known can return.
func Names() []string {
	return []string{"archive", "drift", "ending", "hidden", "https", "list_empty", "list_ended", "list_failing",
		"no_backup", "old_backup", "operator_name", "order", "standby", "unlogged", "unsent"}
}

// Known returns what is wrong according to the configuration and the database alone,
// problems first. It changes nothing and connects to nothing else, so a running gateway
// can call it often. estimator is the fingerprint of the gateway's models, empty for
// none.
func Known(
	ctx context.Context, cfg config.Config, db *store.Store, estimator string, now time.Time,
) ([]Finding, error) {
	standing, err := db.Standing(ctx)
	if err != nil {
		return nil, err
	}
	trust, err := document.DependenciesOf(ctx, db, now)
	if err != nil {
		return nil, err
	}
	orders, err := orderFindings(ctx, db, cfg, now)
	if err != nil {
		return nil, err
	}
	drift, err := driftOf(ctx, db, estimator)
	if err != nil {
		return nil, err
	}
	all := slices.Concat(secureFindings(cfg), orders, standingFindings(standing, now), trustFindings(trust, now),
		[]Finding{drift})
	if cfg.ServesPages() {
		all = append(all, operatorFinding(cfg))
	}
	all = slices.DeleteFunc(all, func(f Finding) bool { return f.Grade == OK })
	// "problem" comes before "warning"
	slices.SortStableFunc(all, func(a, b Finding) int { return cmp.Compare(a.Grade, b.Grade) })
	return all, nil
}
