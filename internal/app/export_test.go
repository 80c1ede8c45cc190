package app

import "context"

// The housekeeping jobs, for tests to run at once.
var (
	PruneSessions = (*App).pruneSessions
	ReleaseHolds  = (*App).releaseHolds
	TellEnded     = (*App).tellEnded
)

// RecordDeciding is what a process with models calls when it starts.
var RecordDeciding = recordDeciding

// LookForAlerts tells staff of what does not work, as it happens every few minutes.
func LookForAlerts(ctx context.Context, a *App) error { return a.api.alerts.look(ctx) }
