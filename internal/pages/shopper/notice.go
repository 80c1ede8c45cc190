package shopper

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

// notices are the pages with a message and a way back, by name, with their icons.
// The texts are notice.<name>.title and .body.
var notices = map[string]string{
	"completed":         "info", // perhaps no pass
	"elsewhere":         "info",
	"handover_gone":     "clock",
	"handover_done":     "info", // after a pass, the page says so
	"handover_document": "info", // the other screen asks for a document
	"expired":           "clock",
	"not_available":     "info",
	"busy":              "clock",
	"force_live":        "info",
	"force_unknown":     "info",
	"force_document":    "info",
	"unknown":           "info",
	"refused":           "info",
	"error":             "info",
}

type noticeView struct {
	layout
	exit
	Name  string
	Icon  string
	Check string // relative link back to the check; may be empty
	Retry string // relative link to try again; may be empty
	// Document is whether another check is to begin with a document, because the camera refused.
	Document bool
	Passed   bool // the phone of a hand-over says that its check confirmed the age
	Answered bool // a wallet's answer waits for the browser in which the check was begun
}

// noticeOf returns a page about a session, which leads back to its merchant.
func (p *Pages) noticeOf(v visit, name string) *noticeView {
	return &noticeView{layout: p.layoutOf(v), exit: exitOf(v), Name: name, Icon: notices[name],
		Document: name == "expired" && v.owner && v.sess.Basis.Cutoff != nil}
}

// notice writes a page about a session.
func (p *Pages) notice(c echo.Context, status int, name string, v visit) error {
	return p.render(c, status, "notice", p.noticeOf(v, name))
}

// refuseForce shows why a result cannot be forced, and links back to the check.
func (p *Pages) refuseForce(c echo.Context, name string, v visit) error {
	view := p.noticeOf(v, name)
	view.Check = v.path
	return p.render(c, http.StatusBadRequest, "notice", view)
}

// Error writes the page of a failed request outside the API.
func (p *Pages) Error(c echo.Context, status int, cause error) {
	name := "error"
	switch {
	case isDisabled(cause):
		name = "not_available"
	case status == http.StatusNotFound:
		name = "unknown"
	case status == http.StatusGone:
		name = "expired"
	case status == http.StatusForbidden, status == http.StatusBadRequest, status == http.StatusMethodNotAllowed:
		name = "refused"
	case status == http.StatusServiceUnavailable:
		name = "busy"
	}
	v := &noticeView{Name: name, Icon: notices[name]}
	// The links are relative, so that an error page repeats nothing of the request.
	switch {
	case name == "refused":
		v.Check = "." // the page of the form that was sent
	case status >= http.StatusInternalServerError:
		v.Retry = "?"
		if c.Request().Method == http.MethodPost {
			v.Retry = "."
		}
	}
	if err := p.render(c, status, "notice", v); err != nil {
		p.cfg.Logger.ErrorContext(c.Request().Context(), "error page failed", "status", status)
		_ = c.NoContent(status) // the connection is gone
	}
}
