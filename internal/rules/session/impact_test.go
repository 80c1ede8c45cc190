package session

import (
	"context"
	"testing"
	"time"

	"agegate/internal/rules/tenant"

	"github.com/google/uuid"
)

type recent []Destinations

func (r recent) RecentDestinations(context.Context, uuid.UUID, time.Time, int) ([]Destinations, error) {
	return r, nil
}

func TestImpactOfURLs(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	present := tenant.Tenant{SuccessURL: "https://a.example/ok", CancelURL: "https://b.example/no",
		WebhookURL: "https://c.example/hook"}
	session := func(status Status, success, cancel, webhook string) Destinations {
		return Destinations{status, now.Add(time.Minute), success, cancel, webhook}
	}
	of := func(success, cancel, webhook string) tenant.Tenant {
		return tenant.Tenant{SuccessURL: success, CancelURL: cancel, WebhookURL: webhook}
	}
	plain := session(StatusPassed, present.SuccessURL, present.CancelURL, present.WebhookURL)
	named := session(StatusPassed, "https://b.example/other?order=7", present.CancelURL, present.WebhookURL)
	open := session(StatusPending, present.SuccessURL, present.CancelURL, present.WebhookURL)
	late := open
	late.ExpiresAt = now
	older := session(StatusPending, present.SuccessURL, present.CancelURL, "https://old.example/")
	all := recent{plain, named, open, late, older}
	for name, tt := range map[string]struct {
		next tenant.Tenant
		want Impact
	}{
		"nothing":           {present, Impact{0, 1, true}},
		"the other path":    {of("https://a.example/2", "https://b.example/2", present.WebhookURL), Impact{0, 1, true}},
		"a host less":       {of(present.SuccessURL, "https://a.example/no", present.WebhookURL), Impact{1, 1, true}},
		"still a webhook's": {of(present.SuccessURL, "https://a.example/no", "https://b.example/hook"), Impact{0, 2, true}},
		"another port":      {of(present.SuccessURL, "https://b.example:444/no", present.WebhookURL), Impact{1, 1, true}},
		"no success URL":    {of("", present.CancelURL, present.WebhookURL), Impact{4, 1, true}},
		"nothing left":      {of("", "", ""), Impact{5, 2, true}},
	} {
		got, err := NewImpacts(all, tenant.CallbackRule{}, func() time.Time { return now }).OfURLs(t.Context(), present,
			tt.next)
		if err != nil || got != tt.want {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, tt.want)
		}
	}
	many := make(recent, maxImpact)
	for i := range many {
		many[i] = plain
	}
	got, err := NewImpacts(many, tenant.CallbackRule{}, func() time.Time { return now }).OfURLs(t.Context(), present,
		of("", "", ""))
	if err != nil || got != (Impact{Refused: maxImpact}) {
		t.Errorf("too many to count: %+v, %v", got, err)
	}
}
