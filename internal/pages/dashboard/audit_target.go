package dashboard

import (
	"cmp"
	"slices"
	"strings"

	"agegate/internal/backoffice/account"
	"agegate/internal/pages/dashboard/desk"
	"agegate/internal/rules/audit"

	"github.com/google/uuid"
)

// targetView is the target of an entry, with the name by which people know it.
type targetView struct {
	Name string // of a person or a key; may be empty
	End  string // the last letters of the ID, or of a key; empty for whom a name is enough
	Full string // the whole ID
	Href string // its page; may be empty
}

// keyName returns a key's name with the end of the key.
func keyName(name, end string) string { return strings.TrimSpace(name + " …" + end) }

// auditNames are the names of the targets of one page's entries. The log itself holds
// IDs only, so that old entries do not keep a name that was changed or deleted.
type auditNames struct {
	names    map[string]string // of users, and those that deleted tenants had, by ID
	keys     map[string]targetView
	accepted map[string]string // who accepted an invitation, by its ID
	tenants  map[uuid.UUID]string
}

// subject is the kind of thing that an entry is about.
func subject(e audit.Entry) string {
	kind, _, _ := strings.Cut(string(e.Action), ".")
	switch kind {
	case "member", "user", "passkey", "password", "totp", "recovery_codes", "login", "logins":
		return "user"
	}
	return kind
}

// namesOf reads the names for the entries of a page. It reads a kind of name only if the entries need it.
func (p *Pages) namesOf(r *desk.Request, entries []audit.Entry) (n auditNames, err error) {
	n = auditNames{map[string]string{}, map[string]targetView{}, map[string]string{}, nil}
	about, of := map[string]bool{}, []uuid.UUID{}
	for _, e := range entries {
		about[subject(e)] = true
		about["api_key"] = about["api_key"] || e.Actor.IsTestKey()
		if id, err := uuid.Parse(string(e.Scope)); err == nil {
			of = append(of, id)
		}
	}
	if about["user"] {
		if err := p.nameUsers(r, entries, n.names); err != nil {
			return n, err
		}
	}
	if !r.Route.HasTenant() {
		n.tenants, err = p.cfg.Tenants.Names(r.Ctx(), of)
		if slices.ContainsFunc(of, func(id uuid.UUID) bool { return n.tenants[id] == "" }) {
			deleted, unread := p.cfg.Audit.AuditEntries(r.Ctx(), audit.Filter{Scope: audit.Instance, Action: audit.TenantDelete})
			for _, e := range deleted {
				n.names[e.Target] = e.Details().Params["name"]
			}
			err = cmp.Or(err, unread)
		}
		return n, err
	}
	if about["api_key"] {
		keys, err := p.cfg.Tenants.Keys(r.Ctx(), r.Access.TenantID())
		if err != nil {
			return n, err
		}
		for _, k := range keys {
			n.keys[k.ID.String()] = targetView{Name: k.Name, End: k.LastFour}
		}
	}
	if about["invitation"] {
		err = p.nameAccepted(r, n.accepted)
	}
	return n, err
}

// nameUsers reads the names of the users that the entries are about, including former members.
func (p *Pages) nameUsers(r *desk.Request, entries []audit.Entry, names map[string]string) error {
	if r.Route.HasTenant() {
		members, err := p.cfg.Accounts.Members(r.Ctx(), r.Access.TenantID())
		if err != nil {
			return err
		}
		for _, m := range members {
			names[m.UserID.String()] = m.User.Name
		}
	}
	var former []uuid.UUID
	for _, e := range entries {
		id, err := uuid.Parse(e.Target)
		if _, known := names[e.Target]; !known && err == nil && subject(e) == "user" {
			former = append(former, id)
		}
	}
	if len(former) == 0 {
		return nil
	}
	users, err := p.cfg.Accounts.UsersByID(r.Ctx(), former)
	for _, u := range users {
		names[u.ID.String()] = u.Name
	}
	return err
}

// of returns the tenant in whose log an entry stands, or nil on a page of one log.
func (n auditNames) of(e audit.Entry) *targetView {
	id, err := uuid.Parse(string(e.Scope))
	if n.tenants == nil || err != nil {
		return nil
	}
	name, exists := n.tenants[id]
	if !exists { // it was deleted
		return &targetView{Name: n.names[id.String()], Full: id.String()}
	}
	return &targetView{Name: name, Href: operatedPath(id)}
}

// nameAccepted reads who joined the tenant by which invitation.
func (p *Pages) nameAccepted(r *desk.Request, names map[string]string) error {
	joined, err := p.cfg.Audit.AuditEntries(r.Ctx(), audit.Filter{
		Scope: audit.OfTenant(r.Access.TenantID()), Action: audit.MemberAdd, Limit: auditPage,
	})
	for _, e := range joined {
		if id := e.Details().Params[account.InvitationParam]; id != "" {
			names[id] = e.Actor.Name
		}
	}
	return err
}

// target returns the view of an entry's target, or nil for the tenant itself and for an entry without one.
func (n auditNames) target(r *desk.Request, e audit.Entry) *targetView {
	if e.Target == "" || e.Target == string(e.Scope) {
		return nil
	}
	_, end := desk.SplitID(e.Target)
	v := targetView{Full: e.Target, End: end}
	switch subject(e) {
	case "user":
		if name := n.names[e.Target]; name != "" {
			v.Name, v.End = name, ""
		}
	case "api_key":
		if key, ok := n.keys[e.Target]; ok {
			v.Name, v.End = key.Name, key.End
		}
	case "session":
		if r.Opens(sessionPath) && e.Action != audit.SessionDelete {
			v.Href = r.Href(sessionsPath) + "/" + e.Target
		}
	case "webhook_event":
		if r.Opens(eventPath) {
			v.Href = eventsPath(r) + e.Target
		}
	}
	return &v
}
