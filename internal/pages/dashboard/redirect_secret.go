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
	at := func(path string) route { return route{path: redirectPath + path, minRole: developer, stepUp: inLive} }
	f := feature{
		routes:  []route{{method: http.MethodGet, path: redirectPath, minRole: developer, handle: p.showRedirectSecret}},
		screens: []string{"redirect_secret", "shown"},
		keys:    secretKeys("redirect"),
	}
	f.ask(at("/secret"), secretForm, reveal(tenant.SecretRedirect, redirectPath))
	for _, step := range []struct {
		name stepName
		do   func(*request) error
	}{{stepStage, p.stage}, {stepPromote, p.promote}, {stepRetire, p.retire}} {
		name := "redirect_" + string(step.name)
		f.ask(at("/"+string(step.name)), &form{name: name},
			func(r *request) (*question, error) { return r.step(step.name, step.do) })
		f.keys = append(f.keys, name+".fact", name+".step", name+".text")
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

// stepView is a step, the time when it was taken, and whether it can be taken
// now.
type stepView struct {
	Name stepName
	At   *time.Time // when it was last taken, or nil
	Ends *time.Time // when its effect ends by itself, or nil
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

// stepsOf returns the three steps according to the secrets in force, newest
// first. A secret can be staged at any time: it replaces the staged one.
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

// step asks for confirmation before a step. A step that cannot be taken now
// redirects back.
func (r *request) step(name stepName, do func(*request) error) (*question, error) {
	secrets, err := r.secretViews(tenant.SecretRedirect)
	if err != nil {
		return nil, err
	}
	for _, step := range stepsOf(secrets) {
		if step.Name == name && step.Href == "" {
			return nil, elsewhere(r.path(redirectPath))
		}
	}
	return &question{
		Facts: []page.Text{page.Say("redirect_" + string(name) + ".fact")}, Safe: name == stepStage,
		Back: r.path(redirectPath),
		do:   func(*formView) error { return do(r) },
	}, nil
}

func (p *Pages) stage(r *request) error {
	plain, err := p.cfg.Tenants.StageRedirectSecret(r.ctx(), r.who.Actor(), r.access.TenantID(), r.access.Livemode())
	if err != nil {
		return err
	}
	return r.render(http.StatusOK, "shown", &shownView{
		Title: page.Say("redirect_secret.staged"), Lead: page.Say("redirect_secret.staged_lead"), Back: r.path(redirectPath),
		Values: []shownValue{{Label: page.Say("secret.staged"), Value: plain,
			Note: page.Say("redirect_secret.note_staged", "end", "")}},
	})
}

func (p *Pages) promote(r *request) error {
	err := p.cfg.Tenants.PromoteRedirectSecret(r.ctx(), r.who.Actor(), r.access.TenantID(), r.access.Livemode())
	return p.stepped(r, err, "secret_promoted")
}

func (p *Pages) retire(r *request) error {
	err := p.cfg.Tenants.RetireRedirectSecret(r.ctx(), r.who.Actor(), r.access.TenantID(), r.access.Livemode())
	return p.stepped(r, err, "secret_retired")
}

// stepped finishes a step. If another user has taken it in the meantime, it
// redirects back.
func (p *Pages) stepped(r *request, err error, notice string) error {
	if fault.CodeOf(err) == fault.NotFound {
		notice, err = "", nil
	}
	if err != nil {
		return err
	}
	return r.done(r.path(redirectPath), notice)
}
