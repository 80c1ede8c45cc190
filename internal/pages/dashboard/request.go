package dashboard

import (
	"context"
	"net/http"
	"time"

	"agegate/internal/rules/account"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/insight"
	"agegate/internal/rules/tenant"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"
	"rsc.io/qr"
)

// Cookies, without the prefix that they have over https.
const (
	userCookie   = "agegate-user"
	deviceCookie = "agegate-device"
	noticeCookie = "agegate-notice"
)

// request is a request that the guard has let in.
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

// browser returns what log-ins look at.
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

// renewed gives the browser the new cookie of a log-in whose rights changed.
func (r *request) renewed(token string) { r.setCookie(userCookie, token, account.LoginTTL) }

// view is the data of one screen: a pointer to a struct that embeds layout.
type view interface {
	pageView
	base() *layout
}

// part returns which part of its screen the request asks for, or "" for all of it.
func (r *request) part() string { return r.QueryParam("part") }

// render writes a screen, or the part of it that is asked for, which has no layout.
func (r *request) render(status int, screen string, v view) error {
	if r.part() != "" {
		return r.pages.set.RenderPart(r, screen, r.part(), v)
	}
	*v.base() = r.layout()
	v.base().Notice = r.takeNotice()
	return r.pages.set.Render(r, status, screen, v)
}

// unread reports whether a part of a page could not be read while the others
// can: the page says so in its place, and the log says why. A failure that is the
// request's own is returned.
func (r *request) unread(part string, err error) (bool, error) {
	code := fault.CodeOf(err)
	if err == nil || code != "" && code != fault.Unavailable || r.ctx().Err() != nil {
		return false, err
	}
	r.pages.cfg.Logger.Error("part of a page not read", "page", r.route.path, "part", part, "error", err)
	return true, nil
}

// qrCode answers with a text as a QR code, a PNG whose modules have a size in
// pixels.
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

// done ends a change: it leads to a page, which then shows the text
// notice.<notice> once.
func (r *request) done(path, notice string) error {
	if notice != "" {
		r.setCookie(noticeCookie, notice, time.Minute)
	}
	return r.Redirect(http.StatusSeeOther, path)
}

// takeNotice returns the key of the notice that a change has left, or "". The
// cookie could hold anything, so only texts of the catalogue count.
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

// once lets a form through the first time that this copy of it is sent, and
// returns errSent after. Call it when nothing about the form is wrong, just
// before the change, and only for users: it writes a row. That row stays when the
// change fails, because a lost connection leaves unknown whether it happened: the
// page of errSent promises no more than that it is not done twice.
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

// cursor returns the ID that a list goes on from, uuid.Nil if the query does not
// have the parameter, or echo.ErrNotFound.
func (r *request) cursor(name string) (uuid.UUID, error) {
	id, ok := parseID(r.QueryParam(name))
	if !ok && r.QueryParam(name) != "" {
		return uuid.Nil, echo.ErrNotFound
	}
	return id, nil
}

// parseID reads an ID in the one spelling that the gateway writes.
func parseID(text string) (uuid.UUID, bool) {
	id, err := uuid.Parse(text)
	return id, err == nil && id.String() == text
}

// path returns the address of a pattern with the request's tenant and mode.
func (r *request) path(pattern string) string {
	return fill(pattern, r.access.TenantID().String(), r.mode())
}

// to returns the address of a page without a mode, which keeps the mode that
// links lead to.
func (r *request) to(pattern string) string {
	if r.mode() == "live" {
		return r.path(pattern) + "?mode=live"
	}
	return r.path(pattern)
}

// may reports whether the user's role in the tenant has a right.
func (r *request) may(right account.Right) bool { return r.access.Role().May(right) }

// opens reports whether the page of a pattern exists and the user's role is
// enough for it. It says nothing of pages that belong to no tenant.
func (r *request) opens(pattern string) bool {
	route, exists := r.pages.byPattern[pattern]
	return exists && (!route.hasTenant() || r.may(route.least.right()))
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

// mode is the mode that links lead to. On pages without one it is that of the
// page before.
func (r *request) mode() string {
	if r.access.Livemode() || !r.route.hasMode() && r.QueryParam("mode") == "live" {
		return "live"
	}
	return "test"
}
