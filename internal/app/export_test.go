package app

// The jobs of the house, at once rather than in their time.
var (
	PruneSessions = (*App).pruneSessions
	ReleaseHolds  = (*App).releaseHolds
)

// RecordDeciding is what a process with models does when it starts.
var RecordDeciding = recordDeciding
