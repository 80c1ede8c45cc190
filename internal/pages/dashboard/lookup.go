package dashboard

import (
	"cmp"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"agegate/internal/pages/dashboard/desk"
	"agegate/internal/rules/session"
)

// Bounds of a search: matches of one kind, orders that are compared with one in another spelling, letters with which
// names are searched, names in one search, and words of a mail that are compared with the guide.
const (
	maxHits    = 10
	maxSpelled = 50
	minLetters = 2
	maxNames   = 20
	maxTold    = 200
)

// hitView is something that a search found.
type hitView struct {
	Kind    string // key of what it is
	Name    string
	Mode    string          // key of its mode; empty if it has none
	Session *sessionRowView // of a session
	Status  session.Status  // of a list of sessions with this status; empty for others
	Roles   string          // who may open a page that the user may not; it has no address
	About   string          // anchor of a section of the English guide
	Advice  []string        // what that section says to do: a paragraph and items of a list
	Replies []reply         // what to tell the shopper, first in the language of a mail, or else in that of the page
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
	named := func(hit hitView) bool { return hit.Session != nil || strings.EqualFold(hit.Name, text) }
	if err != nil || slices.ContainsFunc(v.Hits, named) {
		return err
	}
	closely, naming := slices.ContainsFunc(v.Hits, hitView.opens), maxTold
	if v.Hits == nil {
		words := wordsOf(text)
		err = p.lookUpEach(r, v, unspelled(text), words)
		closely, naming = len(v.Hits) == 1 && v.Missed == 0, len(words)-v.Missed
	}
	with := slices.ContainsFunc(v.Hits, named)
	guide, told, failed := p.guideAbout(r, text, closely && !with)
	switch {
	case len(guide) == 0 || with && naming >= told+v.Missed: // most words select sessions
		return cmp.Or(err, failed)
	case with:
		guide = append(v.Hits, guide...)
	case naming >= told: // pages that only some of the words name have little to do with all of them
		guide = append(guide, v.Hits...)
	}
	v.Hits, v.Missed = guide, 0
	return cmp.Or(err, failed)
}

// noOrder is what may be in an order by chance: a telephone number, a date, a year, an error's number, a file's name.
var noOrder = regexp.MustCompile(
	`(?i)\+\d[\d ()/.-]{7,}|\b(in|from|since|until|of|seit|aus|bis|von) (19|20)\d\d\b|\b(error|fehler) \d{3}\b|` +
		`\b\d{1,2}[./]\d{1,2}[./](20)?\d\d\b|\S+\.(gif|heic|jpe?g|pdf|png|webp)\b`)

// wordsOf returns the words of a text that may name something: of a shopper's letter, those with a digit.
func wordsOf(text string) []string {
	words := strings.FieldsFunc(noOrder.ReplaceAllString(text, ""), func(c rune) bool {
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
	hits, err := p.sessionHits(r, text, p.sessionsNamed, p.sessionsSpelled, p.sessionsBegun)
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
	return narrowed(hits, hitView.opens), nil
}

// lookUpEach fills in the sessions that any of several words names, such as 1042, 1043, and how many name nothing.
// Words that name modes or statuses select among them if all words name something, which those of a mail do not. If no
// word names a session, it fills in the pages that the most words name, unless a number is the order of none. Of the
// orders that a word is a part of, those in all count, which is the text without punctuation.
func (p *Pages) lookUpEach(r *desk.Request, v *pasteView, all string, words []string) error {
	pages, modes, missed := []hitView{}, []bool{}, []string{}
	named, err := p.textsOf(r, "lookup.words.test", "lookup.words.live")
	if err != nil {
		return err
	}
	for _, word := range words {
		word = strings.Trim(word, "#….:?")
		names := func(i int) bool { return slices.Contains(strings.Split(named[i], ", "), strings.ToLower(word)) }
		if live := names(1); live || names(0) {
			if live != names(0) { // not the word "mode"
				modes = append(modes, live)
			}
			continue
		}
		found, err := p.lookUpWord(r, word, maxNames/len(words))
		if err != nil {
			return err
		}
		if found == nil {
			missed = append(missed, word)
		}
		for _, hit := range narrowed(found, func(hit hitView) bool {
			return hit.Session != nil && strings.Contains(all, unspelled(hit.Session.OrderRef))
		}) {
			if hit.Session == nil {
				pages = append(pages, hit)
			} else if !slices.ContainsFunc(v.Hits, hit.is) {
				v.Hits = append(v.Hits, hit)
			}
		}
	}
	v.miss(missed)
	if v.Hits == nil && !v.NoOrder {
		words = slices.DeleteFunc(words, func(word string) bool { return !telling(word, minLetters) })
		v.Hits = mostOf(pages, len(words))
		return nil
	}
	v.Hits = narrowed(v.Hits, func(hit hitView) bool { return v.Missed == 0 && slices.Contains(modes, hit.Livemode) })
	v.Hits = narrowed(v.Hits, func(hit hitView) bool {
		ofIts := func(list hitView) bool { return list.Status == hit.Session.Status.Status }
		return v.Missed == 0 && slices.ContainsFunc(pages, ofIts)
	})
	return nil
}

// lookUpWord returns the sessions that a word of several names, or one of its last parts if it is an address or a path,
// at most so many, or else the pages, or else the sessions whose order it is a part of.
func (p *Pages) lookUpWord(r *desk.Request, word string, parts int) (hits []hitView, err error) {
	plain, _ := url.PathUnescape(word) // empty if it is no address
	all := strings.FieldsFunc(plain, func(c rune) bool { return strings.ContainsRune("/?&=#:", c) })
	all = slices.DeleteFunc(all, func(part string) bool { return len(part) < minLetters })
	all = append(all[max(0, len(all)-parts):], word)
	slices.Reverse(all)
	for _, name := range all {
		if hits, err = p.sessionHits(r, name, p.sessionsNamed, p.sessionsSpelled); err != nil || hits != nil {
			return hits, err
		}
	}
	if telling(word, 3) {
		hits, err = p.pagesNamed(r, strings.ToLower(word))
	}
	for _, name := range all {
		if err == nil && hits == nil && len(name) >= minLetters && strings.ContainsAny(name, "0123456789") {
			hits, err = p.sessionHits(r, name, p.sessionsBegun)
		}
	}
	return hits, err
}

func (v hitView) is(other hitView) bool { return v.Name == other.Name && v.Href == other.Href }
func (v hitView) opens() bool           { return v.Href != "" }
func (v hitView) whole() bool           { return v.exact }

// narrowed returns the hits to keep, or all of them if that would be none.
func narrowed(hits []hitView, keep func(hitView) bool) []hitView {
	if kept := slices.DeleteFunc(slices.Clone(hits), func(hit hitView) bool { return !keep(hit) }); len(kept) > 0 {
		return kept
	}
	return hits
}

// mostOf returns the hits that occur most often, each once. What the role does not open has to occur for each of words.
func mostOf(hits []hitView, words int) (most []hitView) {
	best := 1
	for _, hit := range hits {
		n := len(slices.DeleteFunc(slices.Clone(hits), func(other hitView) bool { return !hit.is(other) }))
		if hit.Href == "" && n < words {
			continue
		}
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
			href := r.Href(teamPath) + "/" + m.UserID.String() // where the role is set
			if m.UserID == r.Who.User().ID || !r.Opens(memberPath) {
				href = r.To(teamPath)
			}
			hits = append(hits, hitView{Kind: "lookup.member", Name: m.User.Name + " · " + m.User.Email,
				recordLink: recordLink{Href: href, Livemode: r.Access.Livemode()}})
		}
	}
	return hits, err
}
