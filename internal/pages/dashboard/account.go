package dashboard

import (
	"bytes"
	"net/http"
	"slices"
	"time"

	"agegate/internal/backoffice/account"
	"agegate/internal/pages/page"

	"github.com/labstack/echo/v4"
)

const (
	loginsPath   = accountPath + "/sessions"
	endLoginPath = loginsPath + "/end"
	languagePath = accountPath + "/language"
	zonePath     = accountPath + "/zone"
	leavePath    = accountPath + "/leave/:tenant"
)

// languageForm has a select with the languages of the pages, and the browser's
// language.
var languageForm = &form{name: "language", fields: []field{{name: "locale", kind: "text", max: 20, optional: true}}}

var zoneForm = &form{
	name: "zone", fields: []field{{name: "zone", kind: "text", max: 64, optional: true}},
	problems: map[error]string{account.ErrZone: "zone"},
}

var leaveForm = &form{name: "leave", again: true, problems: map[error]string{account.ErrLastOwner: "last"}}

func (p *Pages) account() feature {
	f := feature{
		routes: []route{
			{method: http.MethodGet, path: accountPath, minRole: user, handle: p.showAccount},
			{method: http.MethodPost, path: loginsPath, minRole: user, handle: p.endOthers},
			{method: http.MethodPost, path: endLoginPath, minRole: user, handle: p.endLogin},
			{method: http.MethodPost, path: languagePath, minRole: user, handle: p.setLanguage},
			{method: http.MethodPost, path: zonePath, minRole: user, handle: p.setZone},
		},
		screens: []string{"account"},
		keys:    []string{"method.password", "method.totp", "method.code", "method.passkey", "method.provider"},
	}
	f.ask(route{path: leavePath, minRole: member}, leaveForm, p.leave)
	return f
}

type accountView struct {
	layout
	User        account.User
	Factors     account.Factors
	Passkeyed   bool
	Passkey     passkeyView
	Logins      []loginRow
	Memberships []memberOf
	Form        *formView // of the buttons
	ZoneProblem *page.Text
}

// loginRow is a browser in which the user is signed in.
type loginRow struct {
	account.Login
	Current bool
}

// Since identifies the log-in in its form.
func (l loginRow) Since() string { return l.CreatedAt.Format(time.RFC3339Nano) }

func (p *Pages) showAccount(r *request) error { return p.renderAccount(r, http.StatusOK, nil) }

func (p *Pages) renderAccount(r *request, status int, zoneProblem *page.Text) error {
	v := &accountView{ZoneProblem: zoneProblem, User: r.who.User(), Passkeyed: p.cfg.Accounts.Passkeyed(),
		Passkey: p.offer("")}
	var err error
	if v.Factors, err = p.cfg.Accounts.Factors(r.ctx(), r.who); err != nil {
		return err
	}
	logins, err := p.cfg.Accounts.Logins(r.ctx(), r.who)
	if err != nil {
		return err
	}
	for _, login := range logins {
		v.Logins = append(v.Logins, loginRow{login, bytes.Equal(login.Hash, r.who.Login().Hash)})
	}
	if v.Memberships, err = p.membershipsOf(r, r.who.User().ID, landing); err != nil {
		return err
	}
	if v.Form, err = r.blank(plainForm); err != nil {
		return err
	}
	return r.render(status, "account", v)
}

func (p *Pages) endOthers(r *request) error {
	if err := p.cfg.Accounts.EndOtherLogins(r.ctx(), r.who); err != nil {
		return err
	}
	return r.done(accountPath, "others_ended")
}

// endLogin ends the log-in that began at the given time. If it has already ended,
// the answer is the same.
func (p *Pages) endLogin(r *request) error {
	since, err := time.Parse(time.RFC3339Nano, r.Request().PostFormValue("since"))
	if err != nil {
		return echo.ErrBadRequest
	}
	if err := p.cfg.Accounts.EndLogin(r.ctx(), r.who, since); err != nil {
		return err
	}
	return r.done(accountPath, "login_ended")
}

func (p *Pages) setLanguage(r *request) error {
	f, err := r.read(languageForm)
	if err != nil {
		return err
	}
	tag := f.Value("locale")
	known := slices.ContainsFunc(p.set.Languages(), func(l *page.Locale) bool { return l.Tag == tag })
	if tag != "" && !known {
		return echo.ErrBadRequest
	}
	if err := p.cfg.Accounts.SetLocale(r.ctx(), r.who, tag); err != nil {
		return err
	}
	p.set.SetLanguage(r, tag)
	return r.done(accountPath, "language_set")
}

func (p *Pages) setZone(r *request) error {
	f, err := r.read(zoneForm)
	if err != nil {
		return err
	}
	if f.ok() {
		err := p.cfg.Accounts.SetZone(r.ctx(), r.who, f.Value("zone"))
		if err == nil {
			return r.done(accountPath, "zone_set")
		}
		if err := f.refuse(err); err != nil {
			return err
		}
	}
	return p.renderAccount(r, http.StatusUnprocessableEntity, f.Field("zone").Problem)
}

func (p *Pages) leave(r *request) (*question, error) {
	return &question{Values: []any{"tenant", r.tenant.Name}, Back: accountPath, do: func(*formView) error {
		if err := p.cfg.Accounts.RemoveMember(r.ctx(), r.access, r.who.User().ID); err != nil {
			return err
		}
		return r.done(accountPath, "left")
	}}, nil
}
