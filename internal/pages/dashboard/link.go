package dashboard

import (
	"errors"
	"maps"
	"net/http"

	"agegate/internal/backoffice/account"
	"agegate/internal/pages/page"
	"agegate/internal/rules/tenant"
)

// linkPath is the path of every kind of link.
const linkPath = account.LinkPath + ":token"

// factorProblems are the rules of new factors.
var factorProblems = also(passwordForm.problems,
	map[error]string{account.ErrPasskey: "passkey", account.ErrProviderNeeded: "provider"})

// also returns the problems of a form together with further ones.
func also(problems, further map[error]string) map[error]string {
	all := maps.Clone(problems)
	maps.Copy(all, further)
	return all
}

var setupForm = &form{
	name: "setup", again: true,
	fields: []field{
		{name: "name", kind: "text", max: account.MaxName, autocomplete: "name"},
		{name: "email", kind: "email", max: account.MaxEmail, autocomplete: "username", hint: true},
		{name: "password", kind: "password", either: true, autocomplete: "new-password", hint: true},
	},
	problems: also(factorProblems, map[error]string{
		account.ErrName: "name", account.ErrEmail: "email", account.ErrEmailTaken: "taken", account.ErrWrongLogin: "wrong",
	}),
}

var recoverForm = &form{
	name: "recover", again: true,
	fields:   []field{{name: "password", kind: "password", either: true, autocomplete: "new-password", hint: true}},
	problems: factorProblems,
}

func (p *Pages) links() feature {
	return feature{
		routes: []route{
			{method: http.MethodGet, path: linkPath, handle: p.link((*form).asks)},
			{method: http.MethodPost, path: linkPath, handle: p.link((*form).does)},
		},
		screens: []string{"setup", "invitation", "recover"},
		forms:   []*form{setupForm, recoverForm},
		keys:    append(roleKeys("invitation.as_"), "invitation.member", "invitation.managed"),
	}
}

// linkView is the page of any kind of link.
type linkView struct {
	layout
	Form    *formView
	Passkey passkeyView
	For     account.User  // of a recovery link
	Into    tenant.Tenant // of an invitation
	Role    string        // of an invitation: the key of a text
	Me      string        // the signed-in user's name; may be empty
	Login   string        // where those who have an account log in
}

// link answers a request to a link by the form of its kind. To show it uses
// nothing up, so that previews of the address do not.
func (p *Pages) link(answer func(*form, finder) func(*request) error) func(*request) error {
	return func(r *request) error {
		link, err := p.cfg.Accounts.Link(r.ctx(), r.Param("token"))
		if err != nil {
			return err
		}
		return answer(linkForm(link), func(r *request) (*question, error) { return p.useLink(r, link), nil })(r)
	}
}

// useLink is the question of a link.
func (p *Pages) useLink(r *request, link account.Link) *question {
	if r.Request().PostForm.Get("as") == "me" && link.Kind == account.LinkInvitation {
		return instead(func() error { return p.joinAsVisitor(r, link, r.Param("token")) })
	}
	return &question{
		show: func(status int, f *formView) error { return p.renderLink(r, status, link, f) },
		do: func(f *formView) error {
			signed, notice, err := p.useLinkAs(r, link, f)
			if err != nil {
				return err
			}
			return r.entered(signed, notice)
		},
	}
}

func linkForm(link account.Link) *form {
	if link.Kind == account.LinkRecovery {
		return recoverForm
	}
	return setupForm
}

func (p *Pages) renderLink(r *request, status int, link account.Link, f *formView) error {
	v, screen := &linkView{Form: f}, "setup"
	var options string
	var err error
	switch link.Kind {
	case account.LinkRecovery:
		screen = "recover"
		v.For, options, err = p.cfg.Accounts.Recovering(r.ctx(), r.Param("token"))
	case account.LinkInvitation:
		screen, v.Role = "invitation", "invitation.as_"+string(link.Role)
		v.Login = loginPath + "?next=" + r.Request().URL.Path
		if v.Into, err = p.cfg.Tenants.Tenant(r.ctx(), *link.TenantID); err == nil {
			options, err = p.cfg.Accounts.SetUpOptions()
		}
		v.Me = r.visitor().User().Name
	default:
		options, err = p.cfg.Accounts.SetUpOptions()
	}
	if err != nil {
		return err
	}
	v.Passkey = p.offer(options)
	return r.render(status, screen, v)
}

// visitor returns who is signed in on a page for anyone; zero for nobody.
func (r *request) visitor() account.Identity {
	who, err := r.pages.cfg.Accounts.Identify(r.ctx(), r.cookie(userCookie))
	if err != nil {
		return account.Identity{}
	}
	return who
}

// entered finishes the use of a link: the user is signed in, or gives the second
// factor and returns to the link.
func (r *request) entered(signed account.Signed, notice string) error {
	if signed.Second == "" {
		if err := r.signedIn(signed); err != nil {
			return err
		}
		return r.done(homePath, notice)
	}
	return r.askSecond(signed, r.Request().URL.Path)
}

// useLinkAs uses a link for a person who is not signed in.
func (p *Pages) useLinkAs(
	r *request, link account.Link, f *formView,
) (signed account.Signed, notice string, err error) {
	token := r.Param("token")
	factor := account.Factor{Password: f.Value("password"), Passkey: r.Request().PostForm.Get("passkey")}
	if factor.Near, err = p.namesNear(r, link); err != nil {
		return account.Signed{}, "", err
	}
	if link.Kind == account.LinkRecovery {
		signed, err = p.cfg.Accounts.Recover(r.ctx(), token, factor, r.browser())
		return signed, "recovered", err
	}
	person := account.Person{Name: f.Value("name"), Email: f.Value("email"), Factor: factor}
	if link.Kind == account.LinkInvitation {
		signed, err = p.cfg.Accounts.Accept(r.ctx(), token, person, r.browser())
		return signed, "joined", err
	}
	signed, err = p.cfg.Accounts.SetUp(r.ctx(), token, person, r.browser())
	return signed, "set_up", err
}

// namesNear returns the names that the password of a link's user must not
// contain.
func (p *Pages) namesNear(r *request, link account.Link) ([]string, error) {
	if link.UserID != nil {
		return p.tenantNames(r, *link.UserID)
	}
	if link.TenantID == nil {
		return nil, nil
	}
	into, err := p.cfg.Tenants.Tenant(r.ctx(), *link.TenantID)
	return []string{into.Name}, err
}

// joinAsVisitor accepts an invitation for the signed-in user.
func (p *Pages) joinAsVisitor(r *request, link account.Link, token string) error {
	who, err := p.cfg.Accounts.Identify(r.ctx(), r.cookie(userCookie))
	if errors.Is(err, account.ErrSignedOut) {
		return r.done(loginPath+"?next="+r.Request().URL.Path, "")
	}
	if err != nil {
		return err
	}
	joined, err := p.cfg.Accounts.AcceptAs(r.ctx(), who, token)
	if errors.Is(err, account.ErrMember) || errors.Is(err, account.ErrManaged) {
		f, failed := r.blank(setupForm)
		if failed != nil {
			return failed
		}
		f.Fault = new(page.Say("invitation.member"))
		if errors.Is(err, account.ErrManaged) {
			f.Fault = new(page.Say("invitation.managed"))
		}
		return p.renderLink(r, http.StatusConflict, link, f)
	}
	if err != nil {
		return err
	}
	return r.done(fill(landing(link.Role), joined.String(), "test"), "joined")
}
