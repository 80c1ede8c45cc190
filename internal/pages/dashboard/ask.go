package dashboard

import (
	"errors"
	"math"
	"net/http"
	"strconv"

	"agegate/internal/pages/page"
	"agegate/internal/rules/account"
	"agegate/internal/rules/fault"

	"github.com/labstack/echo/v4"
)

// question is the page before an act, and the act. The page is the screen
// "confirm" with the texts <form>.title, .body and .button, unless show is set.
type question struct {
	Values []any       // of these texts, pairs of name and value
	Facts  []page.Text // what the act does now
	Safe   bool        // nothing stops working by it
	Back   string      // address of the page before

	begin []string                            // pairs of field and value that an empty form begins with
	facts func() ([]page.Text, error)         // reads Facts that cost more, for the page alone; nil for none
	show  func(status int, f *formView) error // writes a page other than "confirm"
	// do does the act and answers the request. It refuses by an error that the
	// form declares as a problem, or by marking the form and returning nil: then
	// the page is shown again.
	do func(f *formView) error
}

// confirmView is the screen "confirm".
type confirmView struct {
	layout
	*question
	Form *formView // posts to this page's own address
}

// Title, Body and Button return the texts of the act.
func (v *confirmView) Title() page.Text  { return v.text(".title") }
func (v *confirmView) Body() page.Text   { return v.text(".body") }
func (v *confirmView) Button() page.Text { return v.text(".button") }

func (v *confirmView) text(part string) page.Text {
	return page.Say(v.Form.spec.name+part, v.Values...)
}

// finder returns the question about what a request's path names. It returns nil
// if it has answered the request itself.
type finder func(r *request) (*question, error)

// ask adds an act with the screen "confirm": at the path of a route, GET shows
// the question and POST does the act.
func (f *feature) ask(at route, spec *form, find finder) {
	f.fill(at, spec, find)
	f.screens = append(f.screens, "confirm")
	f.keys = append(f.keys, spec.name+".title", spec.name+".body", spec.name+".button")
}

// fill is ask for an act whose question has a page of its own.
func (f *feature) fill(at route, spec *form, find finder) {
	show, run := at, at
	show.method, show.renews, show.handle = http.MethodGet, false, spec.asks(find)
	run.method, run.handle = http.MethodPost, spec.does(find)
	f.routes = append(f.routes, show, run)
	f.forms = append(f.forms, spec)
}

// asks returns the handler that shows a question with an empty form.
func (spec *form) asks(find finder) func(*request) error {
	return func(r *request) error {
		q, err := find(r)
		if q == nil || err != nil {
			return err
		}
		f, err := r.blank(spec)
		if err != nil {
			return err
		}
		return r.put(http.StatusOK, q, f.With(q.begin...))
	}
}

// does returns the handler that does what a question asks about: once for each
// copy of the form, unless the form may be sent again.
func (spec *form) does(find finder) func(*request) error {
	return func(r *request) error {
		f, err := r.read(spec)
		if err == nil && f.ok() && !spec.again {
			err = r.once(f)
		}
		if err != nil {
			return err
		}
		q, err := find(r)
		if q == nil || err != nil {
			return err
		}
		if f.ok() {
			if err = q.do(f); err == nil && f.ok() {
				return nil
			}
		}
		status, err := r.refuse(f, err)
		if err != nil {
			return err
		}
		return r.put(status, q, f)
	}
}

// put writes the page of a question.
func (r *request) put(status int, q *question, f *formView) error {
	if q.show != nil {
		return q.show(status, f)
	}
	if q.facts != nil {
		more, err := q.facts()
		if err != nil {
			return err
		}
		q.Facts = append(q.Facts, more...)
	}
	return r.render(status, "confirm", &confirmView{question: q, Form: f})
}

// refuse puts a refusal into the form and returns the status of its page. An
// error that is no refusal of this form is returned.
func (r *request) refuse(f *formView, err error) (int, error) {
	if early := (*account.ThrottleError)(nil); errors.As(err, &early) {
		seconds := int(math.Ceil(early.Wait.Seconds()))
		r.Response().Header().Set("Retry-After", strconv.Itoa(seconds))
		f.Fault = new(page.Say("login.wait", "n", seconds))
		return http.StatusTooManyRequests, nil
	}
	if r.route.renews && errors.Is(err, account.ErrSignedOut) {
		return 0, echo.ErrBadRequest // another change has renewed the log-in meanwhile
	}
	refused := f.refuse(err)
	if f.Fault == nil || fault.CodeOf(err) == fault.InvalidKey {
		return http.StatusUnprocessableEntity, refused
	}
	return http.StatusConflict, refused
}
