package dashboard

import (
	"net/http"
	"strings"

	"agegate/internal/backoffice/account"
	"agegate/internal/pages/page"
	"agegate/internal/rules/fault"
)

const (
	usersPath = operatorPath + "/users"
	userPath  = usersPath + "/:user"
)

// errSelf prevents operators from locking themselves out.
var errSelf = fault.New(fault.Conflict, "This is your own account")

func userForm(name string) *form {
	return &form{name: name, problems: map[error]string{errSelf: "self", account.ErrDisabled: "disabled",
		account.ErrManaged: "managed"}}
}

var userActs = []operatorAct[account.User]{
	{form: userForm("user_disable"), do: func(r *request, u account.User, _ *formView) error {
		if u.ID == r.who.User().ID {
			return errSelf
		}
		if err := r.pages.cfg.Accounts.Disable(r.ctx(), r.who.OperatorActor(), u.ID); err != nil {
			return err
		}
		return r.done(usersPath, "user_disable")
	}},
	{form: userForm("user_enable"), safe: true, do: func(r *request, u account.User, _ *formView) error {
		if err := r.pages.cfg.Accounts.Enable(r.ctx(), r.who.OperatorActor(), u.ID); err != nil {
			return err
		}
		return r.done(usersPath, "user_enable")
	}},
	{form: userForm("user_recover"), do: func(r *request, u account.User, _ *formView) error {
		link, err := r.pages.cfg.Accounts.NewRecoveryLink(r.ctx(), r.who.OperatorActor(), u.ID)
		if err != nil {
			return err
		}
		hint := page.Say("users.recovery_hint")
		if r.pages.cfg.Accounts.SendsMail() {
			hint = page.Say("users.recovery_mailed", "email", u.Email)
		}
		return r.render(http.StatusOK, "operator_link", &madeLinkView{
			Title: page.Say("users.recovery"), Name: u.Name, Hint: hint, Link: link, Back: usersPath,
		})
	}},
}

func (p *Pages) operatorUsers() feature {
	f := feature{
		routes:  []route{{method: http.MethodGet, path: usersPath, minRole: operator, handle: p.showUsers}},
		screens: []string{"users", "operator_link"},
	}
	askAll(&f, userPath, userActs, func(r *request) (u account.User, values []any, back string, err error) {
		u, err = r.operatedUser()
		return u, []any{"name", u.Name, "email", u.Email}, usersPath, err
	})
	return f
}

type usersView struct {
	layout
	Users        []userView
	Newer, Older string
}

type userView struct {
	account.User
	Acts []actLink
}

func (p *Pages) showUsers(r *request) error {
	after, err := r.cursor("after")
	if err != nil {
		return err
	}
	users, err := p.cfg.Accounts.Users(r.ctx(), after)
	if err != nil {
		return err
	}
	v := &usersView{}
	for _, u := range users {
		shown := userView{User: u}
		for _, act := range userActs {
			if (act.name() == "enable") == (u.DisabledAt != nil) && (act.name() != "disable" || u.ID != r.who.User().ID) &&
				(act.name() != "recover" || !u.Managed()) {
				href := strings.Replace(userPath, ":user", u.ID.String(), 1) + "/" + act.name()
				shown.Acts = append(shown.Acts, actLink{act.name(), act.form.name + ".button", href})
			}
		}
		v.Users = append(v.Users, shown)
	}
	if len(users) == account.MaxPage {
		v.Newer = "?after=" + users[len(users)-1].ID.String()
	}
	return r.render(http.StatusOK, "users", v)
}

// operatedUser returns the user of the path.
func (r *request) operatedUser() (account.User, error) {
	id, err := r.id("user")
	if err != nil {
		return account.User{}, err
	}
	return r.pages.cfg.Accounts.User(r.ctx(), id)
}
