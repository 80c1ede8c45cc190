package dashboard

import "strings"

// operatorAct is an act of an operator on a subject, which is a tenant or a user.
type operatorAct[T any] struct {
	form  *form
	safe  bool                     // nothing stops working because of the act
	begin func(subject T) []string // initial values of the form, as pairs of field and value, or nil
	do    func(r *request, subject T, f *formView) error
}

// name is the act's part of its address.
func (a operatorAct[T]) name() string {
	_, name, _ := strings.Cut(a.form.name, "_")
	return name
}

// askAll adds acts on the subjects in the path of a pattern. find returns the
// path's subject, the values for the texts, and the address of the previous page.
func askAll[T any](
	f *feature, path string, acts []operatorAct[T],
	find func(r *request) (subject T, values []any, back string, err error),
) {
	for _, a := range acts {
		f.ask(route{path: path + "/" + a.name(), minRole: operator, stepUp: always}, a.form,
			func(r *request) (*question, error) {
				subject, values, back, err := find(r)
				if err != nil {
					return nil, err
				}
				q := &question{Values: values, Safe: a.safe, Back: back, do: func(f *formView) error { return a.do(r, subject, f) }}
				if a.begin != nil {
					q.begin = a.begin(subject)
				}
				return q, nil
			})
	}
}
