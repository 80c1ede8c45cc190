package session

import (
	"context"
	"time"

	"agegate/internal/rules/tenant"

	"github.com/google/uuid"
)

// ImpactWindow is how far back Impacts looks for creations.
const ImpactWindow = 7 * 24 * time.Hour

// maxImpact is the maximum number of sessions that Impacts examines.
const maxImpact = 10_000

// Impact describes how a change of a tenant's callback URLs would have affected
// the sessions of the last ImpactWindow.
type Impact struct {
	Refused  int  // sessions whose creation would have been refused
	Open     int  // open sessions whose webhook URL would no longer be the tenant's
	Complete bool // false if there may be more sessions than the newest ones that were examined
}

// Destinations are where a session sends the browser and its event.
type Destinations struct {
	Status                            Status
	ExpiresAt                         time.Time
	SuccessURL, CancelURL, WebhookURL string
}

// ImpactStore reads the data for Impacts.
type ImpactStore interface {
	// RecentDestinations returns the destinations of a tenant's sessions of both
	// modes that were created at or after since, newest first, at most limit.
	RecentDestinations(ctx context.Context, tenantID uuid.UUID, since time.Time, limit int) ([]Destinations, error)
}

// Impacts computes the consequences of settings before they are saved.
type Impacts struct {
	store ImpactStore
	rule  tenant.CallbackRule
	now   func() time.Time
}

// NewImpacts returns the service over a store.
func NewImpacts(store ImpactStore, rule tenant.CallbackRule, now func() time.Time) *Impacts {
	return &Impacts{store, rule, now}
}

// OfURLs returns the impact if the tenant had had the callback URLs of next. If a
// session's URL is not the tenant's current one, the request that created the
// session is assumed to have named it.
func (i *Impacts) OfURLs(ctx context.Context, present, next tenant.Tenant) (Impact, error) {
	now := i.now()
	recent, err := i.store.RecentDestinations(ctx, present.ID, now.Add(-ImpactWindow), maxImpact)
	impact := Impact{Complete: len(recent) < maxImpact}
	allowed := map[string]bool{} // by URL; most sessions have the same URLs
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
		if refused(d.SuccessURL, present.SuccessURL, next.SuccessURL) ||
			refused(d.CancelURL, present.CancelURL, next.CancelURL) {
			impact.Refused++
		}
		if !statusAt(d.Status, d.ExpiresAt, now).Terminal() && d.WebhookURL != next.WebhookURL {
			impact.Open++
		}
	}
	return impact, err
}
