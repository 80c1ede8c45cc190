package dashboard

import (
	"net/http"
	"net/url"
	"strings"

	"agegate/internal/pages/dashboard/desk"
	"agegate/internal/pages/page"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/fault"

	"github.com/google/uuid"
)

const pastePath = overviewPath + "/paste"

var pasteForm = &desk.Form{
	Name: "paste", Again: true,
	Fields: []desk.Field{{Name: "text", Kind: "textarea", Max: 16 << 10, Hint: true}},
}

func (p *Pages) paste() desk.Feature {
	f := desk.Feature{
		Screens: []string{"paste"},
		Notices: []string{"paste_test", "paste_live"},
		Keys: []string{"paste.no_session", "paste.no_event", "paste.no_link", "paste.no_word", "lookup.session",
			"lookup.key", "lookup.member", "lookup.page"},
	}
	for _, group := range tenantNav {
		for _, item := range group.Items {
			f.Keys = append(f.Keys, "lookup.words."+item.Name)
		}
	}
	f.Fill(desk.Route{Path: pastePath, MinRole: desk.Reader}, pasteForm, p.readPaste)
	return f
}

type pasteView struct {
	desk.Layout
	Form   *desk.FormView
	Answer *answerView
	Hits   []hitView // of a search that found several things
	Scan   string    // address of the slow search in all success URLs; empty if it cannot find more
	Lost   bool      // a search found nothing
}

// readPaste opens the record of the pasted text, or explains the text. It is not
// stored, logged or repeated in the answer.
func (p *Pages) readPaste(r *desk.Request) (*desk.Question, error) {
	v := &pasteView{}
	show := func(status int, f *desk.FormView) error {
		v.Form = f.With("text", "")
		return r.Show(status, "paste", v)
	}
	return &desk.Question{Show: show, Do: func(f *desk.FormView) error {
		given := recognize(f.Value("text"))
		if given == (pasted{}) {
			f.Mark("text", "paste.problem.unknown")
			return nil
		}
		if leads, err := p.explainPasted(r, v, given); leads || err != nil {
			return err
		}
		return show(http.StatusOK, f)
	}}, nil
}

// explainPasted fills in the answer, or redirects to the record and returns true.
func (p *Pages) explainPasted(r *desk.Request, v *pasteView, given pasted) (leads bool, err error) {
	switch given.kind {
	case pastedWebhook:
		header, body := splitDelivery(given.text)
		v.Answer, err = p.explainDelivery(r, header, body)
	case pastedRedirect:
		v.Answer, err = p.explainToken(r, paramsOf(given.text))
	case pastedSecret:
		v.Answer = newAnswer(r)
		v.Answer.Verdict = page.Say("paste.secret")
	default:
		record, err := p.openPasted(r, v, given)
		if record != nil || err != nil {
			if err == nil {
				err = r.Done(record.Href, noticeOf(r, record))
			}
			return true, err
		}
		if v.Hits != nil {
			return false, nil
		}
		v.Answer, v.Lost = newAnswer(r), given.kind == pastedWord
		v.Answer.Verdict = page.Say("paste.no_" + string(given.kind))
	}
	return false, err
}

// openPasted returns a link to the record of an ID or a link. It returns nil if
// the tenant has none in the modes that the log-in opens, or several, which it
// fills in.
func (p *Pages) openPasted(r *desk.Request, v *pasteView, given pasted) (*recordLink, error) {
	switch given.kind {
	case pastedEvent:
		return p.eventLink(r, given.text)
	case pastedLink:
		sess, err := p.cfg.Sessions.ByLink(r.Ctx(), given.text)
		if fault.CodeOf(err) == fault.NotFound {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return p.sessionLink(r, sess.ID) // sessionLink checks that the session is the tenant's
	case pastedWord:
		return p.openWord(r, v, given.text)
	}
	id, err := uuid.Parse(given.text)
	if err != nil {
		return nil, err
	}
	return p.sessionLink(r, id)
}

// openWord returns a link to the one thing that a text names, or fills in several.
func (p *Pages) openWord(r *desk.Request, v *pasteView, text string) (*recordLink, error) {
	hits, err := p.lookUp(r, text)
	if err != nil {
		return nil, err
	}
	if len(hits) == 1 {
		return &hits[0].recordLink, nil
	}
	v.Hits = hits
	if orderText.MatchString(text) && strings.ContainsAny(text, "0123456789=") {
		v.Scan = r.Href(sessionsPath) + "?id=" + url.QueryEscape(text)
	}
	return nil, nil
}

// noticeOf returns a notice about a record's mode if that is not the page's.
func noticeOf(r *desk.Request, record *recordLink) string {
	if record.Livemode == r.Access.Livemode() {
		return ""
	}
	return "paste_" + audit.Mode(record.Livemode)
}
