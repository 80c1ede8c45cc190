package dashboard

import (
	"net/http"
	"slices"

	"agegate/internal/pages/page"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
)

var urlsForm = &form{
	name: "urls", again: true, // it changes nothing
	fields: []field{ // the domain says how long a URL may be
		{name: "success_url", kind: "url", max: 2 * tenant.MaxURLLength, optional: true, hint: true},
		{name: "cancel_url", kind: "url", max: 2 * tenant.MaxURLLength, optional: true, hint: true},
		{name: "webhook_url", kind: "url", max: 2 * tenant.MaxURLLength, optional: true, hint: true},
	},
	problems: map[error]string{
		tenant.ErrURLTooLong: "long", tenant.ErrURLSyntax: "syntax", tenant.ErrURLScheme: "scheme",
		tenant.ErrURLUserinfo: "userinfo", tenant.ErrURLHost: "host", tenant.ErrURLFragment: "fragment",
	},
}

// savedURLsForm is urlsForm as the review page sends it.
var savedURLsForm = &form{name: urlsForm.name, fields: urlsForm.fields, problems: urlsForm.problems}

const saveURLsPath = urlsPath + "/save"

func (p *Pages) urls() feature {
	at := route{path: urlsPath, minRole: developer, stepUp: always}
	f := feature{screens: []string{"urls", "urls_review"},
		keys: []string{"urls.name.success", "urls.name.cancel", "urls.name.webhook"}}
	f.fill(at, urlsForm, p.reviewURLs)
	at.method, at.path, at.handle = http.MethodPost, saveURLsPath, savedURLsForm.does(p.saveURLs)
	f.routes = append(f.routes, at)
	return f
}

type urlsView struct {
	layout
	Form   *formView
	Action string
	Now    []urlView // what is allowed now
	Back   string
}

// urlsQuestion is the page on which the URLs are typed.
func (r *request) urlsQuestion() *question {
	t := r.tenant
	return &question{
		begin: []string{"success_url", t.SuccessURL, "cancel_url", t.CancelURL, "webhook_url", t.WebhookURL},
		show: func(status int, f *formView) error {
			return r.render(status, "urls", &urlsView{Form: f, Action: r.to(urlsPath), Now: urlViews(t),
				Back: r.to(settingsPath)})
		},
	}
}

// changedURLs returns the changes in the form.
func changedURLs(f *formView) tenant.Changes {
	success, cancel, webhook := f.Value("success_url"), f.Value("cancel_url"), f.Value("webhook_url")
	return tenant.Changes{SuccessURL: &success, CancelURL: &cancel, WebhookURL: &webhook}
}

type urlsReviewView struct {
	layout
	Form    *formView // its fields are hidden
	URLs    []urlChangeView
	Breaks  []page.Text // what stops working
	Changes []page.Text // what else changes
	Save    string
	Back    string
}

// urlChangeView is a callback URL before and after.
type urlChangeView struct {
	Name     string
	Old, New urlView
	Changed  bool
}

// reviewURLs shows what the typed URLs would change. It changes nothing.
func (p *Pages) reviewURLs(r *request) (*question, error) {
	q := r.urlsQuestion()
	q.do = func(f *formView) error {
		c := changedURLs(f)
		if err := p.cfg.Tenants.Check(r.ctx(), r.access.TenantID(), c); err != nil {
			return err
		}
		next := r.tenant
		next.SuccessURL, next.CancelURL, next.WebhookURL = *c.SuccessURL, *c.CancelURL, *c.WebhookURL
		v := &urlsReviewView{Form: f, Save: r.to(saveURLsPath), Back: r.to(urlsPath)}
		differ := false
		for i, old := range urlViews(r.tenant) {
			change := urlChangeView{Name: old.Name, Old: old, New: urlViews(next)[i]}
			change.Changed = old.URL != change.New.URL
			differ = differ || change.Changed
			v.URLs = append(v.URLs, change)
		}
		if !differ {
			return r.done(r.to(settingsPath), "urls_same")
		}
		impact, err := p.cfg.Impacts.OfURLs(r.ctx(), r.tenant, next)
		if err != nil {
			return err
		}
		v.Breaks, v.Changes = urlBreaks(r.tenant, next, impact), urlChanges(r.tenant, next, impact)
		return r.render(http.StatusOK, "urls_review", v)
	}
	return q, nil
}

func effect(key string, pairs ...any) page.Text { return page.Say("urls.effect."+key, pairs...) }

// urlBreaks lists what new callback URLs would break.
func urlBreaks(present, next tenant.Tenant, impact session.Impact) []page.Text {
	var breaks []page.Text
	after := endpointsOf(next)
	for _, e := range endpointsOf(present) {
		if !slices.Contains(after, e) {
			breaks = append(breaks, effect("host_gone", "host", e))
		}
	}
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

// urlChanges lists what else would change.
func urlChanges(present, next tenant.Tenant, impact session.Impact) []page.Text {
	var changes []page.Text
	before := endpointsOf(present)
	for _, e := range endpointsOf(next) {
		if !slices.Contains(before, e) {
			changes = append(changes, effect("host_new", "host", e))
		}
	}
	if present.WebhookURL != next.WebhookURL {
		if next.WebhookURL != "" {
			changes = append(changes, effect("webhook", "host", endpointOf(next.WebhookURL)))
		}
		changes = append(changes, effect("open", "n", impact.Open))
	}
	if slices.ContainsFunc(urlViews(next), func(u urlView) bool { return u.Plain }) {
		changes = append(changes, effect("plain"))
	}
	return append(changes, effect("frozen"))
}

// endpointsOf returns the hosts and ports that a tenant's URLs allow, without
// repetition.
func endpointsOf(t tenant.Tenant) []string {
	var endpoints []string
	for _, raw := range t.CallbackURLs() {
		if e := endpointOf(raw); !slices.Contains(endpoints, e) {
			endpoints = append(endpoints, e)
		}
	}
	return endpoints
}

func (p *Pages) saveURLs(r *request) (*question, error) {
	if len(r.tenant.CallbackURLs()) == 0 {
		// A new merchant continues with the first test session.
		return r.change(r.urlsQuestion(), changedURLs, fill(overviewPath, r.access.TenantID().String(), "test"),
			"urls_first"), nil
	}
	return r.change(r.urlsQuestion(), changedURLs, r.to(settingsPath), "urls_saved"), nil
}
