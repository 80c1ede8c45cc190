package desk

import (
	"cmp"
	"crypto/rand"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"agegate/internal/pages/page"
	"agegate/internal/rules/brand"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/fault"

	"github.com/labstack/echo/v4"
)

// Form declares a form. The label of a field is the text <form>.<field>.
type Form struct {
	Name     string
	Fields   []Field
	Problems map[error]string // from the domain's rules to the texts <form>.problem.<name>
	Refusals string           // the form whose texts the problems have; empty for this one
	Again    bool             // it may be sent twice, because that has no further effect
}

// PlainForm is a form without fields, only with a button.
var PlainForm = &Form{}

// Field declares one field of a form.
type Field struct {
	Name         string
	Kind         string // a type of <input>, textarea, checkbox or select
	Max          int    // most characters
	Optional     bool
	Either       bool     // optional, because something else can replace it
	Hint         bool     // the text <form>.<field>_hint is shown below the label
	Autocomplete string   // see HTML, section "Autofill"
	Options      []string // of a select; their texts are <form>.<field>.<option>
}

// secret reports whether a value must not be written back into the page.
func (f Field) secret() bool { return f.Kind == "password" }

// keys returns the texts of a form, to check the catalogues.
func (f *Form) keys() []string {
	var keys []string
	for _, field := range f.Fields {
		keys = append(keys, f.Name+"."+field.Name)
		if field.Hint {
			keys = append(keys, f.Name+"."+field.Name+"_hint")
		}
		keys = append(keys, page.Keys(f.Name+"."+field.Name+".", field.Options...)...)
	}
	return append(keys, page.Keys(f.problem(""), slices.Collect(maps.Values(f.Problems))...)...)
}

// problem is the key of a problem's text.
func (f *Form) problem(name string) string { return cmp.Or(f.Refusals, f.Name) + ".problem." + name }

// FormView is a form in a page: empty, filled in, or as it was sent, with its problems.
type FormView struct {
	Nonce  string      // of this copy of the form
	Fault  *page.Text  // about the form as a whole
	Fields []FieldView // in order

	spec   *Form
	Sent   string // the nonce of the copy that was sent; the page gets a new one
	Upload []byte // of a field of the kind file, at most brand.MaxLogoBytes and one byte more
}

// FieldView is one field as the block "field" shows it.
type FieldView struct {
	Name, Kind, Label, Hint, Autocomplete string
	Max                                   int
	Optional, Either                      bool
	Value                                 string
	Options                               []OptionView
	Problem                               *page.Text
}

// OptionView is one option of a select, with the key of its text.
type OptionView struct{ Value, Label string }

// Field returns one field, for templates that write fields one by one.
func (v *FormView) Field(name string) *FieldView {
	for i := range v.Fields {
		if v.Fields[i].Name == name {
			return &v.Fields[i]
		}
	}
	panic("dashboard: the form " + v.spec.Name + " has no field " + name)
}

// Value returns what was typed into a field.
func (v *FormView) Value(name string) string { return v.Field(name).Value }

// Checked reports whether a checkbox was set.
func (v *FormView) Checked(name string) bool { return v.Value(name) != "" }

// Wrong returns the fields that have a problem, for the summary.
func (v *FormView) Wrong() []FieldView {
	return slices.DeleteFunc(slices.Clone(v.Fields), func(f FieldView) bool { return f.Problem == nil })
}

// OK reports whether no problem was found so far.
func (v *FormView) OK() bool { return v.Fault == nil && len(v.Wrong()) == 0 }

// With returns the form with initial values, given as pairs of field and value.
func (v *FormView) With(pairs ...string) *FormView {
	for i := 0; i+1 < len(pairs); i += 2 {
		v.Field(pairs[i]).Value = pairs[i+1]
	}
	return v
}

// Blank returns an empty form.
func (r *Request) Blank(spec *Form) (*FormView, error) {
	nonce, err := credential.NewLinkToken(rand.Reader)
	v := &FormView{Nonce: nonce, spec: spec}
	for _, f := range spec.Fields {
		field := FieldView{
			Name: f.Name, Kind: f.Kind, Label: spec.Name + "." + f.Name, Autocomplete: f.Autocomplete,
			Max: f.Max, Optional: f.Optional || f.Either, Either: f.Either,
		}
		if f.Hint {
			field.Hint = field.Label + "_hint"
		}
		for _, option := range f.Options {
			field.Options = append(field.Options, OptionView{option, field.Label + "." + option})
		}
		v.Fields = append(v.Fields, field)
	}
	return v, err
}

// parse parses the form that was sent.
func (r *Request) parse() error {
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
func (r *Request) nonce() string {
	if nonce := r.Request().PostForm.Get("nonce"); segment.MatchString(nonce) {
		return nonce
	}
	return ""
}

// Read parses a form that was sent and checks it against its declaration.
func (r *Request) Read(spec *Form) (*FormView, error) {
	v, err := r.Blank(spec)
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(spec.Fields, func(f Field) bool { return f.Kind == "file" }); i >= 0 {
		v.Upload, err = readUpload(r.Request(), spec.Fields[i].Name, brand.MaxLogoBytes+1)
	}
	if err == nil {
		err = r.parse()
	}
	if err != nil {
		return nil, err
	}
	sent := r.Request().PostForm
	v.Sent = r.nonce()
	for i, f := range spec.Fields {
		field := &v.Fields[i]
		field.Value = sent.Get(f.Name)
		if !f.secret() {
			field.Value = strings.TrimSpace(strings.ReplaceAll(field.Value, "\r\n", "\n"))
		}
		field.Problem = f.check(field.Value)
	}
	return v, nil
}

// check returns what is wrong with a value according to the field's declaration, or nil.
func (f Field) check(value string) *page.Text {
	var problem page.Text
	switch {
	case !utf8.ValidString(value):
		problem = page.Say("form.unreadable")
	case value == "" && !f.Optional && !f.Either && f.Kind != "checkbox":
		problem = page.Say("form.missing")
	case f.Max > 0 && utf8.RuneCountInString(value) > f.Max:
		problem = page.Say("form.too_long", "n", f.Max)
	case f.Kind == "select" && value != "" && !slices.Contains(f.Options, value):
		problem = page.Say("form.choice")
	default:
		return nil
	}
	return &problem
}

// Refuse adds the domain's refusal to the form's fields. It returns an error that
// is not a refusal of this form unchanged, unless the form has named a fault already.
func (v *FormView) Refuse(err error) error {
	known := (*fault.Error)(nil)
	if !errors.As(err, &known) {
		return err
	}
	if name, ok := v.spec.Problems[known]; ok {
		v.Fault = new(page.Say(v.spec.problem(name)))
		return nil
	}
	if known.Code != fault.Invalid || len(known.Fields) == 0 {
		return err
	}
	for _, broken := range known.Fields {
		name, ok := v.spec.Problems[broken.Err]
		switch {
		case ok && slices.ContainsFunc(v.spec.Fields, func(f Field) bool { return f.Name == broken.Field }):
			v.Mark(broken.Field, v.spec.problem(name))
		case v.OK():
			return err
		}
	}
	return nil
}

// Mark marks a field with a problem, unless it has one.
func (v *FormView) Mark(field, key string, pairs ...any) {
	if f := v.Field(field); f.Problem == nil {
		f.Problem = new(page.Say(key, pairs...))
	}
}
