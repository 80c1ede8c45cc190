package session

import (
	"context"
	"errors"
	"io"
	"time"

	"agegate/internal/billing"
	"agegate/internal/credential"
	"agegate/internal/fault"
	"agegate/internal/tenant"
	"agegate/internal/webhook"

	"github.com/google/uuid"
)

// Config are the operator's choices about sessions.
type Config struct {
	VerifyURL string        // base of verification URLs, without a trailing slash
	TTL       time.Duration // from creation, or from a step of the document check, to expiry
	TokenTTL  time.Duration // from mint to expiry of a redirect token
	Rule      tenant.CallbackRule
	Limits    billing.Limits
	Observe   func(id uuid.UUID, entered Status, livemode bool) // told of creations and completions; nil: nobody is
}

// Service is the life of sessions. A real result, a forced one and a document
// result all end in Resolve.
type Service struct {
	cfg     Config
	store   Store
	tenants Tenants
	sealer  *credential.Sealer
	random  io.Reader
	now     func() time.Time
	wake    func() // tells the webhook dispatcher that an event was committed
}

// NewService returns a service over a store. random must be
// cryptographically secure; now must return UTC in whole microseconds; wake
// must not block.
func NewService(cfg Config, store Store, tenants Tenants, sealer *credential.Sealer, random io.Reader, now func() time.Time, wake func()) *Service {
	return &Service{cfg: cfg, store: store, tenants: tenants, sealer: sealer, random: random, now: now, wake: wake}
}

var (
	errNotFound = fault.New(fault.NotFound, "Session not found")
	// ErrLate refuses a result for a session that has already ended.
	ErrLate = fault.New(fault.Gone, "Session is no longer open")
)

// errLost rolls back a transaction whose conditional update found the session
// in another state.
var errLost = errors.New("session: lost the race")

// StatusView is what a lookup tells of a session.
type StatusView struct {
	Status Status
	At     time.Time // when the status took effect
}

// Status looks a session up, writing EXPIRED first if its time has passed. It
// returns fault.NotFound, or fault.Conflict for a completed session without a
// completion time.
func (s *Service) Status(ctx context.Context, tenantID, id uuid.UUID) (StatusView, error) {
	standing, err := s.store.StandingByID(ctx, tenantID, id)
	if err != nil {
		return StatusView{}, notFoundAs(err, errNotFound)
	}
	now := s.now()
	if standing.Status == statusAt(standing.Status, standing.ExpiresAt, now) {
		return statusView(standing)
	}
	if _, err := s.store.ExpireSession(ctx, id, now); err != nil {
		return StatusView{}, err
	}
	// Read again: a result, or another lookup, may have come first.
	if standing, err = s.store.StandingByID(ctx, tenantID, id); err != nil {
		return StatusView{}, notFoundAs(err, errNotFound)
	}
	return statusView(standing)
}

// statusView is the table of status_at sources.
func statusView(standing Standing) (StatusView, error) {
	switch standing.Status {
	case StatusPending:
		return StatusView{standing.Status, standing.CreatedAt}, nil
	case StatusExpired:
		return StatusView{standing.Status, standing.ExpiresAt}, nil
	default:
		if standing.CompletedAt == nil {
			return StatusView{}, fault.New(fault.Conflict, "Session completion timestamp missing")
		}
		return StatusView{standing.Status, *standing.CompletedAt}, nil
	}
}

// Availability says why an estimate is there or not.
type Availability string

// The values of Availability.
const (
	NotConsented Availability = "not_consented"
	Pending      Availability = "pending"
	NotEstimated Availability = "not_estimated"
	Available    Availability = "available"
)

// EstimateView is what the estimated-age operation tells of a session.
type EstimateView struct {
	SessionID    uuid.UUID
	Availability Availability
	DetectedAge  *float64 // years; only when Available
}

// DetectedAge returns the stored estimate of a consented session. It writes
// nothing. It returns fault.NotFound.
func (s *Service) DetectedAge(ctx context.Context, tenantID, id uuid.UUID) (EstimateView, error) {
	sess, err := s.store.SessionByID(ctx, tenantID, id)
	if err != nil {
		return EstimateView{}, notFoundAs(err, errNotFound)
	}
	view := EstimateView{SessionID: id}
	switch {
	case sess.ConsentedAt == nil:
		view.Availability = NotConsented
	case !sess.StatusAt(s.now()).Terminal():
		view.Availability = Pending
	case sess.DetectedAge == nil:
		view.Availability = NotEstimated
	default:
		view.Availability, view.DetectedAge = Available, sess.DetectedAge
	}
	return view, nil
}

// Resolve applies a verdict to a session and returns the session as it then
// stands: completed, or still PENDING with the document check on offer. The
// status change, its event and its billing are one transaction. It returns
// ErrLate with the session's present state when the session has ended or the
// verdict does not apply to it.
func (s *Service) Resolve(ctx context.Context, sess Session, v Verdict) (Session, error) {
	t, err := s.tenants.Tenant(ctx, sess.TenantID)
	if err != nil {
		return sess, err
	}
	if v.Estimate != nil && (sess.ConsentedAt == nil || !t.AgeVisibility) {
		v.Estimate = nil
	}
	switch next(v, t.DocumentCheck, sess.DocumentOpen()) {
	case stepOffer:
		err = s.offerDocument(ctx, sess, v.Estimate)
	case stepComplete:
		err = s.complete(ctx, sess, v)
	default:
		err = errLost
	}
	return s.settled(ctx, sess, err)
}

// settled reads the session again after a transition: the row, not the
// return of COMMIT, is the truth, because a failed commit leaves its outcome
// unknown.
func (s *Service) settled(ctx context.Context, sess Session, err error) (Session, error) {
	after, readErr := s.store.SessionByLink(ctx, sess.LinkHash)
	switch {
	case readErr != nil && err != nil && !errors.Is(err, errLost):
		return sess, err
	case readErr != nil:
		return sess, readErr
	case errors.Is(err, errLost):
		return after, ErrLate
	case err != nil && !after.Status.Terminal():
		return after, err
	}
	return after, nil
}

func (s *Service) complete(ctx context.Context, sess Session, v Verdict) error {
	now := s.now()
	var event *webhook.Event
	if v.Result != ResultSpoof {
		e, err := webhook.NewEvent(webhook.Completion{
			TenantID: sess.TenantID, SessionID: sess.ID, Result: webhook.Result(v.Result),
			Livemode: sess.Livemode, CompletedAt: now, Destination: sess.WebhookURL,
		})
		if err != nil {
			return err
		}
		event = &e
	}
	err := s.store.UpdateSessions(ctx, func(tx Tx) error {
		ok, err := tx.CompleteSession(ctx, sess.ID, v.Result.Status(), now, v.Estimate)
		if err != nil || !ok {
			return lostUnless(ok, err)
		}
		if sess.Livemode {
			if ok, err := billing.Settle(ctx, tx, sess.ID, now); err != nil || !ok {
				return lostUnless(ok, err)
			}
		}
		if event == nil {
			return nil
		}
		return tx.InsertEvent(ctx, *event)
	})
	if err != nil {
		return err
	}
	if event != nil {
		s.wake()
	}
	s.observe(sess.ID, v.Result.Status(), sess.Livemode)
	return nil
}

func (s *Service) observe(id uuid.UUID, entered Status, livemode bool) {
	if s.cfg.Observe != nil {
		s.cfg.Observe(id, entered, livemode)
	}
}

// lostUnless turns a conditional update's answer into an error.
func lostUnless(ok bool, err error) error {
	if err == nil && !ok {
		return errLost
	}
	return err
}

// notFoundAs gives a store's fault.NotFound its public text.
func notFoundAs(err error, public *fault.Error) error {
	if fault.CodeOf(err) == fault.NotFound {
		return public
	}
	return err
}
