package dashboard

import (
	"errors"
	"math"
	"net/http"
	"strconv"

	"agegate/internal/pages/page"
	"agegate/internal/rules/account"
	"agegate/internal/rules/account/passkey"
)

const (
	loginPath   = "/dashboard/login"
	passkeyPath = "/dashboard/login/passkey"
	secondPath  = "/dashboard/login/second"
	logoutPath  = "/dashboard/logout"
)

var loginForm = &form{
	name: "login",
	fields: []field{
		{name: "email", kind: "email", max: account.MaxEmail, autocomplete: "username webauthn"},
		{name: "password", kind: "password", max: 4 * account.MaxPassword, autocomplete: "current-password"},
	},
	problems: map[error]string{account.ErrWrongLogin: "wrong", account.ErrPasskey: "passkey"},
}

var secondForm = &form{
	name:     "second",
	fields:   []field{{name: "code", kind: "text", max: 40, autocomplete: "one-time-code", hint: true}},
	problems: map[error]string{account.ErrWrongCode: "wrong"},
}

func (p *Pages) login() feature {
	return feature{
		routes: []route{
			{method: http.MethodGet, path: loginPath, handle: p.showLogin},
			{method: http.MethodPost, path: loginPath, handle: p.logIn},
			{method: http.MethodPost, path: passkeyPath, handle: p.logInByPasskey},
			{method: http.MethodPost, path: secondPath, handle: p.logInSecond},
			{method: http.MethodGet, path: logoutPath, least: user, handle: p.showLogout},
			{method: http.MethodPost, path: logoutPath, handle: p.logOut},
		},
		screens: []string{"login", "second", "confirm"},
		forms:   []*form{loginForm, secondForm},
		notices: []string{"logged_out", "too_late"},
		keys:    []string{"logout.title", "logout.body", "logout.button", "passkey.none_ip", "passkey.none_http"},
	}
}

// passkeyView is what a page needs to offer a passkey.
type passkeyView struct {
	Options string // for the browser, or empty: not offered
	None    string // why passkeys cannot work at this address: the key of a text, or empty
}

// offer returns the view for options.
func (p *Pages) offer(options string) passkeyView {
	v := passkeyView{Options: options}
	if p.cfg.Accounts.Passkeyed() {
		return v
	}
	v.None = "passkey.none_http"
	if _, err := passkey.New(p.cfg.URL); errors.Is(err, passkey.ErrIPAddress) {
		v.None = "passkey.none_ip"
	}
	return v
}

type loginView struct {
	layout
	Form    *formView
	Next    string // where to go on to
	Passkey passkeyView
}

type secondView struct {
	layout
	Form         *formView
	Second, Next string
}

func (p *Pages) showLogin(r *request) error {
	next := p.onward(r.QueryParam("next"))
	if _, err := p.cfg.Accounts.Identify(r.ctx(), r.cookie(userCookie)); err == nil {
		return r.done(next, "")
	} else if !errors.Is(err, account.ErrSignedOut) {
		return err
	}
	f, err := r.blank(loginForm)
	if err != nil {
		return err
	}
	return p.renderLogin(r, http.StatusOK, f, next)
}

func (p *Pages) renderLogin(r *request, status int, f *formView, next string) error {
	options, err := p.cfg.Accounts.LogInOptions()
	if err != nil {
		return err
	}
	return r.render(status, "login", &loginView{Form: f, Next: next, Passkey: p.offer(options)})
}

func (p *Pages) logIn(r *request) error {
	f, err := r.read(loginForm)
	if err != nil {
		return err
	}
	next, status := p.onward(r.Request().PostForm.Get("next")), http.StatusUnprocessableEntity
	if f.ok() {
		signed, err := p.cfg.Accounts.LogIn(r.ctx(), f.Value("email"), f.Value("password"), r.browser())
		switch {
		case err == nil && signed.Second != "":
			second, err := r.blank(secondForm)
			if err != nil {
				return err
			}
			return r.render(http.StatusOK, "second", &secondView{Form: second, Second: signed.Second, Next: next})
		case err == nil:
			return r.enterAt(signed, next)
		}
		if status, err = r.refuseLogin(f, err); err != nil {
			return err
		}
	}
	return p.renderLogin(r, status, f, next)
}

// enterAt ends a log-in.
func (r *request) enterAt(signed account.Signed, next string) error {
	if err := r.signedIn(signed); err != nil {
		return err
	}
	return r.done(next, "")
}

// refuseLogin is form.refuse for forms whose attempts are limited. It returns the
// status of the page.
func (r *request) refuseLogin(f *formView, err error) (int, error) {
	if early := (*account.ThrottleError)(nil); errors.As(err, &early) {
		seconds := int(math.Ceil(early.Wait.Seconds()))
		r.Response().Header().Set("Retry-After", strconv.Itoa(seconds))
		f.Fault = new(page.Say("login.wait", "n", seconds))
		return http.StatusTooManyRequests, nil
	}
	return http.StatusUnprocessableEntity, f.refuse(err)
}

func (p *Pages) logInByPasskey(r *request) error {
	f, err := r.read(&form{name: loginForm.name, problems: loginForm.problems})
	if err != nil {
		return err
	}
	next := p.onward(r.Request().PostForm.Get("next"))
	signed, err := p.cfg.Accounts.LogInByPasskey(r.ctx(), r.Request().PostForm.Get("passkey"), r.browser())
	if err == nil {
		return r.enterAt(signed, next)
	}
	if err := f.refuse(err); err != nil {
		return err
	}
	shown, err := r.blank(loginForm)
	if err != nil {
		return err
	}
	shown.Fault = f.Fault
	return p.renderLogin(r, http.StatusUnprocessableEntity, shown, next)
}

func (p *Pages) logInSecond(r *request) error {
	f, err := r.read(secondForm)
	if err != nil {
		return err
	}
	sent := r.Request().PostForm
	next, second, status := p.onward(sent.Get("next")), sent.Get("second"), http.StatusUnprocessableEntity
	if f.ok() {
		signed, err := p.cfg.Accounts.LogInSecond(r.ctx(), second, f.Value("code"), r.browser())
		switch {
		case err == nil:
			return r.enterAt(signed, next)
		case errors.Is(err, account.ErrStartAgain):
			return r.done(loginPath, "too_late")
		}
		if status, err = r.refuseLogin(f, err); err != nil {
			return err
		}
		f.Field("code").Value = ""
	}
	return r.render(status, "second", &secondView{Form: f, Second: second, Next: next})
}

func (p *Pages) showLogout(r *request) error {
	return r.confirm(&confirmView{
		Title: page.Say("logout.title"), Body: page.Say("logout.body"), Button: page.Say("logout.button"), Back: homePath,
	}, nil)
}

func (p *Pages) logOut(r *request) error {
	if err := p.cfg.Accounts.LogOut(r.ctx(), r.cookie(userCookie)); err != nil {
		return err
	}
	r.dropCookie(userCookie)
	return r.done(loginPath, "logged_out")
}
