package insight

import (
	"cmp"
	"context"
	"slices"
	"time"

	"agegate/internal/rules/fault"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
	"agegate/internal/rules/webhook"

	"github.com/google/uuid"
)

// Record is everything that may be shown about one session. It has no estimated
// age, which only the merchant's backend may read.
type Record struct {
	ID          uuid.UUID
	Livemode    bool
	TargetAge   int
	Status      session.Status // effective
	CreatedAt   time.Time
	ExpiresAt   time.Time
	CompletedAt *time.Time
	OrderRef    string // the merchant's order; may be empty
	SuccessURL  string
	CancelURL   string
	WebhookURL  string // empty if the tenant had none
	Source      session.Source
	Basis       session.Basis  // on which the camera decided
	Key         *tenant.APIKey // the key that created the session; nil if none did or it is not known
	Keyless     bool           // no key created it: it was made in the dashboard or as a sample
	Estimate    session.Availability
	// MayRedirect and NextRedirectExpired are for the test clock; see session.TestClock.
	MayRedirect         bool
	NextRedirectExpired bool
	Story               Story
	Timeline            []Moment        // oldest first
	Event               *webhook.Record // with the result; nil if there is none
	Held                []Held
}

// MomentKind is the kind of a moment.
type MomentKind string

// The kinds of moment. Each comment names the fields of Moment that are set in addition to At.
const (
	MomentCreated    MomentKind = "created"
	MomentOpened     MomentKind = "opened"
	MomentConsented  MomentKind = "consented"
	MomentBegun      MomentKind = "begun"     // Attempts, Strikes: their current values
	MomentSetback    MomentKind = "setback"   // Why
	MomentFaceless   MomentKind = "faceless"  // Why; no face was there to begin an attempt
	MomentSaid       MomentKind = "said"      // Why; what the browser says of its camera
	MomentLast       MomentKind = "last"      // Why; how the last document was refused
	MomentOther      MomentKind = "other"     // Why; the page refuses another browser
	MomentHandover   MomentKind = "handover"  // the last code for another device was shown, and none joined by it
	MomentJoined     MomentKind = "joined"    // in its place if one did
	MomentCamera     MomentKind = "camera"    // Camera; set if a document was asked for afterwards
	MomentNoCamera   MomentKind = "no_camera" // Camera; in its place if no camera check had begun
	MomentDocument   MomentKind = "document"  // Way of the last document, Refused
	MomentResult     MomentKind = "result"    // Status, Source, Document, Way
	MomentExpired    MomentKind = "expired"   // Status
	MomentRedirected MomentKind = "redirected"
	MomentWebhook    MomentKind = "webhook" // Event, Attempt
)

// Moment is one line of a session's timeline.
type Moment struct {
	At       time.Time
	Kind     MomentKind
	Attempts int
	Strikes  int
	Status   session.Status
	Source   session.Source
	Event    *webhook.Record
	Attempt  *webhook.Attempt
	Way      session.Way // the way by which a document was read; empty if none
	Refused  int         // documents refused so far
	Document DocumentEnd // how a document check ended; empty if the result is not from one
	Camera   CameraEnd   // how the camera check ended
	Why      string      // of a setback, or a note
}

// DocumentEnd says how a document check ended.
type DocumentEnd string

// The ends of a document check.
const (
	DocumentProved   DocumentEnd = "proved"
	DocumentRefused  DocumentEnd = "refused"  // after the maximum number of refusals
	DocumentUnproved DocumentEnd = "unproved" // one was shown and did not pass
	DocumentUnlive   DocumentEnd = "unlive"   // no live person was confirmed beside it
	DocumentDeclined DocumentEnd = "declined" // the shopper went on without a document
)

// documentEnd returns how a session's document check ended.
func documentEnd(s session.Session) DocumentEnd {
	switch {
	case s.Source != session.SourceDocument:
		return ""
	case s.Status == session.StatusPassed:
		return DocumentProved
	case s.DocumentAttempts >= session.MaxDocuments:
		return DocumentRefused
	case s.Why() == session.WhyUnlive:
		return DocumentUnlive
	case s.Shown() != "":
		return DocumentUnproved
	}
	return DocumentDeclined
}

// Session returns the record of a session of the scope, or fault.NotFound.
func (s *Service) Session(ctx context.Context, scope Scope, id uuid.UUID) (Record, error) {
	sess, err := s.store.SessionByID(ctx, scope.TenantID, id)
	if err != nil || sess.Livemode != scope.Livemode {
		return Record{}, cmp.Or[error](err, errNotFound)
	}
	now := s.now()
	r := Record{
		ID: sess.ID, Livemode: sess.Livemode, TargetAge: sess.TargetAge, Status: sess.StatusAt(now),
		CreatedAt: sess.CreatedAt, ExpiresAt: sess.ExpiresAt, CompletedAt: sess.CompletedAt, OrderRef: sess.OrderRef,
		SuccessURL: sess.SuccessURL, CancelURL: sess.CancelURL, WebhookURL: sess.WebhookURL,
		Source: sess.Source, Basis: sess.Basis, Estimate: sess.EstimateAt(now),
		MayRedirect: sess.MayRedirect(now), NextRedirectExpired: sess.NextRedirectExpired, Story: StoryOf(sess, now),
		Timeline: momentsOf(sess, now),
	}
	if r.Keyless = sess.APIKeyID == nil; !r.Keyless {
		keys, err := s.store.Keys(ctx, scope.TenantID)
		if err != nil {
			return Record{}, err
		}
		if i := slices.IndexFunc(keys, func(k tenant.APIKey) bool { return k.ID == *sess.APIKeyID }); i >= 0 {
			r.Key = &keys[i]
		}
	}
	if err = cmp.Or(s.addAttempts(ctx, &r, sess), s.addHandover(ctx, &r, sess)); err != nil {
		return Record{}, err
	}
	slices.SortStableFunc(r.Timeline, func(a, b Moment) int { return a.At.Compare(b.At) })
	related, err := s.store.Related(ctx, sess)
	r.Held = heldOf(sess, related, now)
	if related.Wallet != nil && !r.Story.Forced {
		r.Story.Wallet = *related.Wallet
	}
	return r, err
}

// addHandover adds when a code for another device was shown last, and whether one has joined: a story follows to it.
func (s *Service) addHandover(ctx context.Context, r *Record, sess session.Session) error {
	row, err := s.store.HandoverOf(ctx, sess.LinkHash)
	if fault.CodeOf(err) == fault.NotFound {
		return nil
	}
	m := Moment{At: row.ExpiresAt.Add(-session.HandoverTTL), Kind: MomentHandover}
	if row.PhoneHash != nil {
		m.Kind, r.Story.Joined = MomentJoined, r.Status == session.StatusPending && after(m.At, sess.DocumentOpenedAt)
	}
	r.Timeline = append(r.Timeline, m)
	return err
}

var noteMoments = map[string]MomentKind{session.NoteBrowser: MomentSaid, session.NoteDocument: MomentLast,
	session.NoteLink: MomentOther, "camera": MomentFaceless}

// momentsOf returns the moments that the session's row shows. Moments with equal
// times are in the order in which they happened.
func momentsOf(sess session.Session, now time.Time) []Moment {
	list := []Moment{{At: sess.CreatedAt, Kind: MomentCreated}}
	add := func(at *time.Time, m Moment) {
		if at != nil {
			m.At = *at
			list = append(list, m)
		}
	}
	if sess.Source != session.SourceForced || sess.BrowserHash != nil { // no browser opened that of a test event
		add(sess.OpenedAt, Moment{Kind: MomentOpened})
	}
	add(sess.ConsentedAt, Moment{Kind: MomentConsented})
	add(sess.BegunAt, Moment{Kind: MomentBegun, Attempts: sess.Attempts, Strikes: sess.Strikes})
	for _, back := range sess.Setbacks {
		back = meant(sess, back)
		if kind, _, _ := back.Note(); back.Why != session.NoteForced { // the end of the camera check says it
			add(&back.At, Moment{Kind: cmp.Or(noteMoments[kind], MomentSetback), Why: back.Why})
		}
	}
	camera := Moment{Kind: MomentCamera, Camera: cameraEnd(sess)}
	if sess.BegunAt == nil {
		camera.Kind = MomentNoCamera
	}
	if camera.Camera != "" {
		add(sess.DocumentOpenedAt, camera)
	}
	add(sess.DocumentOpenedAt, Moment{Kind: MomentDocument, Way: sess.DocumentWay, Refused: sess.DocumentAttempts})
	result := Moment{Kind: MomentResult, Status: sess.Status, Source: sess.Source, Document: documentEnd(sess)}
	if sess.Source == session.SourceCamera {
		result.Camera = cameraEnd(sess)
	}
	if result.Document == DocumentProved {
		result.Way = sess.DocumentWay
	}
	add(sess.CompletedAt, result)
	if sess.StatusAt(now) == session.StatusExpired {
		add(&sess.ExpiresAt, Moment{Kind: MomentExpired, Status: session.StatusExpired})
	}
	add(sess.RedirectedAt, Moment{Kind: MomentRedirected})
	return list
}

// addAttempts adds a session's event, and the attempts to deliver it with the event as it was after them.
func (s *Service) addAttempts(ctx context.Context, r *Record, sess session.Session) error {
	scope := webhook.OfTenant(sess.TenantID)
	events, err := s.store.Events(ctx, webhook.Filter{Scope: scope, Session: sess.ID})
	if err != nil || len(events) == 0 {
		return err
	}
	e, attempts, err := s.store.EventByID(ctx, scope, events[0].ID)
	if err != nil {
		return err
	}
	r.Event = &e
	for _, a := range attempts {
		r.Timeline = append(r.Timeline, Moment{At: a.At, Kind: MomentWebhook, Event: &e, Attempt: &a})
	}
	return nil
}

// HeldKey identifies a stored field about the shopper. Pages show its name in the reader's language.
type HeldKey string

// Held says whether a field about the shopper is stored. Pictures are never stored, so there is no key for them.
type Held struct {
	Key    HeldKey
	Stored bool
	At     *time.Time
	Count  int
	Result session.Status
	Way    session.Way
}

// Related says which data about a session other tables hold.
type Related struct {
	LinkCopy bool // an idempotency claim holds the encrypted link
	Phone    bool // a handover was opened on a phone
	Event    bool
	Wallet   *string // what became of the request to a wallet, as in Story; nil if none is stored
}

// HeldKeys returns the fields about the shopper that a session can have.
func HeldKeys() (keys []HeldKey) {
	for _, held := range heldOf(session.Session{}, Related{}, time.Time{}) {
		keys = append(keys, held.Key)
	}
	return keys
}

// heldOf lists every field about the shopper, whether stored or not.
func heldOf(sess session.Session, b Related, now time.Time) []Held {
	timed := func(key HeldKey, at *time.Time) Held { return Held{Key: key, Stored: at != nil, At: at} }
	counted := func(key HeldKey, n int) Held { return Held{Key: key, Stored: n > 0, Count: n} }
	result := timed("result", sess.CompletedAt)
	if status := sess.StatusAt(now); status.Terminal() {
		result = Held{Key: "result", Stored: true, At: cmp.Or(sess.CompletedAt, &sess.ExpiresAt), Result: status}
	}
	return []Held{
		timed("created", &sess.CreatedAt),
		{Key: "link", Stored: true},            // digest of the secret in the link
		{Key: "link_copy", Stored: b.LinkCopy}, // the link, encrypted, to answer a repeated request
		timed("opened", sess.OpenedAt),
		{Key: "browser", Stored: sess.BrowserHash != nil}, // digest of a random cookie
		{Key: "phone", Stored: b.Phone},                   // digest of the cookie of a phone that took over the check
		timed("consent", sess.ConsentedAt),
		timed("begun", sess.BegunAt),
		counted("attempts", sess.Attempts),
		counted("strikes", sess.Strikes),
		counted("setbacks", len(sess.Setbacks)),                             // why attempts gave no result
		{Key: "estimate", Stored: sess.DetectedAge != nil},                  // never the number
		timed("document", sess.DocumentOpenedAt),                            // check offered
		{Key: "preferred", Stored: sess.DocumentPreferred},                  // a document to the camera
		{Key: "way", Stored: sess.DocumentWay != "", Way: sess.DocumentWay}, // the way of the last document
		counted("refusals", sess.DocumentAttempts),                          // of documents
		{Key: "request", Stored: b.Wallet != nil},                           // the open request to a wallet and its result
		timed("face_match", sess.FaceMatchAt),                               // consent to the comparison
		counted("filmed", int(sess.DocumentCamera.Seconds())),               // seconds of camera time for documents
		{Key: "next", Stored: sess.NextRedirectExpired},                     // its next redirect has an expired token
		result,
		timed("redirected", sess.RedirectedAt),
		{Key: "event", Stored: b.Event}, // the webhook event with the result
	}
}
