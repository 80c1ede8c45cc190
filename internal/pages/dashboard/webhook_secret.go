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

func (p *Pages) webhookSecret() feature {
	return feature{
		routes: []route{
			{method: http.MethodGet, path: webhooksPath + "/secret", least: developer, stepUp: inLive, handle: p.showWebhookSecret},
			{method: http.MethodPost, path: webhooksPath + "/secret", least: developer, stepUp: inLive, handle: p.revealWebhookSecret},
			{method: http.MethodGet, path: webhooksPath + "/rotate", least: developer, stepUp: inLive, handle: p.showRotate},
			{method: http.MethodPost, path: webhooksPath + "/rotate", least: developer, stepUp: inLive, handle: p.rotate},
		},
		screens: []string{"confirm", "shown"},
		forms:   []*form{rotateForm},
		keys: append(secretKeys("webhook"),
			"secret.title", "secret.body", "secret.button", "rotate.title", "rotate.body", "rotate.button", "rotate.fact_signs", "rotate.fact_ends",
			"rotate.fact_deliveries", "rotate.done", "rotate.done_lead", "rotate.done_note"),
	}
}

// askReveal asks before secrets are shown.
func (r *request) askReveal(back string) error {
	return r.confirm(&confirmView{
		Title: page.Say("secret.title"), Body: page.Say("secret.body"), Button: page.Say("secret.button"), Safe: true, Back: back,
	}, nil)
}

func (p *Pages) showWebhookSecret(r *request) error { return r.askReveal(r.path(webhooksPath)) }

func (p *Pages) revealWebhookSecret(r *request) error {
	return r.reveal(tenant.SecretWebhook, r.path(webhooksPath))
}

func (p *Pages) showRotate(r *request) error {
	f, err := r.blank(rotateForm)
	if err != nil {
		return err
	}
	return p.rotatePage(r, http.StatusOK, f.With("overlap", "24h"))
}

func (p *Pages) rotatePage(r *request, status int, f *formView) error {
	secrets, err := r.secretViews(tenant.SecretWebhook)
	if err != nil {
		return err
	}
	v := &confirmView{
		Title: page.Say("rotate.title"), Body: page.Say("rotate.body"), Button: page.Say("rotate.button"),
		Back: r.path(webhooksPath), Form: f,
	}
	for _, s := range secrets {
		if s.Ends == nil {
			v.Facts = append(v.Facts, page.Say("rotate.fact_signs", "at", stamp(s.Created)))
		} else {
			v.Facts = append(v.Facts, page.Say("rotate.fact_ends", "at", stamp(*s.Ends)))
		}
	}
	v.Facts = append(v.Facts, page.Say("rotate.fact_deliveries"))
	return r.render(status, "confirm", v)
}

func (p *Pages) rotate(r *request) error {
	f, err := r.read(rotateForm)
	if err != nil {
		return err
	}
	if !f.ok() {
		return p.rotatePage(r, http.StatusUnprocessableEntity, f)
	}
	if err := r.once(f); err != nil {
		return err
	}
	overlap := overlaps[f.Value("overlap")]
	plain, err := p.cfg.Tenants.RotateWebhookSecret(r.ctx(), r.who.Actor(), r.access.TenantID(), r.access.Livemode(), overlap)
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
