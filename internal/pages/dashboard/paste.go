package dashboard

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"agegate/internal/pages/dashboard/desk"
	"agegate/internal/pages/page"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/fault"
)

const pastePath = overviewPath + "/paste"

var pasteForm = &desk.Form{
	Name: "paste", Again: true,
	Fields: []desk.Field{{Name: "text", Kind: "search", Max: 16 << 10}},
}

func (p *Pages) paste() desk.Feature {
	f := desk.Feature{
		Screens: []string{"paste"},
		Notices: []string{"paste_test", "paste_live"},
		Keys: slices.Concat(pageKeys(tenantNav, tenantSubPages), []string{"paste.lead", "paste.text_hint", "paste.no_session",
			"paste.deleted", "paste.deleted_by", "paste.no_name", "paste.no_answer", "paste.no_order", "lookup.session",
			"paste.no_event", "paste.no_link", "paste.no_cut", "paste.no_secret", "paste.no_word", "paste.no_", "lookup.event",
			"lookup.key", "lookup.error", "lookup.member", "lookup.page"}),
	}
	// The answer opens the record of the pasted text, or lists what it finds. The text is not stored or logged, and
	// repeated in the answer only if it is askable. While a user types into the search, the part "found" is asked for.
	f.Fill(desk.Route{Path: pastePath, MinRole: desk.Reader, Reads: true}, pasteForm,
		func(r *desk.Request) (*desk.Question, error) {
			v := &pasteView{Of: "paste", TestOnly: !r.Who.Strong()}
			return v.question(r, func(text string) error { return p.findPasted(r, v, text) }), nil
		})
	return f
}

// maxSought is how many words are looked up as names; more are a sentence.
const maxSought = 3

// askable reports whether a text is a few words for the search of the documentation: no secret, link or
// long text. They stand in the part of an address that browsers send nowhere.
func askable(text string) bool {
	words := strings.Split(text, " ")
	return len(words) <= maxSought && !slices.ContainsFunc(words, func(word string) bool {
		return word == "" || utf8.RuneCountInString(word) > 24 || strings.ContainsFunc(word, func(r rune) bool {
			return !unicode.In(r, unicode.L, unicode.M, unicode.Nd) && !strings.ContainsRune(".'’-", r)
		})
	})
}

type pasteView struct {
	desk.Layout
	Of       string // prefix of the texts about what is found
	Form     *desk.FormView
	Hits     []hitView
	Missed   int             // of several words, those that name nothing
	NoOrder  bool            // one of them has a number that is no session's order, or a mail's ID or link is none or cut
	Lost     bool            // a search found nothing
	Nothing  page.Text       // what that was
	TestOnly bool            // the search left live mode out, because the log-in does not open it
	Places   []desk.ShopView // on the operator's pages, tenants in which sessions are searched
	Guide    string          // address of the documentation, with the words of Sought, or of support's guide
	Scan     string          // address of the slow search in all success URLs; empty if it cannot find more
}

// question asks for a text, which find searches for, and answers with the
// one hit or with the page. A form may not lead to another host, as the documentation's.
func (v *pasteView) question(r *desk.Request, find func(text string) error) *desk.Question {
	show := func(status int, f *desk.FormView) error {
		v.Guide = r.Docs()
		if words := f.Value("text"); askable(words) {
			v.Guide, v.Sought, r.Sought = v.Guide+"#q="+url.QueryEscape(words), words, words
		} else if v.Of == "paste" {
			v.Guide += "/support"
		}
		v.Form = f.With("text", "")
		r.Response().Header().Set("Cache-Control", "private, no-cache") // Back finds the hits again
		return r.Show(status, "paste", v)
	}
	return &desk.Question{Show: show, Do: func(f *desk.FormView) error {
		if err := find(f.Value("text")); err != nil {
			return err
		}
		if len(v.Hits) == 1 && strings.HasPrefix(v.Hits[0].Href, "/") && v.Missed == 0 && r.Part() == "" {
			return r.Done(v.Hits[0].Href, noticeOf(r, &v.Hits[0].recordLink))
		}
		v.Lost = v.Hits == nil
		slices.SortStableFunc(v.Hits, func(a, b hitView) int { // pages that the role does not open come last
			return min(len(b.Href), 1) - min(len(a.Href), 1)
		})
		return show(http.StatusOK, f)
	}}
}

// findPasted fills in the hits. A mail with an ID or a link leads to what the guide says of its words, too.
func (p *Pages) findPasted(r *desk.Request, v *pasteView, text string) (err error) {
	given := recognize(text)
	v.Nothing = page.Say("paste.no_" + string(given.kind))
	switch given.kind {
	case pastedWord:
		v.Nothing, v.NoOrder = unfound(given.text)
		return p.findWord(r, v, given.text)
	case pastedEvent:
		record, unknown := p.eventLink(r, given.text)
		if err = unknown; record != nil {
			v.Hits = []hitView{{Kind: "lookup.event", Name: given.text, Mode: modeName(record.Livemode), recordLink: *record}}
		}
	case pastedLink:
		sess, unknown := p.cfg.Sessions.ByLink(r.Ctx(), given.text)
		if err = unknown; err == nil {
			v.Hits, err = p.sessionHits(r, sess.ID.String(), p.sessionsNamed)
		} else if fault.CodeOf(err) == fault.NotFound {
			err = nil
		}
	case pastedSession:
		if v.Hits, err = p.sessionHits(r, given.text, p.sessionsNamed); err == nil && v.Hits == nil {
			err = p.findDeleted(r, v, given.text)
		}
	default:
		v.TestOnly = v.TestOnly && given.kind != pastedSecret
		return nil
	}
	guide, told, failed := p.guideAbout(r, text, false)
	if told > 1 && guide != nil && !strings.Contains(text, "{") { // not the body of a webhook
		v.NoOrder, v.Hits = v.Hits == nil, append(v.Hits, guide...)
	}
	return cmp.Or(err, failed)
}

// unfound is what is said of words that find nothing, and whether a link among them is cut.
func unfound(text string) (said page.Text, cut bool) {
	switch {
	case cutPattern.MatchString(text):
		return page.Say("paste.no_cut"), true
	case !noNumber.MatchString(text):
		return page.Say("paste.no_word"), false
	case len(strings.Fields(text)) > maxSought:
		return page.Say("paste.no_answer"), false
	}
	return page.Say("paste.no_name"), false
}

// findDeleted fills in when the session with an ID was deleted, and for those who read the audit log by whom.
func (p *Pages) findDeleted(r *desk.Request, v *pasteView, id string) error {
	acts, err := p.cfg.Audit.AuditEntries(r.Ctx(), audit.Filter{
		Scope: audit.OfTenant(r.Access.TenantID()), Action: audit.SessionDelete, Target: id, Limit: 1,
	})
	if err != nil || len(acts) == 0 {
		return err
	}
	by, err := p.Set.Text(r, actorOf(acts[0]))
	v.Nothing = page.Say("paste.deleted_by", "at", stamp(r, acts[0].At), "by", by)
	if !r.Opens(auditPath) {
		v.Nothing = page.Say("paste.deleted", "at", stamp(r, acts[0].At))
	}
	return err
}

// noticeOf returns a notice about a record's mode if that is not the page's.
func noticeOf(r *desk.Request, record *recordLink) string {
	if record.Livemode == r.Access.Livemode() {
		return ""
	}
	return "paste_" + audit.Mode(record.Livemode)
}
