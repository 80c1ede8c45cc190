package dashboard

import (
	"context"
	"net/http"
	"time"

	"agegate/internal/backoffice/account"
	"agegate/internal/backoffice/insight"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/tenant"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"
	"rsc.io/qr"
)

// Cookies, without the prefix that is added over https.
const (
	userCookie   = "agegate-user"
	deviceCookie = "agegate-device"
	noticeCookie = "agegate-notice"
)

// request is a request that the guard has admitted.
type request struct {
	echo.Context
	pages  *Pages
	route  route
	who    account.Identity // zero on pages for anyone
	access account.Access   // zero on pages without a tenant
	tenant tenant.Tenant    // the access's
}

func (r *request) ctx() context.Context { return r.Request().Context() }

// cookie returns the value of a cookie, or "".
func (r *request) cookie(name string) string {
	c, err := r.Cookie(r.pages.set.CookieName(name))
	if err != nil {
		return ""
	}
	return c.Value
}

func (r *request) setCookie(name, value string, life time.Duration) {
	r.pages.set.SetCookie(r, r.pages.set.CookieName(name), value, life)
}

func (r *request) dropCookie(name string) { r.setCookie(name, "", -time.Second) }

// browser returns the data of the browser for a log-in.
func (r *request) browser() account.Browser {
	return account.Browser{
		Login: r.cookie(userCookie), Device: r.cookie(deviceCookie), Network: network(r.Request(), r.pages.cfg.Proxies),
	}
}

// signedIn gives the browser the cookies of a log-in and the user's language.
func (r *request) signedIn(signed account.Signed) error {
	r.setCookie(userCookie, signed.Login, account.LoginTTL)
	r.setCookie(deviceCookie, signed.Device, account.DeviceTTL)
	who, err := r.pages.cfg.Accounts.Identify(r.ctx(), signed.Login)
	if err == nil {
		r.pages.set.SetLanguage(r, who.User().Locale)
	}
	return err
}

// renewed gives the browser the new cookie of a log-in.
func (r *request) renewed(token string) { r.setCookie(userCookie, token, account.LoginTTL) }

// view is the data of one screen: a pointer to a struct that embeds layout.
type view interface {
	pageView
	base() *layout
}

// part returns which part of its screen the request asks for, or "" for all of it.
func (r *request) part() string { return r.QueryParam("part") }

// render writes a screen, or only the requested part of it, without the layout.
func (r *request) render(status int, screen string, v view) error {
	if r.part() != "" {
		return r.pages.set.RenderPart(r, screen, r.part(), v)
	}
	*v.base() = r.layout()
	v.base().Notice = r.takeNotice()
	return r.pages.set.Render(r, status, screen, v)
}

// unread reports whether a part of a page could not be read. Then the page says
// so in its place, and the log says why. A failure of the request itself is
// returned.
func (r *request) unread(part string, err error) (bool, error) {
	code := fault.CodeOf(err)
	if err == nil || code != "" && code != fault.Unavailable || r.ctx().Err() != nil {
		return false, err
	}
	r.pages.cfg.Logger.Error("part of a page not read", "page", r.route.path, "part", part, "error", err)
	return true, nil
}

// qrCode answers with a text as a QR code: a PNG with the given size of a module
// in pixels.
func (r *request) qrCode(text string, module int) error {
	code, err := qr.Encode(text, qr.M)
	if err != nil {
		return err
	}
	code.Scale = module
	header := r.Response().Header()
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	return r.Blob(http.StatusOK, "image/png", code.PNG())
}

// done finishes a change: it redirects to a page, which then shows the text
// notice.<notice> once.
func (r *request) done(path, notice string) error {
	if notice != "" {
		r.setCookie(noticeCookie, notice, time.Minute)
	}
	return r.Redirect(http.StatusSeeOther, path)
}

// takeNotice returns the key of the notice that a change has left, or "". The
// cookie could contain anything, so only keys in the catalogue count.
func (r *request) takeNotice() string {
	name := r.cookie(noticeCookie)
	if name == "" {
		return ""
	}
	r.dropCookie(noticeCookie)
	if key := "notice." + name; r.pages.set.Has(key) {
		return key
	}
	return ""
}

// errSent refuses a form that was sent before.
var errSent = fault.New(fault.Conflict, "The form was sent before")

// once accepts each copy of a form the first time and returns errSent after that.
// Call it when the form has no errors, just before the change, and only for
// users, because it writes a row. The row stays if the change fails, because
// after a lost connection it is unknown whether the change was made: the page of
// errSent only promises that it is not made twice.
func (r *request) once(f *formView) error {
	if f.sent == "" {
		return echo.ErrBadRequest
	}
	first, err := r.pages.cfg.Accounts.ClaimForm(r.ctx(), r.who, f.sent)
	if err == nil && !first {
		return errSent
	}
	return err
}

// id returns a parameter of the path as an ID, or echo.ErrNotFound.
func (r *request) id(name string) (uuid.UUID, error) {
	id, ok := parseID(r.Param(name))
	if !ok {
		return uuid.Nil, echo.ErrNotFound
	}
	return id, nil
}

// cursor returns the ID after which a list continues, uuid.Nil without the
// parameter, or echo.ErrNotFound.
func (r *request) cursor(name string) (uuid.UUID, error) {
	id, ok := parseID(r.QueryParam(name))
	if !ok && r.QueryParam(name) != "" {
		return uuid.Nil, echo.ErrNotFound
	}
	return id, nil
}

// parseID parses an ID in the gateway's spelling.
func parseID(text string) (uuid.UUID, bool) {
	id, err := uuid.Parse(text)
	return id, err == nil && id.String() == text
}

// path returns the address of a pattern with the request's tenant and mode.
func (r *request) path(pattern string) string {
	return fill(pattern, r.access.TenantID().String(), r.mode())
}

// to returns the address of a page without a mode. The address keeps the mode for
// the page's links.
func (r *request) to(pattern string) string {
	if r.mode() == "live" {
		return r.path(pattern) + "?mode=live"
	}
	return r.path(pattern)
}

// may reports whether the user's role in the tenant has a right.
func (r *request) may(right account.Right) bool { return r.access.Role().May(right) }

// opens reports whether the page of a pattern exists and the user's role may open
// it. It does not cover pages without a tenant.
func (r *request) opens(pattern string) bool {
	route, exists := r.pages.byPattern[pattern]
	return exists && (!route.hasTenant() || r.may(route.minRole.right()))
}

// editing returns the address of a page without a mode if the user may open it,
// or "".
func (r *request) editing(pattern string) string {
	if r.opens(pattern) {
		return r.to(pattern)
	}
	return ""
}

// scope is the tenant and mode that the page shows.
func (r *request) scope() insight.Scope {
	return insight.Scope{TenantID: r.access.TenantID(), Livemode: r.access.Livemode()}
}

// zone is the time zone in which the page shows times.
func (r *request) zone() *time.Location { return r.who.User().Location() }

// mode is the mode of the page's links. On pages without a mode it is that of the
// previous page.
func (r *request) mode() string {
	if r.access.Livemode() || !r.route.hasMode() && r.QueryParam("mode") == "live" {
		return "live"
	}
	return "test"
}
