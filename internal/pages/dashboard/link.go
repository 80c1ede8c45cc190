package dashboard

import (
	"cmp"
	"errors"
	"maps"
	"net/http"
	"slices"

	"agegate/internal/backoffice/account"
	"agegate/internal/pages/dashboard/desk"
	"agegate/internal/rules/tenant"
)

// linkPath is the path of every kind of link.
const linkPath = account.LinkPath + ":token"

// factorProblems are the rules of new factors.
var factorProblems = also(passwordForm.Problems,
	map[error]string{account.ErrPasskey: "passkey", account.ErrProviderNeeded: "provider"})

// also returns the problems of a form and further ones together.
func also(problems, further map[error]string) map[error]string {
	all := maps.Clone(problems)
	maps.Copy(all, further)
	return all
}

var setupForm = &desk.Form{
	Name: "setup", Again: true,
	Fields: []desk.Field{
		{Name: "name", Kind: "text", Max: account.MaxName, Autocomplete: "name"},
		{Name: "email", Kind: "email", Max: account.MaxEmail, Autocomplete: "username", Hint: true},
		{Name: "password", Kind: "password", Either: true, Autocomplete: "new-password", Hint: true},
	},
	Problems: also(factorProblems, map[error]string{
		account.ErrName: "name", account.ErrEmail: "email", account.ErrEmailTaken: "taken", account.ErrWrongLogin: "wrong",
		account.ErrMember: "member", account.ErrManaged: "managed",
	}),
}

var recoverForm = &desk.Form{
	Name: "recover", Again: true,
	Fields:   []desk.Field{{Name: "password", Kind: "password", Either: true, Autocomplete: "new-password", Hint: true}},
	Problems: factorProblems,
}

func (p *Pages) links() desk.Feature {
	return desk.Feature{
		Routes: []desk.Route{
			{Method: http.MethodGet, Path: linkPath, Entry: true, Handle: p.link((*desk.Form).OnGet)},
			{Method: http.MethodPost, Path: linkPath, Handle: p.link((*desk.Form).OnPost)},
		},
		Screens: []string{"setup", "invitation", "recover"},
		Forms:   []*desk.Form{setupForm, recoverForm},
		Keys: slices.Concat(roleKeys("invitation.as_"), roleKeys("notice.joined_"),
			[]string{"notice.joined_weak", "notice.set_up_passkey"}),
	}
}

// linkView is the page of any kind of link.
type linkView struct {
	desk.Layout
	Form    *desk.FormView
	Passkey desk.PasskeyView
	For     account.User  // of a recovery link
	Into    tenant.Tenant // of an invitation
	Link    account.Link  // of an invitation the role, of another operator's a note
	Me      string        // the signed-in user's name; may be empty
	Login   string        // where those who have an account log in
}

// link answers a request to a link with the form for the link's kind. Showing a link
// does not use it up, so previews of the address do no harm.
func (p *Pages) link(answer func(*desk.Form, desk.Finder) func(*desk.Request) error) func(*desk.Request) error {
	return func(r *desk.Request) error {
		link, err := p.cfg.Accounts.Link(r.Ctx(), r.Param("token"))
		if err != nil {
			return err
		}
		form := setupForm
		if link.Kind == account.LinkRecovery {
			form = recoverForm
		}
		return answer(form, func(r *desk.Request) (*desk.Question, error) { return p.useLink(r, link), nil })(r)
	}
}

// useLink returns the question of a link.
func (p *Pages) useLink(r *desk.Request, link account.Link) *desk.Question {
	if r.Request().PostForm.Get("as") == "me" && link.Kind == account.LinkInvitation {
		return desk.Instead(func() error { return p.joinAsVisitor(r, link, r.Param("token")) })
	}
	return &desk.Question{
		Show: func(status int, f *desk.FormView) error { return p.renderLink(r, status, link, f) },
		Check: func(f *desk.FormView) error {
			person, err := p.personOf(r, link, f)
			if err != nil || link.Kind == account.LinkRecovery {
				return err
			}
			return person.Check()
		},
		Do: func(f *desk.FormView) error {
			signed, notice, err := p.useLinkAs(r, link, f)
			if err == nil && signed.Second != "" { // after which they return to the link
				return askSecond(r, signed, r.Request().URL.Path)
			}
			return enterAt(r, signed, err, homePath, notice)
		},
	}
}

func (p *Pages) renderLink(r *desk.Request, status int, link account.Link, f *desk.FormView) error {
	v, screen := &linkView{Form: f, Link: link}, "setup"
	var options string
	var err error
	switch link.Kind {
	case account.LinkRecovery:
		screen = "recover"
		v.For, options, err = p.cfg.Accounts.Recovering(r.Ctx(), r.Param("token"))
	case account.LinkInvitation:
		screen = "invitation"
		v.Login = loginPath + "?next=" + r.Request().URL.Path
		if v.Into, err = p.cfg.Tenants.Tenant(r.Ctx(), *link.TenantID); err == nil {
			options, err = p.cfg.Accounts.SetUpOptions()
		}
		if who, failed := p.cfg.Accounts.Identify(r.Ctx(), r.CookieValue(desk.UserCookie)); failed == nil {
			v.Me = who.User().Name
		}
	default:
		options, err = p.cfg.Accounts.SetUpOptions()
	}
	if err != nil {
		return err
	}
	v.Passkey = p.offer(options)
	return r.Show(status, screen, v)
}

// useLinkAs uses a link for a person who is not signed in.
func (p *Pages) useLinkAs(
	r *desk.Request, link account.Link, f *desk.FormView,
) (signed account.Signed, notice string, err error) {
	token := r.Param("token")
	person, err := p.personOf(r, link, f)
	if err != nil {
		return account.Signed{}, "", err
	}
	if link.Kind == account.LinkRecovery {
		signed, err = p.cfg.Accounts.Recover(r.Ctx(), token, person.Factor, r.Browser())
		return signed, "recovered", err
	}
	if link.Kind == account.LinkInvitation {
		signed, err = p.cfg.Accounts.Accept(r.Ctx(), token, person, r.Browser())
		return signed, joined(link.Role, person.Passkey != ""), err
	}
	signed, err = p.cfg.Accounts.SetUp(r.Ctx(), token, person, r.Browser())
	return signed, "set_up" + map[bool]string{true: "_passkey"}[person.Password == ""], err
}

// personOf returns what the form of a link says. That of a recovery has a factor only.
func (p *Pages) personOf(r *desk.Request, link account.Link, f *desk.FormView) (v account.Person, err error) {
	if link.Kind != account.LinkRecovery {
		v.Name, v.Email = f.Value("name"), f.Value("email")
	}
	v.Password, v.Passkey = f.Value("password"), r.Request().PostForm.Get("passkey")
	v.Near, err = p.namesNear(r, link)
	return v, err
}

// namesNear returns the names that the password of a link's user must not contain.
func (p *Pages) namesNear(r *desk.Request, link account.Link) ([]string, error) {
	if link.UserID != nil {
		return p.tenantNames(r, *link.UserID)
	}
	if link.TenantID == nil {
		return nil, nil
	}
	into, err := p.cfg.Tenants.Tenant(r.Ctx(), *link.TenantID)
	return []string{into.Name}, err
}

// joinAsVisitor accepts an invitation for the signed-in user.
func (p *Pages) joinAsVisitor(r *desk.Request, link account.Link, token string) error {
	who, err := p.cfg.Accounts.Identify(r.Ctx(), r.CookieValue(desk.UserCookie))
	if errors.Is(err, account.ErrSignedOut) {
		return r.Done(loginPath+"?next="+r.Request().URL.Path, "")
	}
	f, failed := r.Blank(setupForm)
	if err = cmp.Or(err, failed); err != nil {
		return err
	}
	into, err := p.cfg.Accounts.AcceptAs(r.Ctx(), who, token)
	if err == nil {
		return r.Done(desk.Href(landing(link.Role), into.String(), "test"), joined(link.Role, who.Strong()))
	}
	if err := f.Refuse(err); err != nil {
		return err
	}
	return p.renderLink(r, http.StatusConflict, link, f)
}

// joined is the notice to a new member, which leads one to live mode whose log-in does not open it.
func joined(role account.Role, strong bool) string {
	if !strong && role.May(account.ReadSessions) {
		return "joined_weak"
	}
	return "joined_" + string(role)
}
