package dashboard

import (
	"net"
	"net/http"
	"net/url"
	"slices"
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
		routes:  []route{{method: http.MethodGet, path: settingsPath, minRole: viewer, handle: p.showSettings}},
		screens: []string{"settings", "switch", "languages"},
	}
	f.fill(route{path: languagesPath, minRole: owner}, languagesForm, p.languages)
	for _, s := range switches {
		f.fill(route{path: s.path, minRole: owner}, s.form, s.find)
		f.keys = append(f.keys, s.texts()...)
	}
	return f
}

// change makes the question apply changes to the tenant's settings, and then
// redirect to a page with a notice.
func (r *request) change(q *question, changes func(f *formView) tenant.Changes, back, notice string) *question {
	q.check = func(f *formView) error { return r.pages.cfg.Tenants.Check(r.ctx(), r.access.TenantID(), changes(f)) }
	q.do = func(f *formView) error {
		if _, err := r.pages.cfg.Tenants.Update(r.ctx(), r.who.Actor(), r.access.TenantID(), changes(f)); err != nil {
			return err
		}
		return r.done(back, notice)
	}
	return q
}

type settingsView struct {
	layout
	URLs      []urlView
	Links     []urlView
	Document  bool
	Ways      string // of the document check, see waysOf
	Age       bool
	Languages []languageView // those offered, the default first
	Brand     brandView
	Edit      editView
}

// editView has the addresses of the pages that the user may open; the others are
// empty.
type editView struct{ URLs, Document, Age, Languages, Branding string }

// urlView is a callback URL, which may not be set.
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
	for _, link := range []urlView{{Name: "privacy", URL: t.Links.PrivacyURL}, {Name: "help", URL: t.Links.HelpURL},
		{Name: "terms", URL: t.Links.TermsURL}, {Name: "review", URL: t.Links.ReviewURL}} {
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

// switchSetting is a setting that is on or off, with a page that explains it. Its
// texts begin with the form's name.
type switchSetting struct {
	path   string
	form   *form
	points int // texts <name>.point1 and so on
	legal  bool
	begin  func(tenant.Tenant) []string // pairs of field and value
	set    func(*formView, *tenant.Changes)
}

func switchForm(name string, more ...field) *form {
	return &form{name: name, fields: append([]field{{name: "on", kind: "checkbox"}}, more...)}
}

// checked is the value of a checkbox.
func checked(on bool) string {
	if on {
		return "1"
	}
	return ""
}

// allWays stands for all ways of the document check; the other choices are one
// way each.
const allWays = "all"

// waysOf returns the form's value for a tenant's ways of the document check.
func waysOf(t tenant.Tenant) string {
	if len(t.DocumentWays) == 0 {
		return allWays
	}
	return t.DocumentWays[0]
}

var switches = []switchSetting{
	{
		path: documentPath, points: 4,
		form: switchForm("document_check", field{name: "ways", kind: "select", hint: true,
			options: append([]string{allWays}, tenant.DocumentWays...)},
			field{name: "pid", kind: "checkbox", hint: true}),
		begin: func(t tenant.Tenant) []string {
			return []string{"on", checked(t.DocumentCheck), "ways", waysOf(t), "pid", checked(t.WalletPID)}
		},
		set: func(f *formView, c *tenant.Changes) {
			ways := []string{f.Value("ways")}
			if ways[0] == allWays {
				ways = nil
			}
			c.DocumentCheck, c.DocumentWays, c.WalletPID = new(f.Checked("on")), &ways, new(f.Checked("pid"))
		},
	},
	{
		path: agePath, form: switchForm("age_visibility"), points: 4, legal: true,
		begin: func(t tenant.Tenant) []string { return []string{"on", checked(t.AgeVisibility)} },
		set:   func(f *formView, c *tenant.Changes) { c.AgeVisibility = new(f.Checked("on")) },
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

func (s switchSetting) find(r *request) (*question, error) {
	return r.change(&question{
		begin: s.begin(r.tenant),
		show: func(status int, f *formView) error {
			return r.render(status, "switch", &switchView{
				Name: s.form.name, Points: s.pointKeys(), Legal: s.legal, Form: f, Back: r.to(settingsPath),
			})
		},
	}, func(f *formView) (c tenant.Changes) {
		s.set(f, &c)
		return c
	}, r.to(settingsPath), "settings_saved"), nil
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

// offered returns the languages of a setting; an empty setting offers all.
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

func (p *Pages) languages(r *request) (*question, error) {
	chosen := offered(r.tenant.Languages)
	standard := chosen[0]
	if r.route.method == http.MethodPost {
		chosen, standard = r.Request().PostForm["languages"], r.Request().PostForm.Get("default")
	}
	return r.change(&question{
		show: func(status int, f *formView) error {
			v := &languagesView{Form: f, Back: r.to(settingsPath)}
			for _, tag := range tenant.Languages {
				l := languageOf(tag)
				l.Offered, l.Default = slices.Contains(chosen, tag), tag == standard
				v.All = append(v.All, l)
			}
			return r.render(status, "languages", v)
		},
	}, func(f *formView) tenant.Changes {
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
		return tenant.Changes{Languages: &languages}
	}, r.to(settingsPath), "settings_saved"), nil
}
