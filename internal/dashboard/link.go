package dashboard

import (
	"net/http"

	"agegate/internal/account"
)

// linkPath is the address of every link, whatever it is for.
const linkPath = account.LinkPath + ":token"

var setupForm = &form{
	name: "setup",
	fields: []field{
		{name: "name", kind: "text", max: account.MaxName, autocomplete: "name"},
		{name: "email", kind: "email", max: account.MaxEmail, autocomplete: "username", hint: true},
		{name: "password", kind: "password", autocomplete: "new-password", hint: true},
	},
	problems: map[error]string{
		account.ErrName: "name", account.ErrEmail: "email", account.ErrEmailTaken: "taken",
		account.ErrPasswordShort: "short", account.ErrPasswordLong: "long", account.ErrPasswordCommon: "common",
	},
}

func (p *Pages) link() feature {
	return feature{
		routes: []route{
			{method: http.MethodGet, path: linkPath, handle: p.showLink},
			{method: http.MethodPost, path: linkPath, handle: p.useLink},
		},
		screens: []string{"setup"},
		forms:   []*form{setupForm},
		notices: []string{"set_up"},
	}
}

type setupView struct {
	layout
	Form *formView
}

// showLink shows what a link is for. It uses nothing up, so that previews of the
// address do not.
func (p *Pages) showLink(r *request) error {
	link, err := p.cfg.Accounts.Link(r.ctx(), r.Param("token"))
	if err != nil {
		return err
	}
	if link.Kind != account.LinkSetup {
		return account.ErrLinkGone // nothing makes other kinds yet
	}
	f, err := r.blank(setupForm)
	if err != nil {
		return err
	}
	return r.render(http.StatusOK, "setup", &setupView{Form: f})
}

func (p *Pages) useLink(r *request) error {
	f, err := r.read(setupForm)
	if err != nil {
		return err
	}
	if f.ok() {
		token, err := p.cfg.Accounts.SetUp(r.ctx(), r.Param("token"), account.Person{
			Name: f.Value("name"), Email: f.Value("email"), Password: f.Value("password"),
		})
		if err == nil {
			r.setCookie(userCookie, token, account.LoginTTL)
			return r.done(homePath, "set_up")
		}
		if err := f.refuse(err); err != nil {
			return err
		}
	}
	return r.render(http.StatusUnprocessableEntity, "setup", &setupView{Form: f})
}
