package dashboard

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"agegate/internal/backoffice/insight"
	"agegate/internal/pages/dashboard/desk"
	"agegate/internal/pages/page"
)

// subPage is a page below one of the navigation or, while pages are searched, below a group of the navigation. A
// search finds it by its title and by the words lookup.words.<Name>. Who may not open it is led to the page above.
type subPage struct{ Name, Title, Pattern, Above string }

var tenantSubPages = []subPage{
	{"new_key", "new_key.title", keysPath + "/new", "keys"},
	{"test_event", "test_event.title", webhooksPath + "/test", "webhooks"},
	{"webhook_secret", "webhooks.secret", webhooksPath + "/secret", "webhooks"},
	{"urls", "urls.title", urlsPath, "settings"},
	{"document", "document_check.title", documentPath, "settings"},
	{"age", "age_visibility.title", agePath, "settings"},
	{"margins", "margins.title", marginsPath, "settings"},
	{"languages", "languages.title", languagesPath, "settings"},
	{"branding", "branding.title", brandingPath, "settings"},
	{"alert", "alert.title", alertPath, "settings"},
	{"account", "nav.account", accountPath, ""},
}

// pageKeys are the texts by which the pages of a navigation and those below are found.
func pageKeys(nav []desk.NavGroup, below []subPage) (keys []string) {
	for _, group := range nav {
		for _, item := range group.Items {
			keys = append(keys, "lookup.words."+item.Name)
		}
	}
	for _, sub := range below {
		keys = append(keys, sub.Title, "lookup.words."+sub.Name)
	}
	return keys
}

// pagesNamed returns the tenant's pages that a text names, for an operator those of the instance too, and the lists of
// sessions with a status that it names. If the user's role opens none of the pages, it returns them without an address.
func (p *Pages) pagesNamed(r *desk.Request, text string) ([]hitView, error) {
	hits, err := p.pagesOf(r, text, tenantNav, tenantSubPages)
	if err == nil && r.Who.User().Operator {
		var console []hitView
		console, err = p.pagesOf(r, text, operatorNav, operatorSubPages)
		known := func(hit hitView) bool { return slices.ContainsFunc(hits, hit.is) }
		hits = append(hits, slices.DeleteFunc(console, known)...)
	}
	if err != nil {
		return nil, err
	}
	if !r.Opens(sessionsPath) {
		return narrowed(narrowed(hits, hitView.whole), hitView.opens), nil
	}
	for _, status := range append(slices.Clip(parts), untold.Status) {
		name, err := p.textsOf(r, statusView{status}.Text())
		if err != nil {
			return nil, err
		}
		if named, exact := names(text, name[0], string(status)); named {
			hits = append(hits, hitView{Kind: "nav.sessions", Name: name[0], Status: status, exact: exact,
				recordLink: recordLink{Href: r.Href(sessionsPath) + "?status=" + string(status), Livemode: r.Access.Livemode()}})
		}
	}
	if _, err := time.Parse(time.DateOnly, text); err == nil {
		hits = append(hits, hitView{Kind: "nav.sessions", Name: text, exact: true, recordLink: recordLink{
			Href: r.Href(sessionsPath) + "?from=" + text + "&to=" + text, Livemode: r.Access.Livemode()}})
	}
	return narrowed(narrowed(hits, hitView.whole), hitView.opens), nil
}

// textsOf returns texts in the language of the page.
func (p *Pages) textsOf(r *desk.Request, keys ...string) ([]string, error) {
	texts := make([]string, len(keys))
	for i, key := range keys {
		var err error
		if texts[i], err = p.Set.Text(r, page.Say(key)); err != nil {
			return nil, err
		}
	}
	return texts, nil
}

// pagesOf returns the pages of a navigation and those below that a text, in lower case,
// names in the language of the page.
func (p *Pages) pagesOf(
	r *desk.Request, text string, nav []desk.NavGroup, below []subPage,
) (hits []hitView, err error) {
	var all []subPage
	patterns := map[string]string{}
	for _, group := range nav {
		for _, item := range group.Items {
			all = append(all, subPage{item.Name, "nav." + item.Name, item.Pattern, group.Name})
			patterns[item.Name] = item.Pattern
		}
	}
	for _, at := range append(all, below...) {
		hit, err := p.pageNamed(r, text, at, patterns[at.Above])
		if err != nil {
			return nil, err
		}
		if hit.Href != "" || hit.Roles != "" {
			hits = append(hits, hit)
		}
	}
	return hits, nil
}

// pageNamed returns a page if a text names it, or the zero hit. upper is the pattern of
// the page above; it is empty below a group, whose name names its pages too.
func (p *Pages) pageNamed(r *desk.Request, text string, at subPage, upper string) (hit hitView, err error) {
	kind, keys := "lookup.page", []string{at.Title, "lookup.words." + at.Name}
	if at.Above != "" {
		kind = "nav." + at.Above
	}
	if upper == "" && at.Above != "" {
		keys = append(keys, kind)
	}
	texts, err := p.textsOf(r, keys...)
	if err != nil {
		return hit, err
	}
	named, exact := names(text, texts[0], strings.Join(texts[1:], ", "))
	if !named {
		return hit, nil
	}
	hit = hitView{Kind: kind, Name: texts[0], exact: exact}
	hit.Href = cmp.Or(r.Address(at.Pattern), r.Address(upper))
	hit.Livemode = r.Access.Livemode() && !strings.HasPrefix(hit.Href, inMode(r, false, overviewPath))
	if hit.Href == "" {
		texts, err = p.textsOf(r, page.Keys("role.", r.RolesOf(at.Pattern)...)...)
		hit.Roles = strings.Join(texts, ", ")
	}
	return hit, err
}

// names reports whether a text, in lower case, is a part of a page's title, or each of its words begins one of the
// title or of the page's words; and whether each of them is one of those, or is so but for its ending.
func names(text, title, words string) (named, exact bool) {
	title = strings.ToLower(title)
	all := inWord.FindAllString(title+" "+strings.ToLower(words), -1)
	named, exact = true, true
	for typed := range strings.FieldsSeq(text) {
		named = named && slices.ContainsFunc(all, func(word string) bool { return strings.HasPrefix(word, typed) })
		exact = exact && slices.ContainsFunc(all, func(word string) bool { return alike(word, typed) })
	}
	return named || strings.Contains(title, text), exact
}

// endings are those of words that are the same without them.
var endings = []string{"", "d", "e", "ed", "em", "en", "er", "es", "ing", "n", "r", "s", "t", "te", "ten", "ung"}

// alike reports whether two words are the same but for their endings.
func alike(a, b string) bool {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return a == b || n > minLetters && slices.Contains(endings, a[n:]) && slices.Contains(endings, b[n:])
}

// errorsNamed returns the rejected requests whose ID a text, in lower case, is, and the
// parts of the guide to errors whose heading it is or has in quotes, as a body has them.
func (p *Pages) errorsNamed(r *desk.Request, text string) (hits []hitView, err error) {
	for _, livemode := range livemodesOf(r) {
		if len(text) < 16 || !r.Opens(refusalsPath) {
			break
		}
		all, err := p.cfg.Insight.Refusals(r.Ctx(), insight.Scope{TenantID: r.Access.TenantID(), Livemode: livemode})
		if err != nil {
			return nil, err
		}
		for i, c := range all {
			if strings.EqualFold(c.RequestID, text) {
				row := "?page=" + strconv.Itoa(i/insight.PageSize+1) + "#" + c.RequestID
				hits = append(hits, hitView{Kind: "nav.refusals", Name: c.RequestID, Mode: modeName(livemode),
					recordLink: recordLink{Href: inMode(r, livemode, refusalsPath) + row, Livemode: livemode}})
			}
		}
	}
	for _, s := range p.cfg.Sections("errors", "###") {
		name := strings.ToLower(s[0])
		if text == name || strings.Contains(text, `"`+name+`"`) {
			hits = append(hits, hitView{Kind: "lookup.error", Name: s[0],
				recordLink: recordLink{Href: r.Docs() + "/errors#" + s[1], Livemode: r.Access.Livemode()}})
		}
	}
	return hits, nil
}
