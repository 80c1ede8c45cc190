// Package contract validates every API request against the published OpenAPI document before a handler sees it. It
// knows only the document, not the domain. A rule that the document can express is checked here and nowhere else.
package contract

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/labstack/echo/v4"
)

// Prefix is the path below which every route must be in the contract.
const Prefix = "/api/"

// Contract is the table of the document's operations, built at startup. It is
// read-only after New and safe for concurrent use.
type Contract struct {
	operations map[route]*operation
}

// route names an operation by echo's path pattern and the method. Operation IDs are not used as keys: a generator may
// rewrite them, and a miss would leave a route unguarded.
type route struct{ method, path string }

type operation struct {
	secured    bool
	parameters []*openapi3.Parameter
	body       *openapi3.Schema // nil if a body is ignored
	responses  *openapi3.Responses
}

// schemaOptions are the options for validating parameters and bodies. The validator's support for OpenAPI 3.1 stays
// off: it would compile a JSON schema on every request, and put the request's values into its errors. The keywords that
// the document may use mean the same without it.
var schemaOptions = []openapi3.SchemaValidationOption{
	openapi3.DisableSchemaErrorDetails(),
	openapi3.WithStringFormatValidators(formats),
}

var (
	bodyOptions      = append(slices.Clone(schemaOptions), openapi3.VisitAsRequest(), openapi3.MultiErrors())
	parameterOptions = &openapi3filter.Options{
		MultiError:              true,
		SkipSettingDefaults:     true,
		SchemaValidationOptions: schemaOptions,
	}
)

// Read parses an OpenAPI document in YAML or JSON and resolves its references.
func Read(data []byte) (*openapi3.T, error) {
	doc, err := openapi3.NewLoader().LoadFromData(data)
	if err != nil {
		return nil, fmt.Errorf("contract: reading the document: %w", err)
	}
	return doc, nil
}

// New builds the table from an OpenAPI document whose references are resolved.
func New(doc *openapi3.T) (*Contract, error) {
	if doc.Paths.Len() == 0 {
		return nil, errors.New("contract: the document has no paths")
	}
	c := &Contract{operations: map[route]*operation{}}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			prepared, err := newOperation(doc, item, op)
			if err != nil {
				return nil, fmt.Errorf("contract: %s %s: %w", method, path, err)
			}
			at := strings.NewReplacer("{", ":", "}", "").Replace(path) // as echo writes it: {id} becomes :id
			c.operations[route{method, at}] = prepared
		}
	}
	return c, nil
}

// newOperation prepares one entry of the table.
func newOperation(doc *openapi3.T, item *openapi3.PathItem, op *openapi3.Operation) (*operation, error) {
	security := doc.Security
	if op.Security != nil {
		security = *op.Security
	}
	prepared := &operation{secured: len(security) > 0, responses: op.Responses}
	for _, p := range slices.Concat(item.Parameters, op.Parameters) {
		prepared.parameters = append(prepared.parameters, p.Value)
	}
	if op.RequestBody == nil {
		return prepared, nil
	}
	media := op.RequestBody.Value.Content[jsonType]
	if !op.RequestBody.Value.Required || len(op.RequestBody.Value.Content) != 1 || media == nil {
		return nil, errors.New("a request body must be required, and JSON")
	}
	prepared.body = media.Schema.Value
	return prepared, nil
}

// CheckRoutes reports every route under Prefix that is not in the contract, and every operation without a route.
// Startup must fail with its error, because the guard lets requests to unknown routes pass.
func (c *Contract) CheckRoutes(e *echo.Echo) error {
	var errs []error
	served := map[route]bool{}
	for _, r := range e.Routes() {
		key := route{r.Method, r.Path}
		served[key] = true
		if reachesPrefix(r.Path) && c.operations[key] == nil {
			errs = append(errs, fmt.Errorf("contract: route %s %s is not in the contract", r.Method, r.Path))
		}
	}
	for key := range c.operations {
		if !served[key] {
			errs = append(errs, fmt.Errorf("contract: operation %s %s has no route", key.method, key.path))
		}
	}
	return errors.Join(errs...)
}

// reachesPrefix reports whether a route can match a path under Prefix, for
// example because it begins with a parameter or a wildcard.
func reachesPrefix(path string) bool {
	return strings.HasPrefix(path, Prefix) || strings.HasPrefix(path, "/:") || strings.HasPrefix(path, "/*")
}

// Violation is one invalid field of a request: an error type of Pydantic v2 and the path to the field, for example
// "value_error" at ["body", "success_url"]. It never carries the value.
type Violation struct {
	Type  string
	Loc   []any  // strings and ints
	Cause string `json:"-"` // which of several causes of the type it is, for the tenant's list; may be empty
}

// InvalidError is the error of a request that is refused with 422. It lists all violations.
type InvalidError []Violation

// Error returns a fixed text, because violations name members of the request.
func (InvalidError) Error() string { return "contract: invalid request" }

// BodyCheck returns the domain's violations of a JSON body that already violates the contract, so that one response
// reports both. Members may be missing, unknown or of any type. It is not called for a body that satisfies the
// contract: the handler checks that one.
type BodyCheck func(ctx echo.Context, body map[string]any) ([]Violation, error)

// Middleware returns the guard. Install it with echo's Use, so that the route is known. If the operation has security,
// authenticate is called first, and its error ends the request. Then the request is validated. All violations of the
// contract and of the domain's rules are reported in one InvalidError. Requests outside the contract pass unchanged.
func (c *Contract) Middleware(authenticate func(echo.Context) error, domain BodyCheck) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(ctx echo.Context) error {
			op := c.operations[route{ctx.Request().Method, ctx.Path()}]
			if op == nil {
				return next(ctx)
			}
			if op.secured {
				if err := authenticate(ctx); err != nil {
					return err
				}
			}
			found := op.checkParameters(ctx)
			body, err := op.readBody(ctx.Request(), &found)
			if err != nil {
				return err
			}
			if len(found) == 0 {
				if body != nil {
					ctx.Set(bodyKey, body)
				}
				return next(ctx)
			}
			if err := found.ask(ctx, domain, body); err != nil {
				return err
			}
			return found.finish()
		}
	}
}

// checkParameters returns the violations of a request's parameters. The
// validator's own errors contain input and are not passed on.
func (op *operation) checkParameters(ctx echo.Context) violations {
	var found violations
	var input *openapi3filter.RequestValidationInput
	for _, p := range op.parameters {
		if plainlyValid(ctx, p) {
			continue
		}
		if input == nil {
			input = &openapi3filter.RequestValidationInput{Request: ctx.Request(), PathParams: pathParams(ctx),
				Options: parameterOptions}
		}
		err := openapi3filter.ValidateParameter(ctx.Request().Context(), input, p)
		switch {
		case len(given(ctx, p)) > 1:
			found.add("value_error", p.In, p.Name)
		case err != nil:
			found.parameter(p, err)
		}
	}
	return found
}

// plainlyValid reports that a parameter is valid, without using the validator. It
// recognizes the two cases of almost every request: a UUID in the path, and an optional
// header that is missing. If it returns false, the validator decides.
func plainlyValid(ctx echo.Context, p *openapi3.Parameter) bool {
	switch p.In {
	case openapi3.ParameterInPath:
		return p.Style == "" && onlyUUID(p.Schema) && checkUUID(ctx.Param(p.Name)) == nil
	case openapi3.ParameterInHeader:
		return !p.Required && len(given(ctx, p)) == 0
	}
	return false
}

// given returns the values of a parameter that a request may repeat: a header, or one
// of the query.
func given(ctx echo.Context, p *openapi3.Parameter) []string {
	switch p.In {
	case openapi3.ParameterInHeader:
		return ctx.Request().Header.Values(p.Name)
	case openapi3.ParameterInQuery:
		return ctx.QueryParams()[p.Name]
	}
	return nil
}

// onlyUUID reports whether a schema accepts every UUID.
func onlyUUID(ref *openapi3.SchemaRef) bool {
	if ref == nil || ref.Value == nil {
		return false
	}
	return ref.Value.Type.Is(openapi3.TypeString) && ref.Value.Format == "uuid" && len(ref.Value.Enum) == 0 &&
		ref.Value.Pattern == "" && ref.Value.MinLength == 0 && ref.Value.MaxLength == nil &&
		len(ref.Value.AllOf)+len(ref.Value.AnyOf)+len(ref.Value.OneOf) == 0 && ref.Value.Not == nil
}

// readBody decodes the body of an operation that takes one, adds its violations, and
// returns the value, or nil if there is none. It returns an error for a truncated body
// or invalid HTTP.
func (op *operation) readBody(req *http.Request, found *violations) (any, error) {
	if op.body == nil {
		return nil, nil
	}
	data, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, echo.NewHTTPError(http.StatusBadRequest) // the cause may quote the body
	}
	body, kind := decodeBody(data, req.Header.Values(echo.HeaderContentType))
	if kind != "" {
		found.add(kind, "body")
		return nil, nil
	}
	found.schema(op.body.VisitJSON(body, bodyOptions...), []any{"body"})
	return body, nil
}

// pathParams returns the path's parameters unescaped. Echo passes them escaped if
// the path has an escaped form. A parameter that cannot be unescaped is left
// unchanged and fails its format check.
func pathParams(ctx echo.Context) map[string]string {
	names, values := ctx.ParamNames(), ctx.ParamValues()
	escaped := ctx.Request().URL.RawPath != ""
	params := make(map[string]string, len(names))
	for i, name := range names {
		params[name] = values[i]
		if !escaped {
			continue
		}
		if plain, err := url.PathUnescape(values[i]); err == nil {
			params[name] = plain
		}
	}
	return params
}
