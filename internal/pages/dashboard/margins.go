package dashboard

import (
	"math"
	"strconv"
	"strings"

	"agegate/internal/backoffice/insight"
	"agegate/internal/pages/dashboard/desk"
	"agegate/internal/pages/page"
	"agegate/internal/rules/tenant"
)

// marginView is a tenant's own margin for a target age.
type marginView struct {
	Target int
	Years  string
	Raised bool // the operator's least margin is above it, and counts
}

// marginEffect is what another margin for a target age changes.
type marginEffect struct {
	Target             int
	Now, Then          string // margins in years
	Cutoff, NextCutoff string // estimates needed
	Reach              insight.Reach
	Stored, Would      page.Text // shares of the estimates in Reach
}

// marginOf returns the margin in the form, or nil after it has marked what is wrong.
func marginOf(f *desk.FormView, rule tenant.MarginRule) *tenant.TargetMargin {
	target, err := strconv.Atoi(f.Value("target"))
	if err != nil || target < tenant.MinTarget || target > tenant.MaxTarget {
		f.Mark("target", "margins.problem.target", "least", tenant.MinTarget, "most", tenant.MaxTarget)
	}
	text := strings.Replace(f.Value("margin"), ",", ".", 1) // as some languages write it
	switch years, ok := tenant.ParseMargin(text); {
	case text == "":
	case !ok:
		f.Mark("margin", "margins.problem.years")
	case years < rule.Least:
		f.Mark("margin", "margins.problem.low", "least", yearsOf(rule.Least))
	}
	if f.Field("target").Problem != nil || f.Field("margin").Problem != nil {
		return nil
	}
	return &tenant.TargetMargin{Target: target, Years: text}
}

// yearsOf writes years with as many decimals as they have.
func yearsOf(years float64) string { return strconv.FormatFloat(years, 'f', -1, 64) }

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
		inForce := yearsOf(t.Margin(target, rule))
		views = append(views, marginView{target, inForce, inForce != own})
	}
	return views
}

// effectOf counts what a change of a margin would have changed: among the tenant's own
// checks of the last 30 days, and among the estimates that shoppers let it store. Only
// counts are shown, never an estimate.
func (p *Pages) effectOf(
	r *desk.Request, change *tenant.TargetMargin, rule tenant.MarginRule,
) (*marginEffect, error) {
	next := tenant.Changes{Margin: change}.Apply(r.Tenant)
	now, then := r.Tenant.Margin(change.Target, rule), next.Margin(change.Target, rule)
	cutoffs := [2]float64{float64(change.Target) + now, float64(change.Target) + then}
	e := &marginEffect{
		Target: change.Target, Now: yearsOf(now), Then: yearsOf(then),
		Cutoff: yearsOf(cutoffs[0]), NextCutoff: yearsOf(cutoffs[1]),
	}
	var err error
	e.Reach, err = p.cfg.Insight.ReachOf(r.Ctx(), r.Access.TenantID(), change.Target, cutoffs)
	e.Stored, e.Would = tenthsOf(e.Reach.First, e.Reach.Of), tenthsOf(e.Reach.Other, e.Reach.Of)
	return e, err
}

// tenthsOf returns a share in per cent, with one decimal. The separator depends on the
// language.
func tenthsOf(n, of int64) page.Text {
	tenths := int(math.Round(1000 * insight.RateOf(n, of).Share))
	return page.Say("margins.share", "whole", tenths/10, "tenth", tenths%10)
}
