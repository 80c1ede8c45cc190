package dashboard

import (
	"errors"
	"net/http"
	"net/url"

	"agegate/internal/pages/page"
	"agegate/internal/rules/account"

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
	name:     "passkey",
	fields:   []field{{name: "name", kind: "text", max: account.MaxPasskeyName, optional: true, hint: true}},
	problems: map[error]string{account.ErrName: "name", account.ErrPasskey: "failed"},
}

var passwordForm = &form{
	name:   "password",
	fields: []field{{name: "password", kind: "password", autocomplete: "new-password", hint: true}},
	problems: map[error]string{
		account.ErrPasswordShort: "short", account.ErrPasswordLong: "long", account.ErrPasswordCommon: "common",
	},
}

var totpForm = &form{
	name:     "totp",
	fields:   []field{{name: "code", kind: "text", max: 10, autocomplete: "one-time-code", hint: true}},
	problems: map[error]string{account.ErrWrongCode: "wrong"},
}

func (p *Pages) factors() feature {
	get, post := http.MethodGet, http.MethodPost
	return feature{
		routes: []route{
			{method: get, path: newPasskeyPath, least: user, stepUp: ofOneself, handle: p.showNewPasskey},
			{method: post, path: newPasskeyPath, least: user, stepUp: ofOneself, renews: true, handle: p.addPasskey},
			{method: get, path: removePasskeyPath, least: user, stepUp: ofOneself, handle: p.showRemovePasskey},
			{method: post, path: removePasskeyPath, least: user, stepUp: ofOneself, renews: true, handle: p.removePasskey},
			{method: get, path: passwordPath, least: user, stepUp: ofOneself, handle: p.showPassword},
			{method: post, path: passwordPath, least: user, stepUp: ofOneself, renews: true, handle: p.setPassword},
			{method: get, path: totpPath, least: user, stepUp: ofOneself, handle: p.showTOTP},
			{method: post, path: totpPath, least: user, stepUp: ofOneself, renews: true, handle: p.addTOTP},
			{method: get, path: totpPicturePath, least: user, stepUp: ofOneself, handle: p.totpPicture},
			{method: get, path: removeTOTPPath, least: user, stepUp: ofOneself, handle: p.showRemoveTOTP},
			{method: post, path: removeTOTPPath, least: user, stepUp: ofOneself, renews: true, handle: p.removeTOTP},
			{method: get, path: codesPath, least: user, stepUp: ofOneself, handle: p.showCodes},
			{method: post, path: codesPath, least: user, stepUp: ofOneself, renews: true, handle: p.newCodes},
		},
		screens: []string{"passkey", "password", "totp", "codes", "confirm"},
		forms:   []*form{passkeyForm, passwordForm, totpForm},
		notices: []string{"passkey_added", "passkey_removed", "password_set", "totp_removed"},
		keys: []string{
			"remove_passkey.title", "remove_passkey.body", "remove_passkey.button", "remove_passkey.last",
			"begin_totp.title", "begin_totp.body", "begin_totp.button",
			"remove_totp.title", "remove_totp.body", "remove_totp.button",
			"new_codes.title", "new_codes.body", "new_codes.button",
		},
	}
}

type passkeyPage struct {
	layout
	Form    *formView
	Passkey passkeyView
}

func (p *Pages) showNewPasskey(r *request) error {
	f, err := r.blank(passkeyForm)
	if err != nil {
		return err
	}
	return p.renderPasskey(r, http.StatusOK, f)
}

func (p *Pages) renderPasskey(r *request, status int, f *formView) error {
	options, err := p.cfg.Accounts.NewPasskeyOptions(r.ctx(), r.who)
	if err != nil {
		return err
	}
	return r.render(status, "passkey", &passkeyPage{Form: f, Passkey: p.offer(options)})
}

func (p *Pages) addPasskey(r *request) error {
	f, err := r.read(passkeyForm)
	if err != nil {
		return err
	}
	if f.ok() {
		token, err := p.cfg.Accounts.AddPasskey(r.ctx(), r.who, f.Value("name"), r.Request().PostForm.Get("passkey"))
		if err == nil {
			r.renewed(token)
			return r.done(accountPath, "passkey_added")
		}
		if err := r.refuseChange(f, err); err != nil {
			return err
		}
	}
	return p.renderPasskey(r, http.StatusUnprocessableEntity, f)
}

// refuseChange is form.refuse for a change of factors. A log-in that another
// change has renewed meanwhile asks for the page again.
func (r *request) refuseChange(f *formView, err error) error {
	if errors.Is(err, account.ErrSignedOut) {
		return echo.ErrBadRequest
	}
	return f.refuse(err)
}

// confirmFactor shows the page before a change of the user's own factors.
func (r *request) confirmFactor(name string, fault *page.Text) error {
	return r.confirm(&confirmView{
		Title: page.Say(name + ".title"), Body: page.Say(name + ".body"), Button: page.Say(name + ".button"), Back: accountPath,
	}, fault)
}

func (p *Pages) showRemovePasskey(r *request) error { return r.confirmFactor("remove_passkey", nil) }

func (p *Pages) removePasskey(r *request) error {
	id, err := r.id("id")
	if err != nil {
		return err
	}
	token, err := p.cfg.Accounts.RemovePasskey(r.ctx(), r.who, id)
	if errors.Is(err, account.ErrLastWay) {
		return r.confirmFactor("remove_passkey", new(page.Say("remove_passkey.last")))
	}
	if err != nil {
		return err
	}
	r.renewed(token)
	return r.done(accountPath, "passkey_removed")
}

type passwordView struct {
	layout
	Form *formView
	Had  bool // the user has a password already
}

func (p *Pages) showPassword(r *request) error {
	f, err := r.blank(passwordForm)
	if err != nil {
		return err
	}
	return r.render(http.StatusOK, "password", &passwordView{Form: f, Had: r.who.User().Password != ""})
}

func (p *Pages) setPassword(r *request) error {
	f, err := r.read(passwordForm)
	if err != nil {
		return err
	}
	if f.ok() {
		near, err := p.tenantNames(r, r.who.User().ID)
		if err != nil {
			return err
		}
		token, err := p.cfg.Accounts.SetPassword(r.ctx(), r.who, f.Value("password"), near)
		if err == nil {
			r.renewed(token)
			return r.done(accountPath, "password_set")
		}
		if err := r.refuseChange(f, err); err != nil {
			return err
		}
	}
	return r.render(http.StatusUnprocessableEntity, "password", &passwordView{Form: f, Had: r.who.User().Password != ""})
}

type totpView struct {
	layout
	Form      *formView
	Enrolment account.Enrolment
	Picture   string // address of the QR code
}

func (p *Pages) showTOTP(r *request) error { return r.confirmFactor("begin_totp", nil) }

// beginTOTP shows a new secret. It is not stored until a code of it comes back.
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

// totpPicture is the QR code of an enrolment, a picture of its own because the
// pages' policy allows none within them. The address has the secret sealed.
func (p *Pages) totpPicture(r *request) error {
	enrolment, err := p.cfg.Accounts.TOTPEnrolment(r.who, r.QueryParam("of"))
	if err != nil {
		return echo.ErrNotFound
	}
	return r.qrCode(enrolment.URI, 8)
}

func (p *Pages) addTOTP(r *request) error {
	f, err := r.read(totpForm)
	if err != nil {
		return err
	}
	ticket := r.Request().PostForm.Get("enrolment")
	if ticket == "" {
		return p.beginTOTP(r)
	}
	enrolment, err := p.cfg.Accounts.TOTPEnrolment(r.who, ticket)
	if errors.Is(err, account.ErrStartAgain) {
		return r.done(totpPath, "too_late")
	}
	if err != nil {
		return err
	}
	if f.ok() {
		token, codes, err := p.cfg.Accounts.AddTOTP(r.ctx(), r.who, ticket, f.Value("code"))
		switch {
		case err == nil:
			r.renewed(token)
			return r.render(http.StatusOK, "codes", &codesView{Codes: codes, Added: true})
		case errors.Is(err, account.ErrStartAgain):
			return r.done(totpPath, "too_late")
		}
		if err := r.refuseChange(f, err); err != nil {
			return err
		}
		f.Field("code").Value = ""
	}
	return r.renderTOTP(http.StatusUnprocessableEntity, f, enrolment)
}

func (p *Pages) showRemoveTOTP(r *request) error { return r.confirmFactor("remove_totp", nil) }

func (p *Pages) removeTOTP(r *request) error {
	token, err := p.cfg.Accounts.RemoveTOTP(r.ctx(), r.who)
	if err != nil {
		return err
	}
	r.renewed(token)
	return r.done(accountPath, "totp_removed")
}

type codesView struct {
	layout
	Codes []string
	Added bool // together with an authenticator app
}

func (p *Pages) showCodes(r *request) error { return r.confirmFactor("new_codes", nil) }

// newCodes shows new recovery codes in its own answer, and nowhere else.
func (p *Pages) newCodes(r *request) error {
	if r.who.User().TOTP == nil {
		return echo.ErrNotFound
	}
	token, codes, err := p.cfg.Accounts.NewCodes(r.ctx(), r.who)
	if err != nil {
		return err
	}
	r.renewed(token)
	return r.render(http.StatusOK, "codes", &codesView{Codes: codes})
}
