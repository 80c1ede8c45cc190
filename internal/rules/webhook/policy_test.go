package webhook

import (
	"reflect"
	"testing"
	"time"

	"agegate/internal/rules/fault"
)

func TestJudge(t *testing.T) {
	s := Schedule{time.Second}
	for name, tc := range map[string]struct {
		answer Answer
		step   int
		want   Disposition
	}{
		"delivered":                   {Answer{Class: ClassDelivered, StatusCode: 204}, 0, Disposition{Action: ActionFinish}},
		"delivered, at the last step": {Answer{Class: ClassDelivered, StatusCode: 200}, 1, Disposition{Action: ActionFinish}},
		"refused": {Answer{Class: ClassStatus, StatusCode: 500}, 0,
			Disposition{ActionRetry, time.Second}},
		"redirected": {Answer{Class: ClassRedirect, StatusCode: 301}, 0, Disposition{ActionRetry, time.Second}},
		"blocked":    {Answer{Class: ClassBlocked}, 0, Disposition{ActionRetry, time.Second}},
		"asked to wait": {Answer{Class: ClassStatus, StatusCode: 429, RetryAfter: time.Minute}, 0,
			Disposition{ActionRetry, time.Minute}},
		"used up":                {Answer{Class: ClassTimeout}, 1, Disposition{Action: ActionGiveUp}},
		"gone":                   {Answer{Class: ClassStatus, StatusCode: 410}, 0, Disposition{Action: ActionDisable}},
		"gone, at the last step": {Answer{Class: ClassStatus, StatusCode: 410}, 1, Disposition{Action: ActionDisable}},
	} {
		if got := judge(tc.answer, s, tc.step, 0.5); got != tc.want {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
}

func TestStatusAfterAttempt(t *testing.T) {
	for name, tc := range map[string]struct {
		action   Action
		disabled bool
		want     Status
	}{
		"delivered":                        {ActionFinish, false, StatusDelivered},
		"delivered to a disabled endpoint": {ActionFinish, true, StatusDelivered},
		"used up":                          {ActionGiveUp, false, StatusFailed},
		"used up, endpoint disabled":       {ActionGiveUp, true, StatusFailed},
		"to be repeated":                   {ActionRetry, false, StatusPending},
		"failed, endpoint disabled":        {ActionRetry, true, StatusWaiting},
		"gone":                             {ActionDisable, true, StatusWaiting},
	} {
		if got := (Disposition{Action: tc.action, RetryIn: time.Second}).Status(tc.disabled); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

func TestEndpointAfterAttempt(t *testing.T) {
	now := time.Date(2026, 1, 10, 0, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) *time.Time {
		at := now.Add(-d)
		return &at
	}
	const day, limit = 24 * time.Hour, FailureLimit
	fine := Endpoint{}
	failing := func(since time.Duration) Endpoint { return Endpoint{FirstFailureAt: ago(since)} }
	disabled := func(since, at time.Duration, reason DisabledReason) Endpoint {
		return Endpoint{FirstFailureAt: ago(since), DisabledAt: ago(at), DisabledReason: reason}
	}
	for name, tc := range map[string]struct {
		before       Endpoint
		action       Action
		failedLately bool
		want         Endpoint
	}{
		"first success":        {fine, ActionFinish, false, fine},
		"success ends the run": {failing(day), ActionFinish, true, fine},
		"success enables nothing": {disabled(6*day, day, DisabledFailing), ActionFinish, false,
			Endpoint{DisabledAt: ago(day), DisabledReason: DisabledFailing}},
		"first failure":                        {fine, ActionRetry, false, failing(0)},
		"first failure, the schedule used up":  {fine, ActionGiveUp, false, failing(0)},
		"the run goes on":                      {failing(day), ActionRetry, true, failing(day)},
		"just before the limit":                {failing(limit - 1), ActionRetry, true, failing(limit - 1)},
		"at the limit":                         {failing(limit), ActionRetry, true, disabled(limit, 0, DisabledFailing)},
		"past the limit, the schedule used up": {failing(9 * day), ActionGiveUp, true, disabled(9*day, 0, DisabledFailing)},
		"a failure long ago is another run":    {failing(9 * day), ActionRetry, false, failing(0)},
		"gone":                                 {fine, ActionDisable, false, disabled(0, 0, DisabledGone)},
		"gone while failing":                   {failing(9 * day), ActionDisable, true, disabled(9*day, 0, DisabledGone)},
		"gone, disabled before": {disabled(6*day, day, DisabledFailing), ActionDisable, true,
			disabled(6*day, day, DisabledFailing)},
		"failing, gone before": {disabled(6*day, 6*day, DisabledGone), ActionRetry, true,
			disabled(6*day, 6*day, DisabledGone)},
	} {
		if got := tc.before.After(tc.action, tc.failedLately, now); !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
}

func TestFirstStatus(t *testing.T) {
	for _, tc := range []struct {
		destination string
		disabled    bool
		want        Status
	}{
		{"", false, StatusNoDestination},
		{"https://shop.example/hook", false, StatusPending},
		{"https://shop.example/hook", true, StatusWaiting},
	} {
		if got := FirstStatus(tc.destination, tc.disabled); got != tc.want {
			t.Errorf("%q, disabled %t: %s, want %s", tc.destination, tc.disabled, got, tc.want)
		}
	}
}

func TestMayResend(t *testing.T) {
	for _, tc := range []struct {
		status   Status
		underWay bool
		want     bool
		code     fault.Code
	}{
		{StatusPending, false, true, ""},
		{StatusPending, true, false, ""},
		{StatusDelivered, false, true, ""},
		{StatusFailed, false, true, ""},
		{StatusWaiting, false, true, ""},
		{StatusNoDestination, false, false, fault.Conflict},
	} {
		got, err := MayResend(tc.status, tc.underWay)
		if got != tc.want || (err != nil) != (tc.code != "") || err != nil && fault.CodeOf(err) != tc.code {
			t.Errorf("%s, under way %t: %t, %v", tc.status, tc.underWay, got, err)
		}
	}
}
