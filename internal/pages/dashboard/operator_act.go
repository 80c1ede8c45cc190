package dashboard

import (
	"net/http"

	"agegate/internal/pages/page"
)

// act is something that an operator does to a subject, which is a tenant or a
// user: a page that says what it means, with a form, at <subject>/<name>. Its
// texts are <kind>_<name>.title, .body and .button.
type act[T any] struct {
	name   string
	form   *form
	safe   bool                     // nothing stops working by it
	prefer func(subject T) []string // pairs of field and value that the form begins with, or nil
	// do does it. It returns where to go then, or "" if it has answered the
	// request itself.
	do func(r *request, subject T, f *formView) (next string, err error)
}

// kind is what the acts on tenants, or on users, have in common.
type kind[T any] struct {
	name    string                      // tenant or user
	path    string                      // the pattern of a subject
	find    func(r *request) (T, error) // the subject of the path
	values  func(subject T) []any       // of the text .body
	back    func(subject T) string      // address of the page that leads to the acts
	refused int                         // the status of an act that the domain refuses
}

// add adds the pages of acts to a feature.
func (k kind[T]) add(f *feature, acts []act[T]) {
	for _, a := range acts {
		path, name := k.path+"/"+a.name, k.name+"_"+a.name
		show := func(r *request) error { return k.show(r, a) }
		run := func(r *request) error { return k.run(r, a) }
		f.routes = append(f.routes,
			route{method: http.MethodGet, path: path, least: operator, stepUp: always, handle: show},
			route{method: http.MethodPost, path: path, least: operator, stepUp: always, handle: run})
		f.forms = append(f.forms, a.form)
		f.notices = append(f.notices, name)
		f.keys = append(f.keys, name+".title", name+".button") // .body has values, which are checked when it is shown
	}
}

func (k kind[T]) show(r *request, a act[T]) error {
	subject, err := k.find(r)
	if err != nil {
		return err
	}
	f, err := r.blank(a.form)
	if err != nil {
		return err
	}
	if a.prefer != nil {
		f.With(a.prefer(subject)...)
	}
	return k.render(r, http.StatusOK, a, subject, f)
}

func (k kind[T]) render(r *request, status int, a act[T], subject T, f *formView) error {
	name := k.name + "_" + a.name
	return r.render(status, "confirm", &confirmView{
		Title: page.Say(name + ".title"), Body: page.Say(name+".body", k.values(subject)...), Button: page.Say(name + ".button"),
		Safe: a.safe, Back: k.back(subject), Form: f,
	})
}

func (k kind[T]) run(r *request, a act[T]) error {
	subject, err := k.find(r)
	if err != nil {
		return err
	}
	f, err := r.read(a.form)
	if err != nil {
		return err
	}
	status := http.StatusUnprocessableEntity
	if f.ok() {
		if err := r.once(f); err != nil {
			return err
		}
		next, err := a.do(r, subject, f)
		switch {
		case err == nil && next == "":
			return nil
		case err == nil:
			return r.done(next, k.name+"_"+a.name)
		}
		if err := f.refuse(err); err != nil {
			return err
		}
		status = k.refused
	}
	return k.render(r, status, a, subject, f)
}
