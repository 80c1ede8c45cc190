// Package session holds the life cycle of a verification: its states, the table
// of transitions between them, and the service that creates, completes and looks
// up sessions.
package session

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"agegate/internal/rules/tenant"

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

// Terminal reports whether s is final.
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
	}
	return StatusSpoof
}

// Source says where the result of a session came from. SourceReceiver says that the
// session gets no result. It is stored.
type Source string

// The sources.
const (
	SourceCamera   Source = "camera"   // estimate and liveness
	SourceForced   Source = "forced"   // force= on a test session
	SourceDocument Source = "document" // the document check, or its refusal by the shopper
	// SourceReceiver marks a session with which release 0.2 tested the merchant's webhook
	// receiver. It has no shopper, so figures leave it out.
	SourceReceiver Source = "receiver"
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
	Way      Way      // of a document that was read; empty if the check was declined
	Estimate *float64 // years, one decimal; camera results only
	Cutoff   float64  // years that the estimate had to reach; with Estimate
	// Preferred says that the shopper chose a document before the camera was used;
	// see PreferDocument.
	Preferred bool
	Claim     Claim  // the device of the camera check
	Request   []byte // see Document
}

// Document is a document that was refused.
type Document struct {
	Way   Way
	Claim Claim // the device of the camera
	// Request is the nonce of the wallet request that the document answers; nil
	// for a photograph. The result uses up the request.
	Request  []byte
	Doubtful bool   // no document was read clearly; this does not count
	Why      string // as the page names it
}

// NoEstimate returns the result of a camera check that ends without an estimate:
// the attempts are used up, or the shopper continues without the camera. The
// cutoff then counts as not met.
func NoEstimate(by Claim) CheckResult {
	return CheckResult{Result: ResultFallback, Source: SourceCamera, Claim: by}
}

// PreferDocument returns the result of a camera check that the shopper replaces by
// a document before its first attempt. The cutoff counts as not met. The result
// does not apply if the tenant has the document check off or an attempt has begun.
func PreferDocument(by Claim) CheckResult {
	v := NoEstimate(by)
	v.Preferred = true
	return v
}

// MaxDocuments is how many documents of a session may be read and refused; the
// last of them ends the document check as not passed.
const MaxDocuments = 3

// MaxDocumentCamera is the maximum camera time for photographing a session's
// documents.
const MaxDocumentCamera = 10 * time.Minute

// Limits of the camera check.
const (
	MaxAttempts = 5 // captures started, with any result
	MaxStrikes  = 2 // failed liveness checks; the last of them ends the session as SPOOF
)

// MaxLifetime is the longest time from a session's creation to its expiry,
// including a document check.
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
	WebhookURL       string // empty if the tenant had none registered
	LinkHash         []byte // of the token in the verification URL, see credential.NewLink
	BrowserHash      []byte // SHA-256 of the first browser's cookie; nil until it starts
	Status           Status
	CreatedAt        time.Time
	ExpiresAt        time.Time
	CompletedAt      *time.Time // set on PASSED, FALLBACK and SPOOF
	ConsentedAt      *time.Time // the shopper accepted the visibility disclosure
	DetectedAge      *float64   // years, one decimal; consented sessions only
	DocumentOpenedAt *time.Time // the document check was offered
	// DocumentPreferred says that the shopper chose the document check instead of
	// the camera.
	DocumentPreferred bool
	DocumentWay       Way        // of the last document that was read; empty if there was none
	DocumentAttempts  int        // documents that were read and refused
	FaceMatchAt       *time.Time // the shopper agreed to the comparison of a document's portrait with their face
	// DocumentCamera is the camera time used to photograph documents, in whole milliseconds.
	DocumentCamera time.Duration `gorm:"column:document_camera_ms;serializer:milliseconds"`
	Attempts       int
	Strikes        int
	OpenedAt       *time.Time // the link was first opened
	BegunAt        *time.Time // the first capture began
	RedirectedAt   *time.Time // the success redirect was first made
	Source         Source     // of the result; SourceReceiver, or empty without a result
	Basis          Basis      `gorm:"embedded"` // of the camera's age decision
	APIKeyID       *uuid.UUID // the key that created the session; nil if no key did
	// NextRedirectExpired is set by the test clock: the next redirect gets an
	// expired token. Test sessions only.
	NextRedirectExpired bool
	Setbacks            []Setback `gorm:"serializer:json"`
	OrderRef            string    // the merchant's order, from the success URL of the request; may be empty
}

// Setback is a way of the camera step back to its beginning: when, and which Why. The list also
// has notes, which decide nothing: a kind of note, "_" and a word.
type Setback struct {
	At  time.Time
	Why string
}

// The kinds of notes, and whole ones.
const (
	NoteBrowser  = "browser"         // one of Troubles, as the browser says
	NoteDocument = "document"        // why the last refused document was refused
	NoteForced   = "forced_fallback" // a test forced it, and the document check opened
	NoteFaceless = "camera_faceless" // pictures came, and no face to begin with
	NoteWallet   = "wallet"          // why a wallet's answer proved nothing, one of wallet.Complaints
	NotePhoto    = "photo"           // the photo.Stage in which the camera check of a document broke off
	NoteLink     = "link"            // what happened to the link: NoteOther
	NoteOther    = "link_other"      // the link was opened in a browser to which the session is not bound
)

// Troubles are why a browser says that its camera gives no pictures, or TroubleBlocked.
var Troubles = []string{"missing", "refused", "in_use", "frozen", "unreadable", "insecure", "embedded", "unplugged",
	"failed", TroubleBlocked}

// TroubleBlocked is that something on the way lets none of its pictures through.
const TroubleBlocked = "blocked"

// Note returns the kind and the word of a note; of a setback it reports false.
func (b Setback) Note() (kind, word string, ok bool) { return strings.Cut(b.Why, "_") }

// Why an attempt ended without a result. It is stored.
const (
	WhyAgain   = "again"   // the shopper was not seen well enough
	WhyLeft    = "left"    // the page or the network closed its stream
	WhyAstray  = "astray"  // the head did not follow the prompts
	WhyUnmoved = "unmoved" // the head did not move as a prompt asks
	WhyHasty   = "hasty"   // the head moved too fast to be seen moving
	WhyDrawn   = "drawn"   // the face did not look photographed
	WhyUnsure  = "unsure"  // no live person was confirmed
	WhyBusy    = "busy"    // the server was too slow, failed or stopped

	WhyDoubtful = "doubtful" // photographs did not clearly show one document
	WhyUnlive   = "unlive"   // no live person was confirmed beside a document
)

// Last returns the word of the last note of a kind; empty if there is none. Of NoteDocument, it is why the last
// refused document was refused, unless another document ended the check.
func (s Session) Last(kind string) (word string) {
	for _, back := range s.Setbacks {
		if k, w, _ := back.Note(); k == kind {
			word = w
		}
	}
	return word
}

// Shown returns the way in which the last document was shown, read or not; empty if none was.
func (s Session) Shown() Way {
	if s.Status == StatusPassed {
		return s.DocumentWay
	}
	way := s.DocumentWay
	for _, back := range s.Setbacks {
		switch kind, word, _ := back.Note(); {
		case kind == NoteDocument:
			way = cmp.Or(s.DocumentWay, WayWallet) // whose answer waits for the page
		case kind == NoteWallet && word != "declined":
			way = WayWallet
		case kind == NotePhoto, kind == WhyDoubtful, kind == WhyUnlive:
			way = WayPhoto
		}
	}
	return way
}

// Why returns why the last attempt gave no result; empty if none has begun. The end
// of a stream that has just been closed may not be kept yet.
func (s Session) Why() string {
	for _, back := range slices.Backward(s.Setbacks) {
		if _, _, note := back.Note(); !note {
			return back.Why
		}
	}
	if s.Attempts > 0 {
		return WhyLeft
	}
	return ""
}

// Basis is the basis of a camera's age decision. It contains no estimate.
type Basis struct {
	Cutoff      *float64 // years the estimate had to reach; nil if none was compared
	Calibration string   // fingerprint of the calibration; empty without one
}

// Decision is the data with which a result changes a session.
type Decision struct {
	Status   Status
	At       time.Time
	Source   Source
	Estimate *float64 // to store; nil keeps the stored one
	Basis    Basis    // a nil Cutoff keeps the stored one
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
	TenantID             uuid.UUID
	Status               Status
	CreatedAt, ExpiresAt time.Time
	CompletedAt          *time.Time
}

// DocumentOpen reports whether the document check has been offered and has not
// ended.
func (s Session) DocumentOpen() bool {
	return s.Status == StatusPending && s.DocumentOpenedAt != nil
}

// WithoutCamera reports that no camera check can follow: a document check is open,
// or the tenant takes documents only.
func (s Session) WithoutCamera(of tenant.Tenant) bool { return s.DocumentOpen() || of.DocumentOnly }

// DocumentCameraLeft returns the camera time that is left for photographing
// documents.
func (s Session) DocumentCameraLeft() time.Duration {
	return max(0, MaxDocumentCamera-s.DocumentCamera)
}

// DocumentsLeft returns how many more documents may be read and refused.
func (s Session) DocumentsLeft() int { return max(0, MaxDocuments-s.DocumentAttempts) }

// AttemptsLeft returns how many more captures the shopper may start.
func (s Session) AttemptsLeft() int { return max(0, MaxAttempts-s.Attempts) }
