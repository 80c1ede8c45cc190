package dashboard

import (
	"slices"
	"strings"

	"agegate/internal/pages/dashboard/desk"
	"agegate/internal/pages/page"
)

// section is a part of the page of settings, which is open or closed. Its texts begin with its name.
type section struct {
	Name   string
	path   string
	fields string // of the form, separated by spaces
}

var sections = []section{
	{"urls", urlsPath, ""},
	{"document_check", documentPath, "document_check ways pid only"},
	{"age_visibility", agePath, "age_visibility"},
	{"margins", marginsPath, "target margin"},
	{"languages", languagesPath, "languages default"},
	{"branding", brandingPath, "brand_name brand_colour brand_logo privacy_url help_url terms_url review_url"},
	{"alert", alertPath, "alert_below"},
}

// sectionsOf returns the names of the sections that have one of these names or fields.
func sectionsOf(names []string) (found []string) {
	for _, s := range sections {
		if slices.ContainsFunc(append(strings.Fields(s.fields), s.Name),
			func(name string) bool { return slices.Contains(names, name) }) {
			found = append(found, s.Name)
		}
	}
	return found
}

// opened returns the address of the page of settings with these sections open, at the only one.
func opened(r *desk.Request, names ...string) string {
	to, joint := r.To(settingsPath), "?open="
	if len(names) == 0 {
		return to
	}
	if strings.Contains(to, "?") {
		joint = "&open="
	}
	all := strings.Join(names, ",") // of several it is no element's ID: the page is shown from its top
	return to + joint + all + "#" + all
}

// partView is a section as the page shows it. The only one that the address opens has the page's notice.
type partView struct {
	*settingsView
	section
	Open   bool
	Notice *page.Text
	Failed bool
}

// Part returns a section of the page. Without another, the callback URLs are open if they have a flaw.
func (v *settingsView) Part(name string) partView {
	i := slices.IndexFunc(sections, func(s section) bool { return s.Name == name })
	p := partView{settingsView: v, section: sections[i], Open: slices.Contains(v.Opened, name)}
	if len(v.Opened) == 0 {
		p.Open = name == "urls" && slices.ContainsFunc(v.URLs, func(u urlView) bool { return u.URL == "" || u.Flaw != "" })
	} else if len(v.Opened) == 1 && p.Open {
		p.Notice, p.Failed = v.Layout.Notice, v.Layout.Failed
	}
	return p
}
