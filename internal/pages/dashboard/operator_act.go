package dashboard

import (
	"strings"

	"agegate/internal/pages/dashboard/desk"
	"agegate/internal/pages/page"
)

// operatorAct is an act of an operator on a subject, which is a tenant or a user.
type operatorAct[T any] struct {
	form  *desk.Form
	safe  bool                         // nothing stops working because of the act
	begin func(subject T) []string     // initial values of the form, as pairs of field and value, or nil
	check func(f *desk.FormView) error // see desk.Question; or nil
	do    func(p *Pages, r *desk.Request, subject T, f *desk.FormView) error
	// facts is Question.MoreFacts, or nil.
	facts func(p *Pages, r *desk.Request, subject T) ([]page.Text, error)
}

// name is the act's part of its address.
func (a operatorAct[T]) name() string {
	_, name, _ := strings.Cut(a.form.Name, "_")
	return name
}

// askAll adds acts on the subjects in the path of a pattern. find returns the
// path's subject, the values for the texts, and the address of the previous page.
func askAll[T any](
	p *Pages, f *desk.Feature, path string, acts []operatorAct[T],
	find func(r *desk.Request) (subject T, values []any, back string, err error),
) {
	for _, a := range acts {
		f.Ask(desk.Route{Path: path + "/" + a.name(), MinRole: desk.Operator, StepUp: desk.Always}, p.posting(a.form),
			func(r *desk.Request) (*desk.Question, error) {
				subject, values, back, err := find(r)
				if err != nil {
					return nil, err
				}
				q := &desk.Question{Values: values, Safe: a.safe, Back: back, Check: a.check, Do: func(f *desk.FormView) error {
					return a.do(p, r, subject, f)
				}}
				if a.facts != nil {
					q.MoreFacts = func() ([]page.Text, error) { return a.facts(p, r, subject) }
				}
				if a.begin != nil {
					q.Begin = a.begin(subject)
				}
				return q, nil
			})
	}
}
