package dashboard

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"agegate/internal/pages/dashboard/desk"
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

func (p *Pages) settings() desk.Feature {
	f := desk.Feature{
		Routes:  []desk.Route{{Method: http.MethodGet, Path: settingsPath, MinRole: desk.Viewer, Handle: p.showSettings}},
		Screens: []string{"settings", "switch", "languages"},
	}
	f.Fill(desk.Route{Path: languagesPath, MinRole: desk.Owner}, languagesForm, p.languages)
	for _, s := range switches {
		f.Fill(desk.Route{Path: s.path, MinRole: desk.Owner}, s.form, s.finder(p))
		f.Keys = append(f.Keys, s.texts()...)
	}
	return f
}

// change makes the question apply changes to the tenant's settings, and then
// redirect to a page with a notice.
func (p *Pages) change(
	r *desk.Request, q *desk.Question, changes func(f *desk.FormView) tenant.Changes, back, notice string,
) *desk.Question {
	q.Check = func(f *desk.FormView) error { return p.cfg.Tenants.Check(r.Ctx(), r.Access.TenantID(), changes(f)) }
	q.Do = func(f *desk.FormView) error {
		if _, err := p.cfg.Tenants.Update(r.Ctx(), r.Who.Actor(), r.Access.TenantID(), changes(f)); err != nil {
			return err
		}
		return r.Done(back, notice)
	}
	return q
}

type settingsView struct {
	desk.Layout
	URLs      []urlView
	Links     []urlView
	Document  bool
	Ways      string // of the document check, see waysOf
	Only      bool   // no estimates
	Age       bool
	Languages []languageView // those offered, the default first
	Margins   []marginView   // the tenant's own
	Usual     string         // margin for other target ages, years
	Brand     brandView
	Edit      editView
}

// editView has the addresses of the pages that the user may open; the others are
// empty.
type editView struct{ URLs, Document, Age, Languages, Branding, Margins string }

// urlView is a callback URL, which may not be set.
type urlView struct {
	Name, URL string
	Allows    string // the host and port that creations may name
	Plain     bool   // it is http
}

func (p *Pages) showSettings(r *desk.Request) error {
	look, err := p.cfg.Tenants.Brand(r.Ctx(), r.Access.TenantID())
	if err != nil {
		return err
	}
	t := r.Tenant
	v := &settingsView{
		URLs: urlViews(t), Document: t.OffersDocument(), Only: t.DocumentOnly, Ways: waysOf(t), Age: t.AgeVisibility,
		Brand: brandViewOf(t, look), Edit: editView{
			r.Editing(urlsPath), r.Editing(documentPath), r.Editing(agePath), r.Editing(languagesPath), r.Editing(brandingPath),
			r.Editing(marginsPath),
		},
		Margins: marginViews(t, p.cfg.Tenants.Margin), Usual: yearsOf(p.cfg.Tenants.Margin.Usual),
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
	return r.Show(http.StatusOK, "settings", v)
}

// urlViews lists the callback URLs.
func urlViews(t tenant.Tenant) []urlView {
	views := []urlView{
		{Name: "success", URL: t.SuccessURL}, {Name: "cancel", URL: t.CancelURL}, {Name: "webhook", URL: t.WebhookURL},
	}
	for i, v := range views {
		u, err := url.Parse(v.URL)
		views[i].Allows, views[i].Plain = tenant.HostPort(v.URL), err == nil && u.Scheme == "http"
	}
	return views
}

// switchSetting is a setting that is on or off, with a page that explains it. Its
// texts begin with the form's name.
type switchSetting struct {
	path   string
	form   *desk.Form
	points int // texts <name>.point1 and so on
	legal  bool
	begin  func(tenant.Tenant) []string // pairs of field and value
	set    func(*desk.FormView, *tenant.Changes)
}

func switchForm(name string, more ...desk.Field) *desk.Form {
	return &desk.Form{Name: name, Fields: append([]desk.Field{{Name: "on", Kind: "checkbox"}}, more...)}
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
		form: switchForm("document_check", desk.Field{Name: "ways", Kind: "select", Hint: true,
			Options: append([]string{allWays}, tenant.DocumentWays...)},
			desk.Field{Name: "pid", Kind: "checkbox", Hint: true}, desk.Field{Name: "only", Kind: "checkbox", Hint: true}),
		begin: func(t tenant.Tenant) []string {
			return []string{"on", checked(t.DocumentCheck), "ways", waysOf(t), "pid", checked(t.WalletPID),
				"only", checked(t.DocumentOnly)}
		},
		set: func(f *desk.FormView, c *tenant.Changes) {
			ways := []string{f.Value("ways")}
			if ways[0] == allWays {
				ways = nil
			}
			c.DocumentCheck = new(f.Checked("on"))
			c.DocumentWays = &ways
			c.WalletPID = new(f.Checked("pid"))
			c.DocumentOnly = new(f.Checked("only"))
		},
	},
	{
		path: agePath, form: switchForm("age_visibility"), points: 4, legal: true,
		begin: func(t tenant.Tenant) []string { return []string{"on", checked(t.AgeVisibility)} },
		set:   func(f *desk.FormView, c *tenant.Changes) { c.AgeVisibility = new(f.Checked("on")) },
	},
}

func (s switchSetting) texts() []string {
	keys := []string{s.form.Name + ".title", s.form.Name + ".lead"}
	if s.legal {
		keys = append(keys, s.form.Name+".legal")
	}
	return append(keys, s.pointKeys()...)
}

func (s switchSetting) pointKeys() []string {
	var keys []string
	for i := range s.points {
		keys = append(keys, s.form.Name+".point"+strconv.Itoa(i+1))
	}
	return keys
}

type switchView struct {
	desk.Layout
	Name   string
	Points []string
	Legal  bool
	Form   *desk.FormView
	Back   string
}

func (s switchSetting) finder(p *Pages) desk.Finder {
	return func(r *desk.Request) (*desk.Question, error) {
		return p.change(r, &desk.Question{
			Begin: s.begin(r.Tenant),
			Show: func(status int, f *desk.FormView) error {
				return r.Show(status, "switch", &switchView{
					Name: s.form.Name, Points: s.pointKeys(), Legal: s.legal, Form: f, Back: r.To(settingsPath),
				})
			},
		}, func(f *desk.FormView) (c tenant.Changes) {
			s.set(f, &c)
			return c
		}, r.To(settingsPath), "settings_saved"), nil
	}
}

var languagesForm = &desk.Form{
	Name: "languages", Problems: map[error]string{tenant.ErrLanguages: "unknown"},
	Fields: []desk.Field{
		{Name: "languages", Kind: "group", Optional: true}, {Name: "default", Kind: "group", Optional: true},
	},
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
	desk.Layout
	Form *desk.FormView
	All  []languageView
	Back string
}

func (p *Pages) languages(r *desk.Request) (*desk.Question, error) {
	chosen := offered(r.Tenant.Languages)
	standard := chosen[0]
	if r.Route.Method == http.MethodPost {
		chosen, standard = r.Request().PostForm["languages"], r.Request().PostForm.Get("default")
	}
	return p.change(r, &desk.Question{
		Show: func(status int, f *desk.FormView) error {
			v := &languagesView{Form: f, Back: r.To(settingsPath)}
			for _, tag := range tenant.Languages {
				l := languageOf(tag)
				l.Offered, l.Default = slices.Contains(chosen, tag), tag == standard
				v.All = append(v.All, l)
			}
			return r.Show(status, "languages", v)
		},
	}, func(f *desk.FormView) tenant.Changes {
		languages := []string{standard}
		for _, tag := range chosen {
			if tag != standard {
				languages = append(languages, tag)
			}
		}
		switch {
		case len(chosen) == 0:
			f.Mark("languages", "languages.problem.none")
		case len(languages) != len(chosen):
			f.Mark("default", "languages.problem.default")
		}
		return tenant.Changes{Languages: &languages}
	}, r.To(settingsPath), "settings_saved"), nil
}
