package session

import (
	"context"
	"time"

	"agegate/internal/rules/tenant"

	"github.com/google/uuid"
)

// ImpactWindow is how far back Impacts looks for creations.
const ImpactWindow = 7 * 24 * time.Hour

// maxImpact is the most sessions that Impacts looks at.
const maxImpact = 10_000

// Impact says what a change of a tenant's callback URLs would have done to the
// sessions of the last ImpactWindow.
type Impact struct {
	Refused  int  // creations that would have been refused
	Open     int  // open sessions that keep a webhook URL which is no longer the tenant's
	Complete bool // false: only the newest sessions were looked at, so there may be more
}

// Destinations are where a session sends the browser and its event.
type Destinations struct {
	Status                            Status
	ExpiresAt                         time.Time
	SuccessURL, CancelURL, WebhookURL string
}

// ImpactStore reads what Impacts looks at.
type ImpactStore interface {
	// RecentDestinations returns those of a tenant's sessions of both modes that
	// were created at or after since, the newest first and at most limit.
	RecentDestinations(ctx context.Context, tenantID uuid.UUID, since time.Time, limit int) ([]Destinations, error)
}

// Impacts tells the consequences of settings before they are saved.
type Impacts struct {
	store ImpactStore
	rule  tenant.CallbackRule
	now   func() time.Time
}

// NewImpacts returns the service over a store.
func NewImpacts(store ImpactStore, rule tenant.CallbackRule, now func() time.Time) *Impacts {
	return &Impacts{store, rule, now}
}

// OfURLs returns what would have happened if the tenant had had the callback
// URLs of next. A session's URL counts as named by its creation if it is not the
// one that the tenant has now.
func (i *Impacts) OfURLs(ctx context.Context, present, next tenant.Tenant) (Impact, error) {
	now := i.now()
	recent, err := i.store.RecentDestinations(ctx, present.ID, now.Add(-ImpactWindow), maxImpact)
	impact := Impact{Complete: len(recent) < maxImpact}
	allowed := map[string]bool{} // by URL; most sessions have the same ones
	refused := func(used, registered, nextRegistered string) bool {
		if used == registered {
			return nextRegistered == ""
		}
		ok, known := allowed[used]
		if !known {
			endpoint, err := i.rule.Parse(used)
			ok = err == nil && i.rule.Registered(endpoint, next.CallbackURLs())
			allowed[used] = ok
		}
		return !ok
	}
	for _, d := range recent {
		if refused(d.SuccessURL, present.SuccessURL, next.SuccessURL) || refused(d.CancelURL, present.CancelURL, next.CancelURL) {
			impact.Refused++
		}
		if !statusAt(d.Status, d.ExpiresAt, now).Terminal() && d.WebhookURL != next.WebhookURL {
			impact.Open++
		}
	}
	return impact, err
}
