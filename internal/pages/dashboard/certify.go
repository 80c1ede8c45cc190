package dashboard

import (
	"slices"
	"strings"
	"time"

	"agegate/internal/backoffice/certify"
	"agegate/internal/backoffice/suite"
	"agegate/internal/pages/dashboard/desk"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/webhook"
)

const certifyPath = webhooksPath + "/certify"

var certifyForm = &desk.Form{
	Name: "certify",
	Problems: map[error]string{
		certify.ErrTooSoon: "too_soon", certify.ErrDisabled: "disabled", errNoWebhook: "no_url",
	},
}

// verdicts are the tones of outcomes, whose texts are certify.<outcome>.
var verdicts = map[suite.Outcome]string{suite.Passed: "good", suite.Failed: "bad", suite.Skipped: "plain"}

// worstFirst is the order of a group's cases.
var worstFirst = []suite.Outcome{suite.Failed, suite.Skipped, suite.Passed}

// certifiedGroups are the groups in which a run's cases are shown; each proves one thing,
// as certify.proves_<group> says. A case that is in none is in the last.
var certifiedGroups = []struct {
	name  string
	cases []string
}{
	{"forged", strings.Fields("flipped foreign-secret stale early missing-header swapped-id empty-signature " +
		"respelled-signature empty-key respelled")},
	{"spelled", strings.Fields("good rotation header-names unknown-scheme spelling unknown-members")},
	{"once", strings.Fields("fallback duplicate forged-first at-once out-of-order")},
}

func (p *Pages) certify() desk.Feature {
	f := desk.Feature{Screens: []string{"certify"}}
	f.Fill(desk.Route{Path: certifyPath, MinRole: desk.Developer, TestOnly: true}, certifyForm, p.startCertify)
	for outcome := range verdicts {
		f.Keys = append(f.Keys, "certify."+string(outcome))
	}
	for _, group := range certifiedGroups {
		f.Keys = append(f.Keys, "certify.group_"+group.name, "certify.proves_"+group.name)
	}
	for _, code := range certify.Codes() {
		f.Keys = append(f.Keys, "certify.found_"+string(code))
	}
	for _, c := range certify.Plan() {
		if c.ByAnswer {
			f.Keys = append(f.Keys, "certify.case."+c.Name, "certify.fix."+c.Name)
		}
	}
	return f
}

type certifyView struct {
	desk.Layout
	URL     string
	Form    *desk.FormView
	Started *time.Time // of the last run; nil before the first
	Running bool
	Ended   bool // the run was not interrupted
	Passed  int
	Cases   int
	Groups  []certifiedGroup // those with the most failures first
	Back    string
}

// certifiedGroup is a group of cases that were tried, the failed ones first.
type certifiedGroup struct {
	Name   string
	Passed int
	Failed int
	Rows   []certifiedRow
}

// certifiedRow is a case of a run.
type certifiedRow struct {
	certify.Result
	Tone string
	// Key is the name of the case's texts; empty for a case that only the command
	// tries, whose texts are English.
	Key string
}

func (p *Pages) certifyPage(r *desk.Request, status int, f *desk.FormView) error {
	v := &certifyView{URL: r.Tenant.WebhookURL, Form: f, Back: r.Href(webhooksPath)}
	last, err := p.cfg.Certify.Last(r.Ctx(), r.Access.TenantID(),
		webhook.EndpointID(r.Access.TenantID(), false, r.Tenant.WebhookURL))
	switch {
	case fault.CodeOf(err) == fault.NotFound:
	case err != nil:
		return err
	default:
		v.Started = &last.StartedAt
		v.Running = last.Running(p.cfg.Now())
		v.Ended = len(last.Results) > 0
	}
	v.Groups = p.certifiedGroups(last.Results)
	for _, group := range v.Groups {
		v.Passed += group.Passed
		v.Cases += len(group.Rows)
	}
	return r.Show(status, "certify", v)
}

// certifiedGroups returns the groups that have results, and their rows, in the order that
// certifyView and certifiedGroup say.
func (p *Pages) certifiedGroups(results []certify.Result) []certifiedGroup {
	groups := make([]certifiedGroup, len(certifiedGroups))
	at := map[string]int{} // the group of each case
	for i, group := range certifiedGroups {
		groups[i].Name = group.name
		for _, name := range group.cases {
			at["webhook."+name] = i
		}
	}
	for _, result := range results {
		i, known := at[result.Case]
		if !known {
			i = len(groups) - 1
		}
		group := &groups[i]
		row := certifiedRow{Result: result, Tone: verdicts[result.Outcome]}
		if p.Set.Has("certify.case." + result.Case) {
			row.Key = result.Case
		}
		switch result.Outcome {
		case suite.Passed:
			group.Passed++
		case suite.Failed:
			group.Failed++
		}
		group.Rows = append(group.Rows, row)
	}
	groups = slices.DeleteFunc(groups, func(g certifiedGroup) bool { return g.Rows == nil })
	for _, g := range groups {
		slices.SortStableFunc(g.Rows, func(a, b certifiedRow) int {
			return slices.Index(worstFirst, a.Outcome) - slices.Index(worstFirst, b.Outcome)
		})
	}
	slices.SortStableFunc(groups, func(a, b certifiedGroup) int { return b.Failed - a.Failed })
	return groups
}

func (p *Pages) startCertify(r *desk.Request) (*desk.Question, error) {
	return &desk.Question{
		Show: func(status int, f *desk.FormView) error { return p.certifyPage(r, status, f) },
		Do: func(*desk.FormView) error {
			if r.Tenant.WebhookURL == "" {
				return errNoWebhook
			}
			if err := p.cfg.Certify.Start(r.Ctx(), r.Who.Actor(), r.Access.TenantID()); err != nil {
				return err
			}
			return r.Done(r.Href(certifyPath), "certifying")
		},
	}, nil
}
