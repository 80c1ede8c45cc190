package dashboard

import (
	"time"

	"agegate/internal/backoffice/certify"
	"agegate/internal/backoffice/suite"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/webhook"
)

const certifyPath = webhooksPath + "/certify"

var certifyForm = &form{
	name: "certify",
	problems: map[error]string{
		certify.ErrTooSoon: "too_soon", certify.ErrDisabled: "disabled", errNoWebhook: "no_url",
	},
}

// verdicts are the tones of outcomes, whose texts are certify.<outcome>.
var verdicts = map[suite.Outcome]string{suite.Passed: "good", suite.Failed: "bad", suite.Skipped: "plain"}

func (p *Pages) certify() feature {
	f := feature{screens: []string{"certify"}}
	f.fill(route{path: certifyPath, minRole: developer, testOnly: true}, certifyForm, p.startCertify)
	for outcome := range verdicts {
		f.keys = append(f.keys, "certify."+string(outcome))
	}
	for _, code := range certify.Codes() {
		f.keys = append(f.keys, "certify.found_"+string(code))
	}
	for _, c := range certify.Plan() {
		if c.ByAnswer {
			f.keys = append(f.keys, "certify.case."+c.Name, "certify.fix."+c.Name)
		}
	}
	return f
}

type certifyView struct {
	layout
	URL     string
	Form    *formView
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

func (p *Pages) certifyPage(r *request, status int, f *formView) error {
	v := &certifyView{URL: r.tenant.WebhookURL, Form: f, Back: r.path(webhooksPath)}
	last, err := p.cfg.Certify.Last(r.ctx(), r.access.TenantID(),
		webhook.EndpointID(r.access.TenantID(), false, r.tenant.WebhookURL))
	switch {
	case fault.CodeOf(err) == fault.NotFound:
	case err != nil:
		return err
	default:
		v.Started, v.Running, v.Ended = &last.StartedAt, last.Running(p.cfg.Now()), len(last.Results) > 0
	}
	for _, result := range last.Results {
		row := certifiedRow{Result: result, Tone: verdicts[result.Outcome]}
		if p.set.Has("certify.case." + result.Case) {
			row.Key = result.Case
		}
		if result.Outcome == suite.Passed {
			v.Passed++
		}
		v.Rows = append(v.Rows, row)
	}
	return r.render(status, "certify", v)
}

func (p *Pages) startCertify(r *request) (*question, error) {
	return &question{
		show: func(status int, f *formView) error { return p.certifyPage(r, status, f) },
		do: func(*formView) error {
			if r.tenant.WebhookURL == "" {
				return errNoWebhook
			}
			if err := p.cfg.Certify.Start(r.ctx(), r.who.Actor(), r.access.TenantID()); err != nil {
				return err
			}
			return r.done(r.path(certifyPath), "certifying")
		},
	}, nil
}
