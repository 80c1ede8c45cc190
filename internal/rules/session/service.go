package session

import (
	"context"
	"io"
	"log/slog"
	"slices"
	"time"

	"agegate/internal/rules/billing"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/gather"
	"agegate/internal/rules/tenant"
	"agegate/internal/rules/webhook"

	"github.com/google/uuid"
)

// Config holds the operator's settings for sessions.
type Config struct {
	VerifyURL string        // base of verification URLs, without a trailing slash
	TTL       time.Duration // from creation, or from a step of the document check, to expiry
	TokenTTL  time.Duration // lifetime of a redirect token
	Callbacks tenant.CallbackRule
	Limits    billing.Limits
	// Calibration is stored with each decision of the camera: the fingerprint of
	// the calibration in use, empty without one.
	Calibration string
	Observe     func(id uuid.UUID, entered Status, livemode bool) // called on creation and completion; may be nil
	// ObserveDocument is called after every event of a document check; may be
	// nil.
	ObserveDocument func(e DocumentEvent, livemode bool)
	Logger          *slog.Logger // nil discards
}

// Service creates, completes and looks up sessions. Camera results, forced
// results and document results all go through Resolve. The sessions passed to
// its methods may be stale: every change is decided on the current row.
type Service struct {
	cfg     Config
	store   Store
	tenants Tenants
	sealer  *credential.Sealer
	random  io.Reader
	now     func() time.Time
	wake    func() // called after an event has been committed

	creations *gather.Group[line, creation, bool]
	standings *gather.Group[uuid.UUID, uuid.UUID, map[uuid.UUID]Standing] // by tenant
}

// NewService returns a service over a store. random must be
// cryptographically secure; now must return UTC in whole microseconds; wake
// must not block.
func NewService(
	cfg Config, store Store, tenants Tenants, sealer *credential.Sealer, random io.Reader, now func() time.Time,
	wake func(),
) *Service {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Service{cfg: cfg, store: store, tenants: tenants, sealer: sealer, random: random, now: now, wake: wake}
	s.creations = gather.New(maxTogether, s.writeTogether)
	across := gather.New(maxTogether, func(ctx context.Context, _ struct{}, ids [][]uuid.UUID) (map[uuid.UUID]Standing,
		error) {
		return store.Standings(ctx, slices.Concat(ids...))
	})
	// Each tenant has one place among the others, however many of its lookups wait.
	s.standings = gather.New(maxTogether, func(ctx context.Context, _ uuid.UUID, ids []uuid.UUID) (map[uuid.UUID]Standing,
		error) {
		return across.Do(ctx, struct{}{}, ids)
	})
	return s
}

var (
	errNotFound = fault.New(fault.NotFound, "Session not found")
	// ErrLate is returned for an action that comes too late: the session has
	// ended, a document check has begun, another device has taken over, or the
	// tenant no longer allows the way of the document check.
	ErrLate = fault.New(fault.Gone, "Session is no longer open")
	// ErrAnswered is returned when a way of the document check should begin while
	// a wallet's final answer waits: the answer must be applied first.
	ErrAnswered = fault.New(fault.Conflict, "A wallet has answered")
)

// StatusView is the answer to a status lookup.
type StatusView struct {
	Status Status
	At     time.Time // when the status took effect
}

// Status looks up a session. If its expiry has passed, it first writes EXPIRED.
// It returns fault.NotFound, or fault.Conflict for a completed session without a
// completion time.
func (s *Service) Status(ctx context.Context, tenantID, id uuid.UUID) (StatusView, error) {
	standing, err := s.standing(ctx, tenantID, id)
	if err != nil {
		return StatusView{}, err
	}
	now := s.now()
	if standing.Status == statusAt(standing.Status, standing.ExpiresAt, now) {
		return statusView(standing)
	}
	if _, err := s.store.ExpireSession(ctx, id, now); err != nil {
		return StatusView{}, err
	}
	// Read again, because a result or another lookup may have written first.
	if standing, err = s.standing(ctx, tenantID, id); err != nil {
		return StatusView{}, err
	}
	return statusView(standing)
}

// standing returns the tenant's session's standing, or fault.NotFound. Simultaneous
// lookups share one query, also those of several tenants.
func (s *Service) standing(ctx context.Context, tenantID, id uuid.UUID) (Standing, error) {
	all, err := s.standings.Do(ctx, tenantID, id)
	if err != nil {
		return Standing{}, err
	}
	found, exists := all[id]
	if !exists || found.TenantID != tenantID {
		return Standing{}, errNotFound
	}
	return found, nil
}

// statusView returns the status and the time for status_at.
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

// Availability says whether an estimate is available, and otherwise why not.
type Availability string

// The values of Availability.
const (
	AvailabilityNotConsented Availability = "not_consented"
	AvailabilityPending      Availability = "pending"
	AvailabilityNotEstimated Availability = "not_estimated"
	AvailabilityAvailable    Availability = "available"
)

// EstimateView is the answer to a lookup of the estimated age.
type EstimateView struct {
	SessionID    uuid.UUID
	Availability Availability
	DetectedAge  *float64 // years; only when AvailabilityAvailable
}

// DetectedAge returns the stored estimate of a session whose shopper consented,
// or fault.NotFound. It writes nothing.
func (s *Service) DetectedAge(ctx context.Context, tenantID, id uuid.UUID) (EstimateView, error) {
	sess, err := s.store.SessionByID(ctx, tenantID, id)
	if err != nil {
		return EstimateView{}, notFoundAs(err, errNotFound)
	}
	view := EstimateView{SessionID: id, Availability: sess.EstimateAt(s.now())}
	if view.Availability == AvailabilityAvailable {
		view.DetectedAge = sess.DetectedAge
	}
	return view, nil
}

// EstimateAt returns whether the session's estimate is available at now.
func (s Session) EstimateAt(now time.Time) Availability {
	switch {
	case s.ConsentedAt == nil:
		return AvailabilityNotConsented
	case !s.StatusAt(now).Terminal():
		return AvailabilityPending
	case s.DetectedAge == nil:
		return AvailabilityNotEstimated
	default:
		return AvailabilityAvailable
	}
}

// Resolve applies the result of a check to a session and returns the updated
// session: completed, or still PENDING with the document check open. The status
// change, its event and its billing are written in one transaction, which also
// reads every value that the decision depends on. Resolve returns ErrLate if the
// session has ended, the result does not apply to it or its claim has ended, and
// ErrDisabled if the tenant is disabled; then the returned session is the stored
// one, unchanged. An estimate is stored only if the shopper consented and the
// tenant has turned on age visibility.
func (s *Service) Resolve(ctx context.Context, sess Session, v CheckResult) (Session, error) {
	after, err := s.decide(ctx, sess, v.Claim, func(d *decision) error { return s.apply(d, v) })
	if err == nil {
		s.announce(after)
	}
	return after, err
}

// apply takes the step that a result requires, or returns ErrLate if it does not
// apply.
func (s *Service) apply(d *decision, v CheckResult) error {
	if !d.agreed(v.Way) || v.Preferred && d.sess.Attempts > 0 {
		return ErrLate
	}
	made := Decision{Status: v.Result.Status(), At: d.now, Source: v.Source}
	if v.Estimate != nil {
		made.Basis = Basis{Cutoff: &v.Cutoff, Calibration: s.cfg.Calibration}
	}
	if d.sess.ConsentedAt != nil && d.tenant.AgeVisibility {
		made.Estimate = v.Estimate
	}
	switch next(v, d.tenant.DocumentCheck, d.sess.DocumentOpen()) {
	case stepOffer:
		return s.offerDocument(d, made, v.Preferred)
	case stepComplete:
		if err := d.answer(v.Request); err != nil {
			return err
		}
		if v.Way != "" {
			if !d.sess.DocumentOpen() {
				return ErrLate
			}
			d.sess.DocumentWay = v.Way
		}
		if v.Source == SourceDocument {
			d.happened(v.Way, documentOutcome(v))
		}
		return d.complete(v.Result, made)
	default:
		return ErrLate
	}
}

// complete ends the session with the result of a check.
func (d *decision) complete(result Result, made Decision) error {
	if d.sess.Livemode {
		if ok, err := billing.Settle(d, d.sess.ID, d.now); err != nil || !ok {
			return lateUnless(ok, err)
		}
	}
	if result != ResultSpoof {
		event, err := webhook.NewEvent(webhook.Completion{
			TenantID: d.sess.TenantID, SessionID: d.sess.ID, Result: webhook.Result(result),
			Livemode: d.sess.Livemode, CompletedAt: d.now, Destination: d.sess.WebhookURL,
		})
		if err != nil {
			return err
		}
		if err := d.InsertEvent(event); err != nil {
			return err
		}
	}
	d.sess.Status, d.sess.CompletedAt, d.sess.Source = made.Status, &d.now, made.Source
	if d.sess.OpenedAt == nil { // a session completed by force may not have opened its page
		d.sess.OpenedAt = &d.now
	}
	d.estimated(made)
	return nil
}

// estimated copies the decision's estimate and basis to the session.
func (d *decision) estimated(made Decision) {
	if made.Estimate != nil {
		d.sess.DetectedAge = made.Estimate
	}
	if made.Basis.Cutoff != nil {
		d.sess.Basis = made.Basis
	}
}

// announce wakes the webhook dispatcher and calls the observer after a session
// has ended. It must be called after the commit.
func (s *Service) announce(sess Session) {
	switch sess.Status {
	case StatusPending:
		return
	case StatusPassed, StatusFallback: // these statuses have an event
		s.wake()
	}
	s.observe(sess.ID, sess.Status, sess.Livemode)
}

func (s *Service) observe(id uuid.UUID, entered Status, livemode bool) {
	if s.cfg.Observe != nil {
		s.cfg.Observe(id, entered, livemode)
	}
}

// notFoundAs replaces a store's fault.NotFound by one with a public text.
func notFoundAs(err error, public *fault.Error) error {
	if fault.CodeOf(err) == fault.NotFound {
		return public
	}
	return err
}
