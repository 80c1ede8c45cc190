package dashboard

import (
	"errors"
	"net/http"
	"net/url"

	"agegate/internal/pages/page"
	"agegate/internal/rules/account"
)

const (
	teamPath   = "/dashboard/:tenant/team"
	memberPath = teamPath + "/:user"
	removePath = memberPath + "/remove"
	revokePath = teamPath + "/invitations/:id/revoke"
)

var inviteForm = &form{
	name:     "invite",
	fields:   []field{{name: "role", kind: "select", options: []string{"developer", "viewer"}, hint: true}},
	problems: map[error]string{account.ErrInvitedRole: "role"},
}

var memberForm = &form{
	name:     "member",
	fields:   []field{{name: "role", kind: "select", options: []string{"owner", "developer", "viewer"}, hint: true}},
	problems: map[error]string{account.ErrRole: "role", account.ErrLastOwner: "last"},
}

func (p *Pages) team() feature {
	get, post := http.MethodGet, http.MethodPost
	return feature{
		routes: []route{
			{method: get, path: teamPath, least: owner, handle: p.showTeam},
			{method: post, path: teamPath, least: owner, stepUp: always, handle: p.invite},
			{method: get, path: memberPath, least: owner, stepUp: always, handle: p.showMember},
			{method: post, path: memberPath, least: owner, stepUp: always, handle: p.setRole},
			{method: get, path: removePath, least: owner, stepUp: always, handle: p.showRemove},
			{method: post, path: removePath, least: owner, stepUp: always, handle: p.remove},
			{method: get, path: revokePath, least: owner, stepUp: always, handle: p.showRevoke},
			{method: post, path: revokePath, least: owner, stepUp: always, handle: p.revoke},
		},
		screens: []string{"team", "member", "confirm"},
		forms:   []*form{inviteForm, memberForm},
		notices: []string{"role_set", "member_removed", "invitation_revoked"},
		keys: []string{
			"remove_member.title", "remove_member.button", "remove_member.last",
			"revoke.title", "revoke.body", "revoke.button",
		},
	}
}

type teamView struct {
	layout
	Members     []memberView
	Invitations []invitationView
	Form        *formView
	Confirm     string // address of the confirmation that comes before the form, or empty
	Link        string // of the invitation that was just made
}

type memberView struct {
	account.Member
	Href string
	Me   bool
}

type invitationView struct {
	account.Link
	By   string // the name of who made it, or empty
	Href string // revokes it
}

func (p *Pages) showTeam(r *request) error {
	f, err := r.blank(inviteForm)
	if err != nil {
		return err
	}
	return p.renderTeam(r, http.StatusOK, f, "")
}

func (p *Pages) renderTeam(r *request, status int, f *formView, link string) error {
	members, err := p.cfg.Accounts.Members(r.ctx(), r.access)
	if err != nil {
		return err
	}
	invitations, err := p.cfg.Accounts.Invitations(r.ctx(), r.access)
	if err != nil {
		return err
	}
	v := &teamView{Form: f, Link: link}
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

// invite shows the link in its own answer, and nowhere else.
func (p *Pages) invite(r *request) error {
	f, err := r.read(inviteForm)
	if err != nil {
		return err
	}
	if !f.ok() {
		return p.renderTeam(r, http.StatusUnprocessableEntity, f, "")
	}
	if err := r.once(f); err != nil {
		return err
	}
	link, err := p.cfg.Accounts.Invite(r.ctx(), r.access, account.Role(f.Value("role")))
	if err != nil {
		return err
	}
	return p.renderTeam(r, http.StatusOK, f, link)
}

type memberPage struct {
	layout
	Member account.Member
	Form   *formView
	Back   string
	Remove string
}

// member returns the member of the path.
func (r *request) member() (account.Member, error) {
	id, err := r.id("user")
	if err != nil {
		return account.Member{}, err
	}
	return r.pages.cfg.Accounts.Member(r.ctx(), r.access, id)
}

func (p *Pages) showMember(r *request) error {
	m, err := r.member()
	if err != nil {
		return err
	}
	f, err := r.blank(memberForm)
	if err != nil {
		return err
	}
	return r.renderMember(http.StatusOK, m, f.With("role", string(m.Role)))
}

func (r *request) renderMember(status int, m account.Member, f *formView) error {
	back := r.path(teamPath)
	return r.render(status, "member", &memberPage{Member: m, Form: f, Back: back, Remove: back + "/" + m.UserID.String() + "/remove"})
}

func (p *Pages) setRole(r *request) error {
	m, err := r.member()
	if err != nil {
		return err
	}
	f, err := r.read(memberForm)
	if err != nil {
		return err
	}
	status := http.StatusUnprocessableEntity
	if f.ok() {
		err := p.cfg.Accounts.SetRole(r.ctx(), r.access, m.UserID, account.Role(f.Value("role")))
		if err == nil {
			return r.done(r.path(teamPath), "role_set")
		}
		if err := f.refuse(err); err != nil {
			return err
		}
		status = http.StatusConflict
	}
	return r.renderMember(status, m, f)
}

func (p *Pages) showRemove(r *request) error { return r.confirmRemoval(nil) }

func (r *request) confirmRemoval(fault *page.Text) error {
	m, err := r.member()
	if err != nil {
		return err
	}
	return r.confirm(&confirmView{
		Title: page.Say("remove_member.title"), Body: page.Say("remove_member.body", "name", m.User.Name, "tenant", r.tenant.Name),
		Button: page.Say("remove_member.button"), Back: r.path(teamPath),
	}, fault)
}

func (p *Pages) remove(r *request) error {
	id, err := r.id("user")
	if err != nil {
		return err
	}
	err = p.cfg.Accounts.RemoveMember(r.ctx(), r.access, id)
	switch {
	case errors.Is(err, account.ErrLastOwner):
		return r.confirmRemoval(new(page.Say("remove_member.last")))
	case err != nil:
		return err
	case id == r.who.User().ID:
		return r.done(homePath, "left")
	}
	return r.done(r.path(teamPath), "member_removed")
}

func (p *Pages) showRevoke(r *request) error {
	return r.confirm(&confirmView{
		Title: page.Say("revoke.title"), Body: page.Say("revoke.body"), Button: page.Say("revoke.button"), Back: r.path(teamPath),
	}, nil)
}

func (p *Pages) revoke(r *request) error {
	if err := p.cfg.Accounts.RevokeInvitation(r.ctx(), r.access, r.Param("id")); err != nil {
		return err
	}
	return r.done(r.path(teamPath), "invitation_revoked")
}
