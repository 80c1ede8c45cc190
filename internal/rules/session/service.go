package session

import (
	"context"
	"io"
	"slices"
	"time"

	"agegate/internal/rules/billing"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/gather"
	"agegate/internal/rules/tenant"

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
	Observe     func(context.Context, Session) // called on creation and completion; may be nil
	// ObserveDocument is called after every event of a document check; may be
	// nil.
	ObserveDocument func(e DocumentEvent, livemode bool)
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

	creations      *gather.Group[buyer, *creation, struct{}]
	keyedCreations *gather.Group[buyer, *creation, struct{}]                   // one at a time
	standings      *gather.Group[uuid.UUID, uuid.UUID, map[uuid.UUID]Standing] // by tenant
}

// NewService returns a service over a store. random must be
// cryptographically secure; now must return UTC in whole microseconds; wake
// must not block.
func NewService(
	cfg Config, store Store, tenants Tenants, sealer *credential.Sealer, random io.Reader, now func() time.Time,
	wake func(),
) *Service {
	s := &Service{cfg: cfg, store: store, tenants: tenants, sealer: sealer, random: random, now: now, wake: wake}
	s.creations = gather.New(maxTogether, s.createTogether)
	s.keyedCreations = gather.New(1, s.createOnce)
	across := gather.New(maxTogether, func(ctx context.Context, _ struct{}, ids [][]uuid.UUID) (map[uuid.UUID]Standing,
		error) {
		return store.Standings(ctx, slices.Concat(ids...))
	})
	// The lookups of one tenant that wait together join as one lookup of many sessions,
	// so that each tenant has one place in the shared query.
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

func (s *Service) observe(ctx context.Context, sess Session) {
	if s.cfg.Observe != nil {
		s.cfg.Observe(ctx, sess)
	}
}

// notFoundAs replaces a store's fault.NotFound by one with a public text.
func notFoundAs(err error, public *fault.Error) error {
	if fault.CodeOf(err) == fault.NotFound {
		return public
	}
	return err
}
