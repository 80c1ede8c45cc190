package desk

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

// Question is the page before an act, together with the act. For example, to revoke a key:
//
//	f.Ask(desk.Route{Path: revokePath, MinRole: desk.Developer}, revokeForm, p.revoke)
//
//	func (p *Pages) revoke(r *desk.Request) (*desk.Question, error) {
//		key, err := p.key(r) // not found: the answer to GET and POST is 404
//		return &desk.Question{
//			Values: []any{"name", key.Name}, Back: r.Href(keysPath),
//			Do: func(f *desk.FormView) error {
//				// An error is one of revokeForm.Problems: the page is shown again and says so.
//				// Otherwise it is a redirect.
//				return r.After(p.cfg.Tenants.RevokeKey(...), r.Href(keysPath), "key_revoked")
//			},
//		}, err
//	}
//
// GET (OnGet): find the question, make an empty form with Begin, write the page. Of a form without fields Check is
// known by then: a page of its refusal has no button.
//
// POST (OnPost): read the form and check it by its declaration, find the question, Check, refuse a copy of the form
// that was sent before (Once), Do. If the form has a problem after Check or a later step, the following ones are left
// out and the page is written again, with what was typed.
//
// The page is the screen "confirm" with the texts <form>.title, .body and .button, unless Show is set.
type Question struct {
	Values []any       // of these texts, pairs of name and value
	Facts  []page.Text // the present effects of the act
	Todos  [][2]string // what to do first: the key of its text, and its address, which may be empty
	Safe   bool        // nothing stops working because of the act
	Back   string      // address of the previous page

	Begin     []string                            // initial values of an empty form, as pairs of field and value
	MoreFacts func() ([]page.Text, error)         // reads more Facts for the page, or refuses; may be nil
	Show      func(status int, f *FormView) error // writes the page, if it is not "confirm"
	// Check refuses like Do, but changes nothing and does not use up the form; may be nil.
	// Fields may be missing: what Check says of them is left out.
	Check func(f *FormView) error
	// Do performs the act and answers the request. To refuse, it returns an error
	// that the form declares as a problem, or marks the form and returns nil.
	Do func(f *FormView) error
}

// confirmView is the screen "confirm".
type confirmView struct {
	Layout
	*Question
	Form *FormView // posts to this page's own address
}

// Title, Body and Button return the texts of the act.
func (v *confirmView) Title() page.Text  { return v.text(".title") }
func (v *confirmView) Body() page.Text   { return v.text(".body") }
func (v *confirmView) Button() page.Text { return v.text(".button") }

func (v *confirmView) text(part string) page.Text {
	return page.Say(v.Form.spec.Name+part, v.Values...)
}

// Instead returns a question that shows another answer in place of its page and its act.
func Instead(answer func() error) *Question {
	return &Question{
		Show: func(int, *FormView) error { return answer() },
		Do:   func(*FormView) error { return answer() },
	}
}

// Finder returns the question for the path of a request. If there is nothing to ask, it returns Instead.
type Finder func(r *Request) (*Question, error)

// Ask adds an act with the screen "confirm": at the route's path, GET shows the question and POST performs the act.
func (f *Feature) Ask(at Route, spec *Form, find Finder) {
	f.Fill(at, spec, find)
	f.Screens = append(f.Screens, "confirm")
	f.Keys = append(f.Keys, spec.Name+".title", spec.Name+".body", spec.Name+".button")
}

// Fill is Ask for an act whose question has its own page.
func (f *Feature) Fill(at Route, spec *Form, find Finder) {
	at.form = spec
	show, run := at, at
	show.Method = http.MethodGet
	show.Renews = false
	show.Handle = spec.OnGet(find)
	run.Method, run.Handle = http.MethodPost, spec.OnPost(find)
	f.Routes = append(f.Routes, show, run)
	f.Forms = append(f.Forms, spec)
}

// OnGet returns the handler that shows a question with an empty form.
func (f *Form) OnGet(find Finder) func(*Request) error {
	return func(r *Request) error {
		q, err := find(r)
		if err != nil {
			return err
		}
		v, err := r.Blank(f)
		if err != nil {
			return err
		}
		v.With(q.Begin...)
		r.resume(v)
		if q.Check != nil && len(v.Fields) == 0 {
			if err := v.Refuse(q.Check(v)); err != nil {
				return err
			}
		}
		return r.showQuestion(http.StatusOK, q, v)
	}
}

// OnPost returns the handler that performs the act of a question: once for each
// copy of the form, unless the form may be sent again.
func (f *Form) OnPost(find Finder) func(*Request) error {
	return func(r *Request) error {
		v, err := r.Read(f)
		if err != nil {
			return err
		}
		q, err := find(r)
		if err == nil && q.Check != nil { // also of a form with an empty field: all that is wrong is named at once
			err = v.Refuse(q.Check(v))
		}
		// Of a form whose first copy has done its act, find may return not found: Once says more.
		if v.OK() && !f.Again && (err == nil || v.Sent != "") {
			err = cmp.Or(r.Once(v), err)
		}
		if err != nil {
			return err
		}
		if v.OK() {
			err = q.Do(v)
		}
		if err != nil || !v.OK() {
			return r.showAgain(q, v, err)
		}
		return nil
	}
}

// showQuestion writes the page of a question.
func (r *Request) showQuestion(status int, q *Question, f *FormView) error {
	if q.Show != nil {
		return q.Show(status, f)
	}
	if q.MoreFacts != nil {
		more, err := q.MoreFacts()
		if err = f.Refuse(err); err != nil {
			return err
		}
		q.Facts = append(q.Facts, more...)
	}
	return r.Show(status, "confirm", &confirmView{Question: q, Form: f})
}

// showAgain writes the page of a question whose form has problems. refusal is the
// refusal of its act, or nil. An error that is not a refusal of this form is returned.
func (r *Request) showAgain(q *Question, f *FormView, refusal error) error {
	if early := (*account.ThrottleError)(nil); errors.As(refusal, &early) {
		seconds := int(math.Ceil(early.Wait.Seconds()))
		r.Response().Header().Set("Retry-After", strconv.Itoa(seconds))
		f.Fault = new(page.Say("login.wait", "n", seconds))
		return r.showQuestion(http.StatusTooManyRequests, q, f)
	}
	if r.Route.Renews && errors.Is(refusal, account.ErrSignedOut) {
		return echo.ErrBadRequest // another change has renewed the log-in in the meantime
	}
	if err := f.Refuse(refusal); err != nil {
		return err
	}
	if len(f.Fields) == 0 {
		return r.showQuestion(http.StatusConflict, q, f)
	}
	return r.showQuestion(http.StatusUnprocessableEntity, q, f)
}
