package contract

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/labstack/echo/v4"
)

// plainCases are values of a parameter, escaped as in a path.
var plainCases = []string{
	"", "0198e3a4-7c1b-7d2e-8f00-0123456789ab", "0198E3A4-7C1B-7D2E-8F00-0123456789AB",
	"00000000-0000-0000-0000-000000000000",
	"0198e3a47c1b7d2e8f000123456789ab", "urn:uuid:0198e3a4-7c1b-7d2e-8f00-0123456789ab",
	"{0198e3a4-7c1b-7d2e-8f00-0123456789ab}",
	"0198e3a4-7c1b-7d2e-8f00-0123456789a", "0198e3a4-7c1b-7d2e-8f00-0123456789abc", "0198e3a4-7c1b-7d2e-8f00-0123456789ag",
	"0198e3a4_7c1b_7d2e_8f00_0123456789ab", "%300198e3a4-7c1b-7d2e-8f00-0123456789a",
	"%30198e3a4-7c1b-7d2e-8f00-0123456789ab",
	"0198e3a4-7c1b-7d2e-8f00-0123456789%zz", "0198e3a4-7c1b-7d2e-8f00-0123456789,b", "%00", "%ff",
	strings.Repeat("a", 300), "null", "1",
}

// What the short way accepts, the validator accepts, for every parameter of the
// document; and it does accept the parameters it was made for.
func TestPlainlyValidAgreesWithValidator(t *testing.T) {
	accepted := map[string]int{}
	for r, op := range mustNew(t).operations {
		for _, p := range op.parameters {
			for _, value := range plainCases {
				ctx, input := asked(r, p, value)
				if !plainlyValid(ctx, p) {
					continue
				}
				accepted[p.In]++
				if err := openapi3filter.ValidateParameter(t.Context(), input, p); err != nil {
					t.Errorf("%s %s, %s %q: accepted, but the validator says %v", r.method, r.path, p.Name, value, err)
				}
			}
		}
	}
	for _, in := range []string{openapi3.ParameterInPath, openapi3.ParameterInHeader} {
		if accepted[in] == 0 {
			t.Errorf("no parameter of the document in the %s takes the short way", in)
		}
	}
}

// A schema that accepts less than every UUID, and a header that is required, go to
// the validator.
func TestPlainlyValidLeavesRestToValidator(t *testing.T) {
	const id = "0198e3a4-7c1b-7d2e-8f00-0123456789ab"
	schema := func(change func(*openapi3.Schema)) *openapi3.SchemaRef {
		s := openapi3.NewUUIDSchema()
		s.Pattern = ""
		change(s)
		return s.NewRef()
	}
	eleven := uint64(11)
	text := openapi3.NewStringSchema().NewRef()
	none := func(*openapi3.Schema) {}
	for name, row := range map[string]struct {
		in, style string
		required  bool
		schema    *openapi3.SchemaRef
		value     string
		want      bool
	}{
		"UUID":      {in: "path", schema: schema(none), value: id, want: true},
		"no UUID":   {in: "path", schema: schema(none), value: "x"},
		"style":     {in: "path", style: "label", schema: schema(none), value: id},
		"no schema": {in: "path", value: id},
		"text":      {in: "path", schema: text, value: id},
		"pattern":   {in: "path", schema: schema(func(s *openapi3.Schema) { s.Pattern = "^1" }), value: id},
		"enum":      {in: "path", schema: schema(func(s *openapi3.Schema) { s.Enum = []any{"x"} }), value: id},
		"longest":   {in: "path", schema: schema(func(s *openapi3.Schema) { s.MaxLength = &eleven }), value: id},
		"shortest":  {in: "path", schema: schema(func(s *openapi3.Schema) { s.MinLength = 40 }), value: id},
		"not":       {in: "path", schema: schema(func(s *openapi3.Schema) { s.Not = text }), value: id},
		"all of": {in: "path", schema: schema(func(s *openapi3.Schema) { s.AllOf = openapi3.SchemaRefs{text} }),
			value: id},
		"any of": {in: "path", schema: schema(func(s *openapi3.Schema) { s.AnyOf = openapi3.SchemaRefs{text} }),
			value: id},
		"one of": {in: "path", schema: schema(func(s *openapi3.Schema) { s.OneOf = openapi3.SchemaRefs{text} }),
			value: id},
		"missing header":   {in: "header", schema: text, want: true},
		"required header":  {in: "header", required: true, schema: text},
		"header":           {in: "header", schema: text, value: "x"},
		"missing question": {in: "query", schema: text},
	} {
		p := &openapi3.Parameter{Name: "id", In: row.in, Style: row.style, Required: row.required || row.in == "path",
			Schema: row.schema}
		ctx, _ := asked(route{http.MethodGet, "/:id"}, p, row.value)
		if got := plainlyValid(ctx, p); got != row.want {
			t.Errorf("%s: %v, want %v", name, got, row.want)
		}
	}
}

func mustNew(t *testing.T) *Contract {
	t.Helper()
	c, err := New(document(t))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// asked returns a request as the guard sees it, with one parameter.
func asked(r route, p *openapi3.Parameter, value string) (echo.Context, *openapi3filter.RequestValidationInput) {
	req := httptest.NewRequest(r.method, "/", nil)
	if plain, err := url.PathUnescape(value); err != nil || plain != value {
		req.URL.RawPath = "/" + value // as net/http leaves a path that has an escaped form
	}
	ctx := echo.New().NewContext(req, httptest.NewRecorder())
	ctx.SetPath(r.path)
	if p.In == openapi3.ParameterInPath {
		ctx.SetParamNames(p.Name)
		ctx.SetParamValues(value)
	} else if value != "" {
		req.Header.Set(p.Name, value)
	}
	return ctx, &openapi3filter.RequestValidationInput{Request: req, PathParams: pathParams(ctx),
		Options: parameterOptions}
}
