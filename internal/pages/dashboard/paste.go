package dashboard

import (
	"net/http"

	"agegate/internal/pages/page"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/fault"

	"github.com/google/uuid"
)

const pastePath = overviewPath + "/paste"

var pasteForm = &form{
	name:   "paste",
	fields: []field{{name: "text", kind: "textarea", max: 16 << 10, hint: true}},
}

func (p *Pages) paste() feature {
	return feature{
		routes: []route{
			{method: http.MethodGet, path: pastePath, least: developer, handle: p.showPaste},
			{method: http.MethodPost, path: pastePath, least: developer, handle: p.readPaste},
		},
		screens: []string{"paste"},
		forms:   []*form{pasteForm},
		notices: []string{"paste_test", "paste_live"},
		keys:    []string{"paste.problem.unknown", "paste.no_session", "paste.no_event", "paste.no_link", "paste.secret"},
	}
}

type pasteView struct {
	layout
	Form   *formView
	Answer *answerView
}

func (p *Pages) showPaste(r *request) error {
	f, err := r.blank(pasteForm)
	if err != nil {
		return err
	}
	return r.render(http.StatusOK, "paste", &pasteView{Form: f})
}

// readPaste opens the record of what was pasted, or says what it is. Nothing of
// it is stored, logged or written into the answer.
func (p *Pages) readPaste(r *request) error {
	f, err := r.read(pasteForm)
	if err != nil {
		return err
	}
	given := recognize(f.Value("text"))
	f.With("text", "")
	if given == (pasted{}) {
		f.wrong("text", "paste.problem.unknown")
	}
	if !f.ok() {
		return r.render(http.StatusUnprocessableEntity, "paste", &pasteView{Form: f})
	}
	v := &pasteView{Form: f}
	switch given.kind {
	case pastedWebhook:
		v.Answer, err = r.explainDelivery(splitDelivery(given.text))
	case pastedRedirect:
		v.Answer, err = r.explainToken(paramsOf(given.text))
	case pastedSecret:
		v.Answer = r.answer()
		v.Answer.Verdict = page.Say("paste.secret")
	default:
		record, openErr := r.openPasted(given)
		if openErr != nil {
			return openErr
		}
		if record != nil {
			return r.done(record.Href, r.noticeOf(record))
		}
		v.Answer = r.answer()
		v.Answer.Verdict = page.Say("paste.no_" + string(given.kind))
	}
	if err != nil {
		return err
	}
	return r.render(http.StatusOK, "paste", v)
}

// openPasted leads to the record of an ID or a link. It returns nil if the tenant
// has none in the modes that the log-in opens.
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
		return r.sessionLink(sess.ID) // which looks at the tenant
	}
	id, err := uuid.Parse(given.text)
	if err != nil {
		return nil, err
	}
	return r.sessionLink(id)
}

// noticeOf says which mode a record is of, if that is not the page's.
func (r *request) noticeOf(record *recordLink) string {
	if record.Livemode == r.access.Livemode() {
		return ""
	}
	return "paste_" + audit.Mode(record.Livemode)
}
