package dashboard

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"agegate/internal/backoffice/account"
	"agegate/internal/pages/page"
	"agegate/internal/rules/brand"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/fault"

	"github.com/labstack/echo/v4"
)

// form declares a form. The label of a field is the text <form>.<field>.
type form struct {
	name     string
	fields   []field
	problems map[error]string // from the domain's rules to the texts <form>.problem.<name>
	refusals string           // the form whose texts the problems have; empty for this one
	again    bool             // it may be sent twice, because that has no further effect
}

// plainForm is a form without fields, only with a button.
var plainForm = &form{}

// field declares one field of a form.
type field struct {
	name         string
	kind         string // a type of <input>, textarea, checkbox or select
	max          int    // most characters
	optional     bool
	either       bool     // optional, because another field of the page can replace it
	hint         bool     // the text <form>.<field>_hint is shown below the label
	autocomplete string   // see HTML, section "Autofill"
	options      []string // of a select; their texts are <form>.<field>.<option>
}

// secret reports whether a value must not be written back into the page.
func (f field) secret() bool { return f.kind == "password" }

// keys returns the texts of a form, to check the catalogues.
func (f *form) keys() []string {
	var keys []string
	for _, field := range f.fields {
		keys = append(keys, f.name+"."+field.name)
		if field.hint {
			keys = append(keys, f.name+"."+field.name+"_hint")
		}
		for _, option := range field.options {
			keys = append(keys, f.name+"."+field.name+"."+option)
		}
	}
	for _, name := range f.problems {
		keys = append(keys, f.problem(name))
	}
	return keys
}

// problem is the key of a problem's text.
func (f *form) problem(name string) string { return cmp.Or(f.refusals, f.name) + ".problem." + name }

// formView is a form in a page: empty, filled in, or as it was sent, with its
// problems.
type formView struct {
	Nonce  string      // of this copy of the form
	Fault  *page.Text  // about the form as a whole
	Fields []fieldView // in order

	spec   *form
	sent   string // the nonce of the copy that was sent; the page gets a new one
	upload []byte // of a field of the kind file, at most brand.MaxLogoBytes and one byte more
}

// fieldView is one field as the block "field" shows it.
type fieldView struct {
	Name, Kind, Label, Hint, Autocomplete string
	Max                                   int
	Optional, Either                      bool
	Value                                 string
	Options                               []optionView
	Problem                               *page.Text
}

type optionView struct{ Value, Label string }

// Field returns one field, for templates that write fields one by one.
func (v *formView) Field(name string) *fieldView {
	for i := range v.Fields {
		if v.Fields[i].Name == name {
			return &v.Fields[i]
		}
	}
	panic("dashboard: the form " + v.spec.name + " has no field " + name)
}

// Roles returns the fields of the groups of roles, in the order of the roles.
func (v *formView) Roles() []*fieldView {
	var fields []*fieldView
	for _, role := range account.Roles() {
		fields = append(fields, v.Field(account.GroupsField(role)))
	}
	return fields
}

// Value returns what was typed into a field.
func (v *formView) Value(name string) string { return v.Field(name).Value }

// Checked reports whether a checkbox was set.
func (v *formView) Checked(name string) bool { return v.Value(name) != "" }

// Wrong returns the fields that have a problem, for the summary.
func (v *formView) Wrong() []fieldView {
	return slices.DeleteFunc(slices.Clone(v.Fields), func(f fieldView) bool { return f.Problem == nil })
}

// ok reports whether no problem was found so far.
func (v *formView) ok() bool { return v.Fault == nil && len(v.Wrong()) == 0 }

// With returns the form with initial values, given as pairs of field and value.
func (v *formView) With(pairs ...string) *formView {
	for i := 0; i+1 < len(pairs); i += 2 {
		v.Field(pairs[i]).Value = pairs[i+1]
	}
	return v
}

// blank returns an empty form.
func (r *request) blank(spec *form) (*formView, error) {
	nonce, err := credential.NewLinkToken(r.pages.cfg.Random)
	v := &formView{Nonce: nonce, spec: spec}
	for _, f := range spec.fields {
		field := fieldView{
			Name: f.name, Kind: f.kind, Label: spec.name + "." + f.name, Autocomplete: f.autocomplete,
			Max: f.max, Optional: f.optional || f.either, Either: f.either,
		}
		if f.hint {
			field.Hint = field.Label + "_hint"
		}
		for _, option := range f.options {
			field.Options = append(field.Options, optionView{option, field.Label + "." + option})
		}
		v.Fields = append(v.Fields, field)
	}
	return v, err
}

// parse parses the form that was sent.
func (r *request) parse() error {
	err := r.Request().ParseForm()
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return echo.ErrStatusRequestEntityTooLarge
	}
	if err != nil {
		return echo.ErrBadRequest
	}
	return nil
}

// nonce returns the nonce of the copy of a form that was sent and parsed, or "".
func (r *request) nonce() string {
	if nonce := r.Request().PostForm.Get("nonce"); segment.MatchString(nonce) {
		return nonce
	}
	return ""
}

// read parses a form that was sent and checks it against its declaration.
func (r *request) read(spec *form) (*formView, error) {
	v, err := r.blank(spec)
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(spec.fields, func(f field) bool { return f.kind == "file" }); i >= 0 {
		v.upload, err = readUpload(r.Request(), spec.fields[i].name, brand.MaxLogoBytes+1)
	}
	if err == nil {
		err = r.parse()
	}
	if err != nil {
		return nil, err
	}
	sent := r.Request().PostForm
	v.sent = r.nonce()
	for i, f := range spec.fields {
		field := &v.Fields[i]
		field.Value = sent.Get(f.name)
		if !f.secret() {
			field.Value = strings.TrimSpace(strings.ReplaceAll(field.Value, "\r\n", "\n"))
		}
		field.Problem = f.check(field.Value)
	}
	return v, nil
}

// check returns what is wrong with a value according to the field's declaration,
// or nil.
func (f field) check(value string) *page.Text {
	var problem page.Text
	switch {
	case !utf8.ValidString(value):
		problem = page.Say("form.unreadable")
	case value == "" && !f.optional && !f.either && f.kind != "checkbox":
		problem = page.Say("form.missing")
	case f.max > 0 && utf8.RuneCountInString(value) > f.max:
		problem = page.Say("form.too_long", "n", f.max)
	case f.kind == "select" && value != "" && !slices.Contains(f.options, value):
		problem = page.Say("form.choice")
	default:
		return nil
	}
	return &problem
}

// refuse adds the domain's refusal to the form's fields. It returns an error that
// is not a refusal of this form unchanged.
func (v *formView) refuse(err error) error {
	known := (*fault.Error)(nil)
	if !errors.As(err, &known) {
		return err
	}
	if name, ok := v.spec.problems[known]; ok {
		v.Fault = new(page.Say(v.spec.problem(name)))
		return nil
	}
	if known.Code != fault.Invalid || len(known.Fields) == 0 {
		return err
	}
	for _, broken := range known.Fields {
		name, ok := v.spec.problems[broken.Err]
		if !ok || !slices.ContainsFunc(v.spec.fields, func(f field) bool { return f.name == broken.Field }) {
			return err
		}
		v.Field(broken.Field).Problem = new(page.Say(v.spec.problem(name)))
	}
	return nil
}

// wrong marks a field with a problem, unless it has one.
func (v *formView) wrong(field, key string, pairs ...any) {
	if f := v.Field(field); f.Problem == nil {
		f.Problem = new(page.Say(key, pairs...))
	}
}
