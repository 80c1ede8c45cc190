package dashboard

import (
	"strings"

	"agegate/internal/pages/dashboard/desk"
	"agegate/internal/pages/page"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/tenant"

	"github.com/google/uuid"
)

const findPath = operatorPath + "/find"

var findForm = &desk.Form{
	Name: "find", Again: true,
	Fields: []desk.Field{{Name: "text", Kind: "search", Max: 2000}},
}

var operatorSubPages = []subPage{
	{"new_tenant", "operator.create", newTenantPath, "tenants"},
	{"account", "nav.account", accountPath, ""},
}

// operatorFind is the search of the operator's pages.
func (p *Pages) operatorFind() desk.Feature {
	f := desk.Feature{
		Screens: []string{"paste"},
		Keys: append(pageKeys(operatorNav, operatorSubPages), "find.lead", "find.text_hint", "find.nothing", "lookup.tenant",
			"lookup.session", "lookup.user", "lookup.page"),
	}
	f.Fill(desk.Route{Path: findPath, MinRole: desk.Operator}, findForm, func(r *desk.Request) (*desk.Question, error) {
		v := &pasteView{Of: "find", Nothing: page.Say("find.nothing"), Places: p.shops(r)}
		return v.question(r, func(text string) (err error) {
			v.Hits, err = p.operatorHits(r, strings.TrimSpace(text))
			return err
		}), nil
	})
	return f
}

// sessionWithin returns the session of a tenant with an ID, if the operator is a member or has entered.
func (p *Pages) sessionWithin(r *desk.Request, t tenant.Tenant, text string) ([]hitView, error) {
	within := *r
	id, wrong := uuid.Parse(text)
	access, err := p.cfg.Accounts.Enter(r.Ctx(), r.Who, t.ID, true)
	if within.Access = access; wrong != nil || err != nil || !within.Opens(sessionPath) {
		return nil, nil //nolint:nilerr // no session's ID, or no way in
	}
	return p.sessionHits(&within, id.String(), p.sessionsNamed)
}

// operatorHits returns the operator's pages, the tenants and the users that a text
// names, or the tenant whose session's ID or link it has.
func (p *Pages) operatorHits(r *desk.Request, text string) ([]hitView, error) {
	if len(text) < minLetters {
		return nil, nil
	}
	switch given := recognize(text); given.kind {
	case pastedSecret:
		return nil, nil
	case pastedSession:
		text = given.text
	case pastedLink:
		sess, err := p.cfg.Sessions.ByLink(r.Ctx(), given.text)
		if err != nil && fault.CodeOf(err) != fault.NotFound {
			return nil, err
		}
		text = sess.ID.String()
	}
	hits, err := p.pagesOf(r, strings.ToLower(text), operatorNav, operatorSubPages)
	if err != nil {
		return nil, err
	}
	hits = narrowed(hits, hitView.whole)
	tenants, err := p.cfg.Tenants.FindTenants(r.Ctx(), text)
	if err != nil {
		return nil, err
	}
	for _, t := range tenants[:min(len(tenants), maxHits)] {
		session, err := p.sessionWithin(r, t, text)
		if err != nil {
			return nil, err
		}
		hits = append(hits, session...)
		hits = append(hits, hitView{Kind: "lookup.tenant", Name: t.Name, recordLink: recordLink{Href: operatedPath(t.ID)}})
	}
	users, err := p.cfg.Accounts.FindUsers(r.Ctx(), text, maxHits)
	for _, u := range users {
		hits = append(hits, hitView{Kind: "lookup.user", Name: u.Name + " · " + u.Email,
			recordLink: recordLink{Href: usersPath + "?user=" + u.ID.String()}})
	}
	return hits, err
}
