package dashboard

import (
	"cmp"
	"errors"
	"math"
	"net/http"
	"strconv"

	"agegate/internal/backoffice/account"
	"agegate/internal/pages/page"

	"github.com/labstack/echo/v4"
)

// question is the page before an act, together with the act. The page is the
// screen "confirm" with the texts <form>.title, .body and .button, unless show is
// set.
type question struct {
	Values []any       // of these texts, pairs of name and value
	Facts  []page.Text // the present effects of the act
	Safe   bool        // nothing stops working because of the act
	Back   string      // address of the previous page

	begin []string                            // initial values of an empty form, as pairs of field and value
	facts func() ([]page.Text, error)         // reads Facts that take longer, only for the page; nil if there are none
	show  func(status int, f *formView) error // writes the page, if it is not "confirm"
	// check refuses like do, but does not use up the form; may be nil.
	check func(f *formView) error
	// do performs the act and answers the request. To refuse, it returns an error
	// that the form declares as a problem, or marks the form and returns nil:
	// then the page is shown again.
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

// instead is a question whose page and act are another answer.
func instead(answer func() error) *question {
	return &question{
		show: func(int, *formView) error { return answer() },
		do:   func(*formView) error { return answer() },
	}
}

// finder returns the question for the path of a request. If there is nothing to
// ask, it returns elsewhere.
type finder func(r *request) (*question, error)

// elsewhere is the address of the page to show instead.
type elsewhere string

// Error implements error.
func (e elsewhere) Error() string { return "nothing to ask: see " + string(e) }

// found returns err, or redirects if err is elsewhere.
func (r *request) found(err error) error {
	if to, ok := errors.AsType[elsewhere](err); ok {
		return r.done(string(to), "")
	}
	return err
}

// ask adds an act with the screen "confirm": at the route's path, GET shows the
// question and POST performs the act.
func (f *feature) ask(at route, spec *form, find finder) {
	f.fill(at, spec, find)
	f.screens = append(f.screens, "confirm")
	f.keys = append(f.keys, spec.name+".title", spec.name+".body", spec.name+".button")
}

// fill is ask for an act whose question has its own page.
func (f *feature) fill(at route, spec *form, find finder) {
	show, run := at, at
	show.method, show.renews, show.handle = http.MethodGet, false, spec.asks(find)
	run.method, run.handle = http.MethodPost, spec.does(find)
	f.routes = append(f.routes, show, run)
	f.forms = append(f.forms, spec)
}

// asks returns the handler that shows a question with an empty form.
func (f *form) asks(find finder) func(*request) error {
	return func(r *request) error {
		q, err := find(r)
		if err != nil {
			return r.found(err)
		}
		v, err := r.blank(f)
		if err != nil {
			return err
		}
		return r.put(http.StatusOK, q, v.With(q.begin...))
	}
}

// does returns the handler that performs the act of a question: once for each
// copy of the form, unless the form may be sent again.
func (f *form) does(find finder) func(*request) error {
	return func(r *request) error {
		v, err := r.read(f)
		if err != nil {
			return err
		}
		q, err := find(r)
		if err == nil && v.ok() && q.check != nil {
			err = v.refuse(q.check(v))
		}
		// The second copy of a form may find nothing because of what the first
		// one did.
		if v.ok() && !f.again && (err == nil || v.sent != "") {
			err = cmp.Or(r.once(v), err)
		}
		if err != nil {
			return r.found(err)
		}
		if v.ok() {
			if err = q.do(v); err == nil && v.ok() {
				return nil
			}
		}
		status, err := r.refuse(v, err)
		if err != nil {
			return err
		}
		return r.put(status, q, v)
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

// refuse adds a refusal to the form and returns the status of its page. It
// returns an error that is not a refusal of this form.
func (r *request) refuse(f *formView, err error) (int, error) {
	if early := (*account.ThrottleError)(nil); errors.As(err, &early) {
		seconds := int(math.Ceil(early.Wait.Seconds()))
		r.Response().Header().Set("Retry-After", strconv.Itoa(seconds))
		f.Fault = new(page.Say("login.wait", "n", seconds))
		return http.StatusTooManyRequests, nil
	}
	if r.route.renews && errors.Is(err, account.ErrSignedOut) {
		return 0, echo.ErrBadRequest // another change has renewed the log-in in the meantime
	}
	if err = f.refuse(err); len(f.Fields) == 0 {
		return http.StatusConflict, err
	}
	return http.StatusUnprocessableEntity, err
}
