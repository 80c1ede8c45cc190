package dashboard

import (
	"net/http"
	"net/url"

	"agegate/internal/backoffice/account"
	"agegate/internal/backoffice/mail"
)

const (
	teamPath   = "/dashboard/:tenant/team"
	memberPath = teamPath + "/:user"
	removePath = memberPath + "/remove"
	revokePath = teamPath + "/invitations/:id/revoke"
)

// roleNames are the roles to choose from; the first one, the owner's, is only
// given by promotion.
var roleNames = roleKeys("")

var inviteForm = &form{
	name:     "invite",
	fields:   []field{{name: "role", kind: "select", options: roleNames[1:], hint: true}},
	problems: map[error]string{account.ErrInvitedRole: "role"},
}

// inviteMailForm is inviteForm where mail is sent.
var inviteMailForm = &form{
	name: "invite",
	fields: []field{inviteForm.fields[0],
		{name: "email", kind: "email", max: account.MaxEmail, optional: true, hint: true}},
	problems: map[error]string{account.ErrInvitedRole: "role", account.ErrEmail: "email", mail.ErrTooMany: "too_many"},
}

var memberForm = &form{
	name: "member", again: true,
	fields:   []field{{name: "role", kind: "select", options: roleNames, hint: true}},
	problems: map[error]string{account.ErrRole: "role", account.ErrLastOwner: "last", account.ErrManaged: "managed"},
}

var (
	removeMemberForm = &form{name: "remove_member", again: true, problems: map[error]string{account.ErrLastOwner: "last"}}
	revokeForm       = &form{name: "revoke", again: true}
)

func (p *Pages) team() feature {
	at := func(path string) route { return route{path: path, minRole: owner, stepUp: always} }
	inviting := inviteForm
	if p.cfg.Accounts.SendsMail() {
		inviting = inviteMailForm
	}
	f := feature{
		routes: []route{
			{method: http.MethodGet, path: teamPath, minRole: owner, handle: inviting.asks(p.invite)},
			{method: http.MethodPost, path: teamPath, minRole: owner, stepUp: always, handle: inviting.does(p.invite)},
		},
		screens: []string{"team", "member"},
		forms:   []*form{inviteForm, inviteMailForm},
		keys:    roleKeys("role.may_"),
	}
	f.fill(at(memberPath), memberForm, p.setRole)
	f.ask(at(removePath), removeMemberForm, p.remove)
	f.ask(at(revokePath), revokeForm, p.revoke)
	return f
}

type teamView struct {
	layout
	Roles       []string // roles that an invitation can give
	Members     []memberView
	Invitations []invitationView
	Form        *formView
	Confirm     string // address of the confirmation that the form needs first; may be empty
	Link        string // link of the invitation that was just created
	Mailed      string // the address that it is sent to, or empty
	SendsMail   bool
	SignOn      string // address of the settings of the identity provider
}

type memberView struct {
	account.Member
	Href string
	Me   bool
}

type invitationView struct {
	account.Link
	By   string // the creator's name; may be empty
	Href string // address that revokes it
}

func (p *Pages) renderTeam(r *request, status int, f *formView, link, mailed string) error {
	members, err := p.cfg.Accounts.Members(r.ctx(), r.access)
	if err != nil {
		return err
	}
	invitations, err := p.cfg.Accounts.Invitations(r.ctx(), r.access)
	if err != nil {
		return err
	}
	v := &teamView{Form: f, Link: link, Mailed: mailed, SendsMail: p.cfg.Accounts.SendsMail(), SignOn: r.path(signOnPath),
		Roles: inviteForm.fields[0].options}
	if r.who.Strong() && !r.who.SteppedUp(p.cfg.Now()) {
		v.Confirm = stepUpPath + "?next=" + url.QueryEscape(r.path(teamPath))
	}
	names := map[string]string{}
	for _, m := range members {
		names[m.UserID.String()] = m.User.Name
		v.Members = append(v.Members, memberView{m, r.path(teamPath) + "/" + m.UserID.String(), m.UserID == r.who.User().ID})
	}
	for _, link := range invitations {
		shown := invitationView{Link: link, Href: r.path(teamPath) + "/invitations/" + link.ID() + "/revoke"}
		if link.CreatedBy != nil {
			shown.By = names[link.CreatedBy.String()]
		}
		v.Invitations = append(v.Invitations, shown)
	}
	return r.render(status, "team", v)
}

// invite shows the link, in this answer only.
func (p *Pages) invite(r *request) (*question, error) {
	return &question{
		show: func(status int, f *formView) error { return p.renderTeam(r, status, f, "", "") },
		do: func(f *formView) error {
			role, email := account.Role(f.Value("role")), ""
			if p.cfg.Accounts.SendsMail() {
				email = f.Value("email")
			}
			var link string
			var err error
			if email == "" {
				link, err = p.cfg.Accounts.Invite(r.ctx(), r.access, role)
			} else {
				link, err = p.cfg.Accounts.InviteByMail(r.ctx(), r.access, role, email, r.tenant.Name)
			}
			if err != nil {
				return err
			}
			return p.renderTeam(r, http.StatusOK, f, link, email)
		},
	}, nil
}

type memberPage struct {
	layout
	Roles  []string
	Member account.Member
	Form   *formView
	Back   string
	Remove string
}

// member returns the member in the path.
func (r *request) member() (account.Member, error) {
	id, err := r.id("user")
	if err != nil {
		return account.Member{}, err
	}
	return r.pages.cfg.Accounts.Member(r.ctx(), r.access, id)
}

func (p *Pages) setRole(r *request) (*question, error) {
	m, err := r.member()
	back := r.path(teamPath)
	return &question{
		begin: []string{"role", string(m.Role)},
		show: func(status int, f *formView) error {
			return r.render(status, "member", &memberPage{Roles: roleNames, Member: m, Form: f, Back: back, Remove: back + "/" +
				m.UserID.String() + "/remove"})
		},
		do: func(f *formView) error {
			if err := p.cfg.Accounts.SetRole(r.ctx(), r.access, m.UserID, account.Role(f.Value("role"))); err != nil {
				return err
			}
			return r.done(back, "role_set")
		},
	}, err
}

func (p *Pages) remove(r *request) (*question, error) {
	m, err := r.member()
	return &question{
		Values: []any{"name", m.User.Name, "tenant", r.tenant.Name}, Back: r.path(teamPath),
		do: func(*formView) error {
			if err := p.cfg.Accounts.RemoveMember(r.ctx(), r.access, m.UserID); err != nil {
				return err
			}
			if m.UserID == r.who.User().ID {
				return r.done(homePath, "left")
			}
			return r.done(r.path(teamPath), "member_removed")
		},
	}, err
}

func (p *Pages) revoke(r *request) (*question, error) {
	return &question{Back: r.path(teamPath), do: func(*formView) error {
		if err := p.cfg.Accounts.RevokeInvitation(r.ctx(), r.access, r.Param("id")); err != nil {
			return err
		}
		return r.done(r.path(teamPath), "invitation_revoked")
	}}, nil
}
