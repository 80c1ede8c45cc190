package dashboard

import (
	"net/http"
	"time"

	"agegate/internal/pages/dashboard/desk"
	"agegate/internal/pages/page"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/tenant"
)

const redirectPath = overviewPath + "/redirect-secret"

func (p *Pages) redirectSecret() desk.Feature {
	at := func(path string) desk.Route {
		return desk.Route{Path: redirectPath + path, MinRole: desk.Developer, StepUp: desk.InLive}
	}
	f := desk.Feature{
		Routes: []desk.Route{
			{Method: http.MethodGet, Path: redirectPath, MinRole: desk.Developer, Handle: p.showRedirectSecret},
		},
		Screens: []string{"redirect_secret", "shown"},
		Keys:    secretKeys("redirect"),
	}
	f.Ask(at("/secret"), secretForm, p.askToReveal(tenant.SecretRedirect, redirectPath))
	for _, step := range []struct {
		name stepName
		do   func(*desk.Request) error
	}{{stepStage, p.stage}, {stepPromote, p.promote}, {stepRetire, p.retire}} {
		name := "redirect_" + string(step.name)
		f.Ask(at("/"+string(step.name)), &desk.Form{Name: name},
			func(r *desk.Request) (*desk.Question, error) { return p.step(r, step.name, step.do) })
		f.Keys = append(f.Keys, name+".fact", name+".step", name+".text")
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
	desk.Layout
	Secrets []secretView
	Steps   []stepView
	Reveal  string // address
}

// stepView is a step, the time when it was taken, and whether it can be taken now.
type stepView struct {
	Name stepName
	At   *time.Time // when it was last taken, or nil
	Ends *time.Time // when its effect ends by itself, or nil
	Href string     // empty when it cannot be taken now
}

func (p *Pages) showRedirectSecret(r *desk.Request) error {
	secrets, err := p.secretViews(r, tenant.SecretRedirect)
	if err != nil {
		return err
	}
	v := &redirectView{Secrets: secrets, Reveal: r.Href(redirectPath + "/secret")}
	for _, step := range stepsOf(secrets) {
		if step.Href != "" {
			step.Href = r.Href(redirectPath + step.Href)
		}
		v.Steps = append(v.Steps, step)
	}
	return r.Show(http.StatusOK, "redirect_secret", v)
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
				promote.At = &promoted
				retire.Ends = s.Ends
				retire.Href = "/retire"
			}
		}
	}
	return []stepView{stage, promote, retire}
}

// step asks for confirmation before a step. A step that cannot be taken now redirects back.
func (p *Pages) step(r *desk.Request, name stepName, do func(*desk.Request) error) (*desk.Question, error) {
	secrets, err := p.secretViews(r, tenant.SecretRedirect)
	if err != nil {
		return nil, err
	}
	for _, step := range stepsOf(secrets) {
		if step.Name == name && step.Href == "" {
			return desk.Instead(func() error { return r.Done(r.Href(redirectPath), "") }), nil
		}
	}
	return &desk.Question{
		Facts: []page.Text{page.Say("redirect_" + string(name) + ".fact")}, Safe: name == stepStage,
		Back: r.Href(redirectPath),
		Do:   func(*desk.FormView) error { return do(r) },
	}, nil
}

func (p *Pages) stage(r *desk.Request) error {
	plain, err := p.cfg.Tenants.StageRedirectSecret(r.Ctx(), r.Who.Actor(), r.Access.TenantID(), r.Access.Livemode())
	if err != nil {
		return err
	}
	return r.Show(http.StatusOK, "shown", &shownView{
		Title: page.Say("redirect_secret.staged"), Lead: page.Say("redirect_secret.staged_lead"), Back: r.Href(redirectPath),
		Values: []shownValue{{Label: page.Say("secret.staged"), Value: plain,
			Note: page.Say("redirect_secret.note_staged", "end", "")}},
	})
}

func (p *Pages) promote(r *desk.Request) error {
	err := p.cfg.Tenants.PromoteRedirectSecret(r.Ctx(), r.Who.Actor(), r.Access.TenantID(), r.Access.Livemode())
	return p.stepped(r, err, "secret_promoted")
}

func (p *Pages) retire(r *desk.Request) error {
	err := p.cfg.Tenants.RetireRedirectSecret(r.Ctx(), r.Who.Actor(), r.Access.TenantID(), r.Access.Livemode())
	return p.stepped(r, err, "secret_retired")
}

// stepped finishes a step. If another user has taken it in the meantime, it redirects back.
func (p *Pages) stepped(r *desk.Request, err error, notice string) error {
	if fault.CodeOf(err) == fault.NotFound {
		notice, err = "", nil
	}
	return r.After(err, r.Href(redirectPath), notice)
}
