package session

import (
	"context"
	"crypto/sha256"
	"time"

	"agegate/internal/rules/credential"
	"agegate/internal/rules/fault"

	"github.com/google/uuid"
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
	}
	return AvailabilityAvailable
}

// ByLink returns the session of a verification link, or fault.NotFound.
func (s *Service) ByLink(ctx context.Context, link string) (Session, error) {
	return s.ByLinkHash(ctx, credential.LinkHashes(link)...)
}

// ByLinkHash returns the session whose verification link has one of the hashes, or
// fault.NotFound.
func (s *Service) ByLinkHash(ctx context.Context, hashes ...[]byte) (Session, error) {
	sess, err := s.store.SessionByLink(ctx, hashes...)
	return sess, notFoundAs(err, errNotFound)
}

// TestLink returns the verification URL of a tenant's test session that was
// created with an idempotency key, for as long as the key is remembered. It
// returns fault.NotFound for every other session.
func (s *Service) TestLink(ctx context.Context, tenantID, id uuid.UUID) (string, error) {
	sess, err := s.store.SessionByID(ctx, tenantID, id)
	if err != nil {
		return "", notFoundAs(err, errNotFound)
	}
	if sess.Livemode {
		return "", errNotFound
	}
	claim, err := s.store.ClaimOf(ctx, id)
	if err != nil {
		return "", notFoundAs(err, errNotFound)
	}
	link, err := s.sealer.Open(claim.SealedLink, linkContext(id))
	if err != nil {
		return "", err
	}
	return s.created(id, string(link), sess.ExpiresAt).VerificationURL, nil
}

// ByIdempotencyKey returns the ID of the session that a request with an
// Idempotency-Key created, or fault.NotFound. The key is looked up by its hash.
func (s *Service) ByIdempotencyKey(
	ctx context.Context, tenantID uuid.UUID, livemode bool, key string,
) (uuid.UUID, error) {
	hash := sha256.Sum256([]byte(key))
	claim, err := s.store.ClaimByKey(ctx, tenantID, livemode, hash[:])
	if err != nil {
		return uuid.Nil, notFoundAs(err, errNotFound)
	}
	return claim.SessionID, nil
}
