package dashboard

import (
	"net/http"

	"agegate/internal/pages/page"
	"agegate/internal/rules/tenant"
)

var rotateForm = &form{
	name:   "rotate",
	fields: []field{{name: "overlap", kind: "select", options: overlapNames, hint: true}},
}

// secretForm asks for confirmation before secrets are shown.
var secretForm = &form{name: "secret", again: true}

func (p *Pages) webhookSecret() feature {
	at := func(path string) route { return route{path: webhooksPath + path, minRole: developer, stepUp: inLive} }
	f := feature{screens: []string{"shown"}, keys: secretKeys("webhook")}
	f.ask(at("/secret"), secretForm, reveal(tenant.SecretWebhook, webhooksPath))
	f.ask(at("/rotate"), rotateForm, p.rotate)
	return f
}

func (p *Pages) rotate(r *request) (*question, error) {
	secrets, err := r.secretViews(tenant.SecretWebhook)
	q := &question{Back: r.path(webhooksPath), begin: []string{"overlap", "24h"}}
	for _, s := range secrets {
		if s.Ends == nil {
			q.Facts = append(q.Facts, page.Say("rotate.fact_signs", "at", stamp(s.Created)))
		} else {
			q.Facts = append(q.Facts, page.Say("rotate.fact_ends", "at", stamp(*s.Ends)))
		}
	}
	q.Facts = append(q.Facts, page.Say("rotate.fact_deliveries"))
	q.do = func(f *formView) error {
		overlap := overlaps[f.Value("overlap")]
		plain, err := p.cfg.Tenants.RotateWebhookSecret(r.ctx(), r.who.Actor(), r.access.TenantID(), r.access.Livemode(),
			overlap)
		if err != nil {
			return err
		}
		return r.render(http.StatusOK, "shown", &shownView{
			Title: page.Say("rotate.done"), Lead: page.Say("rotate.done_lead"), Back: r.path(webhooksPath),
			Values: []shownValue{{
				Label: page.Say("secret.active"), Value: plain,
				Note: page.Say("rotate.done_note", "end", stamp(p.cfg.Now().Add(overlap))),
			}},
		})
	}
	return q, err
}
