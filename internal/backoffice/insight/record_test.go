package insight

import (
	"context"
	"testing"

	"agegate/internal/rules/session"
	"agegate/internal/rules/webhook"
)

// delivering has an event that is delivered between two reads.
type delivering struct{ Store }

func (delivering) Events(context.Context, webhook.Filter) ([]webhook.Record, error) {
	return []webhook.Record{{Status: webhook.StatusPending}}, nil
}

func (delivering) EventByID(context.Context, webhook.Scope, string) (webhook.Record, []webhook.Attempt, error) {
	return webhook.Record{Status: webhook.StatusDelivered}, []webhook.Attempt{{Number: 1}}, nil
}

// TestAnEventIsAsNewAsItsAttempts: a page that shows the attempt does not offer to make it early.
func TestAnEventIsAsNewAsItsAttempts(t *testing.T) {
	t.Parallel()
	s := Service{store: delivering{}}
	var r Record
	if err := s.addAttempts(t.Context(), &r, session.Session{}); err != nil || len(r.Timeline) != 1 ||
		r.Timeline[0].Event.Status != webhook.StatusDelivered || r.Event != r.Timeline[0].Event {
		t.Errorf("%+v, %v", r, err)
	}
}
