package webhook

import (
	"context"
	"time"
)

// Operations is the Journal, and wakes the dispatcher of this process when a
// delivery became due. Commands of operators use it.
type Operations struct {
	Journal
	wake func()
}

// NewOperations returns Operations on the journal. wake is called after a
// delivery became due. It may be nil in a process without a dispatcher; those
// of other processes poll.
func NewOperations(journal Journal, wake func()) *Operations {
	if wake == nil {
		wake = func() {}
	}
	return &Operations{Journal: journal, wake: wake}
}

// ResendEvent is Journal.ResendEvent, sent without delay.
func (o *Operations) ResendEvent(ctx context.Context, scope Scope, id string) error {
	defer o.wake()
	return o.Journal.ResendEvent(ctx, scope, id)
}

// ResendFailedEvents is Journal.ResendFailedEvents, sent without delay.
func (o *Operations) ResendFailedEvents(ctx context.Context, scope Scope, since time.Time) (int, error) {
	defer o.wake()
	return o.Journal.ResendFailedEvents(ctx, scope, since)
}

// EnableEndpoint is Journal.EnableEndpoint, sent without delay.
func (o *Operations) EnableEndpoint(ctx context.Context, scope Scope, id string) (int, error) {
	defer o.wake()
	return o.Journal.EnableEndpoint(ctx, scope, id)
}
