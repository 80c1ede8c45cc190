package desk

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"agegate/internal/backoffice/account"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/routine"
	"agegate/internal/rules/tenant"
	"agegate/internal/rules/trail"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"
)

// Refusals that have their own pages; see errors.go.
var (
	errRole         = echo.NewHTTPError(http.StatusForbidden)
	ErrSecondFactor = echo.NewHTTPError(http.StatusForbidden)
	errReadOnly     = echo.NewHTTPError(http.StatusForbidden)
	errTestOnly     = echo.NewHTTPError(http.StatusNotFound)
	errStepUp       = echo.NewHTTPError(http.StatusForbidden)
)

// guarded returns a route's handler with its checks. It is the only function that creates a request.
func (d *Desk) guarded(route Route) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := &Request{Context: c, desk: d, Route: route}
		if answered, err := d.checkHost(r); answered || err != nil {
			return err
		}
		if err := d.admit(r); err != nil {
			switch {
			case errors.Is(err, account.ErrSignedOut):
				return r.SignIn()
			case errors.Is(err, errStepUp), errors.Is(err, ErrSecondFactor):
				return d.cfg.StepUp(r, err)
			case errors.Is(err, errRole), errors.Is(err, errReadOnly):
				return d.refuseMember(r, http.StatusForbidden, err)
			case errors.Is(err, errTestOnly):
				return d.refuseMember(r, http.StatusNotFound, err)
			}
			return err
		}
		err := route.Handle(r)
		switch {
		case errors.Is(err, account.ErrSecondFactor):
			return d.cfg.StepUp(r, ErrSecondFactor)
		case route.HasTenant() && (errors.Is(err, echo.ErrNotFound) || fault.CodeOf(err) == fault.NotFound):
			return d.refuseMember(r, http.StatusNotFound, err)
		}
		return err
	}
}

// admit checks a request in this order: where it comes from, who sends it, whether the
// user belongs to the tenant, and what the user may do there.
func (d *Desk) admit(r *Request) error {
	if r.Route.Method != http.MethodGet {
		if err := d.checkForm(r); err != nil {
			return err
		}
	}
	if r.Route.MinRole == Anyone {
		return nil
	}
	if err := d.identify(r); err != nil {
		return err
	}
	if r.Route.MinRole == Operator {
		if err := d.admitOperator(r.Who); err != nil {
			return err
		}
	}
	if r.Route.HasTenant() {
		if err := d.enter(r); err != nil {
			return err
		}
	}
	return d.checkStrength(r)
}

// checkForm refuses an unsafe request unless it says that it comes from the dashboard itself, and limits its size.
func (d *Desk) checkForm(r *Request) error {
	req := r.Request()
	if req.Header.Get("Sec-Fetch-Site") == "" && req.Header.Get("Origin") == "" {
		return echo.ErrForbidden
	}
	if err := d.Set.CheckOrigin(req); err != nil {
		return err
	}
	limit := r.Route.MaxForm
	if limit == 0 {
		limit = maxForm
	}
	req.Body = http.MaxBytesReader(r.Response(), req.Body, limit)
	return nil
}

// identify fills in who sends a request.
func (d *Desk) identify(r *Request) (err error) {
	if !r.Route.Renews {
		r.Who, err = d.cfg.Accounts.Identify(r.Ctx(), r.CookieValue(UserCookie))
		return err
	}
	if err := r.parse(); err != nil {
		return err
	}
	r.Who, err = d.cfg.Accounts.IdentifySender(r.Ctx(), r.CookieValue(UserCookie), r.nonce())
	return err
}

// admitOperator refuses users who are not operators as if the page did not exist. It
// also refuses operators whose log-in was idle too long or has no second factor.
func (d *Desk) admitOperator(who account.Identity) error {
	if !who.User().Operator {
		return echo.ErrNotFound
	}
	if d.cfg.Now().Sub(who.Login().SeenAt) >= account.LoginIdleOperator {
		return account.ErrSignedOut
	}
	if !who.Strong() {
		return ErrSecondFactor
	}
	return nil
}

// enter fills in the access and the tenant of a request. A tenant to which the
// user does not belong is answered like one that does not exist.
func (d *Desk) enter(r *Request) error {
	id, err := r.ID("tenant")
	if err != nil {
		return err
	}
	livemode, known := modes[r.Param("mode")]
	if r.Route.HasMode() && !known {
		return echo.ErrNotFound
	}
	var parallel routine.Group // the tenant is read while its membership is checked
	var found tenant.Tenant
	ctx := r.Ctx()
	parallel.Start(func() (err error) {
		found, err = d.cfg.Tenants.Tenant(ctx, id)
		return err
	})
	access, err := d.cfg.Accounts.Enter(ctx, r.Who, id, livemode)
	if err = cmp.Or(err, parallel.Wait()); err != nil {
		return err
	}
	r.Access, r.Tenant = access, found
	trail.Note(ctx, "tenant_id", id.String())
	if r.Route.TestOnly && livemode {
		return errTestOnly
	}
	if r.Access.ReadOnly() && r.Route.Method != http.MethodGet && !r.Route.Reads {
		return errReadOnly
	}
	if !r.May(r.Route.MinRole.right()) {
		return errRole
	}
	return nil
}

// checkStrength refuses requests for which the log-in is too weak: live mode
// without a second factor, and dangerous acts without a recent confirmation.
func (d *Desk) checkStrength(r *Request) error {
	if r.Route.StepUp == OfOneself && r.Who.User().Managed() {
		return echo.ErrNotFound // the user has no factors here
	}
	if r.touchesLive() && !r.Who.Strong() {
		return ErrSecondFactor
	}
	if r.Route.StepUp == Never || r.Route.StepUp == InLive && !r.Access.Livemode() {
		return nil
	}
	if !r.Who.Strong() {
		if err := d.checkOneself(r); err != nil {
			return err
		}
	}
	if !r.Who.SteppedUp(d.cfg.Now()) {
		return errStepUp
	}
	return nil
}

// touchesLive reports whether a request is for live mode, or changes what both modes share.
func (r *Request) touchesLive() bool {
	if r.Route.HasMode() {
		return r.Access.Livemode()
	}
	return r.Route.OfLive || r.Route.HasTenant() && r.Route.Method != http.MethodGet && !r.Route.Personal
}

// checkOneself admits a log-in without a second factor to the pages of the user's own
// factors, while the user has no second factor. A form that changes factors is not
// refused here but by the change itself, which knows whether the form was sent before.
func (d *Desk) checkOneself(r *Request) error {
	if r.Route.StepUp != OfOneself {
		return ErrSecondFactor
	}
	if r.Route.Renews {
		return nil
	}
	if factors, err := d.cfg.Accounts.Factors(r.Ctx(), r.Who); err != nil || factors.Strong() {
		return cmp.Or(err, error(ErrSecondFactor))
	}
	return nil
}

// SignIn redirects to the log-in. If the request was for a page, the log-in leads back to it.
func (r *Request) SignIn() error {
	target := r.desk.cfg.LogIn
	if r.Request().Method == http.MethodGet && r.Part() == "" && r.wellFormed() {
		target += "?next=" + url.QueryEscape(r.desk.Onward(r.Request().URL.Path))
	}
	return r.Redirect(http.StatusSeeOther, target)
}

// wellFormed reports whether the path's values have the form of modes and IDs. Values
// of other forms are not repeated in an answer.
func (r *Request) wellFormed() bool {
	for _, value := range r.ParamValues() {
		if _, isMode := modes[value]; !isMode && uuid.Validate(strings.TrimPrefix(value, "evt_")) != nil {
			return false
		}
	}
	return true
}
