package dashboard

import (
	"net/http"
	"strings"

	"agegate/internal/account"
	"agegate/internal/fault"
	"agegate/internal/page"
)

const (
	usersPath = operatorPath + "/users"
	userPath  = usersPath + "/:user"
)

// errSelf keeps operators from locking themselves out.
var errSelf = fault.New(fault.Conflict, "This is your own account")

// userAct is something that an operator does to a user, as tenantAct for
// tenants. Its texts are user_<name>.title, .body and .button.
type userAct struct {
	name string
	form *form
	safe bool
	do   func(r *request, u account.User) (next string, err error)
}

func userForm(name string) *form {
	return &form{name: name, problems: map[error]string{errSelf: "self", account.ErrDisabled: "disabled"}}
}

var userActs = []userAct{
	{name: "disable", form: userForm("user_disable"), do: func(r *request, u account.User) (string, error) {
		if u.ID == r.who.User().ID {
			return "", errSelf
		}
		return usersPath, r.pages.cfg.Accounts.Disable(r.ctx(), r.who.OperatorActor(), u.ID)
	}},
	{name: "enable", form: userForm("user_enable"), safe: true, do: func(r *request, u account.User) (string, error) {
		return usersPath, r.pages.cfg.Accounts.Enable(r.ctx(), r.who.OperatorActor(), u.ID)
	}},
	{name: "recover", form: userForm("user_recover"), do: func(r *request, u account.User) (string, error) {
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
	for _, act := range userActs {
		path, name := userPath+"/"+act.name, "user_"+act.name
		f.routes = append(f.routes,
			route{method: http.MethodGet, path: path, least: operator, stepUp: always, handle: act.show},
			route{method: http.MethodPost, path: path, least: operator, stepUp: always, handle: act.run})
		f.forms = append(f.forms, act.form)
		f.notices = append(f.notices, name)
		f.keys = append(f.keys, name+".title", name+".button") // .body has values, which are checked when it is shown
	}
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

func (act userAct) show(r *request) error {
	u, err := r.operatedUser()
	if err != nil {
		return err
	}
	f, err := r.blank(act.form)
	if err != nil {
		return err
	}
	return act.render(r, http.StatusOK, u, f)
}

func (act userAct) render(r *request, status int, u account.User, f *formView) error {
	name := "user_" + act.name
	return r.render(status, "confirm", &confirmView{
		Title: page.Say(name + ".title"), Body: page.Say(name+".body", "name", u.Name, "email", u.Email), Button: page.Say(name + ".button"),
		Safe: act.safe, Back: usersPath, Form: f,
	})
}

func (act userAct) run(r *request) error {
	u, err := r.operatedUser()
	if err != nil {
		return err
	}
	f, err := r.read(act.form)
	if err != nil {
		return err
	}
	if err := r.once(f); err != nil {
		return err
	}
	next, err := act.do(r, u)
	if err != nil {
		if err := f.refuse(err); err != nil {
			return err
		}
		return act.render(r, http.StatusConflict, u, f)
	}
	if next == "" {
		return nil
	}
	return r.done(next, "user_"+act.name)
}
