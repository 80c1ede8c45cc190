// Package contract holds every API request against the published OpenAPI
// document before a handler sees it. It knows the document, not the domain:
// what the contract can say is checked here and nowhere else.
package contract

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/labstack/echo/v4"

	"agegate/internal/fault"
)

// Prefix is the path under which every route must be in the contract.
const Prefix = "/api/"

// Contract is the boot-time table of the document's operations. It is
// read-only after New and safe for concurrent use.
type Contract struct {
	operations map[route]*operation
	options    *openapi3filter.Options
}

// route names an operation by echo's path pattern and the method. Operation
// IDs are not used as keys: a generator may rewrite them, and a miss would
// leave a route unguarded.
type route struct{ method, path string }

type operation struct {
	secured bool
	headers []string // names of declared header parameters
	route   *routers.Route
}

// New builds the table from an OpenAPI document whose references are resolved.
// It also installs the strict JSON body decoder, for the whole process.
func New(doc *openapi3.T) (*Contract, error) {
	if doc.Paths.Len() == 0 {
		return nil, errors.New("contract: the document has no paths")
	}
	openapi3filter.RegisterBodyDecoder("application/json", decodeBody)

	// A 3.1 document makes the validator compile a JSON schema on every
	// request, and it cannot leave values out of its errors. The keywords the
	// document is allowed to use mean the same to the 3.0 validator.
	spec := *doc
	spec.OpenAPI = "3.0.3"
	spec.Security = nil

	c := &Contract{
		operations: map[route]*operation{},
		options: &openapi3filter.Options{
			MultiError:                        true,
			KeepValidatedValue:                true,
			RejectWhenRequestBodyNotSpecified: true,
			SkipSettingDefaults:               true,
			SchemaValidationOptions: []openapi3.SchemaValidationOption{
				openapi3.DisableSchemaErrorDetails(),
				openapi3.WithStringFormatValidators(formats),
			},
		},
	}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			c.operations[route{method, echoPath(path)}] = newOperation(doc, &spec, path, method, op)
		}
	}
	return c, nil
}

// newOperation prepares one entry of the table. The operation that is
// validated has no security: the validator would read the whole body before
// looking at it, so Middleware authenticates instead.
func newOperation(doc, spec *openapi3.T, path, method string, op *openapi3.Operation) *operation {
	security := doc.Security
	if op.Security != nil {
		security = *op.Security
	}
	item := doc.Paths.Find(path)
	var headers []string
	for _, p := range slices.Concat(item.Parameters, op.Parameters) {
		if p.Value.In == openapi3.ParameterInHeader {
			headers = append(headers, p.Value.Name)
		}
	}
	open := *op
	open.Security = &openapi3.SecurityRequirements{}
	return &operation{
		secured: len(security) > 0,
		headers: headers,
		route:   &routers.Route{Spec: spec, Path: path, PathItem: item, Method: method, Operation: &open},
	}
}

// echoPath writes an OpenAPI path template as echo does: {id} becomes :id.
func echoPath(path string) string {
	return strings.NewReplacer("{", ":", "}", "").Replace(path)
}

// CheckRoutes reports every route that answers under Prefix without being in
// the contract, and every operation that no route serves. The boot must fail
// on it: the guard lets requests of routes it does not know pass.
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

// reachesPrefix reports whether a route can answer for a path under Prefix,
// which one that begins with a parameter or a wildcard can as well.
func reachesPrefix(path string) bool {
	return strings.HasPrefix(path, Prefix) || strings.HasPrefix(path, "/:") || strings.HasPrefix(path, "/*")
}

// Rule returns what the domain has against a JSON body that breaks the contract
// already, so that one answer tells all. Members may be missing, unknown or of
// any type. A body that keeps the contract is left to the handler. Nil: nothing.
type Rule func(ctx echo.Context, body map[string]any) ([]fault.Violation, error)

// Middleware returns the guard, to be installed with echo's Use so that the
// route is known. Requests of operations with security go to authenticate
// first, whose error ends the request; then the request is validated, and
// every violation, of the contract and of the domain's rule, is reported in one
// fault of code fault.Invalid. Requests outside the contract pass untouched.
func (c *Contract) Middleware(authenticate func(echo.Context) error, domain Rule) echo.MiddlewareFunc {
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
			found, err := c.validate(ctx, op)
			if err != nil {
				return err
			}
			if len(found) == 0 {
				return next(ctx)
			}
			if err := found.ask(ctx, domain); err != nil {
				return err
			}
			return fault.InvalidFields(found.finish()...)
		}
	}
}

// validate returns the violations of a request, or an echo.HTTPError for a body
// that could not be read. The validator's own errors hold input and end here.
func (c *Contract) validate(ctx echo.Context, op *operation) (found violations, _ error) {
	req := ctx.Request()
	err := openapi3filter.ValidateRequest(req.Context(), &openapi3filter.RequestValidationInput{
		Request:    req,
		PathParams: pathParams(ctx),
		Route:      op.route,
		Options:    c.options,
	})
	for _, name := range op.headers {
		if len(req.Header.Values(name)) > 1 {
			found.add("value_error", openapi3.ParameterInHeader, strings.ToLower(name))
		}
	}
	if err != nil {
		if bodyUnread(err) {
			return nil, echo.NewHTTPError(http.StatusBadRequest)
		}
		found.collect(err)
	}
	return found, nil
}

// pathParams returns the path's parameters unescaped. Echo hands them over
// escaped when the path has an escaped form; one that cannot be unescaped
// stays as it is and fails its format.
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
