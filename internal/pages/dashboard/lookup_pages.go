package dashboard

import (
	"slices"
	"strings"

	"agegate/internal/pages/dashboard/desk"
	"agegate/internal/pages/page"
)

// subPage is a page below one of the navigation, which a search finds by its title and
// by the words lookup.words.<Name>. Who may not open it is led to the page above.
type subPage struct{ Name, Title, Pattern, Above string }

var tenantSubPages = []subPage{
	{"new_key", "new_key.title", keysPath + "/new", "keys"},
	{"test_event", "test_event.title", webhooksPath + "/test", "webhooks"},
	{"webhook_secret", "webhooks.secret", webhooksPath + "/secret", "webhooks"},
	{"certify", "certify.title", certifyPath, "webhooks"},
	{"signature", "signature.title", signaturePath, "webhooks"},
	{"token", "token.title", tokenPath, "redirect_secret"},
	{"urls", "urls.title", urlsPath, "settings"},
	{"document", "document_check.title", documentPath, "settings"},
	{"age", "age_visibility.title", agePath, "settings"},
	{"margins", "margins.title", marginsPath, "settings"},
	{"languages", "languages.title", languagesPath, "settings"},
	{"branding", "branding.title", brandingPath, "settings"},
	{"sign_on", "sign_on.title", signOnPath, "team"},
	{"alert", "alert.title", alertPath, "billing"},
	{"account", "nav.account", accountPath, "account"},
}

// pageKeys are the texts by which the pages of a navigation and those below are found.
func pageKeys(nav []desk.NavGroup, below []subPage) (keys []string) {
	for _, group := range nav {
		for _, item := range group.Items {
			keys = append(keys, "lookup.words."+item.Name)
		}
	}
	for _, sub := range below {
		keys = append(keys, sub.Title, "lookup.words."+sub.Name, "nav."+sub.Above)
	}
	return keys
}

// pagesNamed returns the tenant's pages that a text names, and the lists of sessions
// with a status that it names.
func (p *Pages) pagesNamed(r *desk.Request, text string) ([]hitView, error) {
	hits, err := p.pagesOf(r, text, tenantNav, tenantSubPages)
	if err != nil || !r.Opens(sessionsPath) {
		return hits, err
	}
	for _, status := range parts {
		name, err := p.Set.Text(r, page.Say(statusView{status}.Text()))
		if err != nil {
			return nil, err
		}
		if names(text, name, string(status)) {
			hits = append(hits, hitView{Kind: "nav.sessions", Name: name,
				recordLink: recordLink{Href: r.Href(sessionsPath) + "?status=" + string(status), Livemode: r.Access.Livemode()}})
		}
	}
	return hits, nil
}

// pagesOf returns the pages of a navigation and those below that a text, in lower case,
// names in the language of the page.
func (p *Pages) pagesOf(
	r *desk.Request, text string, nav []desk.NavGroup, below []subPage,
) (hits []hitView, err error) {
	patterns := map[string]string{"account": accountPath}
	var all []subPage
	for _, group := range nav {
		for _, item := range group.Items {
			patterns[item.Name] = item.Pattern
			all = append(all, subPage{item.Name, "nav." + item.Name, item.Pattern, ""})
		}
	}
	for _, at := range slices.Concat(all, below) {
		title, err := p.Set.Text(r, page.Say(at.Title))
		if err != nil {
			return nil, err
		}
		words, err := p.Set.Text(r, page.Say("lookup.words."+at.Name))
		if err != nil {
			return nil, err
		}
		hit := hitView{Kind: "lookup.page", Name: title, recordLink: recordLink{Href: r.Address(at.Pattern)}}
		if at.Above != "" && at.Pattern != patterns[at.Above] {
			hit.Kind = "nav." + at.Above
		}
		if hit.Href == "" {
			hit.Href = r.Address(patterns[at.Above])
		}
		hit.Livemode = r.Access.Livemode() && !strings.HasPrefix(hit.Href, inMode(r, false, overviewPath))
		if hit.Href != "" && names(text, title, words) {
			hits = append(hits, hit)
		}
	}
	return hits, nil
}

// names reports whether a text, in lower case, is a part of a page's title, or each of
// its words begins one of the title or of the page's words.
func names(text, title, words string) bool {
	title = strings.ToLower(title)
	if strings.Contains(title, text) {
		return true
	}
	all := strings.FieldsFunc(title+" "+strings.ToLower(words), func(c rune) bool { return c == ' ' || c == ',' })
	for typed := range strings.FieldsSeq(text) {
		if !slices.ContainsFunc(all, func(word string) bool { return strings.HasPrefix(word, typed) }) {
			return false
		}
	}
	return true
}
