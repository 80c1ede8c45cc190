package dashboard

import (
	"cmp"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"strings"

	"agegate/internal/backoffice/account"
	"agegate/internal/pages/dashboard/desk"

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

	// onwardCookie holds the path of a live page that a user without a second factor asked for.
	onwardCookie = "agegate-onward"
)

var passkeyForm = &desk.Form{
	Name: "passkey", Again: true,
	Fields:   []desk.Field{{Name: "name", Kind: "text", Max: account.MaxPasskeyName, Optional: true, Hint: true}},
	Problems: map[error]string{account.ErrName: "name", account.ErrPasskey: "failed"},
}

var passwordForm = &desk.Form{
	Name: "password", Again: true,
	Fields: []desk.Field{{Name: "password", Kind: "password", Autocomplete: "new-password", Hint: true}},
	Problems: map[error]string{
		account.ErrPasswordShort: "short", account.ErrPasswordLong: "long", account.ErrPasswordCommon: "common",
	},
}

var totpForm = &desk.Form{
	Name: "totp", Again: true,
	Fields:   []desk.Field{{Name: "code", Kind: "text", Max: 10, Autocomplete: "one-time-code", Hint: true}},
	Problems: map[error]string{account.ErrWrongCode: "wrong"},
}

var (
	removePasskeyForm = &desk.Form{Name: "remove_passkey", Again: true,
		Problems: map[error]string{account.ErrLastWay: "last"}}
	beginTOTPForm  = &desk.Form{Name: "begin_totp"}
	removeTOTPForm = &desk.Form{Name: "remove_totp", Again: true}
	newCodesForm   = &desk.Form{Name: "new_codes", Again: true}
)

func (p *Pages) factors() desk.Feature {
	at := func(path string) desk.Route {
		return desk.Route{Path: path, MinRole: desk.User, StepUp: desk.OfOneself, Renews: true}
	}
	f := desk.Feature{
		Routes: []desk.Route{
			{Method: http.MethodGet, Path: totpPath, MinRole: desk.User, StepUp: desk.OfOneself,
				Handle: beginTOTPForm.OnGet(
					func(*desk.Request) (*desk.Question, error) { return &desk.Question{Back: accountPath, Safe: true}, nil })},
			{Method: http.MethodPost, Path: totpPath, MinRole: desk.User, StepUp: desk.OfOneself, Renews: true,
				Handle: totpForm.OnPost(p.addTOTP)},
			{Method: http.MethodGet, Path: totpPicturePath, MinRole: desk.User, StepUp: desk.OfOneself, Handle: p.totpPicture},
		},
		Screens: []string{"passkey", "password", "totp", "codes"},
		Forms:   []*desk.Form{totpForm},
		Keys:    []string{"begin_totp.title", "begin_totp.body", "begin_totp.button"},
	}
	f.Fill(at(newPasskeyPath), passkeyForm, p.addPasskey)
	f.Fill(at(passwordPath), passwordForm, p.setPassword)
	f.Ask(at(removePasskeyPath), removePasskeyForm, p.removePasskey)
	f.Ask(at(removeTOTPPath), removeTOTPForm, func(r *desk.Request) (*desk.Question, error) {
		return &desk.Question{Back: accountPath, Do: func(*desk.FormView) error {
			token, err := p.cfg.Accounts.RemoveTOTP(r.Ctx(), r.Who)
			return renew(r, token, err, accountPath, "totp_removed")
		}}, nil
	})
	f.Ask(at(codesPath), newCodesForm, p.newCodes)
	return f
}

// renew finishes a change of the user's own factors or a confirmation, which give the log-in another token.
func renew(r *desk.Request, token string, err error, to, notice string) error {
	if err != nil {
		return err
	}
	r.Renewed(token)
	return r.Done(to, notice)
}

// onward returns where a user goes on who adds a factor: if it is the first, to the live page that waits for it.
func (p *Pages) onward(r *desk.Request) string {
	if r.Who.Strong() {
		return accountPath
	}
	return p.Onward(cmp.Or(r.CookieValue(onwardCookie), accountPath))
}

type passkeyPage struct {
	desk.Layout
	Form    *desk.FormView
	Passkey desk.PasskeyView
}

func (p *Pages) addPasskey(r *desk.Request) (*desk.Question, error) {
	return &desk.Question{
		Show: func(status int, f *desk.FormView) error {
			options, err := p.cfg.Accounts.NewPasskeyOptions(r.Ctx(), r.Who)
			if err != nil {
				return err
			}
			return r.Show(status, "passkey", &passkeyPage{Form: f, Passkey: p.offer(options)})
		},
		Do: func(f *desk.FormView) error {
			token, err := p.cfg.Accounts.AddPasskey(r.Ctx(), r.Who, f.Value("name"), r.Request().PostForm.Get("passkey"))
			return renew(r, token, err, p.onward(r), "passkey_added")
		},
	}, nil
}

func (p *Pages) removePasskey(r *desk.Request) (*desk.Question, error) {
	return &desk.Question{Back: accountPath, Do: func(*desk.FormView) error {
		id, err := r.ID("id")
		if err != nil {
			return err
		}
		token, err := p.cfg.Accounts.RemovePasskey(r.Ctx(), r.Who, id)
		return renew(r, token, err, accountPath, "passkey_removed")
	}}, nil
}

type passwordView struct {
	desk.Layout
	Form *desk.FormView
	Had  bool // the user already has a password
}

func (p *Pages) setPassword(r *desk.Request) (*desk.Question, error) {
	return &desk.Question{
		Show: func(status int, f *desk.FormView) error {
			return r.Show(status, "password", &passwordView{Form: f, Had: r.Who.User().Password != ""})
		},
		Do: func(f *desk.FormView) error {
			near, err := p.tenantNames(r, r.Who.User().ID)
			if err != nil {
				return err
			}
			token, err := p.cfg.Accounts.SetPassword(r.Ctx(), r.Who, f.Value("password"), near)
			return renew(r, token, err, accountPath, "password_set")
		},
	}, nil
}

type totpView struct {
	desk.Layout
	Form      *desk.FormView
	Enrolment account.Enrolment
	Picture   string       // address of the QR code
	App       template.URL // opens the app of this device
}

// beginTOTP shows a new secret. It is not stored before a code of it is entered.
func (p *Pages) beginTOTP(r *desk.Request) error {
	f, err := r.Blank(totpForm)
	if err != nil {
		return err
	}
	enrolment, err := p.cfg.Accounts.NewTOTP(r.Who)
	if err != nil {
		return err
	}
	return renderTOTP(r, http.StatusOK, f, enrolment)
}

func renderTOTP(r *desk.Request, status int, f *desk.FormView, enrolment account.Enrolment) error {
	app := template.URL(enrolment.URI) //nolint:gosec // the gateway's own
	return r.Show(status, "totp", &totpView{Form: f, Enrolment: enrolment, App: app,
		Picture: totpPicturePath + "?of=" + url.QueryEscape(enrolment.Ticket)})
}

// totpPicture answers with an enrolment's QR code, which the pages' policy forbids to embed. It is asked by the ticket.
func (p *Pages) totpPicture(r *desk.Request) error {
	enrolment, err := p.cfg.Accounts.TOTPEnrolment(r.Who, r.QueryParam("of"))
	if err != nil {
		return echo.ErrNotFound
	}
	return r.QRCode(enrolment.URI, 8)
}

// addTOTP adds the app whose code is sent. Without an enrolment, it begins one.
func (p *Pages) addTOTP(r *desk.Request) (*desk.Question, error) {
	ticket := r.Request().PostForm.Get("enrolment")
	if ticket == "" {
		return desk.Instead(func() error { return p.beginTOTP(r) }), nil
	}
	tooLate := func() error { return r.Done(totpPath, "too_late") }
	enrolment, err := p.cfg.Accounts.TOTPEnrolment(r.Who, ticket)
	if errors.Is(err, account.ErrStartAgain) {
		return desk.Instead(tooLate), nil
	}
	return &desk.Question{
		Show: func(status int, f *desk.FormView) error { return renderTOTP(r, status, f.With("code", ""), enrolment) },
		Do: func(f *desk.FormView) error {
			token, codes, err := p.cfg.Accounts.AddTOTP(r.Ctx(), r.Who, ticket, f.Value("code"))
			if errors.Is(err, account.ErrStartAgain) {
				return tooLate()
			}
			if err != nil {
				return err
			}
			r.Renewed(token)
			return r.Show(http.StatusOK, "codes", &codesView{Codes: codes, Added: true, Next: p.onward(r)})
		},
	}, err
}

type codesView struct {
	desk.Layout
	Codes []string
	Added bool   // added together with an authenticator app
	Next  string // where the user goes on
}

// All is what the button copies.
func (v *codesView) All() string { return strings.Join(v.Codes, "\n") }

// newCodes shows new recovery codes, in this answer only.
func (p *Pages) newCodes(r *desk.Request) (*desk.Question, error) {
	return &desk.Question{Back: accountPath, Do: func(*desk.FormView) error {
		if r.Who.User().TOTP == nil {
			return echo.ErrNotFound
		}
		token, codes, err := p.cfg.Accounts.NewCodes(r.Ctx(), r.Who)
		if err != nil {
			return err
		}
		r.Renewed(token)
		return r.Show(http.StatusOK, "codes", &codesView{Codes: codes, Next: accountPath})
	}}, nil
}
