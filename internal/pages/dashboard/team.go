package dashboard

import (
	"errors"
	"net/http"
	"slices"

	"agegate/internal/backoffice/account"
	"agegate/internal/backoffice/mail"
	"agegate/internal/pages/dashboard/desk"
	"agegate/internal/pages/page"
)

const (
	teamPath   = "/dashboard/:tenant/team"
	invitePath = teamPath + "/invitations/new"
	memberPath = teamPath + "/:user"
	removePath = memberPath + "/remove"
	revokePath = teamPath + "/invitations/:id/revoke"
)

// roleNames are the roles to choose from; the first one, the owner's, is only given by promotion.
var roleNames = roleKeys("")

var inviteForm = &desk.Form{
	Name: "invite",
	Fields: []desk.Field{{Name: "role", Kind: "select", Options: roleNames[1:]},
		{Name: "note", Kind: "text", Max: account.MaxName, Optional: true, Hint: true}},
	Problems: map[error]string{account.ErrInvitedRole: "role", account.ErrName: "note"},
}

// mailForms are the forms whose link can be mailed, as they are where mail is sent.
var mailForms = map[*desk.Form]*desk.Form{inviteForm: mailing(inviteForm), newTenantForm: mailing(newTenantForm),
	ownerForm: mailing(ownerForm)}

func mailing(f *desk.Form) *desk.Form {
	with := *f
	with.Fields = append(slices.Clip(f.Fields), desk.Field{Name: "email", Kind: "email", Max: account.MaxEmail,
		Optional: true, Hint: true})
	with.Problems = also(f.Problems, map[error]string{account.ErrEmail: "email", mail.ErrTooMany: "too_many"})
	return &with
}

// posting returns a form as it is here, where mail is sent or not.
func (p *Pages) posting(f *desk.Form) *desk.Form {
	if mailed := mailForms[f]; mailed != nil && p.cfg.Accounts.SendsMail() {
		return mailed
	}
	return f
}

// mailTo returns the address that was typed into a form of mailForms, or "" where no mail is sent.
func (p *Pages) mailTo(f *desk.FormView) string {
	if !p.cfg.Accounts.SendsMail() {
		return ""
	}
	return f.Value("email")
}

var memberForm = &desk.Form{
	Name: "member", Again: true,
	Fields:   []desk.Field{{Name: "role", Kind: "select", Options: roleNames, Hint: true}},
	Problems: map[error]string{account.ErrRole: "role", account.ErrLastOwner: "last", account.ErrManaged: "managed"},
}

var (
	removeMemberForm = &desk.Form{Name: "remove_member", Again: true,
		Problems: map[error]string{account.ErrLastOwner: "last"}}
	revokeForm = &desk.Form{Name: "revoke", Again: true}
)

func (p *Pages) team() desk.Feature {
	at := func(path string) desk.Route { return desk.Route{Path: path, MinRole: desk.Owner, StepUp: desk.Always} }
	f := desk.Feature{
		Routes:  []desk.Route{{Method: http.MethodGet, Path: teamPath, MinRole: desk.Owner, Handle: p.showTeam}},
		Screens: []string{"team", "member", "shown"},
		Keys:    append(roleKeys("role.may_"), "team.link", "team.link_hint", "team.once", "team.mailed"),
	}
	f.Ask(at(invitePath), p.posting(inviteForm), p.invite)
	f.Fill(at(memberPath), memberForm, p.setRole)
	f.Ask(at(removePath), removeMemberForm, p.remove)
	f.Ask(at(revokePath), revokeForm, p.revoke)
	return f
}

type teamView struct {
	desk.Layout
	Roles       []string
	Members     []memberView
	Invitations []invitationView
	Invite      string // address
}

type memberView struct {
	account.Member
	Href string
	Me   bool
}

type invitationView struct {
	account.OpenLink
	By   string // the creator's name; may be empty
	Href string // address that revokes it
}

func (p *Pages) showTeam(r *desk.Request) error {
	members, err := p.cfg.Accounts.Members(r.Ctx(), r.Access.TenantID())
	if err != nil {
		return err
	}
	invitations, err := p.cfg.Accounts.Invitations(r.Ctx(), r.Access.TenantID())
	if err != nil {
		return err
	}
	v := &teamView{Invite: r.Href(invitePath), Roles: roleNames}
	names := map[string]string{}
	for _, m := range members {
		names[m.UserID.String()] = m.User.Name
		v.Members = append(v.Members, memberView{m, r.Href(teamPath) + "/" + m.UserID.String(), m.UserID == r.Who.User().ID})
	}
	for _, link := range invitations {
		shown := invitationView{OpenLink: link, Href: r.Href(teamPath) + "/invitations/" + link.ID() + "/revoke"}
		if link.CreatedBy != nil {
			shown.By = names[link.CreatedBy.String()]
		}
		v.Invitations = append(v.Invitations, shown)
	}
	return r.Show(http.StatusOK, "team", v)
}

// invite shows the link, in this answer only.
func (p *Pages) invite(r *desk.Request) (*desk.Question, error) {
	return &desk.Question{
		Safe: true, Back: r.Href(teamPath), Begin: []string{"role", string(account.Viewer)},
		Do: func(f *desk.FormView) error {
			v := account.Invitation{Role: account.Role(f.Value("role")), Note: f.Value("note"), Tenant: r.Tenant.Name,
				Email: p.mailTo(f), Locale: r.Who.User().Locale}
			hint := page.Say("team.once")
			if v.Email != "" {
				hint = page.Say("team.mailed", "email", v.Email)
			}
			link, err := p.cfg.Accounts.Invite(r.Ctx(), r.Access, v)
			if err != nil {
				return err
			}
			return r.Show(http.StatusOK, "shown", &shownView{
				Title: page.Say("team.link"), Lead: page.Say("team.link_hint"), Back: r.Href(teamPath),
				Values: []shownValue{{Label: page.Say("role." + string(v.Role)), Value: link, Note: hint}},
			})
		},
	}, nil
}

type memberPage struct {
	desk.Layout
	Roles  []string
	Member account.Member
	Form   *desk.FormView
	Back   string
	Remove string
	// Leave is the address where users leave the tenant; empty on the pages of others.
	Leave     string
	LastOwner bool // the user on their own page, and no other owner is there
}

// member returns the member in the path.
func (p *Pages) member(r *desk.Request) (account.Member, error) {
	id, err := r.ID("user")
	if err != nil {
		return account.Member{}, err
	}
	return p.cfg.Accounts.Member(r.Ctx(), r.Access, id)
}

func (p *Pages) setRole(r *desk.Request) (*desk.Question, error) {
	m, err := p.member(r)
	back := r.Href(teamPath)
	return &desk.Question{
		Begin: []string{"role", string(m.Role)},
		Show: func(status int, f *desk.FormView) error {
			v := &memberPage{Roles: roleNames, Member: m, Form: f, Back: back,
				Remove: back + "/" + m.UserID.String() + "/remove"}
			if m.UserID == r.Who.User().ID {
				last := p.cfg.Accounts.CheckLast(r.Ctx(), r.Access, m.UserID)
				if v.LastOwner = errors.Is(last, account.ErrLastOwner); last != nil && !v.LastOwner {
					return last
				}
				v.Leave = r.Href(leavePath)
			}
			return r.Show(status, "member", v)
		},
		Do: func(f *desk.FormView) error {
			err := p.cfg.Accounts.SetRole(r.Ctx(), r.Access, m.UserID, account.Role(f.Value("role")))
			return r.After(err, back, "role_set")
		},
	}, err
}

func (p *Pages) remove(r *desk.Request) (*desk.Question, error) {
	m, err := p.member(r)
	return &desk.Question{
		Values: []any{"name", m.User.Name, "tenant", r.Tenant.Name}, Back: r.Href(teamPath),
		Check: func(*desk.FormView) error { return p.cfg.Accounts.CheckLast(r.Ctx(), r.Access, m.UserID) },
		Do: func(*desk.FormView) error {
			back, notice := r.Href(teamPath), "member_removed"
			if m.UserID == r.Who.User().ID {
				back, notice = homePath, "left"
			}
			return r.After(p.cfg.Accounts.RemoveMember(r.Ctx(), r.Access, m.UserID), back, notice)
		},
	}, err
}

func (p *Pages) revoke(r *desk.Request) (*desk.Question, error) {
	return &desk.Question{Back: r.Href(teamPath), Do: func(*desk.FormView) error {
		err := p.cfg.Accounts.RevokeInvitation(r.Ctx(), r.Access, r.Param("id"))
		return r.After(err, r.Href(teamPath), "link_revoked")
	}}, nil
}
