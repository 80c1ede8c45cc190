// Package session holds the life cycle of a verification: its states, the one
// table of transitions between them, and the service that creates, completes
// and looks up sessions.
package session

import (
	"time"

	"github.com/google/uuid"
)

// Status is the state of a session.
type Status string

// The statuses of a session. All but StatusPending are terminal.
const (
	StatusPending  Status = "PENDING"
	StatusPassed   Status = "PASSED"
	StatusFallback Status = "FALLBACK"
	StatusSpoof    Status = "SPOOF"
	StatusExpired  Status = "EXPIRED"
)

// Terminal reports whether no transition leads out of s.
func (s Status) Terminal() bool { return s != StatusPending }

// Result is the result of a check, named as in redirects and webhooks.
type Result string

// The results. Status returns the terminal status of each.
const (
	ResultVerified Result = "VERIFIED"
	ResultFallback Result = "ROUTED_TO_FALLBACK"
	ResultSpoof    Result = "SPOOF_DETECTED"
)

// Status returns the terminal status a result maps to.
func (r Result) Status() Status {
	switch r {
	case ResultVerified:
		return StatusPassed
	case ResultFallback:
		return StatusFallback
	default:
		return StatusSpoof
	}
}

// Source says where a result came from, as it is stored.
type Source string

// The sources of a result.
const (
	SourceCamera   Source = "camera"   // estimate and liveness
	SourceForced   Source = "forced"   // force= on a test session
	SourceDocument Source = "document" // the document check, or its refusal by the shopper
)

// Way is how a shopper proves their age in the document check.
type Way string

// The ways.
const (
	WayWallet Way = "wallet" // a statement of age from a wallet on the phone
	WayPhoto  Way = "photo"  // a photographed document and a selfie
)

// CheckResult is the result of one check of a session.
type CheckResult struct {
	Result   Result
	Source   Source
	Way      Way      // of a document that was read; empty when it was declined
	Estimate *float64 // years, one decimal; camera results only
	Claim    Claim    // whose camera check it was
	Request  []byte   // see Document
}

// Document is a document that was read and refused.
type Document struct {
	Way   Way
	Claim Claim // whose camera it was
	// Request is the nonce of the request to a wallet that it answers. The request
	// is used up with the result: each has one. Nil for a photograph.
	Request []byte
}

// NoEstimate is the verdict of a camera check that ends without an estimate:
// the attempts are used up, or the shopper goes on without the camera. The
// cutoff then counts as not met.
func NoEstimate(by Claim) CheckResult {
	return CheckResult{Result: ResultFallback, Source: SourceCamera, Claim: by}
}

// MaxDocuments is the most documents of a session that may be read and refused;
// the last of them ends the document check as not passed.
const MaxDocuments = 3

// MaxDocumentCamera is the camera time within which a session's documents may be
// photographed.
const MaxDocumentCamera = 10 * time.Minute

// Limits of the camera check.
const (
	MaxAttempts = 5 // captures started, whatever their result
	MaxStrikes  = 2 // failed liveness checks; the last of them ends the session as SPOOF
)

// MaxLifetime is the longest time from a session's creation to its expiry, a
// document check included.
const MaxLifetime = 24 * time.Hour

// RedirectGrace is how long after a pass the browser may fetch its redirect
// again.
const RedirectGrace = 15 * time.Minute

// Session is one verification. Times are UTC, in whole microseconds. The
// callback URLs are fixed at creation.
type Session struct {
	ID               uuid.UUID
	TenantID         uuid.UUID
	Livemode         bool
	TargetAge        int
	SuccessURL       string
	CancelURL        string
	WebhookURL       string // empty when the tenant had none registered
	LinkHash         []byte // SHA-256 of the token in the verification URL
	BrowserHash      []byte // SHA-256 of the first browser's cookie; nil until it starts
	Status           Status
	CreatedAt        time.Time
	ExpiresAt        time.Time
	CompletedAt      *time.Time    // set on PASSED, FALLBACK and SPOOF
	ConsentedAt      *time.Time    // the shopper accepted the visibility disclosure
	DetectedAge      *float64      // years, one decimal; consented sessions only
	DocumentOpenedAt *time.Time    // the document check was offered
	DocumentWay      Way           // of the last document that was read; empty for none
	DocumentAttempts int           // documents that were read and refused
	FaceMatchAt      *time.Time    // the shopper agreed that a document's portrait is compared with their face
	DocumentCamera   time.Duration // camera time that photographing documents has used, in whole milliseconds
	Attempts         int
	Strikes          int
	OpenedAt         *time.Time // the link was first opened
	BegunAt          *time.Time // the first capture began
	RedirectedAt     *time.Time // the success redirect was first made
	Source           Source     // of the result; empty until there is one
	Basis            Basis      // of the camera's decision on the age
	APIKeyID         *uuid.UUID // the key that created it; nil when no key did
	// NextRedirectExpired is set by the test clock: the next redirect is made with
	// a token that has expired. Test sessions only.
	NextRedirectExpired bool
}

// Basis is what a camera's decision on the age rested on. It holds no estimate.
type Basis struct {
	Cutoff      *float64 // years the estimate had to reach; nil when none was compared
	Calibration string   // fingerprint of the calibration; empty without one
}

// Decision is what completes a session.
type Decision struct {
	Status   Status
	At       time.Time
	Source   Source
	Estimate *float64 // to store; nil leaves what is stored
	Basis    Basis    // a nil Cutoff leaves what is stored
}

// StatusAt returns the effective status at now: a pending session past its
// expiry is EXPIRED, even if that has not been written yet.
func (s Session) StatusAt(now time.Time) Status { return statusAt(s.Status, s.ExpiresAt, now) }

func statusAt(s Status, expiresAt, now time.Time) Status {
	if s == StatusPending && !now.Before(expiresAt) {
		return StatusExpired
	}
	return s
}

// Standing holds the columns that a status lookup needs. Merchants poll the
// status, so it does not read the whole row.
type Standing struct {
	Status               Status
	CreatedAt, ExpiresAt time.Time
	CompletedAt          *time.Time
}

// DocumentOpen reports whether the document check has been offered and has not
// ended.
func (s Session) DocumentOpen() bool {
	return s.Status == StatusPending && s.DocumentOpenedAt != nil
}

// DocumentCameraLeft returns the camera time that is left for photographing
// documents.
func (s Session) DocumentCameraLeft() time.Duration {
	return max(0, MaxDocumentCamera-s.DocumentCamera)
}

// AttemptsLeft returns how many more captures the shopper may start.
func (s Session) AttemptsLeft() int { return max(0, MaxAttempts-s.Attempts) }
