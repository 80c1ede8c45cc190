package webhook

import (
	"time"

	"agegate/internal/rules/fault"
)

// This file decides what happens after an attempt, with a new event and on a resend.
// The functions are pure: the Queue locks rows, calls the functions with them, and
// writes the results.

// FailureLimit is how long an endpoint may fail without a success before it is
// disabled. If no attempt is made for the same time, the run of failures ends.
const FailureLimit = 5 * 24 * time.Hour

// Action is the next step for a delivery after an attempt.
type Action int

// The actions.
const (
	ActionFinish  Action = iota
	ActionRetry          // try again after Disposition.RetryIn
	ActionGiveUp         // the schedule is used up
	ActionDisable        // 410: disable the endpoint, let the delivery wait
)

// Disposition is an action with, for ActionRetry, the wait before the next
// attempt.
type Disposition struct {
	Action  Action
	RetryIn time.Duration
}

// judge decides what to do after an answer at a step of the schedule. u in [0,
// 1) randomizes the wait.
func judge(answer Answer, schedule Schedule, step int, u float64) Disposition {
	switch {
	case answer.Class == ClassDelivered:
		return Disposition{Action: ActionFinish}
	case answer.StatusCode == 410:
		return Disposition{Action: ActionDisable}
	}
	wait, ok := schedule.Next(step, answer.RetryAfter, u)
	if !ok {
		return Disposition{Action: ActionGiveUp}
	}
	return Disposition{Action: ActionRetry, RetryIn: wait}
}

// Status returns the status of a delivery after an attempt. disabled says
// whether its endpoint is disabled, by this attempt or before.
func (o Disposition) Status(disabled bool) Status {
	switch {
	case o.Action == ActionFinish:
		return StatusDelivered
	case o.Action == ActionGiveUp:
		return StatusFailed
	case disabled:
		return StatusWaiting
	default:
		return StatusPending
	}
}

// After returns the state of the endpoint after an attempt. failedLately says
// whether an earlier attempt failed less than FailureLimit before now. A
// success ends the run of failures, but only EnableEndpoint enables a disabled
// endpoint.
func (e Endpoint) After(v Action, failedLately bool, now time.Time) Endpoint {
	if v == ActionFinish {
		e.FirstFailureAt = nil
		return e
	}
	if e.FirstFailureAt == nil || !failedLately {
		e.FirstFailureAt = &now
	}
	switch {
	case e.DisabledAt != nil:
	case v == ActionDisable:
		e.DisabledAt, e.DisabledReason = &now, DisabledGone
	case now.Sub(*e.FirstFailureAt) >= FailureLimit:
		e.DisabledAt, e.DisabledReason = &now, DisabledFailing
	}
	return e
}

// FirstStatus returns the status of a new event. disabled says whether its
// endpoint is disabled.
func FirstStatus(destination string, disabled bool) Status {
	switch {
	case destination == "":
		return StatusNoDestination
	case disabled:
		return StatusWaiting
	default:
		return StatusPending
	}
}

// MayResend reports whether an event can be made due now. It cannot while an
// attempt is running. It returns fault.Conflict for an event without a
// destination.
func MayResend(s Status, underWay bool) (bool, error) {
	if s == StatusNoDestination {
		return false, fault.New(fault.Conflict, "No webhook URL was registered when the session was created")
	}
	return !underWay, nil
}

// Refusals of a retry.
var (
	ErrLiveRetry  = fault.New(fault.Conflict, "only test events can be retried early; resend a live one")
	ErrNotPending = fault.New(fault.Conflict, "the event waits for no further attempt")
	ErrUnderWay   = fault.New(fault.Conflict, "an attempt is under way")
)

// MayRetry returns nil if the next attempt of an event can be made early, and
// otherwise the reason why not. underWay says that an attempt has been leased.
func MayRetry(livemode bool, s Status, underWay bool) error {
	switch {
	case livemode:
		return ErrLiveRetry
	case s != StatusPending:
		return ErrNotPending
	case underWay:
		return ErrUnderWay
	}
	return nil
}
