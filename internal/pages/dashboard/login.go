package dashboard

import (
	"errors"
	"net/http"
	"slices"

	"agegate/internal/backoffice/account"
	"agegate/internal/backoffice/account/passkey"
)

const (
	loginPath   = "/dashboard/login"
	passkeyPath = "/dashboard/login/passkey"
	secondPath  = "/dashboard/login/second"
	logoutPath  = "/dashboard/logout"
)

var loginForm = &form{
	name: "login", again: true,
	fields: []field{
		{name: "email", kind: "email", max: account.MaxEmail, autocomplete: "username webauthn"},
		{name: "password", kind: "password", max: 4 * account.MaxPassword, autocomplete: "current-password"},
	},
	problems: map[error]string{account.ErrWrongLogin: "wrong", account.ErrPasskey: "passkey",
		account.ErrProviderNeeded: "provider"},
}

// passkeyLoginForm is loginForm without required fields, because a passkey
// replaces them.
var passkeyLoginForm = func() *form {
	spec := *loginForm
	spec.fields = slices.Clone(spec.fields)
	for i := range spec.fields {
		spec.fields[i].either = true
	}
	return &spec
}()

var secondForm = &form{
	name: "second", again: true,
	fields:   []field{{name: "code", kind: "text", max: 40, autocomplete: "one-time-code", hint: true}},
	problems: map[error]string{account.ErrWrongCode: "wrong", account.ErrProviderNeeded: "provider"},
}

var logoutForm = &form{name: "logout", again: true}

func (p *Pages) login() feature {
	return feature{
		routes: []route{
			{method: http.MethodGet, path: loginPath, handle: p.showLogin},
			{method: http.MethodPost, path: loginPath, handle: loginForm.does(p.logIn)},
			{method: http.MethodPost, path: passkeyPath, handle: passkeyLoginForm.does(p.logInByPasskey)},
			{method: http.MethodPost, path: secondPath, handle: secondForm.does(p.logInSecond)},
			{method: http.MethodGet, path: logoutPath, minRole: user, handle: logoutForm.asks(p.logOut)},
			{method: http.MethodPost, path: logoutPath, handle: logoutForm.does(p.logOut)},
		},
		screens: []string{"login", "second", "confirm"},
		forms:   []*form{loginForm, secondForm},
		keys:    []string{"logout.title", "logout.body", "logout.button"},
	}
}

// passkeyView is the view of a page that offers a passkey.
type passkeyView struct {
	Options string // for the browser; empty if passkeys are not offered
	None    string // why passkeys cannot work at this address: the key of a text; may be empty
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
	Next    string // where the log-in leads
	Passkey passkeyView
	Setup   bool // nobody has an account yet
	SSO     []ssoView
}

type secondView struct {
	layout
	Form         *formView
	Second, Next string
}

// next is the address to go to, as given by the page's form or its address. It
// could be anything: see onward.
func (r *request) next() string {
	if r.route.method == http.MethodPost {
		return r.Request().PostForm.Get("next")
	}
	return r.QueryParam("next")
}

// showLogin redirects users who are already signed in.
func (p *Pages) showLogin(r *request) error {
	_, err := p.cfg.Accounts.Identify(r.ctx(), r.cookie(userCookie))
	switch {
	case err == nil:
		return r.done(p.onward(r.next()), "")
	case errors.Is(err, account.ErrSignedOut):
		return loginForm.asks(p.logIn)(r)
	}
	return err
}

// loginQuestion is the log-in page; do completes it.
func (p *Pages) loginQuestion(r *request, do func(f *formView, next string) error) (*question, error) {
	next := p.onward(r.next())
	return &question{
		show: func(status int, f *formView) error {
			options, err := p.cfg.Accounts.LogInOptions()
			if err != nil {
				return err
			}
			setup, err := p.cfg.Accounts.NeedsSetup(r.ctx())
			if err != nil {
				return err
			}
			sso, err := p.ssoChoices(r, next)
			if err != nil {
				return err
			}
			return r.render(status, "login", &loginView{Form: f, Next: next, Passkey: p.offer(options), Setup: setup, SSO: sso})
		},
		do: func(f *formView) error { return do(f, next) },
	}, nil
}

func (p *Pages) logIn(r *request) (*question, error) {
	return p.loginQuestion(r, func(f *formView, next string) error {
		signed, err := p.cfg.Accounts.LogIn(r.ctx(), f.Value("email"), f.Value("password"), r.browser())
		if err != nil {
			return err
		}
		if signed.Second == "" {
			return r.enterAt(signed, next)
		}
		return r.askSecond(signed, next)
	})
}

// askSecond asks for the second factor and then continues to next.
func (r *request) askSecond(signed account.Signed, next string) error {
	second, err := r.blank(secondForm)
	if err != nil {
		return err
	}
	return r.render(http.StatusOK, "second", &secondView{Form: second, Second: signed.Second, Next: next})
}

// enterAt completes a log-in and redirects to next.
func (r *request) enterAt(signed account.Signed, next string) error {
	if err := r.signedIn(signed); err != nil {
		return err
	}
	return r.done(next, "")
}

func (p *Pages) logInByPasskey(r *request) (*question, error) {
	return p.loginQuestion(r, func(_ *formView, next string) error {
		signed, err := p.cfg.Accounts.LogInByPasskey(r.ctx(), r.Request().PostForm.Get("passkey"), r.browser())
		if err != nil {
			return err
		}
		return r.enterAt(signed, next)
	})
}

func (p *Pages) logInSecond(r *request) (*question, error) {
	next, second := p.onward(r.next()), r.Request().PostForm.Get("second")
	return &question{
		show: func(status int, f *formView) error {
			return r.render(status, "second", &secondView{Form: f.With("code", ""), Second: second, Next: next})
		},
		do: func(f *formView) error {
			signed, err := p.cfg.Accounts.LogInSecond(r.ctx(), second, f.Value("code"), r.browser())
			if errors.Is(err, account.ErrStartAgain) {
				return r.done(loginPath, "too_late")
			}
			if err != nil {
				return err
			}
			return r.enterAt(signed, next)
		},
	}, nil
}

func (p *Pages) logOut(r *request) (*question, error) {
	return &question{Back: homePath, do: func(*formView) error {
		if err := p.cfg.Accounts.LogOut(r.ctx(), r.cookie(userCookie)); err != nil {
			return err
		}
		r.dropCookie(userCookie)
		return r.done(loginPath, "logged_out")
	}}, nil
}
