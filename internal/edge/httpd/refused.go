package httpd

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"agegate/internal/edge/contract"
	"agegate/internal/edge/reference"
	"agegate/internal/rules/fault"
)

// Refusal says how an API request was refused. It holds no input.
type Refusal struct {
	Method, Route string // from closed sets
	Status        int
	Type          string // a violation's type, the fault's code, or the status in words; then a dot and a cause, if known
	Loc           string // a violation's field, such as "body.success_url"
	RequestID     string
}

// watchRefusals calls refused for the errors of API requests. It must run inside the
// middleware that sets the deadline, because only that request knows its caller.
func watchRefusals(routes routeNames, refused func(*http.Request, Refusal)) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		if refused == nil {
			return next
		}
		return func(c echo.Context) error {
			err := next(c)
			if err == nil || !isAPI(c.Request()) {
				return err
			}
			status, _ := answer(err)
			if status >= http.StatusInternalServerError {
				return err
			}
			r := Refusal{
				Method: knownMethod(c.Request().Method), Route: routes.of(c), Status: status,
				RequestID: RequestID(c.Request().Context()),
			}
			for _, kind := range kindsOf(err, status) {
				r.Type, r.Loc = strings.TrimSuffix(kind.Type+"."+kind.Cause, "."), locOf(kind)
				refused(c.Request(), r)
			}
			return err
		}
	}
}

// kindsOf returns the distinct violations behind an error. If there are none, it
// returns one violation that names the kind of the error.
func kindsOf(err error, status int) []contract.Violation {
	if found, ok := errors.AsType[contract.InvalidError](err); ok {
		var kinds []contract.Violation
		seen := map[string]bool{}
		for _, v := range found {
			if key := v.Type + " " + locOf(v); !seen[key] {
				seen[key] = true
				kinds = append(kinds, v)
			}
		}
		return kinds
	}
	if known, ok := errors.AsType[*fault.Error](err); ok {
		return []contract.Violation{{Type: string(known.Code), Cause: reference.Headings()[known.Message]}}
	}
	return []contract.Violation{{Type: strings.ReplaceAll(strings.ToLower(http.StatusText(status)), " ", "_")}}
}

// locOf returns the path to a field, joined by dots. A field that is not in the
// contract becomes a star, because the client chose its name.
func locOf(v contract.Violation) string {
	parts := make([]string, len(v.Loc))
	for i, part := range v.Loc {
		parts[i] = fmt.Sprint(part)
	}
	if v.Type == "extra_forbidden" && len(parts) > 0 {
		parts[len(parts)-1] = "*"
	}
	return strings.Join(parts, ".")
}
