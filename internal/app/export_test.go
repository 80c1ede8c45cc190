package app

// The housekeeping jobs, for tests to run at once.
var (
	PruneSessions = (*App).pruneSessions
	ReleaseHolds  = (*App).releaseHolds
)

// RecordDeciding is what a process with models calls when it starts.
var RecordDeciding = recordDeciding
