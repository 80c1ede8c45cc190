package dashboard

import (
	"cmp"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"agegate/internal/backoffice/insight"
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
			"paste.deleted", "paste.deleted_by", "paste.no_name", "paste.no_answer", "paste.no_order", "paste.no_orders",
			"paste.no_event", "paste.no_link", "paste.no_cut", "paste.no_secret", "paste.no_word", "paste.no_",
			"lookup.session", "lookup.event", "lookup.key", "lookup.error", "lookup.member", "lookup.page"}),
	}
	// The answer opens the record of the pasted text, or lists what it finds. The text is not stored or logged, and
	// repeated in the answer only if it is askable. While a user types into the search, the part "found" is asked for.
	f.Fill(desk.Route{Path: pastePath, MinRole: desk.Reader, Reads: true}, pasteForm,
		func(r *desk.Request) (*desk.Question, error) {
			v := &pasteView{Of: "paste", TestOnly: !r.Who.Strong()}
			return v.question(r, func(text string) error {
				if err := p.findPasted(r, v, text); err != nil || r.Part() != "" {
					return err
				}
				return p.tellFound(r, v.Hits, text)
			}), nil
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
	NoOrder  bool            // Nothing is about one with a number, which is no order, or about a mail's ID or link
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

// beside are the sections of the guide whose reply is the one to a mail also if the mail names a session.
var beside = []string{"a-parent-complains-their-child-was-let-through", "a-shopper-asks-about-their-face-or-data",
	"a-shopper-wants-their-data-deleted-or-shown", "an-angry-or-legal-letter-racist-unfair-a-lawyer-the-police",
	"charged-for-the-check-and-refunds"}

// tellFound fills in what to tell the shoppers of the first sessions that a mail names, beside what the guide says, and
// puts the reply in the mail's language first.
func (p *Pages) tellFound(r *desk.Request, hits []hitView, text string) error {
	about, own := "", p.Set.Language(r)
	for _, hit := range hits {
		about = cmp.Or(about, hit.About)
	}
	order := []string{own, p.replies.spoken(text, own)}
	for i, hit := range hits {
		if about != "" && !slices.Contains(beside, about) && hit.Session != nil && i < maxTopics {
			scope := insight.Scope{TenantID: r.Access.TenantID(), Livemode: hit.Livemode}
			record, err := p.cfg.Insight.Session(r.Ctx(), scope, hit.Session.ID)
			v := &sessionView{Record: record, Shop: r.Tenant, asks: strings.HasPrefix(about, "passed-")}
			if err = cmp.Or(err, p.tell(r, scope, v)); err != nil {
				return err
			}
			hits[i].Replies = v.Replies
		}
		slices.SortStableFunc(hits[i].Replies, func(a, b reply) int {
			return slices.Index(order, b.Tag) - slices.Index(order, a.Tag)
		})
	}
	return nil
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

// miss fills in how many words name nothing, and says of those with a number that they are no session's orders, unless
// other words name a session and there is more than such a list.
func (v *pasteView) miss(words []string) {
	v.Missed, v.NoOrder = len(words), v.NoOrder && v.Hits == nil
	orders := slices.DeleteFunc(words, func(word string) bool { return !number.MatchString(word) })
	if !v.NoOrder && len(orders) > 0 && (v.Hits == nil || v.Missed == len(orders)) {
		v.Nothing, v.NoOrder = page.Say("paste.no_order"), true
		if askable(strings.Join(orders, " ")) {
			v.Nothing = page.Say("paste.no_orders", "orders", strings.Join(orders, ", "))
		}
	}
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

// pasted is a recognized text; the zero value is nothing known.
type pasted struct {
	kind pastedKind
	text string // the part that matters: words, or an ID or a link's token in the gateway's spelling
}

type pastedKind string

const (
	pastedSecret  pastedKind = "secret" // a secret or an API key; its text is not kept
	pastedLink    pastedKind = "link"   // of a verification
	pastedEvent   pastedKind = "event"
	pastedSession pastedKind = "session"
	pastedWord    pastedKind = "word" // what findWord finds, such as an order or a name, or several
)

const uuidForm = `[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}`

var (
	secretPattern  = regexp.MustCompile(`^["']?(?:svc_(?:test|live)_|whsec_|rdsec_)`)
	linkPattern    = regexp.MustCompile(`(?:/v/|^)([A-Za-z0-9_-]{43})(?:[^A-Za-z0-9_-]|$)`)
	cutPattern     = regexp.MustCompile(`/v/[A-Za-z0-9_-]{0,42}[…"'>).,;:!?]*(?:\s|$)`) // such a link without its end
	eventPattern   = regexp.MustCompile(`\b(?i:evt)_` + uuidForm + `\b`)
	sessionPattern = regexp.MustCompile(`\b` + uuidForm + `\b`)
)

// recognize finds out what a text is. The most specific kind wins: the headers of a
// webhook contain an event's ID, its body and a success URL a session's. Of several IDs
// the last one counts, because addresses of pages begin with the tenant's.
func recognize(text string) pasted {
	// Keyboards of other scripts type other digits. A text in another script is left as it is.
	if ascii := strings.Map(asciiDigit, text); utf8.RuneCountInString(ascii) == len(ascii) {
		text = ascii
	}
	if secretPattern.MatchString(text) {
		return pasted{kind: pastedSecret}
	}
	if link := linkPattern.FindStringSubmatch(text); link != nil {
		return pasted{pastedLink, link[1]}
	}
	if all := eventPattern.FindAllString(text, -1); all != nil {
		return pasted{pastedEvent, strings.ToLower(all[len(all)-1])}
	}
	if all := sessionPattern.FindAllString(text, -1); all != nil {
		return pasted{pastedSession, strings.ToLower(all[len(all)-1])}
	}
	words := strings.TrimRight(strings.TrimLeft(text, "\"'(…. \t\n"), "\"').,;:!? \t\n")
	control := func(c rune) bool { return unicode.IsControl(c) && !unicode.IsSpace(c) }
	if words != "" && utf8.ValidString(words) && !strings.ContainsFunc(words, control) {
		return pasted{pastedWord, words}
	}
	return pasted{}
}

// asciiDigit returns a decimal digit of another script as that of ASCII. Unicode keeps
// the digits of a script together, from zero on.
func asciiDigit(c rune) rune {
	if c < utf8.RuneSelf || !unicode.IsDigit(c) {
		return c
	}
	n := rune(0)
	for unicode.IsDigit(c - n - 1) {
		n++
	}
	return '0' + n%10
}
