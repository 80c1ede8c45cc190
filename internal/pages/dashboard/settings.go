package dashboard

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"agegate/internal/pages/dashboard/desk"
	"agegate/internal/pages/page"
	"agegate/internal/rules/brand"
	"agegate/internal/rules/tenant"
)

// settingsPath is the page of all settings. Each of its sections has an address below,
// which leads to the section; the callback URLs have a page of their own there.
const (
	settingsPath  = "/dashboard/:tenant/settings"
	urlsPath      = settingsPath + "/urls"
	documentPath  = settingsPath + "/document-check"
	agePath       = settingsPath + "/age-visibility"
	marginsPath   = settingsPath + "/margins"
	languagesPath = settingsPath + "/languages"
	brandingPath  = settingsPath + "/branding"
	alertPath     = settingsPath + "/alert"
)

// allWays stands for all ways of the document check; the other choices are one way each.
const allWays = "all"

// settingsForm has the settings that an owner changes together, without a confirmation.
var settingsForm = &desk.Form{
	Name: "settings", Again: true, // a preview or an effect may be requested twice
	Fields: slices.Concat([]desk.Field{
		{Name: "document_check", Kind: "checkbox"},
		{Name: "ways", Kind: "select", Hint: true, Options: append([]string{allWays}, tenant.DocumentWays...)},
		{Name: "pid", Kind: "checkbox", Hint: true}, {Name: "only", Kind: "checkbox", Hint: true},
		{Name: "age_visibility", Kind: "checkbox"},
		{Name: "target", Kind: "text", Max: 2}, {Name: "margin", Kind: "text", Max: 6, Optional: true, Hint: true},
		{Name: "languages", Kind: "group", Optional: true}, {Name: "default", Kind: "group"},
	}, brandFields, []desk.Field{{Name: "alert_below", Kind: "text", Max: 13, Optional: true, Hint: true}}),
	Problems: map[error]string{
		tenant.ErrLanguages: "languages", tenant.ErrAlertBelow: "alert",
		tenant.ErrNameEmpty: "name", tenant.ErrNameHidden: "name", brand.ErrColour: "colour",
		brand.ErrLogoFormat: "logo_format", brand.ErrLogoSize: "logo_size",
		tenant.ErrURLTooLong: "long", tenant.ErrURLSyntax: "syntax", tenant.ErrURLScheme: "scheme",
		tenant.ErrURLUserinfo: "userinfo", tenant.ErrURLHost: "host", tenant.ErrLinkScheme: "link_scheme",
	},
}

func (p *Pages) settings() desk.Feature {
	f := desk.Feature{
		Screens: []string{"settings"},
		Keys: []string{"settings.problem.none", "settings.problem.default", "settings.changed", "settings.problem.changed",
			"margins.problem.target", "margins.problem.years", "settings.on", "settings.off"},
	}
	f.Fill(desk.Route{Path: settingsPath, MinRole: desk.Owner, MaxForm: maxBranding}, settingsForm, p.saveSettings)
	f.Routes[0].MinRole = desk.Viewer
	for _, s := range sections {
		if s.path != urlsPath { // which has a page of its own
			f.Routes = append(f.Routes, desk.Route{Method: http.MethodGet, Path: s.path, MinRole: desk.Owner,
				Handle: func(r *desk.Request) error { return r.Done(opened(r, s.Name), "") }})
		}
		f.Keys = append(f.Keys, s.Name+".title", s.Name+".lead")
	}
	return f
}

type settingsView struct {
	desk.Layout
	Form         *desk.FormView
	Action       string // of Form
	URLs         []urlView
	EditURLs     string   // address of the page of the callback URLs, for those who may change them
	Opened       []string // names of the sections that the address opens, or that have a problem
	Closed       string   // as in overviewView
	Mine         bool     // the user may change the settings in Form
	Weak         bool     // the user may change settings, but not in a log-in without a second factor
	Seen         string   // which settings the page shows
	Languages    []languageView
	Usual, Least float64 // margins in years
	Margins      []marginView
	Effect       *marginEffect // nil before it is asked for
	Logo         string        // address of the present one, or empty
	Preview      string        // address of the previews as it is now, without the scheme
	Kept         string        // a logo that was chosen and not saved yet, in base64
	// Notice and Failed hide the notice from the frame: the section that was saved shows it.
	Notice *page.Text
	Failed bool
}

// urlView is a callback URL, which may not be set.
type urlView struct {
	Name, URL string
	Allows    string // the host and port that creations may name
	Flaw      string // why it is not for real shoppers, the text urls.<flaw>; may be empty
}

// saveSettings saves the settings of the page. Two buttons save nothing: "preview", whose value is a colour
// scheme, shows the hosted page with the form's values in a frame, and "effect" shows what the margin changes.
func (p *Pages) saveSettings(r *desk.Request) (*desk.Question, error) {
	look, err := p.cfg.Tenants.Brand(r.Ctx(), r.Access.TenantID())
	sent, begin := r.Request().PostForm, stored(r.Tenant, look)
	var hashes []string // of each stored setting: saving tells by them what somebody changed after the page was shown
	for i := 1; i < len(begin); i += 2 {
		hashes = append(hashes, fmt.Sprintf("%.3x", sha256.Sum256([]byte(begin[i]))))
	}
	present := strings.Join(hashes, " ")
	show := func(status int, f *desk.FormView) error {
		if sent.Has("preview") {
			return p.previewForm(r, f, look)
		}
		return p.showSettings(r, status, look, present, f)
	}
	q := &desk.Question{Begin: begin, Show: show, Check: func(f *desk.FormView) error {
		return p.cfg.Tenants.Check(r.Ctx(), r.Access.TenantID(), p.changesOf(r, f))
	}}
	q.Do = func(f *desk.FormView) error {
		if sent.Has("preview") || sent.Has("effect") {
			return show(http.StatusOK, f)
		}
		if err := r.Once(f); err != nil {
			return err
		}
		if seen := sent.Get("seen"); seen != "" && seen != present {
			f.Fault = new(page.Say("settings.changed"))
			was := strings.Fields(seen)
			for i, now := range strings.Fields(present) {
				if i < len(was) && was[i] != now {
					f.Mark(begin[2*i], "settings.problem.changed")
				}
			}
			return nil
		}
		return p.saveChanges(r, p.changesOf(r, f), begin)
	}
	return q, err
}

// saveChanges saves changes of settings and leads to the sections in which values differ from those before.
func (p *Pages) saveChanges(r *desk.Request, c tenant.Changes, before []string) error {
	t, err := p.cfg.Tenants.Update(r.Ctx(), r.Who.Actor(), r.Access.TenantID(), c)
	if err != nil {
		return err
	}
	look, err := p.cfg.Tenants.Brand(r.Ctx(), r.Access.TenantID())
	var changed []string
	for i, value := range stored(t, look) {
		if value != before[i] {
			changed = append(changed, before[i-1]) // the field
		}
	}
	if !slices.Equal(t.Margins, r.Tenant.Margins) { // perhaps of another target age
		changed = append(changed, "margin")
	}
	return r.After(err, opened(r, sectionsOf(changed)...), "settings_saved")
}

// stored returns the settings as the form's fields have them, as pairs of field and value.
func stored(t tenant.Tenant, look brand.Brand) []string {
	ways, colour := allWays, ""
	if len(t.DocumentWays) > 0 {
		ways = t.DocumentWays[0]
	}
	if look.Colour != "" {
		colour = "#" + string(look.Colour)
	}
	return []string{
		"document_check", checked(t.DocumentCheck), "ways", ways, "pid", checked(t.WalletPID), "only",
		checked(t.DocumentOnly), "age_visibility", checked(t.AgeVisibility), "target", "18", "margin", ownMargin(t, 18),
		"languages", strings.Join(t.Languages, " "), "brand_name", look.Name, "brand_colour", colour,
		"brand_logo", look.LogoHash, "privacy_url", t.Links.PrivacyURL, "help_url", t.Links.HelpURL,
		"terms_url", t.Links.TermsURL, "review_url", t.Links.ReviewURL, "alert_below", limitText(t.AlertBelow),
	}
}

// checked is the value of a checkbox.
func checked(on bool) string {
	if on {
		return "1"
	}
	return ""
}

// changesOf returns the changes in the form, and marks what is wrong with it.
func (p *Pages) changesOf(r *desk.Request, f *desk.FormView) tenant.Changes {
	if r.Request().PostForm.Has("effect") { // of the margin alone
		return tenant.Changes{Margin: marginOf(f, p.cfg.Tenants.Margin)}
	}
	c := brandChanges(f)
	ways, alert := []string{f.Value("ways")}, int64(tenant.NoAlert)
	if ways[0] == allWays {
		ways = nil
	}
	if given := f.Value("alert_below"); given != "" {
		var err error
		if alert, err = wholeNumber(given); err != nil || alert < 0 {
			f.Mark("alert_below", "settings.problem.alert")
		}
	}
	c.DocumentCheck, c.DocumentWays = new(f.Checked("document_check")), &ways
	c.WalletPID, c.DocumentOnly = new(f.Checked("pid")), new(f.Checked("only"))
	c.AgeVisibility, c.AlertBelow, c.Languages = new(f.Checked("age_visibility")), &alert, languagesOf(r, f)
	if m := marginOf(f, p.cfg.Tenants.Margin); m != nil && m.Years != ownMargin(r.Tenant, m.Target) {
		c.Margin = m
	}
	return c
}

// showSettings writes the page. present is the digest of the settings that are stored now.
func (p *Pages) showSettings(
	r *desk.Request, status int, look brand.Brand, present string, f *desk.FormView,
) (err error) {
	t, rule := r.Tenant, p.cfg.Tenants.Margin
	v := &settingsView{
		Form: f, Action: r.To(settingsPath), URLs: p.urlViews(t), EditURLs: r.Editing(urlsPath),
		Mine: r.Who.Strong() && r.Opens(brandingPath), Weak: !r.Who.Strong() && r.Opens(urlsPath), Seen: present,
		Languages: languageViews(r, offered(t.Languages)), Usual: rule.Usual,
		Least: rule.Least, Margins: marginViews(t, rule),
		Preview: strings.TrimSuffix(r.Href(previewPath), ":scheme"),
	}
	if v.Closed, err = p.cfg.Closed(r.Ctx(), t); err != nil {
		return err
	}
	if look.LogoHash != "" {
		v.Logo = "/dashboard/logo/" + look.LogoHash + ".png" // the hosted page may be at another address
	}
	names := strings.Split(r.QueryParam("open"), ",")
	for _, wrong := range f.Wrong() {
		names = append(names, wrong.Name)
	}
	v.Opened = sectionsOf(names)
	if f.Field("brand_logo").Problem == nil {
		v.Kept = base64.StdEncoding.EncodeToString(f.Upload)
	}
	for i := range f.Fields {
		if !v.Mine && f.Fields[i].Kind == "url" {
			f.Fields[i].Kind = "textarea" // a field that is switched off cannot be scrolled, but wraps
		}
	}
	sent := r.Request().PostForm
	if seen := sent.Get("seen"); seen != "" && f.Fault == nil {
		v.Seen = seen
	}
	if sent.Has("effect") && f.OK() {
		v.Opened = []string{"margins"}
		if v.Effect, err = p.effectOf(r, marginOf(f, rule), rule); err != nil {
			return err
		}
	}
	return r.Show(status, "settings", v)
}

// urlViews lists the callback URLs. Shoppers' browsers do not reach this machine by its local names.
func (p *Pages) urlViews(t tenant.Tenant) []urlView {
	views := []urlView{
		{Name: "success", URL: t.SuccessURL}, {Name: "cancel", URL: t.CancelURL}, {Name: "webhook", URL: t.WebhookURL},
	}
	for i, v := range views {
		views[i].Allows = tenant.HostPort(v.URL)
		switch u, err := url.Parse(v.URL); {
		case leadsHere(v.URL):
			views[i].Flaw = "local"
		case v.Name == "webhook" && p.cfg.Refuses(v.URL):
			views[i].Flaw = "private"
		case err == nil && u.Scheme == "http":
			views[i].Flaw = "plain"
		}
	}
	return views
}

// languageView is a language of the hosted page.
type languageView struct {
	Tag, Name        string // the name in the language itself
	Offered, Default bool
}

// offered returns the languages of a setting; an empty setting offers all.
func offered(languages []string) []string {
	if len(languages) == 0 {
		return tenant.Languages
	}
	return languages
}

// languageViews lists all languages with those that were sent, or else those in
// present, of which the first is the default.
func languageViews(r *desk.Request, present []string) (views []languageView) {
	standard := present[0]
	if sent := r.Request().PostForm; sent.Has("default") {
		present, standard = sent["languages"], sent.Get("default")
	}
	for _, tag := range tenant.Languages {
		views = append(views, languageView{tag, page.LanguageName(tag), slices.Contains(present, tag), tag == standard})
	}
	return views
}

// languagesOf returns the languages in the form, the default first, and marks what is wrong with them.
func languagesOf(r *desk.Request, f *desk.FormView) *[]string {
	chosen, standard := r.Request().PostForm["languages"], f.Value("default")
	languages := []string{standard}
	for _, tag := range chosen {
		if tag != standard {
			languages = append(languages, tag)
		}
	}
	present := offered(r.Tenant.Languages)
	added := func(tag string) bool { return !slices.Contains(present, tag) }
	switch {
	case len(chosen) == 0:
		f.Mark("languages", "settings.problem.none")
	case len(languages) != len(chosen):
		f.Mark("default", "settings.problem.default")
	case standard == present[0] && len(chosen) == len(present) && !slices.ContainsFunc(chosen, added):
		return nil // the same ones; their order may differ
	}
	return &languages
}
