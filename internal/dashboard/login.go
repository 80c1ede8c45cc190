package dashboard

import (
	"errors"
	"net/http"

	"agegate/internal/account"
	"agegate/internal/page"
)

const (
	loginPath  = "/dashboard/login"
	logoutPath = "/dashboard/logout"
)

var loginForm = &form{
	name: "login",
	fields: []field{
		{name: "email", kind: "email", max: account.MaxEmail, autocomplete: "username"},
		{name: "password", kind: "password", max: 4 * account.MaxPassword, autocomplete: "current-password"},
	},
	problems: map[error]string{account.ErrWrongLogin: "wrong"},
}

func (p *Pages) login() feature {
	return feature{
		routes: []route{
			{method: http.MethodGet, path: loginPath, handle: p.showLogin},
			{method: http.MethodPost, path: loginPath, handle: p.logIn},
			{method: http.MethodGet, path: logoutPath, least: user, handle: p.showLogout},
			{method: http.MethodPost, path: logoutPath, handle: p.logOut},
		},
		screens: []string{"login", "confirm"},
		forms:   []*form{loginForm},
		notices: []string{"logged_out"},
		keys:    []string{"logout.title", "logout.body", "logout.button"},
	}
}

type loginView struct {
	layout
	Form *formView
	Next string // where to go on to
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
	return r.render(http.StatusOK, "login", &loginView{Form: f, Next: next})
}

func (p *Pages) logIn(r *request) error {
	f, err := r.read(loginForm)
	if err != nil {
		return err
	}
	next := p.onward(r.Request().PostForm.Get("next"))
	if f.ok() {
		token, err := p.cfg.Accounts.LogIn(r.ctx(), f.Value("email"), f.Value("password"), r.cookie(userCookie))
		if err == nil {
			r.setCookie(userCookie, token, account.LoginTTL)
			return r.done(next, "")
		}
		if err := f.refuse(err); err != nil {
			return err
		}
	}
	return r.render(http.StatusUnprocessableEntity, "login", &loginView{Form: f, Next: next})
}

func (p *Pages) showLogout(r *request) error {
	f, err := r.blank(&form{})
	if err != nil {
		return err
	}
	return r.render(http.StatusOK, "confirm", &confirmView{
		Title: page.Say("logout.title"), Body: page.Say("logout.body"), Button: page.Say("logout.button"), Back: homePath, Form: f,
	})
}

func (p *Pages) logOut(r *request) error {
	if err := p.cfg.Accounts.LogOut(r.ctx(), r.cookie(userCookie)); err != nil {
		return err
	}
	r.dropCookie(userCookie)
	return r.done(loginPath, "logged_out")
}
