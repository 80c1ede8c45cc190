package app

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"agegate/internal/app/config"
	"agegate/internal/app/doctor"
	"agegate/internal/pages/dashboard"
	"agegate/internal/rules/credential"
)

// healthFor is how long findings are reused at least, and 20 times as long as reading them took: pages ask every 5 s.
const healthFor = 4 * time.Second

// health returns a function that reads the health of the installation, as far as this process knows it.
func (a *App) health(cfg config.Config, sealer *credential.Sealer) func(context.Context) (dashboard.Health, error) {
	known := dashboard.Health{Mail: cfg.SMTP != nil, Metrics: cfg.MetricsListen != ""}
	var reading sync.Mutex
	var until time.Time
	return func(ctx context.Context) (dashboard.Health, error) {
		reading.Lock()
		defer reading.Unlock()
		now := a.now()
		if now.Before(until) {
			return known, nil
		}
		found, err := doctor.Known(ctx, cfg, a.Store, sealer, now)
		if a.api.openID.Failed() {
			found = append(found, doctor.Finding{Name: "sso", Grade: doctor.Warning})
		}
		protection, unread := a.Store.Standing(ctx)
		if err = cmp.Or(err, unread); err != nil {
			return dashboard.Health{}, err
		}
		known.Findings, known.Free, known.Backup = healthFindings(found), doctor.FreeDisk(cfg), protection.LastBackup
		until = now.Add(max(healthFor, 20*a.now().Sub(now)))
		known.Estimate = a.pages != nil && (a.pages.pool == nil || !doctor.ForResearch(a.pages.pool.Manifest.Tail))
		return known, nil
	}
}

// healthFindings returns each finding once, by its name.
func healthFindings(found []doctor.Finding) (once []dashboard.Finding) {
	for _, f := range found {
		if !slices.ContainsFunc(once, func(o dashboard.Finding) bool { return o.Name == f.Name }) {
			once = append(once, dashboard.Finding{Name: f.Name, Problem: f.Grade == doctor.Problem, Tenants: f.Tenants})
		}
	}
	return once
}
