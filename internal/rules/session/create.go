package session

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"agegate/internal/rules/billing"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/tenant"

	"github.com/google/uuid"
)

// IdempotencyTTL is how long a use of an Idempotency-Key is remembered.
const IdempotencyTTL = 24 * time.Hour

// CreateRequest is a merchant's request for a session. Its fields have been
// validated against the contract.
type CreateRequest struct {
	TargetAge      int
	SuccessURL     *string // nil for the registered Success URL
	CancelURL      *string // nil for the registered Cancel URL
	IdempotencyKey string  // empty for none
	// TestReturnURL is used in test mode for a callback URL that is neither given
	// nor registered; it is not checked. Empty for none: such a request is refused.
	TestReturnURL string
}

// The fields of a CreateRequest that Create may refuse.
const (
	FieldSuccessURL = "success_url"
	FieldCancelURL  = "cancel_url"
)

// Errors about callback URLs, in addition to those of tenant.CallbackRule.
var (
	ErrHostNotRegistered = errors.New("its host and port are not those of a registered URL")
	ErrNoURLRegistered   = errors.New("it is omitted, and none is registered")
)

// Created is a new session in the form returned to the merchant. VerificationURL
// cannot be read later, but see Service.TestLink.
type Created struct {
	SessionID       uuid.UUID
	VerificationURL string
	ExpiresAt       time.Time
	Replayed        bool // created by an earlier request with the same idempotency key
}

// Create creates a PENDING session and reserves its cost. It returns
// fault.Invalid for a callback URL that breaks the registration rule,
// fault.TooMany or fault.InsufficientFunds if the tenant has no unit left, and
// fault.Conflict if the idempotency key was used for another request.
func (s *Service) Create(ctx context.Context, caller tenant.Caller, req CreateRequest) (Created, error) {
	c, err := s.creation(ctx, s.tenants.RecentTerms, caller, req)
	if err != nil {
		return Created{}, err
	}
	written := false
	if len(c.refused) == 0 {
		if written, err = s.writeWithOthers(ctx, c); err != nil {
			return Created{}, err
		}
	}
	if !written {
		// One reason can be that the tenant's terms have changed.
		if c, err = s.creation(ctx, s.tenants.Terms, caller, req); err != nil {
			return Created{}, err
		}
		if len(c.refused) > 0 && c.claim == nil {
			return Created{}, fault.InvalidFields(c.refused...)
		}
		earlier, err := s.writeAlone(ctx, c)
		if errors.Is(err, errReplay) {
			return s.replay(earlier, *c.claim)
		}
		if err != nil {
			return Created{}, err
		}
	}
	s.observe(c.sess.ID, StatusPending, c.sess.Livemode)
	return s.created(c.sess.ID, c.link, c.sess.ExpiresAt), nil
}

// creation returns a new session, ready to be written. terms reads the tenant's
// terms.
func (s *Service) creation(
	ctx context.Context, terms func(context.Context, uuid.UUID) (tenant.Terms, error), caller tenant.Caller,
	req CreateRequest,
) (creation, error) {
	t, err := terms(ctx, caller.TenantID)
	if err != nil {
		return creation{}, err
	}
	sess, refused := s.newSession(t, caller, req)
	link, linkHash, err := credential.NewLink(s.random, sess.CreatedAt, s.store.OrdersLinks())
	if err != nil {
		return creation{}, err
	}
	sess.LinkHash = linkHash
	claim, err := s.idempotencyClaim(sess, link, req)
	return creation{
		sess: sess, link: link, refused: refused, claim: claim, terms: t,
		charge: billing.Charge{
			TenantID: sess.TenantID, SessionID: sess.ID, Livemode: sess.Livemode,
			FreeChecks: t.FreeChecks, TestCap: t.TestCap, Now: sess.CreatedAt, ExpiresAt: sess.ExpiresAt,
		},
	}, err
}

func (s *Service) created(id uuid.UUID, link string, expiresAt time.Time) Created {
	return Created{SessionID: id, VerificationURL: s.cfg.VerifyURL + "/v/" + link, ExpiresAt: expiresAt}
}

// newSession returns a new session with its callback URLs, and the refused
// fields. A session with refused fields is incomplete and must not be stored.
func (s *Service) newSession(t tenant.Terms, caller tenant.Caller, req CreateRequest) (Session, []fault.FieldError) {
	builtIn := req.TestReturnURL
	if caller.Livemode {
		builtIn = ""
	}
	success, cancel, refused := s.destinations(t, req.SuccessURL, req.CancelURL, builtIn)
	now := s.now()
	sess := Session{
		ID: uuid.Must(uuid.NewV7()), TenantID: caller.TenantID, Livemode: caller.Livemode, TargetAge: req.TargetAge,
		SuccessURL: success, CancelURL: cancel, WebhookURL: t.WebhookURL,
		Status: StatusPending, CreatedAt: now, ExpiresAt: now.Add(s.cfg.TTL),
	}
	if caller.KeyID != uuid.Nil {
		sess.APIKeyID = &caller.KeyID
	}
	return sess, refused
}

// CheckDestinations returns the callback URL fields that Create would refuse. A
// nil URL stands for the registered one.
func (s *Service) CheckDestinations(
	ctx context.Context, caller tenant.Caller, success, cancel *string,
) ([]fault.FieldError, error) {
	t, err := s.tenants.Terms(ctx, caller.TenantID)
	if err != nil {
		return nil, err
	}
	_, _, refused := s.destinations(t, success, cancel, "")
	return refused, nil
}

// destinations returns the callback URLs of a session, or the refused fields. A
// built-in one stands for a registered URL that is not there.
func (s *Service) destinations(
	t tenant.Terms, ownSuccess, ownCancel *string, builtIn string,
) (success, cancel string, refused []fault.FieldError) {
	success, err := s.destination(t, ownSuccess, cmp.Or(t.SuccessURL, builtIn))
	if err != nil {
		refused = append(refused, fault.FieldError{Field: FieldSuccessURL, Err: err})
	}
	cancel, err = s.destination(t, ownCancel, cmp.Or(t.CancelURL, builtIn))
	if err != nil {
		refused = append(refused, fault.FieldError{Field: FieldCancelURL, Err: err})
	}
	return success, cancel, refused
}

// destination returns the URL to use, or the error that refuses it.
func (s *Service) destination(t tenant.Terms, own *string, registered string) (string, error) {
	if own == nil {
		if registered == "" {
			return "", ErrNoURLRegistered
		}
		return registered, nil
	}
	endpoint, err := s.cfg.Callbacks.Parse(*own)
	if err != nil {
		return "", err
	}
	if !s.cfg.Callbacks.Registered(endpoint, t.CallbackURLs()) {
		return "", ErrHostNotRegistered
	}
	return *own, nil
}

// idempotencyClaim returns the claim to store for a request with an
// Idempotency-Key, or nil for one without.
func (s *Service) idempotencyClaim(sess Session, link string, req CreateRequest) (*IdempotencyClaim, error) {
	if req.IdempotencyKey == "" {
		return nil, nil
	}
	sealed, err := s.sealer.Seal([]byte(link), linkContext(sess.ID))
	if err != nil {
		return nil, err
	}
	key := sha256.Sum256([]byte(req.IdempotencyKey))
	request := sha256.Sum256(fmt.Appendf(nil, "%d\n%s\n%s", req.TargetAge, orNone(req.SuccessURL), orNone(req.CancelURL)))
	return &IdempotencyClaim{
		TenantID: sess.TenantID, Livemode: sess.Livemode, KeyHash: key[:], RequestHash: request[:],
		SessionID: sess.ID, SealedLink: sealed, SessionEnd: sess.ExpiresAt,
		ExpiresAt: sess.CreatedAt.Add(IdempotencyTTL),
	}, nil
}

// replay answers a repeated request with the session that the first one
// created.
func (s *Service) replay(earlier, claim IdempotencyClaim) (Created, error) {
	if string(earlier.RequestHash) != string(claim.RequestHash) {
		return Created{}, fault.New(fault.Conflict, "Idempotency key reused with a different request")
	}
	link, err := s.sealer.Open(earlier.SealedLink, linkContext(earlier.SessionID))
	if err != nil {
		return Created{}, err
	}
	first := s.created(earlier.SessionID, string(link), earlier.SessionEnd)
	first.Replayed = true
	return first, nil
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

func linkContext(id uuid.UUID) string { return "link|" + id.String() }

// orNone returns the URL, or "-", which is not a valid URL, if it was omitted.
func orNone(s *string) string {
	if s == nil {
		return "-"
	}
	return *s
}
