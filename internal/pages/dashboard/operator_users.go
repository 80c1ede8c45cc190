package dashboard

import (
	"net/http"
	"strings"

	"agegate/internal/rules/account"
	"agegate/internal/rules/fault"
)

const (
	usersPath = operatorPath + "/users"
	userPath  = usersPath + "/:user"
)

// errSelf keeps operators from locking themselves out.
var errSelf = fault.New(fault.Conflict, "This is your own account")

func userForm(name string) *form {
	return &form{name: name, problems: map[error]string{errSelf: "self", account.ErrDisabled: "disabled"}}
}

var userKind = kind[account.User]{
	name: "user", path: userPath, find: (*request).operatedUser, refused: http.StatusConflict,
	values: func(u account.User) []any { return []any{"name", u.Name, "email", u.Email} },
	back:   func(account.User) string { return usersPath },
}

var userActs = []act[account.User]{
	{name: "disable", form: userForm("user_disable"), do: func(r *request, u account.User, _ *formView) (string, error) {
		if u.ID == r.who.User().ID {
			return "", errSelf
		}
		return usersPath, r.pages.cfg.Accounts.Disable(r.ctx(), r.who.OperatorActor(), u.ID)
	}},
	{name: "enable", form: userForm("user_enable"), safe: true, do: func(r *request, u account.User, _ *formView) (string, error) {
		return usersPath, r.pages.cfg.Accounts.Enable(r.ctx(), r.who.OperatorActor(), u.ID)
	}},
	{name: "recover", form: userForm("user_recover"), do: func(r *request, u account.User, _ *formView) (string, error) {
		link, err := r.pages.cfg.Accounts.NewRecoveryLink(r.ctx(), r.who.OperatorActor(), u.ID)
		if err != nil {
			return "", err
		}
		return "", r.render(http.StatusOK, "operator_link", &madeLinkView{
			Title: "users.recovery", Name: u.Name, Hint: "users.recovery_hint", Link: link, Back: usersPath,
		})
	}},
}

func (p *Pages) operatorUsers() feature {
	f := feature{
		routes:  []route{{method: http.MethodGet, path: usersPath, least: operator, handle: p.showUsers}},
		screens: []string{"users", "operator_link", "confirm"},
		keys:    []string{"users.recovery", "users.recovery_hint"},
	}
	userKind.add(&f, userActs)
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
			if (act.name == "enable") == (u.DisabledAt != nil) && (act.name != "disable" || u.ID != r.who.User().ID) {
				href := strings.Replace(userPath, ":user", u.ID.String(), 1) + "/" + act.name
				shown.Acts = append(shown.Acts, actLink{act.name, "user_" + act.name + ".button", href})
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
