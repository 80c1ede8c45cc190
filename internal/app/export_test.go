package app

// The jobs of the house, at once rather than in their time.
var (
	PruneSessions = (*App).pruneSessions
	ReleaseHolds  = (*App).releaseHolds
)
