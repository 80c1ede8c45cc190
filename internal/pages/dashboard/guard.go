package dashboard

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"agegate/internal/backoffice/account"
	"agegate/internal/rules/routine"
	"agegate/internal/rules/tenant"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"
)

// Refusals that have their own pages; see errors.go.
var (
	errRole         = echo.NewHTTPError(http.StatusForbidden)
	errSecondFactor = echo.NewHTTPError(http.StatusForbidden)
	errReadOnly     = echo.NewHTTPError(http.StatusForbidden)
	errStepUp       = echo.NewHTTPError(http.StatusForbidden)
)

// guarded returns a route's handler with its checks. It is the only function that
// creates a request.
func (p *Pages) guarded(route route) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := &request{Context: c, pages: p, route: route}
		if answered, err := p.checkHost(r); answered || err != nil {
			return err
		}
		if err := p.admit(r); err != nil {
			if errors.Is(err, account.ErrSignedOut) {
				return r.signIn()
			}
			if errors.Is(err, account.ErrProviderNeeded) {
				return p.askProvider(r)
			}
			if errors.Is(err, errStepUp) || errors.Is(err, errSecondFactor) {
				return p.askStepUp(r, err)
			}
			if errors.Is(err, errRole) || errors.Is(err, errReadOnly) {
				return p.refuseMember(r, err)
			}
			return err
		}
		err := route.handle(r)
		if errors.Is(err, account.ErrSecondFactor) {
			return p.askStepUp(r, errSecondFactor)
		}
		return err
	}
}

// admit checks a request in this order: where it comes from, who sends it,
// whether the tenant is theirs, and only then what they may do there.
func (p *Pages) admit(r *request) error {
	if r.route.method != http.MethodGet {
		if err := p.checkForm(r); err != nil {
			return err
		}
	}
	if r.route.minRole == anyone {
		return nil
	}
	if err := p.identify(r); err != nil {
		return err
	}
	if r.route.minRole == operator {
		if err := p.admitOperator(r.who); err != nil {
			return err
		}
	}
	if r.route.hasTenant() {
		if err := p.enter(r); err != nil {
			return err
		}
	}
	return p.checkStrength(r)
}

// checkForm refuses an unsafe request unless it says that it comes from the
// dashboard itself, and limits its size.
func (p *Pages) checkForm(r *request) error {
	req := r.Request()
	if req.Header.Get("Sec-Fetch-Site") == "" && req.Header.Get("Origin") == "" {
		return echo.ErrForbidden
	}
	if err := p.set.CheckOrigin(req); err != nil {
		return err
	}
	limit := r.route.maxForm
	if limit == 0 {
		limit = maxForm
	}
	req.Body = http.MaxBytesReader(r.Response(), req.Body, limit)
	return nil
}

// identify fills in who sends a request.
func (p *Pages) identify(r *request) (err error) {
	if !r.route.renews {
		r.who, err = p.cfg.Accounts.Identify(r.ctx(), r.cookie(userCookie))
		return err
	}
	if err := r.parse(); err != nil {
		return err
	}
	r.who, err = p.cfg.Accounts.IdentifySender(r.ctx(), r.cookie(userCookie), r.nonce())
	return err
}

// admitOperator answers users who are not operators as if the page did not exist,
// and refuses operators whose log-in has been idle or has no second factor.
func (p *Pages) admitOperator(who account.Identity) error {
	if !who.User().Operator {
		return echo.ErrNotFound
	}
	if p.cfg.Now().Sub(who.Login().SeenAt) >= account.LoginIdleOperator {
		return account.ErrSignedOut
	}
	if !who.Strong() {
		return errSecondFactor
	}
	return nil
}

// enter fills in the access and the tenant of a request. A tenant to which the
// user does not belong is answered like one that does not exist.
func (p *Pages) enter(r *request) error {
	id, err := r.id("tenant")
	if err != nil {
		return err
	}
	livemode, known := modes[r.Param("mode")]
	if r.route.hasMode() && !known || r.route.testOnly && livemode {
		return echo.ErrNotFound
	}
	var parallel routine.Group // the tenant is read while its membership is checked
	var found tenant.Tenant
	ctx := r.ctx()
	parallel.Start(func() (err error) {
		found, err = p.cfg.Tenants.Tenant(ctx, id)
		return err
	})
	access, err := p.cfg.Accounts.Enter(ctx, r.who, id, livemode)
	missing := parallel.Wait()
	if err = cmp.Or(err, missing); err != nil {
		return err
	}
	r.access, r.tenant = access, found
	if r.access.ReadOnly() && r.route.method != http.MethodGet {
		return errReadOnly
	}
	if !r.may(r.route.minRole.right()) {
		return errRole
	}
	return nil
}

// checkStrength refuses requests for which the log-in is too weak: live mode
// without a second factor, and dangerous acts without a recent confirmation.
func (p *Pages) checkStrength(r *request) error {
	if r.route.stepUp == ofOneself && r.who.User().Managed() {
		return echo.ErrNotFound // the user has no factors here
	}
	if r.touchesLive() && !r.who.Strong() {
		return errSecondFactor
	}
	if r.route.stepUp == never || r.route.stepUp == inLive && !r.access.Livemode() {
		return nil
	}
	if !r.who.Strong() {
		if err := p.checkOneself(r); err != nil {
			return err
		}
	}
	if !r.who.SteppedUp(p.cfg.Now()) {
		return errStepUp
	}
	return nil
}

// touchesLive reports whether a request is for live mode, or changes what both
// modes share. Leaving a tenant changes only the user's own membership.
func (r *request) touchesLive() bool {
	if r.route.hasMode() {
		return r.access.Livemode()
	}
	return r.route.ofLive || r.route.hasTenant() && r.route.method != http.MethodGet && r.route.path != leavePath
}

// checkOneself admits a log-in without a second factor to the user's own factors
// as long as the user has none. The change itself refuses a form that changes
// them, because it knows whether the form was sent before.
func (p *Pages) checkOneself(r *request) error {
	if r.route.stepUp != ofOneself {
		return errSecondFactor
	}
	if r.route.renews {
		return nil
	}
	if factors, err := p.cfg.Accounts.Factors(r.ctx(), r.who); err != nil || factors.Strong() {
		return cmp.Or(err, error(errSecondFactor))
	}
	return nil
}

// signIn redirects to the log-in, which leads back afterwards if the request was
// for a page.
func (r *request) signIn() error {
	target := loginPath
	if r.Request().Method == http.MethodGet && r.part() == "" && r.wellFormed() {
		target += "?next=" + url.QueryEscape(r.pages.onward(r.Request().URL.Path))
	}
	return r.Redirect(http.StatusSeeOther, target)
}

// wellFormed reports whether the path's values have the form of modes and IDs.
// Other values are not repeated in an answer.
func (r *request) wellFormed() bool {
	for _, value := range r.ParamValues() {
		if _, isMode := modes[value]; !isMode && uuid.Validate(strings.TrimPrefix(value, "evt_")) != nil {
			return false
		}
	}
	return true
}
