package dashboard

import (
	"strconv"
	"strings"

	"agegate/internal/backoffice/insight"
	"agegate/internal/pages/dashboard/desk"
	"agegate/internal/rules/tenant"
)

// marginView is a tenant's own margin for a target age.
type marginView struct {
	Target int
	Years  float64
	Raised bool // the operator's least margin is above it, and counts
}

// marginEffect is what another margin for a target age changes.
type marginEffect struct {
	Target             int
	Now, Then          float64 // margins in years
	Cutoff, NextCutoff float64 // estimates needed
	Reach              insight.Reach
	Stored, Would      float64 // shares of the estimates in Reach, in per cent
}

// marginOf returns the margin in the form, or nil after it has marked what is wrong.
func marginOf(f *desk.FormView, rule tenant.MarginRule) *tenant.TargetMargin {
	target, err := strconv.Atoi(f.Value("target"))
	if err != nil || target < tenant.MinTarget || target > tenant.MaxTarget {
		f.Mark("target", "margins.problem.target", "least", tenant.MinTarget, "most", tenant.MaxTarget)
	}
	text := strings.Replace(f.Value("margin"), ",", ".", 1) // as some languages write it
	if years, ok := tenant.ParseMargin(text); text != "" && (!ok || years < rule.Least) {
		f.Mark("margin", "margins.problem.years", "least", rule.Least)
	}
	if f.Field("target").Problem != nil || f.Field("margin").Problem != nil {
		return nil
	}
	return &tenant.TargetMargin{Target: target, Years: text}
}

// ownMargin returns the tenant's own margin for a target age, or "".
func ownMargin(t tenant.Tenant, target int) string {
	for _, one := range t.Margins {
		if at, years, _ := strings.Cut(one, "="); at == strconv.Itoa(target) {
			return years
		}
	}
	return ""
}

// marginViews lists the tenant's own margins.
func marginViews(t tenant.Tenant, rule tenant.MarginRule) []marginView {
	var views []marginView
	for _, one := range t.Margins {
		at, own, _ := strings.Cut(one, "=")
		target, _ := strconv.Atoi(at)
		years, _ := tenant.ParseMargin(own)
		inForce := t.Margin(target, rule)
		views = append(views, marginView{target, inForce, inForce > years})
	}
	return views
}

// effectOf counts what a change of a margin would have changed: among the tenant's own checks of the last 30
// days, and among the estimates that shoppers let it store. Only counts are shown, never an estimate.
func (p *Pages) effectOf(r *desk.Request, change *tenant.TargetMargin, rule tenant.MarginRule) (*marginEffect, error) {
	next := tenant.Changes{Margin: change}.Apply(r.Tenant)
	now, then := r.Tenant.Margin(change.Target, rule), next.Margin(change.Target, rule)
	cutoffs := [2]float64{float64(change.Target) + now, float64(change.Target) + then}
	reach, err := p.cfg.Insight.ReachOf(r.Ctx(), r.Access.TenantID(), change.Target, cutoffs)
	return &marginEffect{change.Target, now, then, cutoffs[0], cutoffs[1], reach,
		round(100 * insight.RateOf(reach.First, reach.Of).Share),
		round(100 * insight.RateOf(reach.Other, reach.Of).Share)}, err
}
