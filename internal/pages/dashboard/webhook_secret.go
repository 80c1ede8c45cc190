package dashboard

import (
	"net/http"

	"agegate/internal/pages/dashboard/desk"
	"agegate/internal/pages/page"
	"agegate/internal/rules/tenant"
)

var rotateForm = &desk.Form{
	Name:   "rotate",
	Fields: []desk.Field{{Name: "overlap", Kind: "select", Options: overlapNames, Hint: true}},
}

// secretForm asks for confirmation before secrets are shown.
var secretForm = &desk.Form{Name: "secret", Again: true}

func (p *Pages) webhookSecret() desk.Feature {
	at := func(path string) desk.Route {
		return desk.Route{Path: webhooksPath + path, MinRole: desk.Developer, StepUp: desk.InLive}
	}
	f := desk.Feature{Screens: []string{"shown"}, Keys: secretKeys("webhook")}
	f.Ask(at("/secret"), secretForm, p.askToReveal(tenant.SecretWebhook, webhooksPath))
	f.Ask(at("/rotate"), rotateForm, p.rotate)
	return f
}

func (p *Pages) rotate(r *desk.Request) (*desk.Question, error) {
	secrets, err := p.secretViews(r, tenant.SecretWebhook)
	q := &desk.Question{Back: r.Href(webhooksPath), Begin: []string{"overlap", "24h"}}
	for _, s := range secrets {
		if s.Ends == nil {
			q.Facts = append(q.Facts, page.Say("rotate.fact_signs", "at", stamp(r, s.Created)))
		} else {
			q.Facts = append(q.Facts, page.Say("rotate.fact_ends", "at", stamp(r, *s.Ends)))
		}
	}
	q.Facts = append(q.Facts, page.Say("rotate.fact_deliveries"))
	q.Do = func(f *desk.FormView) error {
		overlap := overlaps[f.Value("overlap")]
		plain, err := p.cfg.Tenants.RotateWebhookSecret(r.Ctx(), r.Who.Actor(), r.Access.TenantID(), r.Access.Livemode(),
			overlap)
		if err != nil {
			return err
		}
		return r.Show(http.StatusOK, "shown", &shownView{
			Title: page.Say("rotate.done"), Lead: page.Say("rotate.done_lead"), Back: r.Href(webhooksPath),
			Values: []shownValue{{
				Label: page.Say("secret.active"), Value: plain,
				Note: page.Say("rotate.done_note", "end", stamp(r, p.cfg.Now().Add(overlap))),
			}},
		})
	}
	return q, err
}
