package dashboard

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"time"

	"agegate/internal/backoffice/account"
	"agegate/internal/pages/dashboard/desk"
	"agegate/internal/pages/page"

	"github.com/labstack/echo/v4"
)

const (
	loginsPath   = accountPath + "/sessions"
	endLoginPath = loginsPath + "/end"
	languagePath = accountPath + "/language"
	zonePath     = accountPath + "/zone"
	namePath     = accountPath + "/name"
	leavePath    = accountPath + "/leave/:tenant"
)

// languageForm has a select with the languages of the pages, and the browser's language.
var languageForm = &desk.Form{
	Name: "language", Fields: []desk.Field{{Name: "locale", Kind: "text", Max: 20, Optional: true}},
}

var zoneForm = &desk.Form{
	Name: "zone", Fields: []desk.Field{{Name: "zone", Kind: "text", Max: 64, Optional: true}},
	Problems: map[error]string{account.ErrZone: "zone"},
}

var nameForm = &desk.Form{
	Name: "setup", Fields: []desk.Field{{Name: "name", Kind: "text", Max: account.MaxName}},
	Problems: map[error]string{account.ErrName: "name"},
}

var leaveForm = &desk.Form{Name: "leave", Again: true, Problems: map[error]string{account.ErrLastOwner: "last"}}

func (p *Pages) account() desk.Feature {
	f := desk.Feature{
		Routes: []desk.Route{
			{Method: http.MethodGet, Path: accountPath, MinRole: desk.User,
				Handle: func(r *desk.Request) error { return p.renderAccount(r, http.StatusOK, &accountView{}) }},
			{Method: http.MethodPost, Path: loginsPath, MinRole: desk.User, Handle: func(r *desk.Request) error {
				return r.After(p.cfg.Accounts.EndOtherLogins(r.Ctx(), r.Who), accountPath, "others_ended")
			}},
			// It ends the log-in that began at the given time. The answer is the same if it has already ended.
			{Method: http.MethodPost, Path: endLoginPath, MinRole: desk.User, Handle: func(r *desk.Request) error {
				since, err := time.Parse(time.RFC3339Nano, r.Request().PostFormValue("since"))
				if err != nil {
					return echo.ErrBadRequest
				}
				return r.After(p.cfg.Accounts.EndLogin(r.Ctx(), r.Who, since), accountPath, "login_ended")
			}},
			{Method: http.MethodPost, Path: languagePath, MinRole: desk.User, Handle: p.setLanguage},
			{Method: http.MethodPost, Path: zonePath, MinRole: desk.User, Handle: p.setOwn(zoneForm, p.cfg.Accounts.SetZone)},
			{Method: http.MethodPost, Path: namePath, MinRole: desk.User, Handle: p.setOwn(nameForm, p.cfg.Accounts.SetName)},
		},
		Screens: []string{"account"},
		Keys:    []string{"method.password", "method.totp", "method.code", "method.passkey", "method.provider"},
	}
	f.Ask(desk.Route{Path: leavePath, MinRole: desk.Member, Personal: true}, leaveForm, p.leave)
	return f
}

type accountView struct {
	desk.Layout
	User        account.User
	Factors     account.Factors
	Passkeyed   bool
	Passkey     desk.PasskeyView
	Logins      []loginRow
	Memberships []memberOf
	Form        *desk.FormView        // of the buttons
	Problems    map[string]*page.Text // what is wrong with a value that was sent, by the name of its field
}

// loginRow is a browser in which the user is signed in.
type loginRow struct {
	account.Login
	Current bool
}

// Since identifies the log-in in its form.
func (l loginRow) Since() string { return l.CreatedAt.Format(time.RFC3339Nano) }

// renderAccount shows the page with the problems that v has.
func (p *Pages) renderAccount(r *desk.Request, status int, v *accountView) (err error) {
	v.User, v.Passkeyed, v.Passkey = r.Who.User(), p.cfg.Accounts.Passkeyed(), p.offer("")
	if v.Factors, err = p.cfg.Accounts.Factors(r.Ctx(), r.Who); err != nil {
		return err
	}
	logins, err := p.cfg.Accounts.Logins(r.Ctx(), r.Who)
	if err != nil {
		return err
	}
	for _, login := range logins {
		v.Logins = append(v.Logins, loginRow{login, bytes.Equal(login.Hash, r.Who.Login().Hash)})
	}
	if v.Memberships, err = p.membershipsOf(r, r.Who.User().ID, landing); err != nil {
		return err
	}
	if v.Form, err = r.Blank(desk.PlainForm); err != nil {
		return err
	}
	return r.Show(status, "account", v)
}

func (p *Pages) setLanguage(r *desk.Request) error {
	f, err := r.Read(languageForm)
	if err != nil {
		return err
	}
	tag := f.Value("locale")
	known := slices.ContainsFunc(p.Set.Languages(), func(l *page.Locale) bool { return l.Tag == tag })
	if tag != "" && !known {
		return echo.ErrBadRequest
	}
	if err = p.cfg.Accounts.SetLocale(r.Ctx(), r.Who, tag); err == nil {
		p.Set.SetLanguage(r, tag)
	}
	return r.After(err, accountPath, "language_set")
}

// setOwn returns a handler that sets the value of a form with one field, or shows the page with what is wrong with it.
func (p *Pages) setOwn(
	spec *desk.Form, set func(context.Context, account.Identity, string) error,
) func(*desk.Request) error {
	return func(r *desk.Request) error {
		f, err := r.Read(spec)
		if err != nil {
			return err
		}
		if f.OK() {
			err = f.Refuse(set(r.Ctx(), r.Who, f.Fields[0].Value))
		}
		if err != nil || f.OK() {
			return r.After(err, accountPath, f.Fields[0].Name+"_set")
		}
		problems := map[string]*page.Text{f.Fields[0].Name: f.Fields[0].Problem}
		return p.renderAccount(r, http.StatusUnprocessableEntity, &accountView{Problems: problems})
	}
}

func (p *Pages) leave(r *desk.Request) (*desk.Question, error) {
	me := r.Who.User().ID
	return &desk.Question{Values: []any{"tenant", r.Tenant.Name}, Back: accountPath, Check: func(*desk.FormView) error {
		return p.cfg.Accounts.CheckLast(r.Ctx(), r.Access, me)
	}, Do: func(*desk.FormView) error {
		return r.After(p.cfg.Accounts.RemoveMember(r.Ctx(), r.Access, me), accountPath, "left")
	}}, nil
}
