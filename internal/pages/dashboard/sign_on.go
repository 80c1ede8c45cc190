package dashboard

import (
	"errors"

	"agegate/internal/backoffice/account"
	"agegate/internal/pages/dashboard/desk"
	"agegate/internal/rules/fault"
)

const (
	signOnPath       = teamPath + "/sign-on"
	removeSignOnPath = signOnPath + "/remove"
)

// signOnForm is the tenant's identity provider. Its fields for groups have one name
// in each line.
var signOnForm = func() *desk.Form {
	f := &desk.Form{
		Name: "sign_on", Again: true,
		Fields: []desk.Field{
			{Name: "name", Kind: "text", Max: account.MaxProviderName, Hint: true},
			{Name: "issuer", Kind: "url", Max: account.MaxIssuer, Hint: true},
			{Name: "client_id", Kind: "text", Max: account.MaxClientID},
			{Name: "secret", Kind: "password", Max: account.MaxClientSecret, Optional: true, Hint: true, Autocomplete: "off"},
			{Name: "groups_claim", Kind: "text", Max: account.MaxGroup, Hint: true},
		},
		Problems: map[error]string{
			account.ErrName: "name", account.ErrIssuer: "issuer", account.ErrClientID: "client_id", account.ErrSecret: "secret",
			account.ErrClaim: "claim", account.ErrGroup: "group", account.ErrOwnFactor: "own_factor",
			account.ErrLastOwner: "last",
		},
	}
	for _, role := range account.Roles() {
		f.Fields = append(f.Fields, desk.Field{Name: account.GroupsField(role), Kind: "textarea", Max: 5000, Optional: true,
			Either: true})
	}
	f.Fields = append(f.Fields, desk.Field{Name: "required", Kind: "checkbox", Hint: true})
	return f
}()

var removeSignOnForm = &desk.Form{Name: "remove_sign_on", Again: true,
	Problems: map[error]string{account.ErrLastOwner: "last"}}

// signOn has the pages of the tenant's identity provider. Both ask for a recent
// confirmation before they are shown, so that nothing typed is lost.
func (p *Pages) signOn() desk.Feature {
	f := desk.Feature{Screens: []string{"sign_on", "sign_on_trial"},
		Keys:    []string{"sign_on.problem.groups", "sign_on.secret_kept"},
		Notices: []string{"sign_on_set", "sign_on_removed"}}
	for _, why := range []account.Why{
		account.WhyDNS, account.WhyBlocked, account.WhyConnect, account.WhyTLS, account.WhyTimeout, account.WhyBusy,
		account.WhyAnswer,
	} {
		f.Keys = append(f.Keys, "sign_on.problem.why_"+string(why))
	}
	for _, why := range []account.Why{
		account.WhyNoClaim, account.WhyOverage, account.WhyNoGroup, account.WhyDisabled,
	} {
		f.Keys = append(f.Keys, "sign_on_trial.why_"+string(why))
	}
	for _, guide := range guides {
		f.Keys = append(f.Keys, guide, guide+".register", guide+".client", guide+".groups", guide+".here")
	}
	at := func(path string) desk.Route { return desk.Route{Path: path, MinRole: desk.Owner, StepUp: desk.Always} }
	f.Fill(at(signOnPath), signOnForm, p.setSignOn)
	f.Ask(at(removeSignOnPath), removeSignOnForm, p.removeSignOn)
	return f
}

type signOnView struct {
	desk.Layout
	Form     *desk.FormView
	Redirect string // to register at the provider
	Link     string // begins a log-in
	Try      string // begins a trial
	Set      bool   // there is a provider
	Remove   string
	Back     string
}

// guides are the providers whose settings the page explains, by the key of the name.
var guides = []string{"sign_on.guide.entra", "sign_on.guide.okta", "sign_on.guide.google", "sign_on.guide.keycloak"}

// Guides returns the guides, for the template.
func (*signOnView) Guides() []string { return guides }

// Roles returns the fields of the groups of roles, in the order of the roles.
func (v *signOnView) Roles() []*desk.FieldView {
	var fields []*desk.FieldView
	for _, role := range account.Roles() {
		fields = append(fields, v.Form.Field(account.GroupsField(role)))
	}
	return fields
}

// provided reads the groups of a form.
func provided(f *desk.FormView) (p account.Provider, ok bool) {
	p = account.Provider{
		Name: f.Value("name"), Issuer: f.Value("issuer"), ClientID: f.Value("client_id"), Secret: f.Value("secret"),
		GroupsClaim: f.Value("groups_claim"), Required: f.Checked("required"),
	}
	for _, role := range account.Roles() {
		name := account.GroupsField(role)
		grants, err := account.ParseGroups(role, f.Value(name))
		if err != nil {
			f.Mark(name, "sign_on.problem.group")
		}
		p.Grants = append(p.Grants, grants...)
	}
	if f.OK() && len(p.Grants) == 0 {
		f.Mark(account.GroupsField(account.Owner), "sign_on.problem.groups")
	}
	return p, f.OK()
}

func (p *Pages) setSignOn(r *desk.Request) (*desk.Question, error) {
	now, err := p.cfg.Accounts.TenantProvider(r.Ctx(), r.Access)
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
	id := r.Access.TenantID()
	return &desk.Question{
		Begin: begin,
		Show: func(status int, f *desk.FormView) error {
			if secret := f.Field("secret"); set {
				secret.Hint = "sign_on.secret_kept"
			} else {
				secret.Optional = false
			}
			return r.Show(status, "sign_on", &signOnView{
				Form: f, Redirect: p.cfg.Accounts.RedirectURI(id), Link: p.cfg.Accounts.SSOLink(id), Set: set,
				Try: account.SSOPath + id.String() + "?" + tryQuery + "=1", Remove: r.Href(removeSignOnPath),
				Back: r.Href(teamPath),
			})
		},
		Do: func(f *desk.FormView) error {
			given, ok := provided(f)
			if !ok {
				return nil
			}
			err := p.cfg.Accounts.SetProvider(r.Ctx(), r.Access, given)
			if failed, isProvider := errors.AsType[*account.ProviderError](err); isProvider {
				f.Mark("issuer", "sign_on.problem.why_"+string(failed.Why))
				return nil
			}
			if err != nil {
				return err
			}
			return r.Done(r.Href(signOnPath), "sign_on_set")
		},
	}, nil
}

func (p *Pages) removeSignOn(r *desk.Request) (*desk.Question, error) {
	now, err := p.cfg.Accounts.TenantProvider(r.Ctx(), r.Access)
	if fault.CodeOf(err) == fault.NotFound {
		err = desk.Elsewhere(r.Href(signOnPath))
	}
	return &desk.Question{Values: []any{"name", now.Name}, Back: r.Href(signOnPath), Do: func(*desk.FormView) error {
		if err := p.cfg.Accounts.RemoveProvider(r.Ctx(), r.Access); err != nil {
			return err
		}
		return r.Done(r.Href(teamPath), "sign_on_removed")
	}}, err
}
