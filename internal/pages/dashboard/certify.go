package dashboard

import (
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

func (p *Pages) certify() desk.Feature {
	f := desk.Feature{Screens: []string{"certify"}}
	f.Fill(desk.Route{Path: certifyPath, MinRole: desk.Developer, TestOnly: true}, certifyForm, p.startCertify)
	for outcome := range verdicts {
		f.Keys = append(f.Keys, "certify."+string(outcome))
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
	Rows    []certifiedRow
	Back    string
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
	for _, result := range last.Results {
		row := certifiedRow{Result: result, Tone: verdicts[result.Outcome]}
		if p.Set.Has("certify.case." + result.Case) {
			row.Key = result.Case
		}
		if result.Outcome == suite.Passed {
			v.Passed++
		}
		v.Rows = append(v.Rows, row)
	}
	return r.Show(status, "certify", v)
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
