package dashboard

import (
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"agegate/internal/pages/dashboard/desk"
	"agegate/internal/pages/page"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/fault"

	"github.com/google/uuid"
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
			"lookup.silent", "paste.deleted", "paste.deleted_by", "paste.no_name", "paste.no_order", "lookup.session",
			"paste.no_event", "paste.no_link", "paste.no_cut", "paste.no_secret", "paste.no_word", "paste.no_", "lookup.event",
			"lookup.key", "lookup.error", "lookup.member", "lookup.page"}),
	}
	// The answer opens the record of the pasted text, or lists what it finds. The text is not
	// stored or logged, and repeated in the answer only if it is askable. While
	// a user types into the search, the part "found" is asked for.
	f.Fill(desk.Route{Path: pastePath, MinRole: desk.Reader, Reads: true}, pasteForm,
		func(r *desk.Request) (*desk.Question, error) {
			v := &pasteView{Of: "paste", TestOnly: !r.Who.Strong()}
			return v.question(r, func(text string) error { return p.findPasted(r, v, recognize(text)) }), nil
		})
	return f
}

// askable reports whether a text is a few words for the search of the documentation: no secret, link or
// long text. They stand in the part of an address that browsers send nowhere.
func askable(text string) bool {
	words := strings.Split(text, " ")
	return len(words) <= 6 && !slices.ContainsFunc(words, func(word string) bool {
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
	NoOrder  bool            // one of them has a number that is no session's order
	Lost     bool            // a search found nothing
	Nothing  page.Text       // what that was
	TestOnly bool            // the search left live mode out, because the log-in does not open it
	Places   []desk.ShopView // on the operator's pages, tenants in which sessions are searched
	Guide    string          // address of the documentation, with the words of Sought
	Scan     string          // address of the slow search in all success URLs; empty if it cannot find more
}

// question asks for a text, which find searches for, and answers with the
// one hit or with the page. A form may not lead to another host, as the documentation's.
func (v *pasteView) question(r *desk.Request, find func(text string) error) *desk.Question {
	show := func(status int, f *desk.FormView) error {
		v.Guide = r.Docs()
		if words := f.Value("text"); askable(words) {
			v.Guide, v.Sought, r.Sought = v.Guide+"#q="+url.QueryEscape(words), words, words
		}
		v.Form = f.With("text", "")
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

// findPasted fills in the hits.
func (p *Pages) findPasted(r *desk.Request, v *pasteView, given pasted) (err error) {
	v.Nothing = page.Say("paste.no_" + string(given.kind))
	switch given.kind {
	case pastedSecret:
		v.TestOnly = false
	case pastedWord:
		if strings.Contains(given.text, "@") || !strings.ContainsAny(given.text, "0123456789") {
			v.Nothing = page.Say("paste.no_name")
		}
		err = p.findWord(r, v, given.text)
	case pastedEvent, pastedLink, pastedSession:
		record, kind, err := p.openPasted(r, given)
		if record != nil {
			v.Hits = []hitView{{Kind: kind, Name: path.Base(record.Href), Mode: modeName(record.Livemode), recordLink: *record}}
		} else if err == nil && given.kind == pastedSession {
			if v.Hits, err = p.sessionHits(r, given.text, p.sessionsNamed); err == nil && v.Hits == nil {
				err = p.findDeleted(r, v, given.text)
			}
		}
		return err
	}
	return err
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

// openPasted returns a link to the record of an ID or a link, and its kind. It returns
// nil if the tenant has none in the modes that the log-in opens.
func (p *Pages) openPasted(r *desk.Request, given pasted) (record *recordLink, kind string, err error) {
	if given.kind == pastedEvent {
		record, err = p.eventLink(r, given.text)
		return record, "lookup.event", err
	}
	var id uuid.UUID
	if given.kind == pastedLink {
		sess, unknown := p.cfg.Sessions.ByLink(r.Ctx(), given.text)
		id, err = sess.ID, unknown
	} else {
		id, err = uuid.Parse(given.text)
	}
	if fault.CodeOf(err) == fault.NotFound { // no such link
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	record, err = p.sessionLink(r, id) // sessionLink checks that the session is the tenant's
	return record, "lookup.session", err
}

// noticeOf returns a notice about a record's mode if that is not the page's.
func noticeOf(r *desk.Request, record *recordLink) string {
	if record.Livemode == r.Access.Livemode() {
		return ""
	}
	return "paste_" + audit.Mode(record.Livemode)
}
