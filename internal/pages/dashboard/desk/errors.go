package desk

import (
	"errors"
	"net/http"
	"slices"

	"agegate/internal/backoffice/account"

	"github.com/labstack/echo/v4"
)

// failures are the error pages by name: the texts error.<name>.title and .body.
var failures = []string{
	"unknown", "test_only", "refused", "role", "read_only", "second_factor", "step_up", "sent", "gone", "large", "host",
	"busy", "internal",
}

type errorView struct {
	Layout
	Name   string
	Owners []account.Member // of the tenant, for those who may not do something
	Roles  []account.Role   // that may do it
}

// Error writes the page of a failed request. The page depends only on the failure and on who is logged in, so
// that an object of another tenant looks exactly like a missing one. Who is logged in has the navigation there.
func (d *Desk) Error(c echo.Context, status int, cause error) {
	v := &errorView{Name: failureOf(status, cause)}
	if status == http.StatusNotFound {
		r := &Request{Context: c, desk: d}
		var failed error
		if r.Who, failed = d.cfg.Accounts.Identify(r.Ctx(), r.CookieValue(UserCookie)); failed == nil {
			v.Layout = r.layout()
		}
	}
	if errors.Is(cause, ErrSent) {
		status = http.StatusConflict
	}
	if err := d.Set.Render(c, status, "error", v); err != nil {
		d.cfg.Logger.ErrorContext(c.Request().Context(), "error page failed", "status", status)
		_ = c.NoContent(status) // the connection is gone
	}
}

// refuseMember writes the page of a refusal for a member of the tenant. The page has
// the navigation to the pages that this user may open, and says whom to ask.
func (d *Desk) refuseMember(r *Request, status int, cause error) error {
	v := &errorView{Layout: r.layout(), Name: failureOf(status, cause), Roles: r.RolesOf(r.Route.Path)}
	if status == http.StatusForbidden {
		members, err := d.cfg.Accounts.Members(r.Ctx(), r.Access.TenantID())
		if err != nil {
			return err
		}
		v.Owners = slices.DeleteFunc(members, func(m account.Member) bool {
			return m.Role != account.Owner || m.User.DisabledAt != nil
		})
	}
	return d.Set.Render(r, status, "error", v)
}

func failureOf(status int, cause error) string {
	switch {
	case errors.Is(cause, errTestOnly):
		return "test_only"
	case errors.Is(cause, errRole):
		return "role"
	case errors.Is(cause, errReadOnly):
		return "read_only"
	case errors.Is(cause, ErrSecondFactor):
		return "second_factor"
	case errors.Is(cause, errStepUp):
		return "step_up"
	case errors.Is(cause, ErrSent):
		return "sent"
	case errors.Is(cause, account.ErrLinkGone):
		return "gone"
	}
	switch status {
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		return "unknown"
	case http.StatusGone:
		return "gone"
	case http.StatusMisdirectedRequest:
		return "host"
	case http.StatusRequestEntityTooLarge:
		return "large"
	case http.StatusForbidden, http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusConflict:
		return "refused"
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		return "busy"
	}
	return "internal"
}
