package contract

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"agegate"
	"agegate/gen"
)

func document(t testing.TB) *openapi3.T {
	t.Helper()
	doc, err := Read(agegate.OpenAPI)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestDocumentIsValid(t *testing.T) {
	if err := document(t).Validate(context.Background()); err != nil {
		t.Error(err)
	}
}

// The guard uses the 3.0 validator, which silently ignores these keywords, so a
// rule written with them would have no effect.
var ignoredKeywords = []string{
	"const", "prefixItems", "contains", "minContains", "maxContains", "patternProperties", "propertyNames",
	"dependentSchemas", "dependentRequired", "unevaluatedItems", "unevaluatedProperties", "if", "then", "else",
	"contentSchema", "$dynamicRef",
}

func TestDocumentUsesNoIgnoredKeyword(t *testing.T) {
	check := func(pointer string, schema *openapi3.SchemaRef) error {
		data, err := json.Marshal(schema.Value)
		if err != nil {
			return err
		}
		var keywords map[string]any
		if err := json.Unmarshal(data, &keywords); err != nil {
			return err
		}
		for _, k := range ignoredKeywords {
			if _, used := keywords[k]; used {
				return fmt.Errorf("%s: %s is not enforced", pointer, k)
			}
		}
		return nil
	}
	if err := document(t).WalkSchemas(check); err != nil {
		t.Error(err)
	}
	// The check finds a keyword that is present.
	doc := document(t)
	doc.Components.Schemas["CreateSessionRequest"].Value.Properties["target_age"].Value.Const = 18
	if err := doc.WalkSchemas(check); err == nil {
		t.Error("a const went unnoticed")
	}
}

func TestDocumentBoundsItsValues(t *testing.T) {
	err := document(t).WalkSchemas(func(pointer string, ref *openapi3.SchemaRef) error {
		s := ref.Value
		switch {
		case s.Type.Is(openapi3.TypeInteger) && (s.Min == nil || s.Max == nil):
			return fmt.Errorf("%s: an integer without bounds", pointer)
		case s.Type.Is(openapi3.TypeString) && s.MaxLength == nil && len(s.Enum) == 0 && s.Format != "uuid" &&
			s.Format != "date-time":
			return fmt.Errorf("%s: a string without maxLength", pointer)
		case s.Type.Is(openapi3.TypeNumber) && s.Format != "double":
			return fmt.Errorf("%s: a number that Go holds as float32", pointer)
		case s.Format == "uri" || s.Format == "uuid" || s.Format == "date-time" || s.Format == "double" || s.Format == "":
			return nil
		}
		return fmt.Errorf("%s: format %s is not enforced", pointer, s.Format)
	})
	if err != nil {
		t.Error(err)
	}
}

// Generators name enumerated values by x-enum-varnames. The contract names one
// type of one language: a location's part, which would be raw JSON in Go.
func TestSchemasServeEveryLanguage(t *testing.T) {
	for edition, data := range map[string][]byte{"3.1": agegate.OpenAPI, "3.0": gen.OpenAPI30} {
		doc, err := Read(data)
		if err != nil {
			t.Fatal(err)
		}
		err = doc.WalkSchemas(func(pointer string, ref *openapi3.SchemaRef) error {
			names, ok := ref.Value.Extensions["x-enum-varnames"].([]any)
			if (ok || len(ref.Value.Enum) > 0) && len(names) != len(ref.Value.Enum) {
				return fmt.Errorf("%s: %d names for %d values", pointer, len(names), len(ref.Value.Enum))
			}
			return nil
		})
		if err != nil {
			t.Errorf("%s: %v", edition, err)
		}
		if part := doc.Components.Schemas["LocationPart"].Value.Extensions["x-go-type"]; part != "any" ||
			bytes.Count(data, []byte("x-go-")) != 1 {
			t.Errorf("%s: another Go type is published than that of LocationPart", edition)
		}
		if doc.Components.Schemas["Error"] != nil {
			t.Errorf("%s: a schema has the name of a built-in class", edition)
		}
	}
}

func TestEveryBodyHasValidExamples(t *testing.T) {
	doc := document(t)
	items := doc.Paths.Map()
	maps.Copy(items, doc.Webhooks)
	for path, item := range items {
		for method, op := range item.Operations() {
			if op.RequestBody != nil {
				checkExamples(t, method+" "+path+" request", op.RequestBody.Value.Content)
			}
			for status, response := range op.Responses.Map() {
				checkExamples(t, method+" "+path+" "+status, response.Value.Content)
			}
			for _, p := range op.Parameters {
				if p.Value.Name == "Idempotency-Key" { // two people who try the reference must not send the same one
					if p.Value.Example != nil || p.Value.Schema.Value.Default != nil {
						t.Errorf("%s %s: an example of an idempotency key", method, path)
					}
					continue
				}
				checkExample(t, method+" "+path+" "+p.Value.Name, p.Value.Schema.Value, p.Value.Example)
			}
		}
	}
}

func checkExamples(t *testing.T, where string, content openapi3.Content) {
	for _, media := range content {
		if len(media.Examples) == 0 {
			t.Errorf("%s: no example", where)
		}
		for name, example := range media.Examples {
			checkExample(t, where+" "+name, media.Schema.Value, example.Value.Value)
		}
	}
}

func checkExample(t *testing.T, where string, schema *openapi3.Schema, example any) {
	if err := schema.VisitJSON(example, openapi3.WithStringFormatValidators(formats)); err != nil {
		t.Errorf("%s: %v", where, err)
	}
}

func TestEveryOperationIsSecuredAndDeclaresItsErrors(t *testing.T) {
	c, err := New(document(t))
	if err != nil {
		t.Fatal(err)
	}
	outside := 0 // counts the test mode's operations
	for key := range c.operations {
		if !strings.HasPrefix(key.path, "/api/v1/test/") {
			outside++
		}
	}
	if outside != 3 || len(c.operations) != 6 {
		t.Errorf("%d operations, %d of them outside the test mode; want 6 and 3", len(c.operations), outside)
	}
	for key, op := range c.operations {
		if !op.secured {
			t.Errorf("%v is open to anybody", key)
		}
		for _, status := range []string{"401", "403", "422", "500", "503"} {
			if op.responses.Value(status) == nil {
				t.Errorf("%v does not declare %s", key, status)
			}
		}
		for status, response := range op.responses.Map() {
			if id := response.Value.Headers["X-Request-ID"]; id == nil || !id.Value.Required {
				t.Errorf("%v: %s does not declare X-Request-ID", key, status)
			}
		}
	}
}

func TestSecurityFallsBackToTheDocument(t *testing.T) {
	doc := document(t)
	key := route{"POST", "/api/v1/sessions/create"}
	create := doc.Paths.Find(key.path).Post
	for name, tt := range map[string]struct {
		document  openapi3.SecurityRequirements
		operation *openapi3.SecurityRequirements
		secured   bool
	}{
		"document's":  {document: openapi3.SecurityRequirements{{"apiKey": nil}}, secured: true},
		"operation's": {operation: &openapi3.SecurityRequirements{{"apiKey": nil}}, secured: true},
		"opened": {document: openapi3.SecurityRequirements{{"apiKey": nil}},
			operation: &openapi3.SecurityRequirements{}},
		"none in either one": {},
	} {
		doc.Security, create.Security = tt.document, tt.operation
		c, err := New(doc)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.operations[key].secured; got != tt.secured {
			t.Errorf("%s: secured %v, want %v", name, got, tt.secured)
		}
	}
}

func TestBodiesThatAreNotRequiredJSONAreRefused(t *testing.T) {
	doc := document(t)
	body := doc.Paths.Find("/api/v1/sessions/create").Post.RequestBody.Value
	body.Required = false
	if _, err := New(doc); err == nil {
		t.Error("a body that may be left out was taken")
	}
	body.Required = true
	body.Content["text/plain"] = body.Content[jsonType]
	if _, err := New(doc); err == nil {
		t.Error("a second type of body was taken")
	}
}

func TestEmptyDocumentIsRefused(t *testing.T) {
	if _, err := New(&openapi3.T{Paths: openapi3.NewPaths()}); err == nil {
		t.Error("a document without paths guards nothing, yet was taken")
	}
}

// Types that the current requests do not use, with a schema made for this test.
func TestViolationTypes(t *testing.T) {
	schema := openapi3.NewObjectSchema().WithoutAdditionalProperties().
		WithProperty("s", openapi3.NewStringSchema().WithMinLength(2).WithMaxLength(3)).
		WithProperty("e", openapi3.NewStringSchema().WithEnum("a")).
		WithProperty("n", openapi3.NewFloat64Schema().WithMin(0)).
		WithProperty("b", openapi3.NewBoolSchema()).
		WithProperty("l", openapi3.NewArraySchema().WithMinItems(1).WithMaxItems(2).WithItems(openapi3.NewIntegerSchema())).
		WithProperty("o", openapi3.NewObjectSchema().WithProperty("u", openapi3.NewUUIDSchema()))
	for body, want := range map[string]string{
		`{"s":"a"}`:       "string_too_short [body s]",
		`{"s":"abcd"}`:    "string_too_long [body s]",
		`{"e":"b"}`:       "literal_error [body e]",
		`{"n":"1"}`:       "float_type [body n]",
		`{"n":-0.5}`:      "greater_than_equal [body n]",
		`{"b":1}`:         "bool_type [body b]",
		`{"l":{}}`:        "list_type [body l]",
		`{"l":[]}`:        "too_short [body l]",
		`{"l":[1,2,3]}`:   "too_long [body l]",
		`{"l":[1,"2"]}`:   "int_type [body l 1]",
		`{"o":[]}`:        "model_attributes_type [body o]",
		`{"o":{"u":"x"}}`: "uuid_parsing [body o u]",
		`{"s":1,"e":2,"x":3,"b":""}`: "bool_type [body b] literal_error [body e] string_type [body s] extra_forbidden " +
			"[body x]",
	} {
		value, err := decodeJSON([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		var found violations
		found.schema(schema.VisitJSON(value, openapi3.MultiErrors(), openapi3.WithStringFormatValidators(formats)),
			[]any{"body"})
		var got []string
		for _, v := range found.finish() {
			got = append(got, fmt.Sprint(v.Type, " ", v.Loc))
		}
		slices.SortFunc(got, func(a, b string) int {
			return strings.Compare(a[strings.Index(a, "["):],
				b[strings.Index(b, "["):])
		})
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s: got %s, want %s", body, s, want)
		}
	}
}

func TestForeignErrorsHaveNoText(t *testing.T) {
	var found violations
	found.schema(errors.New("c4n4ry"), []any{"body"})
	if got := fmt.Sprint(found.finish()); strings.Contains(got, "c4n4ry") || len(found) != 1 {
		t.Errorf("got %s", got)
	}
}
