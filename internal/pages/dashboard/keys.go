package dashboard

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"agegate/internal/backoffice/insight"
	"agegate/internal/pages/dashboard/desk"
	"agegate/internal/pages/page"
	"agegate/internal/rules/tenant"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"
)

const keysPath = overviewPath + "/keys"

var (
	newKeyForm = &desk.Form{
		Name:     "new_key",
		Fields:   []desk.Field{{Name: "name", Kind: "text", Max: tenant.MaxKeyName, Hint: true}},
		Problems: map[error]string{tenant.ErrKeyName: "name"},
	}
	rollKeyForm = &desk.Form{
		Name:     "roll_key",
		Fields:   []desk.Field{{Name: "grace", Kind: "select", Options: overlapNames, Hint: true}},
		Problems: map[error]string{tenant.ErrKeyNotOpen: "ended"},
	}
	revokeKeyForm = &desk.Form{Name: "revoke_key"}
)

func (p *Pages) keys() desk.Feature {
	at := func(path string) desk.Route {
		return desk.Route{Path: keysPath + path, MinRole: desk.Developer, StepUp: desk.InLive}
	}
	f := desk.Feature{
		Routes:  []desk.Route{{Method: http.MethodGet, Path: keysPath, MinRole: desk.Developer, Handle: p.showKeys}},
		Screens: []string{"keys", "shown"},
	}
	f.Ask(at("/new"), newKeyForm, p.newKey)
	f.Ask(at("/:key/roll"), rollKeyForm, p.rollKey)
	f.Ask(at("/:key/revoke"), revokeKeyForm, p.revokeKey)
	return f
}

// unusedAfter is the time after which an unused key is marked.
const unusedAfter = 30 * 24 * time.Hour

// keptKeys is how many keys that are no longer in force are listed.
const keptKeys = 20

type keysView struct {
	desk.Layout
	Open, Ended []keyView
	New         string // address
	Left        *page.Text
}

type keyView struct {
	insight.KeyUse
	Unused       bool
	List         string // address of its sessions
	Roll, Revoke string // addresses, or empty
}

// Count is the number of sessions, as a text takes it.
func (v keyView) Count() int { return int(v.Sessions) }

func (p *Pages) showKeys(r *desk.Request) error {
	keys, err := p.cfg.Insight.Keys(r.Ctx(), r.Scope())
	if err != nil {
		return err
	}
	v, now := &keysView{New: r.Href(keysPath + "/new")}, p.cfg.Now()
	if !r.Access.Livemode() {
		if v.Left, err = p.testsLeft(r); err != nil {
			return err
		}
	}
	slices.Reverse(keys)
	for _, k := range keys {
		switch {
		case k.InForceAt(now):
			shown := keyView{KeyUse: k, Unused: now.Sub(*cmp.Or(k.LastUsedAt, &k.CreatedAt)) >= unusedAfter,
				List:   r.Href(sessionsPath) + "?key=" + k.ID.String(),
				Revoke: r.Href(keysPath) + "/" + k.ID.String() + "/revoke"}
			if k.ExpiresAt == nil {
				shown.Roll = r.Href(keysPath) + "/" + k.ID.String() + "/roll"
			}
			v.Open = append(v.Open, shown)
		case len(v.Ended) < keptKeys:
			v.Ended = append(v.Ended, keyView{KeyUse: k})
		}
	}
	return r.Show(http.StatusOK, "keys", v)
}

func (p *Pages) newKey(r *desk.Request) (*desk.Question, error) {
	q := &desk.Question{Safe: true, Back: r.Href(keysPath), Do: func(f *desk.FormView) error {
		_, plain, err := p.cfg.Tenants.CreateKey(r.Ctx(), r.Who.Actor(), r.Access.TenantID(), r.Access.Livemode(),
			f.Value("name"))
		if err != nil {
			return err
		}
		return p.showKey(r, plain, page.Say("keys.made"), page.Say("keys.made_note"))
	}}
	if !r.Access.Livemode() {
		return q, nil
	}
	list, err := p.cfg.Insight.Checklist(r.Ctx(), r.Tenant)
	if unread, err := r.Unread("checklist", err); unread || err != nil {
		return q, err
	}
	q.Todos = p.openOf(r, list)
	return q, nil
}

// liveTodos are the items of the checklist without which live sessions fail, the webhook URL if it is set.
var liveTodos = []string{"success_url", "cancel_url", "webhook_url", "https", "allowance"}

// openOf returns the texts and addresses of the open liveTodos of a checklist.
func (p *Pages) openOf(r *desk.Request, list insight.Checklist) (found [][2]string) {
	open, _ := p.todosOf(r, list)
	for _, todo := range open {
		if slices.Contains(liveTodos, todo.Name) && (todo.Name != "webhook_url" || todo.Flaw != "") {
			found = append(found, [2]string{todo.Text, todo.Href})
		}
	}
	return found
}

// showKey shows a new key. The key cannot be shown again.
func (p *Pages) showKey(r *desk.Request, plain string, title, note page.Text) error {
	return r.Show(http.StatusOK, "shown", &shownView{Title: title, Lead: page.Say("keys.made_lead"),
		Back: r.Href(keysPath), Values: []shownValue{{Label: page.Say("keys.key"), Value: plain, Note: note}},
		// The documentation's examples name these variables.
		Curl: "export AGEGATE_URL=" + p.cfg.APIURL + " AGEGATE_API_KEY=" + plain + `
curl -sS "$AGEGATE_URL/api/v1/sessions/create" \
  -H "X-API-Key: $AGEGATE_API_KEY" -H "Content-Type: application/json" \
  -H "Idempotency-Key: $(openssl rand -hex 16)" -d '{"target_age": 18}'`})
}

// key returns the key in the path, if it is of the mode and tenant, with its use, and how many keys are in force.
func (p *Pages) key(r *desk.Request) (k insight.KeyUse, inForce int, err error) {
	id, err := r.ID("key")
	if err != nil {
		return k, 0, err
	}
	keys, err := p.cfg.Insight.Keys(r.Ctx(), r.Scope())
	if err != nil {
		return k, 0, err
	}
	now := p.cfg.Now()
	for _, other := range keys {
		if other.ID == id {
			k = other
		}
		if other.InForceAt(now) {
			inForce++
		}
	}
	if k.ID == uuid.Nil || !k.InForceAt(now) {
		return k, 0, echo.ErrNotFound
	}
	return k, inForce, nil
}

// keyFacts describes the use of a key.
func keyFacts(r *desk.Request, k insight.KeyUse) []page.Text {
	facts := []page.Text{page.Say("keys.fact_unused")}
	if k.LastUsedAt != nil {
		facts[0] = page.Say("keys.fact_used", "at", stamp(r, *k.LastUsedAt))
	}
	if k.LastUsedAt != nil || k.Sessions > 0 {
		facts = append(facts, page.Say("keys.fact_sessions", "n", int(k.Sessions)))
	}
	return facts
}

func (p *Pages) rollKey(r *desk.Request) (*desk.Question, error) {
	k, _, err := p.key(r)
	return &desk.Question{
		Values: []any{"key", k.Hint()}, Facts: append(keyFacts(r, k), page.Say("keys.fact_other")), Back: r.Href(keysPath),
		Begin: []string{"grace", "24h"},
		Do: func(f *desk.FormView) error {
			grace := overlaps[f.Value("grace")]
			_, plain, err := p.cfg.Tenants.RollKey(r.Ctx(), r.Who.Actor(), r.Access.TenantID(), k.ID, grace)
			if err != nil {
				return err
			}
			note := page.Say("keys.rolled_note", "key", k.Hint(), "end", stamp(r, p.cfg.Now().Add(grace)))
			return p.showKey(r, plain, page.Say("keys.rolled"), note)
		},
	}, err
}

func (p *Pages) revokeKey(r *desk.Request) (*desk.Question, error) {
	k, inForce, err := p.key(r)
	facts := keyFacts(r, k)
	if inForce == 1 {
		facts = append(facts, page.Say("keys.fact_only"))
	}
	return &desk.Question{
		Values: []any{"key", k.Hint()}, Facts: append(facts, page.Say("keys.fact_kept")), Back: r.Href(keysPath),
		Do: func(*desk.FormView) error {
			err := p.cfg.Tenants.RevokeKey(r.Ctx(), r.Who.Actor(), r.Access.TenantID(), k.ID)
			return r.After(err, r.Href(keysPath), "key_revoked")
		},
	}, err
}
