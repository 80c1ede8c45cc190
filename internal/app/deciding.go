package app

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"time"

	"agegate/internal/app/config"
	"agegate/internal/rules/audit"
	"agegate/internal/store"
)

// beginDeciding records the settings and files that determine the results of this
// process's camera checks, if it makes any.
func (a *App) beginDeciding(ctx context.Context, cfg config.Config) error {
	if a.decides == "" {
		return nil
	}
	return recordDeciding(ctx, a.Store, a.now(), map[string]string{
		"age_margin": strconv.FormatFloat(cfg.Margin.Usual, 'f', -1, 64), "estimator": a.decides, "models": a.replica.Models,
	})
}

// recordDeciding writes an entry to the instance's audit log if these settings and files differ from the newest such
// entry. Replicas that start at the same time may each write one.
func recordDeciding(ctx context.Context, s *store.Store, at time.Time, decides map[string]string) error {
	last, err := s.AuditEntries(ctx, audit.Filter{Scope: audit.Instance, Action: audit.GatewayConfigure, Limit: 1})
	if err != nil {
		return err
	}
	var before map[string]string
	if len(last) > 0 {
		before = last[0].Details().Params
		delete(before, "drift_step") // a setting of release 0.2
	}
	if maps.Equal(before, decides) {
		return nil
	}
	act := audit.Act{
		Scope: audit.Instance, At: at, Actor: audit.System("start"), Action: audit.GatewayConfigure,
		Detail: audit.Detail{Params: decides},
	}
	for _, name := range slices.Sorted(maps.Keys(decides)) {
		if before[name] != decides[name] {
			act.Detail.Changes = append(act.Detail.Changes, audit.Change{Setting: name, Old: before[name], New: decides[name]})
		}
	}
	return s.AppendAct(ctx, act)
}
