package shopper

import (
	"cmp"
	"encoding/hex"
	"time"

	"agegate/internal/rules/brand"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
	"agegate/internal/rules/trail"

	"github.com/labstack/echo/v4"
)

// visit is one request for a session: the session, its merchant, and whether the session belongs to this browser.
type visit struct {
	sess   session.Session
	tenant tenant.Tenant
	brand  brand.Brand // of the tenant
	cookie string      // empty when the browser has none for this session
	owner  bool
	claim  session.Claim // of the camera check that this browser may make
	path   string        // of the verification link, or of the phone's
}

// visit reads the session of the request. It returns fault.NotFound for an unknown link, and session.ErrDisabled.
func (p *Pages) visit(c echo.Context) (visit, error) {
	v, err := p.anyVisit(c)
	if err == nil {
		err = v.refused()
	}
	return v, err
}

// at returns the handler of a page. A visit that does not fit the page is redirected to
// the session's own page. If fits is nil, all visits fit.
func (p *Pages) at(fits func(visit) bool, answer func(echo.Context, visit) error) echo.HandlerFunc {
	return func(c echo.Context) error {
		v, err := p.visit(c)
		if err != nil {
			return err
		}
		if fits != nil && !fits(v) {
			return p.toSession(c, v)
		}
		return answer(c, v)
	}
}

// on returns a function for at: a visit fits if its session shows the screen.
func (p *Pages) on(shown screen) func(visit) bool {
	return func(v visit) bool { return p.screenOf(v) == shown }
}

// toSession redirects to the session's own page.
func (p *Pages) toSession(c echo.Context, v visit) error { return p.onward(c, v, v.path) }

// refused returns session.ErrDisabled if the session's tenant is disabled.
func (v visit) refused() error {
	if v.tenant.Disabled {
		return session.ErrDisabled
	}
	return nil
}

// anyVisit is visit without the check for disabled tenants.
func (p *Pages) anyVisit(c echo.Context) (visit, error) {
	sess, err := p.cfg.Sessions.ByLink(c.Request().Context(), c.Param("token"))
	if err != nil {
		return visit{}, err
	}
	return p.visitOf(c, sess, "/v/"+c.Param("token"))
}

// visitOf returns the visit of a session whose pages are below path.
func (p *Pages) visitOf(c echo.Context, sess session.Session, path string) (visit, error) {
	ctx := c.Request().Context()
	trail.Note(ctx, "tenant_id", sess.TenantID.String())
	trail.Note(ctx, "session_id", sess.ID.String())
	t, err := p.cfg.Tenants.Tenant(ctx, sess.TenantID)
	if err != nil {
		return visit{}, err
	}
	look, err := p.cfg.Tenants.Brand(ctx, t.ID)
	if err != nil {
		return visit{}, err
	}
	v := visit{sess: sess, tenant: t, brand: look, path: path}
	if cookie, err := c.Cookie(p.cookieName(sess.LinkHash, "")); err == nil {
		v.cookie, v.owner = cookie.Value, sess.Owns(cookie.Value)
	}
	return v, nil
}

// merchant is the merchant's name as shown to shoppers.
func (v visit) merchant() string { return cmp.Or(v.brand.Name, v.tenant.Name) }

// status is the session's status now.
func (p *Pages) status(v visit) session.Status { return v.sess.StatusAt(p.cfg.Sessions.Now()) }

// cookieName returns a name that is different for each session. Checks for two shops in
// one browser then do not interfere, and cannot be linked.
func (p *Pages) cookieName(linkHash []byte, kind string) string {
	return p.pages.CookieName("agegate-" + kind + hex.EncodeToString(linkHash[:8]))
}

// greet sets the cookie with which the browser will claim the session. Opening the link does not claim it yet. The
// cookie is set this early so that a form that is sent twice claims the session only once.
func (p *Pages) greet(c echo.Context, v *visit) error {
	if v.cookie != "" || v.sess.BrowserHash != nil {
		return nil
	}
	return p.giveCookie(c, v, p.cookieName(v.sess.LinkHash, ""), session.MaxLifetime+session.RedirectGrace)
}

// giveCookie sets a new cookie, and keeps it in the visit.
func (p *Pages) giveCookie(c echo.Context, v *visit, name string, life time.Duration) (err error) {
	if v.cookie, err = credential.NewLinkToken(p.cfg.Random); err == nil {
		p.pages.SetCookie(c, name, v.cookie, life)
	}
	return err
}

// claim binds the session to this browser, unless another browser came first. The
// visit's owner field then says whether it is bound to this one.
func (p *Pages) claim(c echo.Context, v *visit) error {
	if v.owner || v.sess.BrowserHash != nil {
		return nil
	}
	if err := p.greet(c, v); err != nil {
		return err
	}
	bound, err := p.cfg.Sessions.Bind(c.Request().Context(), v.sess, v.cookie)
	if err != nil || !bound {
		return err
	}
	v.owner, v.sess.BrowserHash = true, credential.HashToken(v.cookie)
	return nil
}
