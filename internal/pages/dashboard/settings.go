package dashboard

import (
	"net"
	"net/http"
	"net/url"
	"strconv"

	"agegate/internal/rules/tenant"

	"golang.org/x/text/language"
	"golang.org/x/text/language/display"
)

const (
	settingsPath  = "/dashboard/:tenant/settings"
	urlsPath      = settingsPath + "/urls"
	documentPath  = settingsPath + "/document-check"
	agePath       = settingsPath + "/age-visibility"
	languagesPath = settingsPath + "/languages"
	brandingPath  = settingsPath + "/branding"
)

func (p *Pages) settings() feature {
	f := feature{
		routes: []route{
			{method: http.MethodGet, path: settingsPath, least: viewer, handle: p.showSettings},
			{method: http.MethodGet, path: languagesPath, least: owner, handle: p.showLanguages},
			{method: http.MethodPost, path: languagesPath, least: owner, handle: p.saveLanguages},
		},
		screens: []string{"settings", "switch", "languages"},
		forms:   []*form{languagesForm},
		notices: []string{"settings_saved"},
		keys:    []string{"languages.problem.none", "languages.problem.default"},
	}
	for _, s := range switches {
		f.routes = append(f.routes,
			route{method: http.MethodGet, path: s.path, least: owner, handle: func(r *request) error { return r.showSwitch(s) }},
			route{method: http.MethodPost, path: s.path, least: owner, handle: func(r *request) error { return r.saveSwitch(s) }})
		f.forms = append(f.forms, s.form)
		f.keys = append(f.keys, s.texts()...)
	}
	return f
}

// change applies changes to the tenant's settings, once for each copy of the
// form, and leads to a page with a notice. It returns false when the form has to
// be shown again.
func (r *request) change(f *formView, c tenant.Changes, back, notice string) (bool, error) {
	if err := r.pages.cfg.Tenants.Check(c); err != nil {
		return false, f.refuse(err)
	}
	if !f.ok() {
		return false, nil
	}
	if err := r.once(f); err != nil {
		return false, err
	}
	if _, err := r.pages.cfg.Tenants.Update(r.ctx(), r.who.Actor(), r.access.TenantID(), c); err != nil {
		return false, f.refuse(err)
	}
	return true, r.done(back, notice)
}

type settingsView struct {
	layout
	URLs      []urlView
	Links     []urlView
	Document  bool
	Ways      string // of the document check, see waysOf
	Age       bool
	Languages []languageView // those that are offered, the default first
	Brand     brandView
	Edit      editView
}

// editView has the addresses of the pages that the user may open; the others are
// empty.
type editView struct{ URLs, Document, Age, Languages, Branding string }

// urlView is a callback URL, or that it is not set.
type urlView struct {
	Name, URL string
	Allows    string // the host and port that creations may name
	Plain     bool   // it is http
}

func (p *Pages) showSettings(r *request) error {
	look, err := p.cfg.Tenants.Brand(r.ctx(), r.access.TenantID())
	if err != nil {
		return err
	}
	t := r.tenant
	v := &settingsView{
		URLs: urlViews(t), Document: t.DocumentCheck, Ways: waysOf(t), Age: t.AgeVisibility,
		Brand: brandViewOf(t, look), Edit: editView{
			r.editing(urlsPath), r.editing(documentPath), r.editing(agePath), r.editing(languagesPath), r.editing(brandingPath),
		},
	}
	for _, tag := range offered(t.Languages) {
		v.Languages = append(v.Languages, languageOf(tag))
	}
	for _, link := range []urlView{{Name: "privacy", URL: t.Links.Privacy}, {Name: "help", URL: t.Links.Help}, {Name: "terms", URL: t.Links.Terms}} {
		if link.URL != "" {
			v.Links = append(v.Links, link)
		}
	}
	return r.render(http.StatusOK, "settings", v)
}

// urlViews lists the callback URLs.
func urlViews(t tenant.Tenant) []urlView {
	views := []urlView{
		{Name: "success", URL: t.SuccessURL}, {Name: "cancel", URL: t.CancelURL}, {Name: "webhook", URL: t.WebhookURL},
	}
	for i, v := range views {
		u, err := url.Parse(v.URL)
		views[i].Allows, views[i].Plain = endpointOf(v.URL), err == nil && u.Scheme == "http"
	}
	return views
}

// endpointOf returns the host and port of a callback URL, or "" for none.
func endpointOf(raw string) string {
	e, err := tenant.CallbackRule{AllowInsecure: true}.Parse(raw)
	if err != nil {
		return ""
	}
	return net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port)))
}

// switchSetting is a setting that is on or off, with a page that says what it
// means. Its texts begin with the form's name.
type switchSetting struct {
	path   string
	form   *form
	points int // texts <name>.point1 and so on
	legal  bool
	show   func(tenant.Tenant, *formView)
	set    func(*formView, *tenant.Changes)
}

func switchForm(name string, more ...field) *form {
	return &form{name: name, fields: append([]field{{name: "on", kind: "checkbox"}}, more...)}
}

// setOn fills in whether a switch is on, and returns the form.
func (v *formView) setOn(on bool) *formView {
	if on {
		v.With("on", "1")
	}
	return v
}

// allWays stands for all ways of the document check; the other choices are one
// way each.
const allWays = "all"

// waysOf returns the choice for a tenant's ways of the document check.
func waysOf(t tenant.Tenant) string {
	if len(t.DocumentWays) == 0 {
		return allWays
	}
	return t.DocumentWays[0]
}

var switches = []switchSetting{
	{
		path: documentPath, points: 4,
		form: switchForm("document_check", field{name: "ways", kind: "select", hint: true, options: append([]string{allWays}, tenant.DocumentWays...)}),
		show: func(t tenant.Tenant, f *formView) { f.setOn(t.DocumentCheck).With("ways", waysOf(t)) },
		set: func(f *formView, c *tenant.Changes) {
			ways := []string{f.Value("ways")}
			if ways[0] == allWays {
				ways = nil
			}
			c.DocumentCheck, c.DocumentWays = new(f.Checked("on")), &ways
		},
	},
	{
		path: agePath, form: switchForm("age_visibility"), points: 4, legal: true,
		show: func(t tenant.Tenant, f *formView) { f.setOn(t.AgeVisibility) },
		set:  func(f *formView, c *tenant.Changes) { c.AgeVisibility = new(f.Checked("on")) },
	},
}

func (s switchSetting) texts() []string {
	keys := []string{s.form.name + ".title", s.form.name + ".lead"}
	if s.legal {
		keys = append(keys, s.form.name+".legal")
	}
	return append(keys, s.pointKeys()...)
}

func (s switchSetting) pointKeys() []string {
	var keys []string
	for i := range s.points {
		keys = append(keys, s.form.name+".point"+strconv.Itoa(i+1))
	}
	return keys
}

type switchView struct {
	layout
	Name   string
	Points []string
	Legal  bool
	Form   *formView
	Back   string
}

func (r *request) showSwitch(s switchSetting) error {
	f, err := r.blank(s.form)
	if err != nil {
		return err
	}
	s.show(r.tenant, f)
	return r.renderSwitch(http.StatusOK, s, f)
}

func (r *request) renderSwitch(status int, s switchSetting, f *formView) error {
	return r.render(status, "switch", &switchView{
		Name: s.form.name, Points: s.pointKeys(), Legal: s.legal, Form: f, Back: r.to(settingsPath),
	})
}

func (r *request) saveSwitch(s switchSetting) error {
	f, err := r.read(s.form)
	if err != nil {
		return err
	}
	if f.ok() {
		var c tenant.Changes
		s.set(f, &c)
		if done, err := r.change(f, c, r.to(settingsPath), "settings_saved"); done || err != nil {
			return err
		}
	}
	return r.renderSwitch(http.StatusUnprocessableEntity, s, f)
}

var languagesForm = &form{
	name: "languages", problems: map[error]string{tenant.ErrLanguages: "unknown"},
	fields: []field{{name: "languages", kind: "group", optional: true}, {name: "default", kind: "group", optional: true}},
}

// languageView is a language of the hosted page.
type languageView struct {
	Tag, Name string // the name in the language itself
	Dir       string
	Offered   bool
	Default   bool
}

func languageOf(tag string) languageView {
	parsed := language.Make(tag)
	dir := "ltr"
	if script, _ := parsed.Script(); script.String() == "Arab" {
		dir = "rtl"
	}
	return languageView{Tag: tag, Name: display.Self.Name(parsed), Dir: dir}
}

// offered returns the languages of a setting: all for none.
func offered(languages []string) []string {
	if len(languages) == 0 {
		return tenant.Languages
	}
	return languages
}

type languagesView struct {
	layout
	Form *formView
	All  []languageView
	Back string
}

func (p *Pages) showLanguages(r *request) error {
	f, err := r.blank(languagesForm)
	if err != nil {
		return err
	}
	chosen := offered(r.tenant.Languages)
	return r.renderLanguages(http.StatusOK, f, chosen, chosen[0])
}

func (r *request) renderLanguages(status int, f *formView, chosen []string, standard string) error {
	v := &languagesView{Form: f, Back: r.to(settingsPath)}
	for _, tag := range tenant.Languages {
		l := languageOf(tag)
		l.Default = tag == standard
		for _, c := range chosen {
			l.Offered = l.Offered || c == tag
		}
		v.All = append(v.All, l)
	}
	return r.render(status, "languages", v)
}

func (p *Pages) saveLanguages(r *request) error {
	f, err := r.read(languagesForm)
	if err != nil {
		return err
	}
	sent := r.Request().PostForm
	chosen, standard := sent["languages"], sent.Get("default")
	languages := []string{standard}
	for _, tag := range chosen {
		if tag != standard {
			languages = append(languages, tag)
		}
	}
	switch {
	case len(chosen) == 0:
		f.wrong("languages", "languages.problem.none")
	case len(languages) != len(chosen):
		f.wrong("default", "languages.problem.default")
	}
	if f.ok() {
		done, err := r.change(f, tenant.Changes{Languages: &languages}, r.to(settingsPath), "settings_saved")
		if done || err != nil {
			return err
		}
	}
	return r.renderLanguages(http.StatusUnprocessableEntity, f, chosen, standard)
}
