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

// beginDeciding records the settings and files that determine the results of this process's camera checks, what its
// jobs delete and who logs in by the provider, as far as it does these.
func (a *App) beginDeciding(ctx context.Context, cfg config.Config) error {
	decides := map[string]string{}
	if a.api != nil {
		decides["AGEGATE_OIDC_ISSUER"], decides["AGEGATE_OIDC_ROLES"] = cfg.SSO.Issuer, cfg.SSO.Roles
		if decides["AGEGATE_RETENTION"] = ""; cfg.Retention > 0 {
			decides["AGEGATE_RETENTION"] = strconv.Itoa(int(cfg.Retention.Hours()/24)) + "d"
		}
	}
	if a.decides != "" {
		decides["age_margin"] = strconv.FormatFloat(cfg.Margin.Usual, 'f', -1, 64)
		decides["estimator"], decides["models"] = a.decides, a.replica.Models
	}
	return recordDeciding(ctx, a.Store, a.now(), decides)
}

// recordDeciding writes an entry to the instance's audit log if these settings and files differ from the newest such
// entry, which names all that are set. Replicas that start at the same time may each write one.
func recordDeciding(ctx context.Context, s *store.Store, at time.Time, decides map[string]string) error {
	last, err := s.AuditEntries(ctx, audit.Filter{Scope: audit.Instance, Action: audit.GatewayConfigure, Limit: 1})
	if err != nil {
		return err
	}
	before, after := map[string]string(nil), map[string]string{}
	if len(last) > 0 {
		before = last[0].Details().Params
		delete(before, "drift_step") // a setting of release 0.2
	}
	maps.Copy(after, before)
	maps.Copy(after, decides)
	maps.DeleteFunc(after, func(_, value string) bool { return value == "" })
	if maps.Equal(before, after) {
		return nil
	}
	act := audit.Act{Scope: audit.Instance, At: at, Actor: audit.System("start"), Action: audit.GatewayConfigure,
		Detail: audit.Detail{Params: after}}
	for _, name := range slices.Sorted(maps.Keys(decides)) {
		if before[name] != decides[name] {
			act.Detail.Changes = append(act.Detail.Changes, audit.Change{Setting: name, Old: before[name], New: decides[name]})
		}
	}
	return s.AppendAct(ctx, act)
}
