package dashboard

import "strings"

// operatorAct is an act of an operator on a subject, which is a tenant or a user.
type operatorAct[T any] struct {
	form  *form
	safe  bool                     // nothing stops working by it
	begin func(subject T) []string // pairs of field and value that the form begins with, or nil
	do    func(r *request, subject T, f *formView) error
}

// name is the act's part of its address.
func (a operatorAct[T]) name() string {
	_, name, _ := strings.Cut(a.form.name, "_")
	return name
}

// askAll adds the acts on the subjects of a pattern. find returns the subject of
// the path with the values of the texts, and the address of the page before.
func askAll[T any](f *feature, path string, acts []operatorAct[T], find func(r *request) (subject T, values []any, back string, err error)) {
	for _, a := range acts {
		f.ask(route{path: path + "/" + a.name(), least: operator, stepUp: always}, a.form, func(r *request) (*question, error) {
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
