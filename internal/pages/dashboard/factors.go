package dashboard

import (
	"errors"
	"net/http"
	"net/url"

	"agegate/internal/backoffice/account"

	"github.com/labstack/echo/v4"
)

const (
	newPasskeyPath    = accountPath + "/passkeys/new"
	removePasskeyPath = accountPath + "/passkeys/:id/remove"
	passwordPath      = accountPath + "/password"
	totpPath          = accountPath + "/totp"
	totpPicturePath   = accountPath + "/totp/picture"
	removeTOTPPath    = accountPath + "/totp/remove"
	codesPath         = accountPath + "/codes"
)

var passkeyForm = &form{
	name: "passkey", again: true,
	fields:   []field{{name: "name", kind: "text", max: account.MaxPasskeyName, optional: true, hint: true}},
	problems: map[error]string{account.ErrName: "name", account.ErrPasskey: "failed"},
}

var passwordForm = &form{
	name: "password", again: true,
	fields: []field{{name: "password", kind: "password", autocomplete: "new-password", hint: true}},
	problems: map[error]string{
		account.ErrPasswordShort: "short", account.ErrPasswordLong: "long", account.ErrPasswordCommon: "common",
	},
}

var totpForm = &form{
	name: "totp", again: true,
	fields:   []field{{name: "code", kind: "text", max: 10, autocomplete: "one-time-code", hint: true}},
	problems: map[error]string{account.ErrWrongCode: "wrong"},
}

var (
	removePasskeyForm = &form{name: "remove_passkey", again: true, problems: map[error]string{account.ErrLastWay: "last"}}
	beginTOTPForm     = &form{name: "begin_totp"}
	removeTOTPForm    = &form{name: "remove_totp", again: true}
	newCodesForm      = &form{name: "new_codes", again: true}
)

func (p *Pages) factors() feature {
	at := func(path string) route { return route{path: path, minRole: user, stepUp: ofOneself, renews: true} }
	f := feature{
		routes: []route{
			{method: http.MethodGet, path: totpPath, minRole: user, stepUp: ofOneself, handle: beginTOTPForm.asks(toAccount)},
			{method: http.MethodPost, path: totpPath, minRole: user, stepUp: ofOneself, renews: true,
				handle: totpForm.does(p.addTOTP)},
			{method: http.MethodGet, path: totpPicturePath, minRole: user, stepUp: ofOneself, handle: p.totpPicture},
		},
		screens: []string{"passkey", "password", "totp", "codes"},
		forms:   []*form{totpForm},
		keys:    []string{"begin_totp.title", "begin_totp.body", "begin_totp.button"},
	}
	f.fill(at(newPasskeyPath), passkeyForm, p.addPasskey)
	f.fill(at(passwordPath), passwordForm, p.setPassword)
	f.ask(at(removePasskeyPath), removePasskeyForm, p.removePasskey)
	f.ask(at(removeTOTPPath), removeTOTPForm, p.removeTOTP)
	f.ask(at(codesPath), newCodesForm, p.newCodes)
	return f
}

// toAccount is a question whose page leads back to the account's page.
func toAccount(*request) (*question, error) { return &question{Back: accountPath}, nil }

// renew finishes a change of the user's own factors, which gives the log-in
// another token.
func (r *request) renew(token string, err error, notice string) error {
	if err != nil {
		return err
	}
	r.renewed(token)
	return r.done(accountPath, notice)
}

type passkeyPage struct {
	layout
	Form    *formView
	Passkey passkeyView
}

func (p *Pages) addPasskey(r *request) (*question, error) {
	return &question{
		show: func(status int, f *formView) error {
			options, err := p.cfg.Accounts.NewPasskeyOptions(r.ctx(), r.who)
			if err != nil {
				return err
			}
			return r.render(status, "passkey", &passkeyPage{Form: f, Passkey: p.offer(options)})
		},
		do: func(f *formView) error {
			token, err := p.cfg.Accounts.AddPasskey(r.ctx(), r.who, f.Value("name"), r.Request().PostForm.Get("passkey"))
			return r.renew(token, err, "passkey_added")
		},
	}, nil
}

func (p *Pages) removePasskey(r *request) (*question, error) {
	return &question{Back: accountPath, do: func(*formView) error {
		id, err := r.id("id")
		if err != nil {
			return err
		}
		token, err := p.cfg.Accounts.RemovePasskey(r.ctx(), r.who, id)
		return r.renew(token, err, "passkey_removed")
	}}, nil
}

type passwordView struct {
	layout
	Form *formView
	Had  bool // the user already has a password
}

func (p *Pages) setPassword(r *request) (*question, error) {
	return &question{
		show: func(status int, f *formView) error {
			return r.render(status, "password", &passwordView{Form: f, Had: r.who.User().Password != ""})
		},
		do: func(f *formView) error {
			near, err := p.tenantNames(r, r.who.User().ID)
			if err != nil {
				return err
			}
			token, err := p.cfg.Accounts.SetPassword(r.ctx(), r.who, f.Value("password"), near)
			return r.renew(token, err, "password_set")
		},
	}, nil
}

type totpView struct {
	layout
	Form      *formView
	Enrolment account.Enrolment
	Picture   string // address of the QR code
}

// beginTOTP shows a new secret. It is not stored before a code of it is entered.
func (p *Pages) beginTOTP(r *request) error {
	f, err := r.blank(totpForm)
	if err != nil {
		return err
	}
	enrolment, err := p.cfg.Accounts.NewTOTP(r.who)
	if err != nil {
		return err
	}
	return r.renderTOTP(http.StatusOK, f, enrolment)
}

func (r *request) renderTOTP(status int, f *formView, enrolment account.Enrolment) error {
	return r.render(status, "totp", &totpView{
		Form: f, Enrolment: enrolment, Picture: totpPicturePath + "?of=" + url.QueryEscape(enrolment.Ticket),
	})
}

// totpPicture is the QR code of an enrolment. It is a separate picture, because
// the pages' policy forbids embedded ones. Its address contains the sealed
// secret.
func (p *Pages) totpPicture(r *request) error {
	enrolment, err := p.cfg.Accounts.TOTPEnrolment(r.who, r.QueryParam("of"))
	if err != nil {
		return echo.ErrNotFound
	}
	return r.qrCode(enrolment.URI, 8)
}

// addTOTP adds the app whose code is sent. Without an enrolment, it begins one.
func (p *Pages) addTOTP(r *request) (*question, error) {
	ticket := r.Request().PostForm.Get("enrolment")
	if ticket == "" {
		return instead(func() error { return p.beginTOTP(r) }), nil
	}
	tooLate := func() error { return r.done(totpPath, "too_late") }
	enrolment, err := p.cfg.Accounts.TOTPEnrolment(r.who, ticket)
	if errors.Is(err, account.ErrStartAgain) {
		return instead(tooLate), nil
	}
	return &question{
		show: func(status int, f *formView) error { return r.renderTOTP(status, f.With("code", ""), enrolment) },
		do: func(f *formView) error {
			token, codes, err := p.cfg.Accounts.AddTOTP(r.ctx(), r.who, ticket, f.Value("code"))
			if errors.Is(err, account.ErrStartAgain) {
				return tooLate()
			}
			if err != nil {
				return err
			}
			r.renewed(token)
			return r.render(http.StatusOK, "codes", &codesView{Codes: codes, Added: true})
		},
	}, err
}

func (p *Pages) removeTOTP(r *request) (*question, error) {
	return &question{Back: accountPath, do: func(*formView) error {
		token, err := p.cfg.Accounts.RemoveTOTP(r.ctx(), r.who)
		return r.renew(token, err, "totp_removed")
	}}, nil
}

type codesView struct {
	layout
	Codes []string
	Added bool // added together with an authenticator app
}

// newCodes shows new recovery codes, in this answer only.
func (p *Pages) newCodes(r *request) (*question, error) {
	return &question{Back: accountPath, do: func(*formView) error {
		if r.who.User().TOTP == nil {
			return echo.ErrNotFound
		}
		token, codes, err := p.cfg.Accounts.NewCodes(r.ctx(), r.who)
		if err != nil {
			return err
		}
		r.renewed(token)
		return r.render(http.StatusOK, "codes", &codesView{Codes: codes})
	}}, nil
}
