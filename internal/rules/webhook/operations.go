package webhook

import (
	"context"
	"time"

	"agegate/internal/rules/audit"
)

// Operations is a Journal for operators' commands. It also writes each change
// to the audit log and wakes this process's dispatcher when a delivery becomes
// due.
type Operations struct {
	Journal
	now  func() time.Time
	wake func()
}

// NewOperations returns Operations on the journal. wake is called after a
// delivery became due. It may be nil in a process without a dispatcher;
// dispatchers of other processes find the delivery by polling.
func NewOperations(journal Journal, now func() time.Time, wake func()) *Operations {
	if wake == nil {
		wake = func() {}
	}
	return &Operations{Journal: journal, now: now, wake: wake}
}

// ResendEvent calls Journal.ResendEvent and wakes the dispatcher.
func (o *Operations) ResendEvent(ctx context.Context, actor audit.Actor, scope Scope, id string) error {
	defer o.wake()
	return o.Journal.ResendEvent(ctx, scope, id,
		audit.Act{At: o.now(), Actor: actor, Action: audit.EventResend, Target: id})
}

// RetryEvent calls Journal.RetryEvent and wakes the dispatcher.
func (o *Operations) RetryEvent(ctx context.Context, actor audit.Actor, scope Scope, id string) error {
	defer o.wake()
	return o.Journal.RetryEvent(ctx, scope, id, audit.Act{At: o.now(), Actor: actor, Action: audit.EventRetry, Target: id})
}

// ResendFailedEvents calls Journal.ResendFailedEvents and wakes the dispatcher.
// A resend for all tenants is written to the log of the instance.
func (o *Operations) ResendFailedEvents(
	ctx context.Context, actor audit.Actor, scope Scope, since time.Time,
) (int, error) {
	defer o.wake()
	act := audit.Act{
		Scope: audit.Instance, At: o.now(), Actor: actor, Action: audit.EventResendFailed,
		Detail: audit.Detail{Params: map[string]string{"created_since": since.UTC().Format(time.RFC3339)}},
	}
	if tenant, all := scope.Tenant(); !all {
		act.Scope, act.Target = audit.OfTenant(tenant), tenant.String()
		if livemode := scope.Livemode(); livemode != nil {
			act.Detail.Params["mode"] = audit.Mode(*livemode)
		}
	}
	return o.Journal.ResendFailedEvents(ctx, scope, since, act)
}

// EnableEndpoint calls Journal.EnableEndpoint and wakes the dispatcher.
func (o *Operations) EnableEndpoint(ctx context.Context, actor audit.Actor, scope Scope, id string) (int, error) {
	defer o.wake()
	return o.Journal.EnableEndpoint(ctx, scope, id,
		audit.Act{At: o.now(), Actor: actor, Action: audit.EndpointEnable, Target: id})
}
