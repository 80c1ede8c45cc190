package dashboard

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"agegate/internal/backoffice/account"
	"agegate/internal/pages/dashboard/desk"
	"agegate/internal/rules/session"
)

// Bounds of a search: matches of one kind, letters with which names are searched, and names in one search.
const (
	maxHits    = 10
	minLetters = 2
	maxNames   = 20
)

// hitView is something that a search found.
type hitView struct {
	Kind    string // key of what it is
	Name    string
	Mode    string          // key of its mode; empty if it has none
	Session *sessionRowView // of a session
	Status  session.Status  // of a list of sessions with this status; empty for others
	Roles   string          // who may open a page that the user may not; it has no address
	score   float64         // of a section of the guide; see guideAbout
	exact   bool            // whole words of a page were given, not beginnings of words
	recordLink
}

// findWord fills in what a short text names as a whole, or else what its words name.
// Every read of sessions is one range of an index.
func (p *Pages) findWord(r *desk.Request, v *pasteView, text string) (err error) {
	value := text[strings.LastIndexAny(text, "?&")+1:] // the last parameter of an address
	if idPrefix.MatchString(value) {
		value = "=" + value // no session's ID
	}
	if orderText.MatchString(value) && strings.ContainsAny(value, "0123456789=") {
		v.Scan = r.Href(sessionsPath) + "?id=" + url.QueryEscape(value)
	}
	v.Hits, err = p.lookUp(r, text)
	closely := len(v.Hits) > 0 && v.Hits[0].Href != ""
	if err == nil && v.Hits == nil {
		v.Hits, v.Missed, err = p.lookUpEach(r, wordsOf(text))
		closely = len(v.Hits) == 1 && v.Missed == 0
	}
	named := func(hit hitView) bool { return hit.Session != nil || strings.EqualFold(hit.Name, text) }
	if err != nil || slices.ContainsFunc(v.Hits, named) {
		return err
	}
	guide, err := p.guideAbout(r, wordsOf(strings.ToLower(text)), closely)
	if len(guide) > 0 {
		v.Hits, v.Missed = append(guide, v.Hits...), 0
	}
	return err
}

// wordsOf returns the words of a text. Of a long one, such as a shopper's letter, it
// returns those with a digit, because they may name a session.
func wordsOf(text string) []string {
	words := strings.FieldsFunc(text, func(c rune) bool {
		return unicode.IsSpace(c) || strings.ContainsRune(",;!|()[]{}<>\"'“”„‘’–—", c)
	})
	if len(words) > maxNames {
		words = slices.DeleteFunc(words, func(word string) bool { return !strings.ContainsAny(word, "0123456789") })
	}
	return words[:min(len(words), maxNames)]
}

// lookUp returns the sessions, events, API keys, members, errors and pages that a text names, in the
// modes that the log-in opens.
func (p *Pages) lookUp(r *desk.Request, text string) ([]hitView, error) {
	hits, err := p.sessionHits(r, text, p.sessionsNamed)
	if err == nil && hits == nil && len(text) >= minLetters {
		hits, err = p.sessionHits(r, text, p.sessionsBegun)
	}
	if number := wordAndNumber.FindStringSubmatch(text); err == nil && hits == nil && number != nil {
		hits, err = p.sessionHits(r, number[1], p.sessionsNamed)
	}
	if err != nil || len(text) < minLetters {
		return hits, err
	}
	for _, find := range []func(*desk.Request, string) ([]hitView, error){
		p.eventsEnding, p.keysNamed, p.membersNamed, p.errorsNamed, p.pagesNamed,
	} {
		found, err := find(r, strings.ToLower(text))
		if err != nil {
			return nil, err
		}
		hits = append(hits, found[:min(len(found), maxHits)]...)
	}
	return opening(hits), nil
}

// guideAbout returns the sections of support's guide that share the most words in either language with a text, or have
// a screen of the shopper's page with them; the best first. The fewer sections have a word, the more it counts, and the
// whole text most. If closely is true, only sections count that have all words, or the only one in the title.
func (p *Pages) guideAbout(r *desk.Request, words []string, closely bool) (hits []hitView, err error) {
	at, err := p.textsOf(r, "story.guide_document", "story.guide_step")
	if err != nil {
		return nil, err
	}
	guide, _, _ := strings.Cut(at[0], "#")
	sections, texts, spelling := p.cfg.Sections(guide, "##"), []string{}, [][]string{}
	german := p.cfg.Sections(strings.TrimSuffix(guide, ".de")+".de", "##")
	for i, s := range p.cfg.Sections(strings.TrimSuffix(guide, ".de"), "##") {
		texts = append(texts, strings.ToLower(strings.Join(append(s[:], german[i][:]...), " ")))
		spelling = append(spelling, inWord.FindAllString(texts[i], -1))
	}
	scores := make([]float64, len(sections))
	for _, word := range words {
		if word = strings.Trim(word, "….:?"); closely || !telling(word, len(words)) {
			continue
		}
		marks, having := p.replies.shown(word, at), []int{}
		for i, s := range sections {
			shown := slices.ContainsFunc(marks, func(mark string) bool { return strings.Contains(guide+"#"+s[1]+s[2], mark) })
			if shown || spelt(spelling[i], word) {
				having = append(having, i)
			}
		}
		for _, i := range having {
			scores[i] += 1 / float64(len(having))
		}
	}
	text := strings.Trim(strings.Join(words, " "), "….:?")
	for i, s := range sections {
		titled, _ := names(text, s[0], "")
		all, _ := names(text, texts[i], "")
		if titled || len(words) > 1 && (closely && all || strings.Contains(texts[i], text)) {
			scores[i] += float64(len(words))
		}
		hits = append(hits, hitView{Kind: "nav.support", Name: s[0], score: scores[i],
			recordLink: recordLink{Href: r.Docs() + "/" + guide + "#" + s[1], Livemode: r.Access.Livemode()}})
	}
	slices.SortStableFunc(hits, func(a, b hitView) int { return cmp.Compare(b.score, a.score) })
	best := hits[0].score
	return slices.DeleteFunc(hits, func(hit hitView) bool { return hit.score <= best*2/3 }), nil
}

// telling reports whether a word of several is of letters, and not as short as how, do and my.
func telling(word string, of int) bool {
	return (of == 1 || len(word) > 3) && !strings.ContainsFunc(word, func(c rune) bool { return !unicode.IsLetter(c) })
}

// lookUpEach returns the sessions that any of several words names, such as 1042, 1043. Words that name modes or
// statuses select among them, and words that name other pages are left out. If no word names a session, it
// returns the pages that the most words name. missed is how many words name nothing.
func (p *Pages) lookUpEach(r *desk.Request, words []string) (hits []hitView, missed int, err error) {
	var pages []hitView
	var modes []bool
	for _, word := range words {
		named, err := p.modesNamed(r, word)
		if err != nil {
			return nil, 0, err
		}
		if len(named) == 1 { // not the word "mode"
			modes = append(modes, named[0])
		}
		if named != nil {
			continue
		}
		found, err := p.lookUpWord(r, word, maxNames/len(words))
		if err != nil {
			return nil, 0, err
		}
		if found == nil {
			missed++
		}
		for _, hit := range found {
			if hit.Session == nil {
				pages = append(pages, hit)
			} else if !slices.ContainsFunc(hits, hit.is) {
				hits = append(hits, hit)
			}
		}
	}
	if hits == nil {
		return mostOf(pages), missed, nil
	}
	hits = narrowed(hits, func(hit hitView) bool { return slices.Contains(modes, hit.Livemode) })
	return narrowed(hits, func(hit hitView) bool {
		return slices.ContainsFunc(pages, func(list hitView) bool { return list.Status == hit.Session.Status.Status })
	}), missed, nil
}

// lookUpWord returns the sessions that a word of several names, or one of at most some parts of it if it is an
// address, or else the pages, or else the sessions whose order it is a part of.
func (p *Pages) lookUpWord(r *desk.Request, word string, parts int) (hits []hitView, err error) {
	word = strings.Trim(word, "….:?")
	all := append([]string{word}, partsOfAddress(word, parts)...)
	for _, name := range all {
		if hits, err = p.sessionHits(r, name, p.sessionsNamed); err != nil || hits != nil {
			return hits, err
		}
	}
	if len(word) > minLetters {
		hits, err = p.pagesNamed(r, strings.ToLower(word))
	}
	for _, name := range all {
		if err == nil && hits == nil && len(name) >= minLetters && strings.ContainsAny(name, "0123456789") {
			hits, err = p.sessionHits(r, name, p.sessionsBegun)
		}
	}
	return hits, err
}

// partsOfAddress returns the last names and values in an address or a path, the last first.
func partsOfAddress(word string, most int) []string {
	plain, err := url.PathUnescape(word)
	if err != nil {
		return nil
	}
	parts := strings.FieldsFunc(plain, func(c rune) bool { return strings.ContainsRune("/?&=#:", c) })
	slices.Reverse(parts)
	parts = slices.DeleteFunc(parts, func(part string) bool { return len(part) < minLetters })
	return parts[:min(len(parts), most)]
}

func (v hitView) is(other hitView) bool { return v.Name == other.Name && v.Href == other.Href }

// narrowed returns the hits to keep, or all of them if that would be none.
func narrowed(hits []hitView, keep func(hitView) bool) []hitView {
	if kept := slices.DeleteFunc(slices.Clone(hits), func(hit hitView) bool { return !keep(hit) }); len(kept) > 0 {
		return kept
	}
	return hits
}

// mostOf returns the hits that occur most often, each once.
func mostOf(hits []hitView) (most []hitView) {
	best := 1
	for _, hit := range hits {
		n := len(slices.DeleteFunc(slices.Clone(hits), func(other hitView) bool { return !hit.is(other) }))
		if n > best {
			best, most = n, nil
		}
		if n == best && !slices.ContainsFunc(most, hit.is) {
			most = append(most, hit)
		}
	}
	return most
}

// keysNamed returns the API keys with a name that contains the text, or that end with it.
func (p *Pages) keysNamed(r *desk.Request, text string) (hits []hitView, err error) {
	if !r.Opens(keysPath) {
		return nil, nil
	}
	keys, err := p.cfg.Tenants.Keys(r.Ctx(), r.Access.TenantID())
	for _, k := range keys {
		shown := strings.Contains(strings.ToLower(k.Name), text) || strings.ToLower(k.LastFour) == text
		if shown && slices.Contains(livemodesOf(r), k.Livemode) {
			hits = append(hits, hitView{Kind: "lookup.key", Name: keyName(k.Name, k.LastFour),
				Mode: modeName(k.Livemode), recordLink: recordLink{Href: inMode(r, k.Livemode, keysPath), Livemode: k.Livemode}})
		}
	}
	return hits, err
}

// membersNamed returns the members of the team with a name or an address that contains the text.
func (p *Pages) membersNamed(r *desk.Request, text string) (hits []hitView, err error) {
	if !r.Opens(teamPath) {
		return nil, nil
	}
	members, err := p.cfg.Accounts.Members(r.Ctx(), r.Access.TenantID())
	for _, m := range members {
		if strings.Contains(strings.ToLower(m.User.Name), text) || strings.Contains(m.User.Email, text) {
			hits = append(hits, hitView{Kind: "lookup.member", Name: m.User.Name + " · " + m.User.Email,
				recordLink: recordLink{Href: memberHref(r, m), Livemode: r.Access.Livemode()}})
		}
	}
	return hits, err
}

// memberHref returns the address where a member's role is set. For the user's own membership it is the team's page.
func memberHref(r *desk.Request, m account.Member) string {
	if m.UserID == r.Who.User().ID || !r.Opens(memberPath) {
		return r.To(teamPath)
	}
	return r.Href(teamPath) + "/" + m.UserID.String()
}
