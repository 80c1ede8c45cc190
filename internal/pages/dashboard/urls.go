package dashboard

import (
	"net/http"
	"slices"

	"agegate/internal/pages/dashboard/desk"
	"agegate/internal/pages/page"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
)

var urlsForm = &desk.Form{
	Name: "urls", Again: true, // it changes nothing
	Fields: []desk.Field{ // the domain says how long a URL may be
		{Name: "success_url", Kind: "url", Max: 2 * tenant.MaxURLLength, Either: true, Hint: true},
		{Name: "cancel_url", Kind: "url", Max: 2 * tenant.MaxURLLength, Either: true, Hint: true},
		{Name: "webhook_url", Kind: "url", Max: 2 * tenant.MaxURLLength, Optional: true, Hint: true},
	},
	Refusals: settingsForm.Name,
	Problems: map[error]string{
		tenant.ErrURLTooLong: "long", tenant.ErrURLSyntax: "syntax", tenant.ErrURLScheme: "scheme",
		tenant.ErrURLUserinfo: "userinfo", tenant.ErrURLHost: "host", tenant.ErrURLFragment: "fragment",
		tenant.ErrAnyScheme: "any_scheme",
	},
}

// savedURLsForm is urlsForm as the review page sends it.
var savedURLsForm = &desk.Form{Name: urlsForm.Name, Fields: urlsForm.Fields, Refusals: urlsForm.Refusals,
	Problems: urlsForm.Problems}

const saveURLsPath = urlsPath + "/save"

// urlsAt returns the address of one of these pages. It keeps that the user came from the overview, in test mode.
func urlsAt(r *desk.Request, pattern string) string {
	if r.QueryParam("from") != "" {
		return r.Href(pattern) + "?from=overview"
	}
	return r.To(pattern)
}

func (p *Pages) urls() desk.Feature {
	at := desk.Route{Path: urlsPath, MinRole: desk.Developer, StepUp: desk.Always}
	f := desk.Feature{Screens: []string{"urls", "urls_review"},
		Keys: []string{"urls.name.success", "urls.name.cancel", "urls.name.webhook"}}
	f.Fill(at, urlsForm, p.reviewURLs)
	at.Method, at.Path, at.Handle = http.MethodPost, saveURLsPath, savedURLsForm.OnPost(p.saveURLs)
	f.Routes = append(f.Routes, at)
	return f
}

type urlsView struct {
	desk.Layout
	Form         *desk.FormView
	Action, Back string
}

// urlsQuestion is the page on which the URLs are typed.
func urlsQuestion(r *desk.Request) *desk.Question {
	t := r.Tenant
	return &desk.Question{
		Begin: []string{"success_url", t.SuccessURL, "cancel_url", t.CancelURL, "webhook_url", t.WebhookURL},
		Show: func(status int, f *desk.FormView) error {
			return r.Show(status, "urls", &urlsView{Form: f, Action: urlsAt(r, urlsPath), Back: r.To(settingsPath)})
		},
	}
}

// changedURLs returns the changes in the form.
func changedURLs(f *desk.FormView) tenant.Changes {
	return tenant.Changes{SuccessURL: new(f.Value("success_url")), CancelURL: new(f.Value("cancel_url")),
		WebhookURL: new(f.Value("webhook_url"))}
}

type urlsReviewView struct {
	desk.Layout
	Form    *desk.FormView // its fields are hidden
	URLs    []urlChangeView
	Breaks  []page.Text // what stops working
	Changes []page.Text // what else changes
	Save    string
	Back    string
}

// urlChangeView is a callback URL before and after.
type urlChangeView struct{ Old, New urlView }

// reviewURLs shows what the typed URLs would change. It changes nothing.
func (p *Pages) reviewURLs(r *desk.Request) (*desk.Question, error) {
	q := urlsQuestion(r)
	q.Do = func(f *desk.FormView) error {
		if r.FormValue("edit") != "" { // back from the review
			return q.Show(http.StatusOK, f)
		}
		c := changedURLs(f)
		next := c.Apply(r.Tenant)
		v := &urlsReviewView{Form: f, Save: urlsAt(r, saveURLsPath), Back: urlsAt(r, urlsPath)}
		before, after := p.urlViews(r.Tenant), p.urlViews(next)
		if slices.Equal(before, after) {
			return r.Done(opened(r, "urls"), "urls_same")
		}
		if err := p.cfg.Tenants.Check(r.Ctx(), r.Access.TenantID(), c); err != nil {
			return err
		}
		if hook := &after[2]; hook.Flaw == "" && p.cfg.Unknown(r.Ctx(), hook.URL) {
			hook.Flaw = "unknown"
		}
		for i, old := range before {
			v.URLs = append(v.URLs, urlChangeView{old, after[i]})
		}
		impact, err := p.cfg.Impacts.OfURLs(r.Ctx(), r.Tenant, next)
		if err != nil {
			return err
		}
		v.Breaks, v.Changes = urlBreaks(r.Tenant, next, impact), urlChanges(r.Tenant, next, after, impact)
		return r.Show(http.StatusOK, "urls_review", v)
	}
	return q, nil
}

func effect(key string, pairs ...any) page.Text { return page.Say("urls.effect."+key, pairs...) }

// urlBreaks lists what new callback URLs would break.
func urlBreaks(present, next tenant.Tenant, impact session.Impact) []page.Text {
	breaks := hostEffects("host_gone", present, next)
	if present.SuccessURL != "" && next.SuccessURL == "" {
		breaks = append(breaks, effect("no_success"))
	}
	if present.CancelURL != "" && next.CancelURL == "" {
		breaks = append(breaks, effect("no_cancel"))
	}
	switch {
	case len(breaks) == 0: // nothing can be refused that was accepted before
	case impact.Refused == 0 && impact.Complete:
		breaks = append(breaks, effect("refused_none"))
	case impact.Complete:
		breaks = append(breaks, effect("refused", "n", impact.Refused))
	default:
		breaks = append(breaks, effect("refused_more", "n", impact.Refused))
	}
	if present.WebhookURL != "" && next.WebhookURL == "" {
		breaks = append(breaks, effect("no_webhook"))
	}
	return breaks
}

// urlChanges lists what else would change. views are those of next.
func urlChanges(present, next tenant.Tenant, views []urlView, impact session.Impact) []page.Text {
	changes := hostEffects("host_new", next, present)
	if present.WebhookURL != next.WebhookURL {
		if next.WebhookURL != "" && views[2].Flaw != "private" {
			changes = append(changes, effect("webhook", "host", tenant.HostPort(next.WebhookURL)))
		}
		if impact.Open > 0 {
			changes = append(changes, effect("open", "n", impact.Open))
		}
	}
	for _, flaw := range []string{"local", "private", "unknown", "plain"} {
		if slices.ContainsFunc(views, func(u urlView) bool { return u.Flaw == flaw }) {
			changes = append(changes, effect(flaw))
		}
	}
	return append(changes, effect("frozen"))
}

// hostEffects states an effect for each host and port that a tenant's URLs allow, and those of the other do not.
func hostEffects(key string, of, other tenant.Tenant) (effects []page.Text) {
	others := endpointsOf(other)
	for _, e := range endpointsOf(of) {
		if !slices.Contains(others, e) {
			effects = append(effects, effect(key, "host", e))
		}
	}
	return effects
}

// endpointsOf returns the hosts and ports that a tenant's URLs allow, without repetition.
func endpointsOf(t tenant.Tenant) []string {
	var endpoints []string
	for _, raw := range t.CallbackURLs() {
		if e := tenant.HostPort(raw); !slices.Contains(endpoints, e) {
			endpoints = append(endpoints, e)
		}
	}
	return endpoints
}

func (p *Pages) saveURLs(r *desk.Request) (*desk.Question, error) {
	back, notice := opened(r, "urls"), "urls_saved"
	if r.QueryParam("from") != "" { // a new merchant continues with the first test session
		back, notice = desk.Href(overviewPath, r.Access.TenantID().String(), "test"), "urls_first"
	}
	q := urlsQuestion(r)
	q.Check = func(f *desk.FormView) error {
		return p.cfg.Tenants.Check(r.Ctx(), r.Access.TenantID(), changedURLs(f))
	}
	q.Do = func(f *desk.FormView) error {
		_, err := p.cfg.Tenants.Update(r.Ctx(), r.Who.Actor(), r.Access.TenantID(), changedURLs(f))
		return r.After(err, back, notice)
	}
	return q, nil
}
