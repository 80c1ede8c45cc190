package dashboard

import (
	"net/http"
	"slices"
	"time"

	"agegate/internal/pages/page"
	"agegate/internal/rules/insight"
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
)

func (p *Pages) keys() feature {
	const one = keysPath + "/:key"
	return feature{
		routes: []route{
			{method: http.MethodGet, path: keysPath, least: developer, handle: p.showKeys},
			{method: http.MethodGet, path: keysPath + "/new", least: developer, stepUp: inLive, handle: p.showNewKey},
			{method: http.MethodPost, path: keysPath + "/new", least: developer, stepUp: inLive, handle: p.makeKey},
			{method: http.MethodGet, path: one + "/roll", least: developer, stepUp: inLive, handle: p.showRollKey},
			{method: http.MethodPost, path: one + "/roll", least: developer, stepUp: inLive, handle: p.rollKey},
			{method: http.MethodGet, path: one + "/revoke", least: developer, stepUp: inLive, handle: p.showRevokeKey},
			{method: http.MethodPost, path: one + "/revoke", least: developer, stepUp: inLive, handle: p.revokeKey},
		},
		screens: []string{"keys", "confirm", "shown"},
		forms:   []*form{newKeyForm, rollKeyForm},
		notices: []string{"key_revoked"},
		keys: []string{
			"keys.new", "keys.new_body", "keys.create", "keys.made", "keys.made_lead", "keys.key", "keys.made_note", "keys.rolled", "keys.rolled_note",
			"keys.roll_title", "keys.roll_body", "keys.roll_button", "keys.fact_other", "keys.revoke_title", "keys.revoke_body", "keys.revoke_button",
			"keys.fact_used", "keys.fact_unused", "keys.fact_sessions", "keys.fact_only", "keys.fact_kept",
		},
	}
}

// unusedAfter is when a key that nobody uses is pointed out.
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
			shown := keyView{KeyUse: k, Unused: unused(k.APIKey, now), Revoke: r.path(keysPath) + "/" + k.ID.String() + "/revoke"}
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

func (p *Pages) showNewKey(r *request) error {
	f, err := r.blank(newKeyForm)
	if err != nil {
		return err
	}
	return r.render(http.StatusOK, "confirm", p.newKeyPage(r, f))
}

func (p *Pages) newKeyPage(r *request, f *formView) *confirmView {
	return &confirmView{
		Title: page.Say("keys.new"), Body: page.Say("keys.new_body"), Button: page.Say("keys.create"), Safe: true,
		Back: r.path(keysPath), Form: f,
	}
}

func (p *Pages) makeKey(r *request) error {
	f, err := r.read(newKeyForm)
	if err != nil {
		return err
	}
	if f.ok() {
		if err := r.once(f); err != nil {
			return err
		}
		_, plain, err := p.cfg.Tenants.CreateKey(r.ctx(), r.who.Actor(), r.access.TenantID(), r.access.Livemode(), f.Value("name"))
		if err == nil {
			return p.showKey(r, plain, page.Say("keys.made"), page.Say("keys.made_note"))
		}
		if err := f.refuse(err); err != nil {
			return err
		}
	}
	return r.render(http.StatusUnprocessableEntity, "confirm", p.newKeyPage(r, f))
}

// showKey shows a new key, this once.
func (p *Pages) showKey(r *request, plain string, title, note page.Text) error {
	return r.render(http.StatusOK, "shown", &shownView{
		Title: title, Lead: page.Say("keys.made_lead"), Back: r.path(keysPath),
		Values: []shownValue{{Label: page.Say("keys.key"), Value: plain, Note: note}},
		Curl: "curl " + p.cfg.APIURL + "/api/v1/sessions/create \\\n  -H 'X-API-Key: " + plain +
			"' \\\n  -H 'Content-Type: application/json' \\\n  -d '{\"target_age\": 18}'",
	})
}

// key returns the key of the path with its use, and how many of the mode are in
// force. A key of another mode or tenant is not found.
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

// keyFacts says how much a key is in use.
func keyFacts(k insight.KeyUse) []page.Text {
	facts := []page.Text{page.Say("keys.fact_unused")}
	if k.LastUsedAt != nil {
		facts[0] = page.Say("keys.fact_used", "at", stamp(*k.LastUsedAt))
	}
	return append(facts, page.Say("keys.fact_sessions", "n", int(k.Sessions)))
}

func (p *Pages) showRollKey(r *request) error {
	k, _, err := r.key()
	if err != nil {
		return err
	}
	f, err := r.blank(rollKeyForm)
	if err != nil {
		return err
	}
	return r.render(http.StatusOK, "confirm", p.rollPage(r, k, f.With("grace", "24h")))
}

func (p *Pages) rollPage(r *request, k insight.KeyUse, f *formView) *confirmView {
	return &confirmView{
		Title: page.Say("keys.roll_title", "key", k.Hint()), Body: page.Say("keys.roll_body"), Button: page.Say("keys.roll_button"),
		Facts: append(keyFacts(k), page.Say("keys.fact_other")), Back: r.path(keysPath), Form: f,
	}
}

func (p *Pages) rollKey(r *request) error {
	f, err := r.read(rollKeyForm)
	if err != nil {
		return err
	}
	if f.ok() {
		err = r.once(f)
	}
	if err != nil {
		return err
	}
	k, _, err := r.key()
	if err != nil {
		return err
	}
	if f.ok() {
		grace := overlaps[f.Value("grace")]
		_, plain, err := p.cfg.Tenants.RollKey(r.ctx(), r.who.Actor(), r.access.TenantID(), k.ID, grace)
		if err == nil {
			note := page.Say("keys.rolled_note", "key", k.Hint(), "end", stamp(p.cfg.Now().Add(grace)))
			return p.showKey(r, plain, page.Say("keys.rolled"), note)
		}
		if err := f.refuse(err); err != nil {
			return err
		}
	}
	return r.render(http.StatusUnprocessableEntity, "confirm", p.rollPage(r, k, f))
}

func (p *Pages) showRevokeKey(r *request) error {
	k, inForce, err := r.key()
	if err != nil {
		return err
	}
	v := &confirmView{
		Title: page.Say("keys.revoke_title", "key", k.Hint()), Body: page.Say("keys.revoke_body"), Button: page.Say("keys.revoke_button"),
		Facts: keyFacts(k), Back: r.path(keysPath),
	}
	if inForce == 1 {
		v.Facts = append(v.Facts, page.Say("keys.fact_only"))
	}
	v.Facts = append(v.Facts, page.Say("keys.fact_kept"))
	return r.confirm(v, nil)
}

func (p *Pages) revokeKey(r *request) error {
	if err := r.takeOnce(); err != nil {
		return err
	}
	k, _, err := r.key()
	if err != nil {
		return err
	}
	if err := p.cfg.Tenants.RevokeKey(r.ctx(), r.who.Actor(), r.access.TenantID(), k.ID); err != nil {
		return err
	}
	return r.done(r.path(keysPath), "key_revoked")
}
