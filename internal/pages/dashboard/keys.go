package dashboard

import (
	"net/http"
	"slices"
	"time"

	"agegate/internal/backoffice/insight"
	"agegate/internal/pages/page"
	"agegate/internal/rules/tenant"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"
)

const keysPath = overviewPath + "/keys"

var (
	newKeyForm = &form{
		name:     "new_key",
		fields:   []field{{name: "name", kind: "text", max: tenant.MaxKeyName, hint: true}},
		problems: map[error]string{tenant.ErrKeyName: "name"},
	}
	rollKeyForm = &form{
		name:     "roll_key",
		fields:   []field{{name: "grace", kind: "select", options: overlapNames, hint: true}},
		problems: map[error]string{tenant.ErrKeyNotOpen: "ended"},
	}
	revokeKeyForm = &form{name: "revoke_key"}
)

func (p *Pages) keys() feature {
	at := func(path string) route { return route{path: keysPath + path, minRole: developer, stepUp: inLive} }
	f := feature{
		routes:  []route{{method: http.MethodGet, path: keysPath, minRole: developer, handle: p.showKeys}},
		screens: []string{"keys", "shown"},
	}
	f.ask(at("/new"), newKeyForm, p.newKey)
	f.ask(at("/:key/roll"), rollKeyForm, p.rollKey)
	f.ask(at("/:key/revoke"), revokeKeyForm, p.revokeKey)
	return f
}

// unusedAfter is the time after which an unused key is marked.
const unusedAfter = 30 * 24 * time.Hour

// keptKeys is how many keys that are no longer in force are listed.
const keptKeys = 20

type keysView struct {
	layout
	Open, Ended []keyView
	New         string // address
}

type keyView struct {
	insight.KeyUse
	Unused       bool
	Roll, Revoke string // addresses, or empty
}

func (p *Pages) showKeys(r *request) error {
	keys, err := p.cfg.Insight.Keys(r.ctx(), r.scope())
	if err != nil {
		return err
	}
	v, now := &keysView{New: r.path(keysPath + "/new")}, p.cfg.Now()
	slices.Reverse(keys)
	for _, k := range keys {
		switch {
		case k.InForceAt(now):
			shown := keyView{KeyUse: k, Unused: unused(k.APIKey, now), Revoke: r.path(keysPath) + "/" + k.ID.String() +
				"/revoke"}
			if k.ExpiresAt == nil {
				shown.Roll = r.path(keysPath) + "/" + k.ID.String() + "/roll"
			}
			v.Open = append(v.Open, shown)
		case len(v.Ended) < keptKeys:
			v.Ended = append(v.Ended, keyView{KeyUse: k})
		}
	}
	return r.render(http.StatusOK, "keys", v)
}

// unused reports whether a key has not been used for unusedAfter.
func unused(k tenant.APIKey, now time.Time) bool {
	last := k.CreatedAt
	if k.LastUsedAt != nil {
		last = *k.LastUsedAt
	}
	return now.Sub(last) >= unusedAfter
}

func (p *Pages) newKey(r *request) (*question, error) {
	return &question{Safe: true, Back: r.path(keysPath), do: func(f *formView) error {
		_, plain, err := p.cfg.Tenants.CreateKey(r.ctx(), r.who.Actor(), r.access.TenantID(), r.access.Livemode(),
			f.Value("name"))
		if err != nil {
			return err
		}
		return p.showKey(r, plain, page.Say("keys.made"), page.Say("keys.made_note"))
	}}, nil
}

// showKey shows a new key, only this time.
func (p *Pages) showKey(r *request, plain string, title, note page.Text) error {
	return r.render(http.StatusOK, "shown", &shownView{
		Title: title, Lead: page.Say("keys.made_lead"), Back: r.path(keysPath),
		Values: []shownValue{{Label: page.Say("keys.key"), Value: plain, Note: note}},
		// The documentation's examples name these variables.
		Curl: "export AGEGATE_URL=" + p.cfg.APIURL + " AGEGATE_API_KEY=" + plain +
			"\ncurl \"$AGEGATE_URL/api/v1/sessions/create\" \\\n  -H \"X-API-Key: $AGEGATE_API_KEY\" \\\n  -H 'Content-Type: " +
			"application/json' \\\n  -d '{\"target_age\": 18}'",
	})
}

// key returns the key in the path with its use, and the number of keys in force
// in the mode. It does not find a key of another mode or tenant.
func (r *request) key() (k insight.KeyUse, inForce int, err error) {
	id, err := r.id("key")
	if err != nil {
		return k, 0, err
	}
	keys, err := r.pages.cfg.Insight.Keys(r.ctx(), r.scope())
	if err != nil {
		return k, 0, err
	}
	now := r.pages.cfg.Now()
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
func keyFacts(k insight.KeyUse) []page.Text {
	facts := []page.Text{page.Say("keys.fact_unused")}
	if k.LastUsedAt != nil {
		facts[0] = page.Say("keys.fact_used", "at", stamp(*k.LastUsedAt))
	}
	return append(facts, page.Say("keys.fact_sessions", "n", int(k.Sessions)))
}

func (p *Pages) rollKey(r *request) (*question, error) {
	k, _, err := r.key()
	return &question{
		Values: []any{"key", k.Hint()}, Facts: append(keyFacts(k), page.Say("keys.fact_other")), Back: r.path(keysPath),
		begin: []string{"grace", "24h"},
		do: func(f *formView) error {
			grace := overlaps[f.Value("grace")]
			_, plain, err := p.cfg.Tenants.RollKey(r.ctx(), r.who.Actor(), r.access.TenantID(), k.ID, grace)
			if err != nil {
				return err
			}
			note := page.Say("keys.rolled_note", "key", k.Hint(), "end", stamp(p.cfg.Now().Add(grace)))
			return p.showKey(r, plain, page.Say("keys.rolled"), note)
		},
	}, err
}

func (p *Pages) revokeKey(r *request) (*question, error) {
	k, inForce, err := r.key()
	facts := keyFacts(k)
	if inForce == 1 {
		facts = append(facts, page.Say("keys.fact_only"))
	}
	return &question{
		Values: []any{"key", k.Hint()}, Facts: append(facts, page.Say("keys.fact_kept")), Back: r.path(keysPath),
		do: func(*formView) error {
			if err := p.cfg.Tenants.RevokeKey(r.ctx(), r.who.Actor(), r.access.TenantID(), k.ID); err != nil {
				return err
			}
			return r.done(r.path(keysPath), "key_revoked")
		},
	}, err
}
