package dashboard

import (
	"net/http"
	"time"

	"agegate/internal/pages/page"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/tenant"
)

const redirectPath = overviewPath + "/redirect-secret"

func (p *Pages) redirectSecret() feature {
	f := feature{
		routes: []route{
			{method: http.MethodGet, path: redirectPath, least: developer, handle: p.showRedirectSecret},
			{method: http.MethodGet, path: redirectPath + "/secret", least: developer, stepUp: inLive, handle: p.askRedirectSecret},
			{method: http.MethodPost, path: redirectPath + "/secret", least: developer, stepUp: inLive, handle: p.revealRedirectSecret},
		},
		screens: []string{"redirect_secret", "confirm", "shown"},
		notices: []string{"secret_promoted", "secret_retired"},
		keys:    append(secretKeys("redirect"), "redirect_secret.staged", "redirect_secret.staged_lead"),
	}
	for _, act := range []struct {
		step stepName
		do   func(*request) error
	}{{stepStage, p.stage}, {stepPromote, p.promote}, {stepRetire, p.retire}} {
		name := string(act.step)
		show := func(r *request) error { return p.showStep(r, act.step) }
		f.routes = append(f.routes,
			route{method: http.MethodGet, path: redirectPath + "/" + name, least: developer, stepUp: inLive, handle: show},
			route{method: http.MethodPost, path: redirectPath + "/" + name, least: developer, stepUp: inLive, handle: act.do})
		for _, part := range []string{"_title", "_body", "_button", "_fact", "_step", "_text"} {
			f.keys = append(f.keys, "redirect_secret."+name+part)
		}
	}
	return f
}

// stepName is a step of replacing the redirect secret.
type stepName string

const (
	stepStage   stepName = "stage"
	stepPromote stepName = "promote"
	stepRetire  stepName = "retire"
)

type redirectView struct {
	layout
	Secrets       []secretView
	Steps         []stepView
	Reveal, Debug string // addresses
}

// stepView is a step, when it was taken, and whether it can be taken now.
type stepView struct {
	Name stepName
	At   *time.Time // when it was taken last, or nil
	Ends *time.Time // when what it began ends by itself, or nil
	Href string     // empty when it cannot be taken now
}

func (p *Pages) showRedirectSecret(r *request) error {
	secrets, err := r.secretViews(tenant.SecretRedirect)
	if err != nil {
		return err
	}
	v := &redirectView{Secrets: secrets, Reveal: r.path(redirectPath + "/secret"), Debug: r.path(redirectPath + "/verify")}
	for _, step := range stepsOf(secrets) {
		if step.Href != "" {
			step.Href = r.path(redirectPath + step.Href)
		}
		v.Steps = append(v.Steps, step)
	}
	return r.render(http.StatusOK, "redirect_secret", v)
}

// stepsOf returns the three steps as the secrets in force, newest first, tell of
// them. Another secret can be staged at any time: it replaces the staged one.
func stepsOf(secrets []secretView) []stepView {
	stage := stepView{Name: stepStage, Href: "/stage"}
	promote, retire := stepView{Name: stepPromote}, stepView{Name: stepRetire}
	for _, s := range secrets {
		switch tenant.SecretState(s.State) {
		case tenant.SecretStaged:
			stage.At, promote.Href = &s.Created, "/promote"
		case tenant.SecretRetiring:
			if promote.At == nil {
				promoted := s.Ends.Add(-tenant.RedirectRetirement)
				promote.At, retire.Ends, retire.Href = &promoted, s.Ends, "/retire"
			}
		}
	}
	return []stepView{stage, promote, retire}
}

func (p *Pages) askRedirectSecret(r *request) error { return r.askReveal(r.path(redirectPath)) }

func (p *Pages) revealRedirectSecret(r *request) error {
	return r.reveal(tenant.SecretRedirect, r.path(redirectPath))
}

// showStep asks before a step. One that cannot be taken now leads back.
func (p *Pages) showStep(r *request, name stepName) error {
	secrets, err := r.secretViews(tenant.SecretRedirect)
	if err != nil {
		return err
	}
	for _, step := range stepsOf(secrets) {
		if step.Name == name && step.Href == "" {
			return r.done(r.path(redirectPath), "")
		}
	}
	prefix := "redirect_secret." + string(name)
	return r.confirm(&confirmView{
		Title: page.Say(prefix + "_title"), Body: page.Say(prefix + "_body"), Button: page.Say(prefix + "_button"),
		Facts: []page.Text{page.Say(prefix + "_fact")}, Safe: name == stepStage, Back: r.path(redirectPath),
	}, nil)
}

func (p *Pages) stage(r *request) error {
	if err := r.takeOnce(); err != nil {
		return err
	}
	plain, err := p.cfg.Tenants.StageRedirectSecret(r.ctx(), r.who.Actor(), r.access.TenantID(), r.access.Livemode())
	if err != nil {
		return err
	}
	return r.render(http.StatusOK, "shown", &shownView{
		Title: page.Say("redirect_secret.staged"), Lead: page.Say("redirect_secret.staged_lead"), Back: r.path(redirectPath),
		Values: []shownValue{{Label: page.Say("secret.staged"), Value: plain, Note: page.Say("redirect_secret.note_staged", "end", "")}},
	})
}

func (p *Pages) promote(r *request) error {
	if err := r.takeOnce(); err != nil {
		return err
	}
	err := p.cfg.Tenants.PromoteRedirectSecret(r.ctx(), r.who.Actor(), r.access.TenantID(), r.access.Livemode())
	return p.stepped(r, err, "secret_promoted")
}

func (p *Pages) retire(r *request) error {
	if err := r.takeOnce(); err != nil {
		return err
	}
	err := p.cfg.Tenants.RetireRedirectSecret(r.ctx(), r.who.Actor(), r.access.TenantID(), r.access.Livemode())
	return p.stepped(r, err, "secret_retired")
}

// stepped ends a step. One that somebody else has taken meanwhile leads back.
func (p *Pages) stepped(r *request, err error, notice string) error {
	if fault.CodeOf(err) == fault.NotFound {
		notice, err = "", nil
	}
	if err != nil {
		return err
	}
	return r.done(r.path(redirectPath), notice)
}
