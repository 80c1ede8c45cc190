package desk

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"agegate/internal/backoffice/account"
	"agegate/internal/backoffice/insight"
	"agegate/internal/pages/page"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/tenant"
	"agegate/internal/rules/trail"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"
	"rsc.io/qr"
)

// Cookies, without the prefix that is added over https.
const (
	UserCookie   = "agegate-user"
	deviceCookie = "agegate-device"
	noticeCookie = "agegate-notice"
	zoneCookie   = "agegate-zone" // set by a script, without the prefix
)

// Request is a request that the guard has admitted.
type Request struct {
	echo.Context
	desk   *Desk
	Route  Route
	Who    account.Identity // zero on pages for anyone
	Access account.Access   // zero on pages without a tenant
	Tenant tenant.Tenant    // the access's
	Sought string           // of the layout
	zone   *time.Location   // see Zone
}

// Ctx returns the context of the HTTP request.
func (r *Request) Ctx() context.Context { return r.Request().Context() }

// CookieValue returns the value of a cookie, or "".
func (r *Request) CookieValue(name string) string {
	c, err := r.Cookie(r.desk.Set.CookieName(name))
	if err != nil {
		return ""
	}
	return c.Value
}

// PutCookie gives the browser a cookie for a time.
func (r *Request) PutCookie(name, value string, life time.Duration) {
	r.desk.Set.SetCookie(r, r.desk.Set.CookieName(name), value, life)
}

// DropCookie takes a cookie away from the browser.
func (r *Request) DropCookie(name string) { r.PutCookie(name, "", -time.Second) }

// Browser returns the data of the browser for a log-in.
func (r *Request) Browser() account.Browser {
	return account.Browser{
		Login: r.CookieValue(UserCookie), Device: r.CookieValue(deviceCookie),
		Network: network(r.Request(), r.desk.cfg.Proxies),
	}
}

// SignedIn gives the browser the cookies of a log-in and the user's language, and names the user in the log.
func (r *Request) SignedIn(signed account.Signed) error {
	r.PutCookie(UserCookie, signed.Login, account.LoginTTL)
	r.PutCookie(deviceCookie, signed.Device, account.DeviceTTL)
	who, err := r.desk.cfg.Accounts.Identify(r.Ctx(), signed.Login)
	if err == nil && who.User().Locale != "" {
		r.desk.Set.SetLanguage(r, who.User().Locale)
	}
	trail.Note(r.Ctx(), "user_id", who.User().ID.String())
	return err
}

// Renewed gives the browser the new cookie of a log-in.
func (r *Request) Renewed(token string) { r.PutCookie(UserCookie, token, account.LoginTTL) }

// View is the data of one screen: a pointer to a struct that embeds Layout.
type View interface {
	page.View
	base() *Layout
}

// Part returns which part of its screen the request asks for, or "" for all of it.
func (r *Request) Part() string { return r.QueryParam("part") }

// Show writes a screen, or only the requested part of it, without the layout.
func (r *Request) Show(status int, screen string, v View) error {
	if r.Part() != "" {
		return r.desk.Set.RenderPart(r, screen, r.Part(), v)
	}
	*v.base() = r.layout()
	v.base().Notice, v.base().Failed = r.takeNotice()
	return r.desk.Set.Render(r, status, screen, v)
}

// Unread reports whether err means that only a part of a page could not be read. The page then says so in place
// of the part, and the log says why. A failure of the request itself is returned.
func (r *Request) Unread(part string, err error) (bool, error) {
	code := fault.CodeOf(err)
	if err == nil || code != "" && code != fault.Unavailable || r.Ctx().Err() != nil {
		return false, err
	}
	r.desk.cfg.Logger.LogAttrs(r.Ctx(), slog.LevelError, "part of a page not read",
		slog.String("page", r.Route.Path), slog.String("part", part), slog.Any("error", err), fault.Stack(err))
	return true, nil
}

// QRCode answers with a text as a QR code: a PNG with the given size of a module in pixels.
func (r *Request) QRCode(text string, module int) error {
	png, err := page.QRCode(r.Ctx(), r.Tenant.ID, text, qr.M, module)
	if err != nil {
		return err
	}
	header := r.Response().Header()
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	return r.Blob(http.StatusOK, "image/png", png)
}

// Done finishes a change: it redirects to a page, which then shows the text
// notice.<notice> once, with at most two numbers: n and sum.
func (r *Request) Done(path, notice string, numbers ...int64) error {
	if notice != "" {
		for _, n := range numbers {
			notice += "." + strconv.FormatInt(n, 10)
		}
		r.PutCookie(noticeCookie, notice, time.Minute)
	}
	return r.Redirect(http.StatusSeeOther, path)
}

// After is Done after a change that gave err, which it returns if it is one.
func (r *Request) After(err error, path, notice string) error {
	if err != nil {
		return err
	}
	return r.Done(path, notice)
}

// takeNotice returns the notice that a change has left, or nil, and whether it reports a failure. The cookie
// may contain anything, so only numbers and keys in the catalogue count.
func (r *Request) takeNotice() (notice *page.Text, failed bool) {
	name, numbers, _ := strings.Cut(r.CookieValue(noticeCookie), ".")
	if name == "" {
		return nil, false
	}
	r.DropCookie(noticeCookie)
	first, second, _ := strings.Cut(numbers, ".")
	n, _ := strconv.Atoi(first) // 0 for a notice without numbers
	sum, _ := strconv.Atoi(second)
	if key := "notice." + name; r.desk.Set.Has(key) {
		return new(page.Say(key, "n", n, "sum", sum)), slices.Contains(r.desk.failed, name)
	}
	return nil, false
}

// ErrSent refuses a form that was sent before.
var ErrSent = fault.New(fault.Conflict, "The form was sent before")

// Once returns nil the first time that a copy of a form is sent, and ErrSent after that. Call it just before the
// change, when the form has no errors. Call it only if a user is signed in, because it writes a row to the database.
//
// The row stays even if the change fails, because after a lost connection nobody knows whether the change was
// made. The page that shows ErrSent therefore says only that the change is not made twice.
func (r *Request) Once(f *FormView) error {
	if f.Sent == "" {
		return echo.ErrBadRequest
	}
	first, err := r.desk.cfg.Accounts.ClaimForm(r.Ctx(), r.Who, f.Sent)
	if err == nil && !first {
		return ErrSent
	}
	return err
}

// ID returns a parameter of the path as an ID, or echo.ErrNotFound.
func (r *Request) ID(name string) (uuid.UUID, error) {
	id, ok := ParseID(r.Param(name))
	if !ok {
		return uuid.Nil, echo.ErrNotFound
	}
	return id, nil
}

// Named returns what an ID in the path names, or echo.ErrNotFound.
func Named[T any](r *Request, param string, find func(context.Context, uuid.UUID) (T, error)) (named T, err error) {
	id, err := r.ID(param)
	if err == nil {
		named, err = find(r.Ctx(), id)
	}
	return named, err
}

// Cursor returns the ID after which a list continues, uuid.Nil without the parameter, or echo.ErrNotFound.
func (r *Request) Cursor(name string) (uuid.UUID, error) {
	id, ok := ParseID(r.QueryParam(name))
	if !ok && r.QueryParam(name) != "" {
		return uuid.Nil, echo.ErrNotFound
	}
	return id, nil
}

// ParseID parses an ID in the gateway's spelling.
func ParseID(text string) (uuid.UUID, bool) {
	id, err := uuid.Parse(text)
	return id, err == nil && id.String() == text
}

// Href returns the address of a pattern with the request's tenant and mode.
func (r *Request) Href(pattern string) string {
	return Href(pattern, r.Access.TenantID().String(), r.Mode())
}

// To returns the address of a page whose pattern has no mode. It carries the present
// mode as a parameter, so that the links of that page lead back to it.
func (r *Request) To(pattern string) string {
	if r.Mode() == "live" {
		return r.Href(pattern) + "?mode=live"
	}
	return r.Href(pattern)
}

// May reports whether the user's role in the tenant has a right. An operator who looks in reads the audit log, too.
func (r *Request) May(right account.Right) bool {
	return r.Access.Role().May(right) || r.Access.ReadOnly() && right == account.ReadAudit
}

// Opens reports whether the page of a pattern exists and the user's role may open
// it. It does not cover pages without a tenant.
func (r *Request) Opens(pattern string) bool {
	route, exists := r.desk.byPattern[pattern]
	return exists && (!route.HasTenant() || r.May(route.MinRole.right()))
}

// RolesOf returns the roles that may open the page of a pattern of a tenant.
func (r *Request) RolesOf(pattern string) []account.Role {
	right := r.desk.byPattern[pattern].MinRole.right()
	return slices.DeleteFunc(account.Roles(), func(role account.Role) bool { return !role.May(right) })
}

// Docs is the address of the documentation.
func (r *Request) Docs() string { return r.desk.cfg.APIURL + "/docs" }

// Address returns the address of a page that the user may open, or "". Of a page that
// only test mode has, it is the one there.
func (r *Request) Address(pattern string) string {
	route := r.desk.byPattern[pattern]
	switch {
	case !r.Opens(pattern):
		return ""
	case route.TestOnly:
		return Href(pattern, r.Access.TenantID().String(), "test")
	case route.HasTenant() && !route.HasMode():
		return r.To(pattern)
	}
	return r.Href(pattern)
}

// Editing returns the address of a page without a mode if the user may open it, or "".
func (r *Request) Editing(pattern string) string {
	if r.Opens(pattern) {
		return r.To(pattern)
	}
	return ""
}

// Scope is the tenant and mode that the page shows.
func (r *Request) Scope() insight.Scope {
	return insight.Scope{TenantID: r.Access.TenantID(), Livemode: r.Access.Livemode()}
}

// Zone returns the time zone in which the user sees times: the chosen one, or that of the browser, or UTC.
func (r *Request) Zone() *time.Location {
	if r.zone == nil { // a page shows many times
		user := r.Who.User()
		if own, err := r.Cookie(zoneCookie); user.Zone == "" && err == nil {
			user.Zone = own.Value
		}
		r.zone = user.Location()
	}
	return r.zone
}

// Mode is the mode of the page's links. On pages without a mode it is that of the previous page.
func (r *Request) Mode() string {
	if r.Access.Livemode() || !r.Route.HasMode() && r.QueryParam("mode") == "live" {
		return "live"
	}
	return "test"
}
