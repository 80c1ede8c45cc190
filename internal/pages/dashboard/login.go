package dashboard

import (
	"errors"
	"net/http"
	"net/url"
	"slices"

	"agegate/internal/backoffice/account"
	"agegate/internal/backoffice/account/passkey"
	"agegate/internal/pages/dashboard/desk"
)

const (
	loginPath   = "/dashboard/login"
	passkeyPath = "/dashboard/login/passkey"
	secondPath  = "/dashboard/login/second"
	logoutPath  = "/dashboard/logout"
)

var loginForm = &desk.Form{
	Name: "login", Again: true,
	Fields: []desk.Field{
		{Name: "email", Kind: "email", Max: account.MaxEmail, Autocomplete: "username webauthn"},
		{Name: "password", Kind: "password", Max: 4 * account.MaxPassword, Autocomplete: "current-password"},
	},
	Problems: map[error]string{account.ErrWrongLogin: "wrong", account.ErrPasskey: "passkey",
		account.ErrProviderNeeded: "provider"},
}

// passkeyLoginForm is loginForm without required fields, because a passkey replaces them.
var passkeyLoginForm = func() *desk.Form {
	spec := *loginForm
	spec.Fields = slices.Clone(spec.Fields)
	for i := range spec.Fields {
		spec.Fields[i].Either = true
	}
	return &spec
}()

var secondForm = &desk.Form{
	Name: "second", Again: true,
	Fields:   []desk.Field{{Name: "code", Kind: "text", Max: 40, Autocomplete: "one-time-code", Hint: true}},
	Problems: map[error]string{account.ErrWrongCode: "wrong", account.ErrProviderNeeded: "provider"},
}

var logoutForm = &desk.Form{Name: "logout", Again: true}

func (p *Pages) login() desk.Feature {
	return desk.Feature{
		Routes: []desk.Route{
			{Method: http.MethodGet, Path: loginPath, Handle: p.showLogin},
			{Method: http.MethodPost, Path: loginPath, Handle: loginForm.OnPost(p.logIn)},
			{Method: http.MethodPost, Path: passkeyPath, Handle: passkeyLoginForm.OnPost(p.logInByPasskey)},
			{Method: http.MethodPost, Path: secondPath, Handle: secondForm.OnPost(p.logInSecond)},
			{Method: http.MethodGet, Path: logoutPath, MinRole: desk.User, Handle: logoutForm.OnGet(p.logOut)},
			{Method: http.MethodPost, Path: logoutPath, Handle: logoutForm.OnPost(p.logOut)},
		},
		Screens: []string{"login", "second", "confirm"},
		Forms:   []*desk.Form{loginForm, secondForm},
		Keys:    []string{"logout.title", "logout.body", "logout.button"},
	}
}

// offer returns the view for options.
func (p *Pages) offer(options string) desk.PasskeyView {
	v := desk.PasskeyView{Options: options}
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
	desk.Layout
	Form    *desk.FormView
	Next    string // where the log-in leads
	Passkey desk.PasskeyView
	Setup   bool // nobody has an account yet
	SSO     ssoView
}

type secondView struct {
	desk.Layout
	Form         *desk.FormView
	Second, Next string
}

// nextOf is the address to go to, as given by the page's form or its address. It could be anything: see Desk.Onward.
func nextOf(r *desk.Request) string {
	if r.Route.Method == http.MethodPost {
		return r.Request().PostForm.Get("next")
	}
	return r.QueryParam("next")
}

// showLogin redirects users who are already signed in.
func (p *Pages) showLogin(r *desk.Request) error {
	_, err := p.cfg.Accounts.Identify(r.Ctx(), r.CookieValue(desk.UserCookie))
	switch {
	case err == nil:
		return r.Done(p.Onward(nextOf(r)), "")
	case errors.Is(err, account.ErrSignedOut):
		return loginForm.OnGet(p.logIn)(r)
	}
	return err
}

// loginQuestion is the log-in page; do completes it.
func (p *Pages) loginQuestion(r *desk.Request, do func(f *desk.FormView, next string) error) (*desk.Question, error) {
	next := p.Onward(nextOf(r))
	return &desk.Question{
		Show: func(status int, f *desk.FormView) error {
			options, err := p.cfg.Accounts.LogInOptions()
			if err != nil {
				return err
			}
			setup, err := p.cfg.Accounts.NeedsSetup(r.Ctx())
			if err != nil {
				return err
			}
			return r.Show(status, "login", &loginView{Form: f, Next: next, Passkey: p.offer(options), Setup: setup,
				SSO: p.ssoOffer(url.Values{"next": {next}})})
		},
		Do: func(f *desk.FormView) error { return do(f, next) },
	}, nil
}

func (p *Pages) logIn(r *desk.Request) (*desk.Question, error) {
	return p.loginQuestion(r, func(f *desk.FormView, next string) error {
		signed, err := p.cfg.Accounts.LogIn(r.Ctx(), f.Value("email"), f.Value("password"), r.Browser())
		if err != nil || signed.Second == "" {
			return enterAt(r, signed, err, next, "")
		}
		return askSecond(r, signed, next)
	})
}

// askSecond asks for the second factor and then continues to next.
func askSecond(r *desk.Request, signed account.Signed, next string) error {
	second, err := r.Blank(secondForm)
	if err != nil {
		return err
	}
	return r.Show(http.StatusOK, "second", &secondView{Form: second, Second: signed.Second, Next: next})
}

// enterAt completes a log-in, unless it failed, and redirects to next with a notice, which may be empty.
func enterAt(r *desk.Request, signed account.Signed, err error, next, notice string) error {
	if err == nil {
		err = r.SignedIn(signed)
	}
	return r.After(err, next, notice)
}

func (p *Pages) logInByPasskey(r *desk.Request) (*desk.Question, error) {
	return p.loginQuestion(r, func(_ *desk.FormView, next string) error {
		signed, err := p.cfg.Accounts.LogInByPasskey(r.Ctx(), r.Request().PostForm.Get("passkey"), r.Browser())
		return enterAt(r, signed, err, next, "")
	})
}

func (p *Pages) logInSecond(r *desk.Request) (*desk.Question, error) {
	next, second := p.Onward(nextOf(r)), r.Request().PostForm.Get("second")
	return &desk.Question{
		Show: func(status int, f *desk.FormView) error {
			return r.Show(status, "second", &secondView{Form: f.With("code", ""), Second: second, Next: next})
		},
		Do: func(f *desk.FormView) error {
			signed, err := p.cfg.Accounts.LogInSecond(r.Ctx(), second, f.Value("code"), r.Browser())
			if errors.Is(err, account.ErrStartAgain) {
				return r.Done(loginPath, "too_late")
			}
			return enterAt(r, signed, err, next, "")
		},
	}, nil
}

func (p *Pages) logOut(r *desk.Request) (*desk.Question, error) {
	return &desk.Question{Back: homePath, Do: func(*desk.FormView) error {
		if err := p.cfg.Accounts.LogOut(r.Ctx(), r.CookieValue(desk.UserCookie)); err != nil {
			return err
		}
		r.DropCookie(desk.UserCookie)
		r.Response().Header().Set("Clear-Site-Data", `"cache"`) // which may hold what a search found
		return r.Done(loginPath, "logged_out")
	}}, nil
}
