package dashboard

import (
	"net/http"
	"net/url"

	"agegate/internal/pages/page"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/fault"

	"github.com/google/uuid"
)

const pastePath = overviewPath + "/paste"

var pasteForm = &form{
	name: "paste", again: true,
	fields: []field{{name: "text", kind: "textarea", max: 16 << 10, hint: true}},
}

func (p *Pages) paste() feature {
	f := feature{
		screens: []string{"paste"},
		notices: []string{"paste_test", "paste_live"},
		keys:    []string{"paste.no_session", "paste.no_event", "paste.no_link", "paste.no_word"},
	}
	f.fill(route{path: pastePath, minRole: reader}, pasteForm, p.readPaste)
	return f
}

type pasteView struct {
	layout
	Form   *formView
	Answer *answerView
}

// readPaste opens the record of the pasted text, or explains the text. It is not
// stored, logged or repeated in the answer.
func (p *Pages) readPaste(r *request) (*question, error) {
	v := &pasteView{}
	show := func(status int, f *formView) error {
		v.Form = f.With("text", "")
		return r.render(status, "paste", v)
	}
	return &question{show: show, do: func(f *formView) error {
		given := recognize(f.Value("text"))
		if given == (pasted{}) {
			f.wrong("text", "paste.problem.unknown")
			return nil
		}
		if leads, err := r.explainPasted(v, given); leads || err != nil {
			return err
		}
		return show(http.StatusOK, f)
	}}, nil
}

// explainPasted fills in the answer, or redirects to the record and returns true.
func (r *request) explainPasted(v *pasteView, given pasted) (leads bool, err error) {
	switch given.kind {
	case pastedWebhook:
		v.Answer, err = r.explainDelivery(splitDelivery(given.text))
	case pastedRedirect:
		v.Answer, err = r.explainToken(paramsOf(given.text))
	case pastedSecret:
		v.Answer = r.answer()
		v.Answer.Verdict = page.Say("paste.secret")
	default:
		record, err := r.openPasted(given)
		if record != nil || err != nil {
			if err == nil {
				err = r.done(record.Href, r.noticeOf(record))
			}
			return true, err
		}
		v.Answer = r.answer()
		v.Answer.Verdict = page.Say("paste.no_" + string(given.kind))
	}
	return false, err
}

// openPasted returns a link to the record of an ID or a link. It returns nil if
// the tenant has none in the modes that the log-in opens.
func (r *request) openPasted(given pasted) (*recordLink, error) {
	switch given.kind {
	case pastedEvent:
		return r.eventLink(given.text)
	case pastedLink:
		sess, err := r.pages.cfg.Sessions.ByLink(r.ctx(), given.text)
		if fault.CodeOf(err) == fault.NotFound {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return r.sessionLink(sess.ID) // sessionLink checks that the session is the tenant's
	case pastedWord:
		return r.openWord(given.text)
	}
	id, err := uuid.Parse(given.text)
	if err != nil {
		return nil, err
	}
	return r.sessionLink(id)
}

// openWord returns a link to the session of an Idempotency-Key, or to the list of
// sessions with a matching ID or order.
func (r *request) openWord(word string) (*recordLink, error) {
	for _, livemode := range r.livemodes() {
		id, err := r.pages.cfg.Sessions.ByIdempotencyKey(r.ctx(), r.access.TenantID(), livemode, word)
		if err == nil {
			return r.sessionLink(id)
		}
		if fault.CodeOf(err) != fault.NotFound {
			return nil, err
		}
	}
	if !idPrefix.MatchString(word) && !orderText.MatchString(word) {
		return nil, nil
	}
	return &recordLink{Href: r.path(sessionsPath) + "?id=" + url.QueryEscape(word), Livemode: r.access.Livemode()}, nil
}

// noticeOf returns a notice about a record's mode if that is not the page's.
func (r *request) noticeOf(record *recordLink) string {
	if record.Livemode == r.access.Livemode() {
		return ""
	}
	return "paste_" + audit.Mode(record.Livemode)
}
