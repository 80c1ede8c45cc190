package dashboard

import (
	"errors"

	"agegate/internal/backoffice/account"
	"agegate/internal/rules/fault"
)

const (
	signOnPath       = teamPath + "/sign-on"
	removeSignOnPath = signOnPath + "/remove"
)

// signOnForm is the tenant's identity provider. Its fields for groups have one name
// in each line.
var signOnForm = func() *form {
	f := &form{
		name: "sign_on", again: true,
		fields: []field{
			{name: "name", kind: "text", max: account.MaxProviderName, hint: true},
			{name: "issuer", kind: "url", max: account.MaxIssuer, hint: true},
			{name: "client_id", kind: "text", max: account.MaxClientID},
			{name: "secret", kind: "password", max: account.MaxClientSecret, optional: true, hint: true, autocomplete: "off"},
			{name: "groups_claim", kind: "text", max: account.MaxGroup, hint: true},
		},
		problems: map[error]string{
			account.ErrName: "name", account.ErrIssuer: "issuer", account.ErrClientID: "client_id", account.ErrSecret: "secret",
			account.ErrClaim: "claim", account.ErrGroup: "group", account.ErrOwnFactor: "own_factor",
			account.ErrLastOwner: "last",
		},
	}
	for _, role := range account.Roles() {
		f.fields = append(f.fields, field{name: account.GroupsField(role), kind: "textarea", max: 5000, optional: true})
	}
	f.fields = append(f.fields, field{name: "required", kind: "checkbox", hint: true})
	return f
}()

var removeSignOnForm = &form{name: "remove_sign_on", again: true,
	problems: map[error]string{account.ErrLastOwner: "last"}}

// signOn are the pages of the tenant's identity provider. Both ask for a recent
// confirmation before they are shown, so that nothing typed is lost.
func (p *Pages) signOn() feature {
	f := feature{screens: []string{"sign_on"}, keys: []string{"sign_on.problem.groups"},
		notices: []string{"sign_on_set", "sign_on_removed"}}
	for _, why := range []account.Why{
		account.WhyDNS, account.WhyBlocked, account.WhyConnect, account.WhyTLS, account.WhyTimeout, account.WhyBusy,
		account.WhyAnswer,
	} {
		f.keys = append(f.keys, "sign_on.problem.why_"+string(why))
	}
	at := func(path string) route { return route{path: path, minRole: owner, stepUp: always} }
	f.fill(at(signOnPath), signOnForm, p.setSignOn)
	f.ask(at(removeSignOnPath), removeSignOnForm, p.removeSignOn)
	return f
}

type signOnView struct {
	layout
	Form     *formView
	Redirect string // to register at the provider
	Link     string // begins a log-in
	Set      bool   // there is a provider
	Remove   string
	Back     string
}

// provided reads the groups of a form.
func provided(f *formView) (p account.Provider, ok bool) {
	p = account.Provider{
		Name: f.Value("name"), Issuer: f.Value("issuer"), ClientID: f.Value("client_id"), Secret: f.Value("secret"),
		GroupsClaim: f.Value("groups_claim"), Required: f.Checked("required"),
	}
	for _, role := range account.Roles() {
		name := account.GroupsField(role)
		grants, err := account.ParseGroups(role, f.Value(name))
		if err != nil {
			f.wrong(name, "sign_on.problem.group")
		}
		p.Grants = append(p.Grants, grants...)
	}
	if f.ok() && len(p.Grants) == 0 {
		f.wrong(account.GroupsField(account.Owner), "sign_on.problem.groups")
	}
	return p, f.ok()
}

func (p *Pages) setSignOn(r *request) (*question, error) {
	now, err := p.cfg.Accounts.TenantProvider(r.ctx(), r.access)
	set := err == nil
	if err != nil && fault.CodeOf(err) != fault.NotFound {
		return nil, err
	}
	begin := []string{"groups_claim", account.DefaultGroupsClaim}
	if set {
		begin = []string{"name", now.Name, "issuer", now.Issuer, "client_id", now.ClientID, "groups_claim", now.GroupsClaim,
			"required", checked(now.Required)}
		for _, role := range account.Roles() {
			begin = append(begin, account.GroupsField(role), now.Groups(role, "\n"))
		}
	}
	id := r.access.TenantID()
	return &question{
		begin: begin,
		show: func(status int, f *formView) error {
			return r.render(status, "sign_on", &signOnView{
				Form: f, Redirect: p.cfg.Accounts.RedirectURI(id), Link: p.cfg.Accounts.SSOLink(id), Set: set,
				Remove: r.path(removeSignOnPath), Back: r.path(teamPath),
			})
		},
		do: func(f *formView) error {
			given, ok := provided(f)
			if !ok {
				return nil
			}
			err := p.cfg.Accounts.SetProvider(r.ctx(), r.access, given)
			if failed, isProvider := errors.AsType[*account.ProviderError](err); isProvider {
				f.wrong("issuer", "sign_on.problem.why_"+string(failed.Why))
				return nil
			}
			if err != nil {
				return err
			}
			return r.done(r.path(signOnPath), "sign_on_set")
		},
	}, nil
}

func (p *Pages) removeSignOn(r *request) (*question, error) {
	now, err := p.cfg.Accounts.TenantProvider(r.ctx(), r.access)
	if fault.CodeOf(err) == fault.NotFound {
		err = elsewhere(r.path(signOnPath))
	}
	return &question{Values: []any{"name", now.Name}, Back: r.path(signOnPath), do: func(*formView) error {
		if err := p.cfg.Accounts.RemoveProvider(r.ctx(), r.access); err != nil {
			return err
		}
		return r.done(r.path(teamPath), "sign_on_removed")
	}}, err
}
