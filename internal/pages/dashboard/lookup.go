package dashboard

import (
	"slices"
	"strings"

	"agegate/internal/backoffice/account"
	"agegate/internal/backoffice/insight"
	"agegate/internal/pages/dashboard/desk"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/session"

	"github.com/google/uuid"
)

// Bounds of a search: matches of one kind, and letters with which names are searched.
const (
	maxHits    = 10
	minLetters = 2
)

// hitView is something that a search found.
type hitView struct {
	Kind    string // key of what it is
	Name    string
	Mode    string          // key of its mode; empty if it has none
	Session *sessionRowView // of a session
	recordLink
}

// lookUp searches for a short text in the modes that the log-in opens: sessions by
// order, by Idempotency-Key, by the beginning of an ID, and by the beginning of an
// order if nothing else fits, and keys, members and pages. Every read of sessions is
// one range of an index.
func (p *Pages) lookUp(r *desk.Request, text string) ([]hitView, error) {
	hits, err := p.sessionHits(r, text, p.sessionsNamed)
	if err == nil && hits == nil && len(text) >= minLetters {
		hits, err = p.sessionHits(r, text, p.sessionsBegun)
	}
	if err != nil || len(text) < minLetters {
		return hits, err
	}
	for _, find := range []func(*desk.Request, string) ([]hitView, error){p.keysNamed, p.membersNamed, p.pagesNamed} {
		found, err := find(r, strings.ToLower(text))
		if err != nil {
			return nil, err
		}
		hits = append(hits, found[:min(len(found), maxHits)]...)
	}
	return hits, nil
}

// lookUpEach searches for sessions by several whole names, such as 1042, 1043.
func (p *Pages) lookUpEach(r *desk.Request, names []string) (hits []hitView, err error) {
	for _, name := range names {
		found, err := p.sessionHits(r, name, p.sessionsNamed)
		if err != nil {
			return nil, err
		}
		for _, hit := range found {
			if !slices.ContainsFunc(hits, func(other hitView) bool { return other.Href == hit.Href }) {
				hits = append(hits, hit)
			}
		}
	}
	return hits, nil
}

// sessionHits returns the sessions that find returns for a text in each mode that the
// log-in opens.
func (p *Pages) sessionHits(
	r *desk.Request, text string, find func(*desk.Request, insight.Scope, string) ([]insight.SessionRow, error),
) (hits []hitView, err error) {
	for _, livemode := range livemodesOf(r) {
		scope := insight.Scope{TenantID: r.Access.TenantID(), Livemode: livemode}
		rows, err := find(r, scope, text)
		if err != nil {
			return nil, err
		}
		for _, row := range newRows(rows, inMode(r, livemode, sessionsPath)) {
			hits = append(hits, hitView{Kind: "lookup.session", Name: row.ID.String(), Mode: modeName(livemode), Session: &row,
				recordLink: recordLink{Href: row.Href, Livemode: livemode}})
		}
	}
	return hits, nil
}

// sessionsBegun returns sessions of a scope with an order that begins with a text.
func (p *Pages) sessionsBegun(r *desk.Request, scope insight.Scope, text string) ([]insight.SessionRow, error) {
	order := session.TypedOrder(text)
	if order == "" {
		return nil, nil
	}
	return p.cfg.Insight.Find(r.Ctx(), scope, insight.OrderStart, order, maxHits)
}

// sessionsNamed returns the newest sessions of a scope that a text names.
func (p *Pages) sessionsNamed(
	r *desk.Request, scope insight.Scope, text string,
) (rows []insight.SessionRow, err error) {
	if order := session.TypedOrder(text); order != "" {
		if rows, err = p.cfg.Insight.Find(r.Ctx(), scope, insight.Order, order, maxHits); err != nil {
			return nil, err
		}
	}
	filter := insight.SessionFilter{Prefix: strings.ToLower(text)}
	id, err := p.cfg.Sessions.ByIdempotencyKey(r.Ctx(), scope.TenantID, scope.Livemode, text)
	switch {
	case err == nil:
		filter.Prefix = id.String()
	case fault.CodeOf(err) != fault.NotFound:
		return nil, err
	}
	if idPrefix.MatchString(filter.Prefix) || err == nil {
		page, err := p.cfg.Insight.Sessions(r.Ctx(), scope, filter, uuid.Nil)
		if err != nil {
			return nil, err
		}
		known := func(row insight.SessionRow) bool {
			return slices.ContainsFunc(rows, func(other insight.SessionRow) bool { return other.ID == row.ID })
		}
		rows = append(rows, slices.DeleteFunc(page.Rows, known)...)
	}
	return rows[:min(len(rows), maxHits)], nil
}

// keysNamed returns the API keys with a name that contains the text, or that end
// with it.
func (p *Pages) keysNamed(r *desk.Request, text string) (hits []hitView, err error) {
	if !r.Opens(keysPath) {
		return nil, nil
	}
	keys, err := p.cfg.Tenants.Keys(r.Ctx(), r.Access.TenantID())
	for _, k := range keys {
		shown := strings.Contains(strings.ToLower(k.Name), text) || strings.ToLower(k.LastFour) == text
		if shown && slices.Contains(livemodesOf(r), k.Livemode) {
			hits = append(hits, hitView{Kind: "lookup.key", Name: strings.TrimSpace(k.Name + " …" + k.LastFour),
				Mode: modeName(k.Livemode), recordLink: recordLink{Href: inMode(r, k.Livemode, keysPath), Livemode: k.Livemode}})
		}
	}
	return hits, err
}

// membersNamed returns the members of the team with a name or an address that
// contains the text.
func (p *Pages) membersNamed(r *desk.Request, text string) (hits []hitView, err error) {
	if !r.Opens(teamPath) {
		return nil, nil
	}
	members, err := p.cfg.Accounts.Members(r.Ctx(), r.Access)
	if fault.CodeOf(err) == fault.NotFound || err != nil {
		return nil, err
	}
	for _, m := range members {
		if strings.Contains(strings.ToLower(m.User.Name), text) || strings.Contains(m.User.Email, text) {
			hits = append(hits, hitView{Kind: "lookup.member", Name: m.User.Name + " · " + m.User.Email,
				recordLink: recordLink{Href: memberHref(r, m), Livemode: r.Access.Livemode()}})
		}
	}
	return hits, nil
}

// memberHref returns the address where a member's role is set. For the user's own
// membership it is the team's page.
func memberHref(r *desk.Request, m account.Member) string {
	if m.UserID == r.Who.User().ID || !r.Opens(memberPath) {
		return r.To(teamPath)
	}
	return r.Href(teamPath) + "/" + m.UserID.String()
}
