package dashboard

import (
	"net/http"
	"net/url"
	"strings"

	"agegate/internal/backoffice/account"
	"agegate/internal/pages/dashboard/desk"
	"agegate/internal/pages/page"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/tenant"

	"github.com/google/uuid"
)

const (
	usersPath = operatorPath + "/users"
	userPath  = usersPath + "/:user"
	linksPath = usersPath + "/links/:id/revoke"
)

// errSelf prevents operators from locking themselves out.
var errSelf = fault.New(fault.Conflict, "This is your own account")

func userForm(name string) *desk.Form {
	return &desk.Form{Name: name, Problems: map[error]string{errSelf: "self", account.ErrDisabled: "disabled",
		account.ErrManaged: "managed"}}
}

var userActs = []operatorAct[account.User]{
	{form: userForm("user_disable"), do: func(p *Pages, r *desk.Request, u account.User, _ *desk.FormView) error {
		if u.ID == r.Who.User().ID {
			return errSelf
		}
		return r.After(p.cfg.Accounts.Disable(r.Ctx(), r.Who.OperatorActor(), u.ID), usersPath, "user_disable")
	}},
	{form: userForm("user_enable"), safe: true, do: func(
		p *Pages, r *desk.Request, u account.User, _ *desk.FormView,
	) error {
		return r.After(p.cfg.Accounts.Enable(r.Ctx(), r.Who.OperatorActor(), u.ID), usersPath, "user_enable")
	}},
	{form: userForm("user_recover"), do: func(p *Pages, r *desk.Request, u account.User, _ *desk.FormView) error {
		link, err := p.cfg.Accounts.NewRecoveryLink(r.Ctx(), r.Who.OperatorActor(), u.ID)
		if err != nil {
			return err
		}
		hint := page.Say("users.recovery_hint")
		if p.cfg.Accounts.SendsMail() {
			hint = page.Say("users.recovery_mailed", "email", u.Email)
		}
		return r.Show(http.StatusOK, "operator_link", &madeLinkView{
			Title: page.Say("users.recovery"), Name: u.Name, Hint: hint, Link: link, Back: usersPath,
		})
	}},
}

func (p *Pages) operatorUsers() desk.Feature {
	f := desk.Feature{
		Routes:  []desk.Route{{Method: http.MethodGet, Path: usersPath, MinRole: desk.Operator, Handle: p.showUsers}},
		Screens: []string{"users", "operator_link"},
	}
	f.Ask(desk.Route{Path: usersPath + "/invite", MinRole: desk.Operator, StepUp: desk.Always},
		&desk.Form{Name: "operator_invite"}, func(r *desk.Request) (*desk.Question, error) {
			return &desk.Question{Safe: true, Back: usersPath, Do: func(*desk.FormView) error {
				link, err := p.cfg.Accounts.NewOperatorLink(r.Ctx(), r.Who.OperatorActor(), nil)
				if err != nil {
					return err
				}
				return r.Show(http.StatusOK, "operator_link", &madeLinkView{Title: page.Say("operator_invite.button"),
					Hint: page.Say("users.operator_hint"), Link: link, Back: usersPath})
			}}, nil
		})
	f.Ask(desk.Route{Path: linksPath, MinRole: desk.Operator, StepUp: desk.Always}, revokeForm,
		func(r *desk.Request) (*desk.Question, error) {
			return &desk.Question{Back: usersPath, Do: func(*desk.FormView) error {
				err := p.cfg.Accounts.RevokeUserLink(r.Ctx(), r.Who.OperatorActor(), r.Param("id"))
				return r.After(err, usersPath, "link_revoked")
			}}, nil
		})
	askAll(p, &f, userPath, userActs, func(r *desk.Request) (u account.User, values []any, back string, err error) {
		u, err = desk.Named(r, "user", p.cfg.Accounts.UserByID)
		return u, []any{"name", u.Name, "email", u.Email}, usersPath, err
	})
	return f
}

type usersView struct {
	desk.Layout
	Users []userView
	Links []account.OpenLink // that make an operator or let a user in again
	desk.Pager
}

type userView struct {
	account.User
	Acts   []actLink
	Origin string // the provider that made the user, or empty
	// Tenants are the user's oldest memberships, at most maxShops; More says that there are others.
	Tenants []memberOf
	More    bool
}

// Mail are the parts of the user's address, between which a line may break.
func (u userView) Mail() []string { return strings.SplitAfter(u.Email, "@") }

func (p *Pages) showUsers(r *desk.Request) error {
	users, err := p.listedUsers(r)
	if err != nil {
		return err
	}
	member, err := p.membersOf(r, users)
	if err != nil {
		return err
	}
	v := &usersView{}
	if v.Links, err = p.cfg.Accounts.UserLinks(r.Ctx()); err != nil {
		return err
	}
	for _, u := range users {
		of := member[u.ID]
		shown := userView{User: u, Tenants: of[:min(len(of), maxShops)], More: len(of) > maxShops}
		if issuer, err := url.Parse(u.Issuer); err == nil {
			shown.Origin = issuer.Host
		}
		for _, act := range userActs {
			if (act.name() == "enable") == (u.DisabledAt != nil) && (act.name() != "disable" || u.ID != r.Who.User().ID) &&
				(act.name() != "recover" || !u.Managed()) {
				href := strings.Replace(userPath, ":user", u.ID.String(), 1) + "/" + act.name()
				shown.Acts = append(shown.Acts, actLink{act.name(), act.form.Name + ".button", href})
			}
		}
		v.Users = append(v.Users, shown)
	}
	if len(users) == account.MaxPage {
		v.Further = "?after=" + users[len(users)-1].ID.String()
	}
	return r.Show(http.StatusOK, "users", v)
}

// membersOf returns the oldest memberships of users, for each up to one more than maxShops.
func (p *Pages) membersOf(r *desk.Request, users []account.User) (map[uuid.UUID][]memberOf, error) {
	var ids, tenants []uuid.UUID
	for _, u := range users {
		ids = append(ids, u.ID)
	}
	first, err := p.cfg.Accounts.FirstMemberships(r.Ctx(), ids, maxShops+1)
	for _, m := range first {
		tenants = append(tenants, m.TenantID)
	}
	of := map[uuid.UUID][]memberOf{}
	if err != nil || tenants == nil {
		return of, err
	}
	names, err := p.cfg.Tenants.Names(r.Ctx(), tenants)
	named := map[string]int{}
	for _, name := range names {
		named[name]++
	}
	for _, m := range first {
		t := tenant.Tenant{ID: m.TenantID, Name: names[m.TenantID]}
		of[m.UserID] = append(of[m.UserID], memberOf{t, string(m.Role), operatedPath(t.ID), named[t.Name] > 1})
	}
	return of, err
}

// listedUsers returns the page of users for a cursor, or the one user that is asked for.
func (p *Pages) listedUsers(r *desk.Request) ([]account.User, error) {
	one, err := r.Cursor("user")
	if err != nil {
		return nil, err
	}
	if one != uuid.Nil {
		user, err := p.cfg.Accounts.UserByID(r.Ctx(), one)
		return []account.User{user}, err
	}
	after, err := r.Cursor("after")
	if err != nil {
		return nil, err
	}
	return p.cfg.Accounts.Users(r.Ctx(), after, account.MaxPage)
}
