package dashboard

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"agegate/internal/backoffice/insight"
	"agegate/internal/pages/dashboard/desk"
	"agegate/internal/pages/page"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/tenant"
	"agegate/internal/rules/webhook"

	"github.com/google/uuid"
)

// Functions that the pages for developers share.

// deliveryScope returns the scope of changes to deliveries: the request's tenant and mode.
func deliveryScope(r *desk.Request) webhook.Scope {
	return webhook.OfMode(r.Access.TenantID(), r.Access.Livemode())
}

// inModes looks something up in the modes that the log-in may see, test mode first.
func inModes[T any](r *desk.Request, look func(insight.Scope) (T, error)) (it T, found bool, err error) {
	for _, livemode := range livemodesOf(r) {
		it, err = look(insight.Scope{TenantID: r.Access.TenantID(), Livemode: livemode})
		if fault.CodeOf(err) != fault.NotFound {
			return it, err == nil, err
		}
	}
	return it, false, nil
}

// livemodesOf returns the modes that the log-in may see, the page's own first. With a
// password alone, that is only test mode.
func livemodesOf(r *desk.Request) []bool {
	if r.Who.Strong() {
		return []bool{r.Access.Livemode(), !r.Access.Livemode()}
	}
	return []bool{false}
}

// recordLink is a link to the page of a record.
type recordLink struct {
	Href     string
	Livemode bool // of the record
}

// sessionLink returns a link to the session with an ID in a mode that the log-in may see, or nil.
func (p *Pages) sessionLink(r *desk.Request, id uuid.UUID) (*recordLink, error) {
	record, found, err := inModes(r, func(s insight.Scope) (insight.Record, error) {
		return p.cfg.Insight.Session(r.Ctx(), s, id)
	})
	if err != nil || !found {
		return nil, err
	}
	path := strings.Replace(sessionPath, ":session", record.ID.String(), 1)
	return &recordLink{inMode(r, record.Livemode, path), record.Livemode}, nil
}

// eventLink is sessionLink for the ID of a webhook event. It returns nil for any other text.
func (p *Pages) eventLink(r *desk.Request, id string) (*recordLink, error) {
	bare, isEvent := strings.CutPrefix(id, "evt_")
	if _, ok := desk.ParseID(bare); !isEvent || !ok {
		return nil, nil
	}
	event, found, err := inModes(r, func(s insight.Scope) (insight.Delivery, error) {
		return p.cfg.Insight.Delivery(r.Ctx(), s, id)
	})
	if err != nil || !found {
		return nil, err
	}
	path := strings.Replace(eventPath, ":event", event.ID, 1)
	return &recordLink{inMode(r, event.Livemode, path), event.Livemode}, nil
}

// inMode returns the address of a path in a mode, which may differ from the page's.
func inMode(r *desk.Request, livemode bool, pattern string) string {
	return desk.Href(pattern, r.Access.TenantID().String(), audit.Mode(livemode))
}

// modeName is the key of a mode's name.
func modeName(livemode bool) string {
	if livemode {
		return "page.live"
	}
	return "page.test"
}

// stamp formats a time for use in a text, in the reader's time zone.
func stamp(r *desk.Request, t time.Time) string { return t.In(r.Zone()).Format("2006-01-02 15:04 MST") }

// overlaps are the values of tenant.RotationOverlaps by their names in forms.
var (
	overlaps     = map[string]time.Duration{"0": 0, "1h": time.Hour, "24h": 24 * time.Hour, "72h": 72 * time.Hour}
	overlapNames = []string{"0", "1h", "24h", "72h"}
)

// shownView is the page that shows secrets, the screen "shown". It answers only
// POST, and is neither compressed nor cached.
type shownView struct {
	desk.Layout
	Title, Lead page.Text
	Values      []shownValue
	Curl        string // a command that uses the first value; may be empty
	Back        string
}

// shownValue is one secret.
type shownValue struct {
	Label, Note page.Text
	Value       string
}

// secretView is a secret in a list.
type secretView struct {
	State   string // active, staged or retiring
	Tone    string // of its badge
	Created time.Time
	Ends    *time.Time
}

// secretViews returns the secrets in force for a list.
func (p *Pages) secretViews(r *desk.Request, kind tenant.SecretKind) ([]secretView, error) {
	secrets, err := p.cfg.Tenants.Secrets(r.Ctx(), r.Access.TenantID(), r.Access.Livemode(), kind)
	views := make([]secretView, 0, len(secrets))
	for _, s := range secrets {
		tone := map[tenant.SecretState]string{tenant.SecretActive: "good", tenant.SecretRetiring: "warn"}[s.State]
		views = append(views, secretView{string(s.State), cmp.Or(tone, "plain"), s.CreatedAt, s.ExpiresAt})
	}
	return views, err
}

// secretKeys are the texts that describe secrets; kind is webhook or redirect.
func secretKeys(kind string) []string {
	states := []tenant.SecretState{tenant.SecretActive, tenant.SecretStaged, tenant.SecretRetiring}
	return slices.Concat(page.Keys(kind+"_secret.", "reveal_title", "reveal_lead"), page.Keys("secret.", states...),
		page.Keys(kind+"_secret.note_", states...))
}

// askToReveal asks for confirmation before it shows the secrets of a kind in force.
// back is the pattern of the page that leads to it.
func (p *Pages) askToReveal(kind tenant.SecretKind, back string) desk.Finder {
	return func(r *desk.Request) (*desk.Question, error) {
		return &desk.Question{Safe: true, Back: r.Href(back), Do: func(*desk.FormView) error {
			secrets, err := p.cfg.Tenants.RevealSecrets(r.Ctx(), r.Who.Actor(), r.Access.TenantID(), r.Access.Livemode(), kind)
			if err != nil {
				return err
			}
			prefix := string(kind) + "_secret."
			v := &shownView{Title: page.Say(prefix + "reveal_title"), Lead: page.Say(prefix + "reveal_lead"), Back: r.Href(back)}
			for _, s := range secrets {
				end := ""
				if s.ExpiresAt != nil {
					end = stamp(r, *s.ExpiresAt)
				}
				v.Values = append(v.Values, shownValue{
					Label: page.Say("secret." + string(s.State)), Value: s.Plain,
					Note: page.Say(prefix+"note_"+string(s.State), "end", end),
				})
			}
			return r.Show(200, "shown", v)
		}}, nil
	}
}
