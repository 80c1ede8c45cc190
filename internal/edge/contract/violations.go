package contract

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/labstack/echo/v4"
)

const (
	// maxViolations caps the entries of one answer.
	maxViolations = 50
	// maxKeyLength caps, in characters, a member name that an entry repeats.
	maxKeyLength = 64
)

// violations collects the violations of one request. The validator's errors
// contain values of the request, so only their kind, location and member names
// are used, never their texts.
type violations []Violation

// NewViolation returns a violation of a kind, which is a type, or a type, a dot and a cause.
func NewViolation(kind string, loc ...any) Violation {
	kind, cause, _ := strings.Cut(kind, ".")
	return Violation{kind, loc, cause}
}

func (v *violations) add(kind string, loc ...any) { *v = append(*v, NewViolation(kind, loc...)) }

// parameter adds the validator's error about a parameter.
func (v *violations) parameter(p *openapi3.Parameter, err error) {
	if request, ok := errors.AsType[*openapi3filter.RequestError](err); ok {
		err = request.Err
	}
	loc := []any{p.In, p.Name}
	var parse *openapi3filter.ParseError
	switch {
	case errors.Is(err, openapi3filter.ErrInvalidRequired) && p.In == openapi3.ParameterInPath:
		v.add(formatError(p.Schema.Value), loc...) // the segment is present but empty
	case errors.Is(err, openapi3filter.ErrInvalidRequired):
		v.add("missing", loc...)
	case errors.As(err, &parse) && p.Schema != nil:
		v.add(typeError(p.Schema.Value), loc...)
	default:
		v.schema(err, loc)
	}
}

// schema adds the validator's errors about a value at base. err may be nil.
func (v *violations) schema(err error, base []any) {
	switch err := err.(type) {
	case nil:
	case openapi3.MultiError:
		for _, e := range err {
			v.schema(e, base)
		}
	case *openapi3.SchemaError:
		loc := slices.Concat(base, location(err.JSONPointer()))
		if err.SchemaField == "properties" {
			loc = append(loc, unknownKey(err.Reason))
		}
		v.add(violationType(err), loc...)
	default:
		v.add("value_error", base...)
	}
}

// ask adds the domain's violations for a body that is an object, except for
// members that already have a violation.
func (v *violations) ask(ctx echo.Context, domain BodyCheck, body any) error {
	object, ok := body.(map[string]any)
	if !ok || domain == nil || len(*v) >= maxViolations {
		return nil
	}
	taken := map[string]bool{}
	for _, x := range *v {
		taken[key(x.Loc)] = true
	}
	more, err := domain(ctx, object)
	for _, x := range more {
		if !taken[key(x.Loc)] {
			*v = append(*v, x)
		}
	}
	return err
}

// location turns a JSON pointer into a loc. Request objects are closed, so a
// numeric step can only be an array's index.
func location(pointer []string) []any {
	loc := make([]any, len(pointer))
	for i, step := range pointer {
		loc[i] = step
		if n, err := strconv.Atoi(step); err == nil {
			loc[i] = n
		}
	}
	return loc
}

// unknownKey extracts the member's name from `property "name" is unsupported`,
// the only place where the validator reports it.
func unknownKey(reason string) string {
	_, quoted, _ := strings.Cut(reason, " ")
	quoted, err := strconv.QuotedPrefix(quoted)
	if err != nil {
		return ""
	}
	name, err := strconv.Unquote(quoted)
	if err != nil {
		return ""
	}
	if runes := []rune(name); len(runes) > maxKeyLength {
		return string(runes[:maxKeyLength])
	}
	return name
}

// plainTypes maps the keywords whose violation has one fixed type.
var plainTypes = map[string]string{
	"required":         "missing",
	"properties":       "extra_forbidden",
	"minimum":          "greater_than_equal",
	"exclusiveMinimum": "greater_than",
	"maximum":          "less_than_equal",
	"exclusiveMaximum": "less_than",
	"enum":             "literal_error",
	"pattern":          "string_pattern_mismatch",
	"minLength":        "string_too_short",
	"minItems":         "too_short",
	"maxItems":         "too_long",
}

func violationType(err *openapi3.SchemaError) string {
	switch err.SchemaField {
	case "type":
		if _, ok := err.Value.(float64); ok && err.Schema.Type.Is(openapi3.TypeInteger) {
			return "int_from_float"
		}
		return typeError(err.Schema)
	case "nullable":
		return typeError(err.Schema)
	case "maxLength":
		if err.Schema.Format == "uri" {
			return "url_too_long"
		}
		return "string_too_long"
	case "format":
		return formatError(err.Schema)
	}
	if kind, ok := plainTypes[err.SchemaField]; ok {
		return kind
	}
	return "value_error"
}

// formatError returns the violation type for a string that does not match the
// schema's format.
func formatError(schema *openapi3.Schema) string {
	switch schema.Format {
	case "uuid":
		return "uuid_parsing"
	case "uri":
		return "url_parsing"
	default:
		return "value_error"
	}
}

// typeError returns the violation type for a value that is not of the schema's
// type.
func typeError(schema *openapi3.Schema) string {
	switch {
	case schema.Type.Permits(openapi3.TypeInteger):
		return "int_type"
	case schema.Type.Permits(openapi3.TypeNumber):
		return "float_type"
	case schema.Type.Permits(openapi3.TypeString):
		return "string_type"
	case schema.Type.Permits(openapi3.TypeBoolean):
		return "bool_type"
	case schema.Type.Permits(openapi3.TypeArray):
		return "list_type"
	default:
		return "model_attributes_type"
	}
}

// finish drops violations that follow from a wrong type (12.5 is also below 13), puts
// unknown members last, and limits the number of entries.
func (v violations) finish() InvalidError {
	mistyped := map[string]bool{}
	for _, x := range v {
		if isTypeError(x.Type) {
			mistyped[key(x.Loc)] = true
		}
	}
	var known, unknown InvalidError
	for _, x := range v {
		switch {
		case x.Type == "extra_forbidden":
			unknown = append(unknown, x)
		case isTypeError(x.Type) || !mistyped[key(x.Loc)]:
			known = append(known, x)
		}
	}
	known = append(known, unknown...)
	return known[:min(len(known), maxViolations)]
}

func isTypeError(kind string) bool {
	return kind == "int_from_float" || strings.HasSuffix(kind, "_type")
}

// key returns a comparable form of a loc.
func key(loc []any) string {
	return fmt.Sprintf("%q", loc)
}
