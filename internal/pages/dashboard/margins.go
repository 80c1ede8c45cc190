package dashboard

import (
	"math"
	"net/http"
	"strconv"
	"strings"

	"agegate/internal/backoffice/insight"
	"agegate/internal/pages/dashboard/desk"
	"agegate/internal/pages/page"
	"agegate/internal/rules/tenant"
)

const marginsPath = settingsPath + "/margins"

var marginsForm = &desk.Form{
	Name: "margins", Again: true, // the effect may be shown twice
	Fields: []desk.Field{
		{Name: "target", Kind: "text", Max: 2}, {Name: "margin", Kind: "text", Max: 6, Optional: true, Hint: true},
	},
}

func (p *Pages) margins() desk.Feature {
	f := desk.Feature{
		Screens: []string{"margins"},
		Keys:    []string{"margins.problem.target", "margins.problem.years", "margins.problem.low", "margins.share"},
	}
	f.Fill(desk.Route{Path: marginsPath, MinRole: desk.Owner}, marginsForm, p.saveMargin)
	return f
}

// marginView is a tenant's own margin for a target age.
type marginView struct {
	Target int
	Years  string
	Raised bool // the operator's least margin is above it, and counts
}

type marginsView struct {
	desk.Layout
	Form         *desk.FormView
	Usual, Least string // years
	Own          []marginView
	Effect       *marginEffect // nil before it is asked for
	Back         string
	Evidence     string // address of the evidence packs, for those who make them
}

// marginEffect is what another margin for a target age changes.
type marginEffect struct {
	Target             int
	Now, Then          string // margins in years
	Cutoff, NextCutoff string // estimates needed
	Decided, Passed    string // by the camera
	Reach              insight.Reach
	Stored, Would      page.Text // shares of the estimates in Reach
}

// saveMargin saves the margin for a target age. With the button "effect" it only
// shows what the margin changes.
func (p *Pages) saveMargin(r *desk.Request) (*desk.Question, error) {
	rule := p.cfg.Tenants.Margin
	show := func(status int, f *desk.FormView, effect *marginEffect) error {
		return r.Show(status, "margins", &marginsView{
			Form: f, Usual: yearsOf(rule.Usual), Least: yearsOf(rule.Least), Own: marginViews(r.Tenant, rule), Effect: effect,
			Back: r.To(settingsPath), Evidence: r.Editing(evidencePath),
		})
	}
	q := p.change(r, &desk.Question{
		Begin: []string{"target", "18", "margin", ownMargin(r.Tenant, 18)},
		Show:  func(status int, f *desk.FormView) error { return show(status, f, nil) },
	}, func(f *desk.FormView) tenant.Changes {
		return tenant.Changes{Margin: marginOf(f, rule)}
	}, r.To(marginsPath), "settings_saved")
	check, save := q.Check, q.Do
	q.Check = func(f *desk.FormView) error {
		if marginOf(f, rule); !f.OK() {
			return nil
		}
		return check(f)
	}
	q.Do = func(f *desk.FormView) error {
		if !r.Request().PostForm.Has("effect") {
			if err := r.Once(f); err != nil {
				return err
			}
			return save(f)
		}
		effect, err := p.effectOf(r, marginOf(f, rule), rule)
		if err != nil {
			return err
		}
		return show(http.StatusOK, f, effect)
	}
	return q, nil
}

// marginOf returns the change in the form, and marks what is wrong with it.
func marginOf(f *desk.FormView, rule tenant.MarginRule) *tenant.TargetMargin {
	target, err := strconv.Atoi(f.Value("target"))
	if err != nil || target < tenant.MinTarget || target > tenant.MaxTarget {
		f.Mark("target", "margins.problem.target", "least", tenant.MinTarget, "most", tenant.MaxTarget)
	}
	text := strings.Replace(f.Value("margin"), ",", ".", 1) // as some languages write it
	if text == "" {
		return &tenant.TargetMargin{Target: target}
	}
	switch years, ok := tenant.ParseMargin(text); {
	case !ok:
		f.Mark("margin", "margins.problem.years")
	case years < rule.Least:
		f.Mark("margin", "margins.problem.low", "least", yearsOf(rule.Least))
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
	e.Decided, e.Passed = figure(e.Reach.Decided), figure(e.Reach.Passed)
	e.Stored, e.Would = tenthsOf(e.Reach.First, e.Reach.Of), tenthsOf(e.Reach.Other, e.Reach.Of)
	return e, err
}

// tenthsOf returns a share in per cent, with one decimal. The separator depends on the
// language.
func tenthsOf(n, of int64) page.Text {
	tenths := int(math.Round(1000 * insight.RateOf(n, of).Share))
	return page.Say("margins.share", "whole", tenths/10, "tenth", tenths%10)
}
