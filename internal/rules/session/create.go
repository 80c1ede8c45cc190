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

// How a session is created: Create gives the creation to a gather.Group. Without an
// idempotency key, the group calls createTogether, with all creations of the same
// tenant and mode that wait. With a key, it calls createOnce with this creation alone.
// Both call write, in one transaction: write reads the tenant's settings, inserts the
// sessions and takes their units. A refused creation does not affect the others.

// buyer is a tenant in one mode. Its sessions need the same balance row, so those that
// are created at the same time are written one after the other or together.
type buyer struct {
	tenantID uuid.UUID
	livemode bool
}

// maxTogether is the maximum number of a tenant's creations in one transaction. It also
// limits status lookups: how many of one tenant, and of how many tenants, share a
// query.
const maxTogether = 64

// creation is a request with the session to write for it. The function that writes it
// sets the other fields.
type creation struct {
	req     CreateRequest
	sess    Session
	link    string            // the token in the verification URL
	refused error             // why the session was not written
	claim   IdempotencyClaim  // of a request with an idempotency key
	earlier *IdempotencyClaim // of an earlier request with the same key, if there was one
}

// Create creates a PENDING session and reserves its cost. It returns
// fault.Invalid for a callback URL that breaks the registration rule,
// fault.TooMany or fault.InsufficientFunds if the tenant has no unit left, and
// fault.Conflict if the idempotency key was used for another request.
func (s *Service) Create(ctx context.Context, caller tenant.Caller, req CreateRequest) (Created, error) {
	link, linkHash, err := credential.NewLink(s.random, s.now(), s.store.OrdersLinks())
	if err != nil {
		return Created{}, err
	}
	c := &creation{req: req, link: link, sess: Session{
		ID: uuid.Must(uuid.NewV7()), TenantID: caller.TenantID, Livemode: caller.Livemode, TargetAge: req.TargetAge,
		LinkHash: linkHash, Status: StatusPending,
	}}
	if caller.KeyID != uuid.Nil {
		c.sess.APIKeyID = &caller.KeyID
	}
	creations := s.creations
	if req.IdempotencyKey != "" {
		creations = s.keyedCreations
	}
	if _, err := creations.Do(ctx, buyer{caller.TenantID, caller.Livemode}, c); err != nil {
		return Created{}, err
	}
	if c.refused != nil {
		return Created{}, c.refused
	}
	if c.earlier != nil {
		return s.replay(*c.earlier, c.claim)
	}
	s.observe(ctx, c.sess)
	return s.created(c.sess.ID, c.link, c.sess.ExpiresAt), nil
}

func (s *Service) created(id uuid.UUID, link string, expiresAt time.Time) Created {
	return Created{SessionID: id, VerificationURL: s.cfg.VerifyURL + "/v/" + link, ExpiresAt: expiresAt}
}

// createTogether writes creations without idempotency keys in one transaction.
func (s *Service) createTogether(ctx context.Context, _ buyer, asked []*creation) (struct{}, error) {
	now := s.now()
	return struct{}{}, s.store.UpdateSessions(ctx, func(tx Tx) error { return s.write(tx, now, asked...) })
}

// createOnce writes the one creation with its idempotency key, or finds the key's first
// use. A refused creation is rolled back, so that the key can be used again.
func (s *Service) createOnce(ctx context.Context, _ buyer, asked []*creation) (struct{}, error) {
	c := asked[0]
	now := s.now()
	claim, err := s.idempotencyClaim(c, now)
	if err != nil {
		return struct{}{}, err
	}
	c.claim = claim
	return struct{}{}, s.store.UpdateSessions(ctx, func(tx Tx) error {
		used, claimed, err := tx.ClaimIdempotencyKey(claim, now)
		if err != nil {
			return err
		}
		if c.earlier = nil; !claimed {
			c.earlier = &used
			return nil
		}
		// The URLs are checked after the claim: a repeated request gets its first
		// answer even if the tenant's settings have changed.
		if err := s.write(tx, now, c); err != nil {
			return err
		}
		return c.refused
	})
}

// write inserts the sessions of a buyer's creations and takes their units. It reads the
// tenant's settings, so it must begin after the requests have arrived. A refused
// creation gets the reason and is not inserted.
func (s *Service) write(tx Tx, now time.Time, asked ...*creation) error {
	t, err := tx.Terms(asked[0].sess.TenantID)
	if err != nil {
		return err
	}
	charge := billing.Charge{
		TenantID: asked[0].sess.TenantID, Livemode: asked[0].sess.Livemode,
		FreeChecks: t.FreeChecks, TestCap: t.TestCap, Now: now, ExpiresAt: now.Add(s.cfg.TTL),
	}
	var valid []*creation
	var sessions []Session
	for _, c := range asked {
		if c.refused = s.address(c, t); c.refused != nil {
			continue
		}
		c.sess.CreatedAt = now
		c.sess.ExpiresAt = charge.ExpiresAt
		valid = append(valid, c)
		sessions = append(sessions, c.sess)
		charge.Sessions = append(charge.Sessions, c.sess.ID)
	}
	if len(valid) == 0 {
		return nil
	}
	// The balance comes last: other replicas wait for its row until the transaction ends.
	if err := tx.InsertSessions(sessions...); err != nil {
		return err
	}
	paid, err := s.cfg.Limits.Take(tx, charge)
	if err != nil || paid == len(valid) {
		return err
	}
	for _, c := range valid[paid:] {
		c.refused = charge.Refusal()
	}
	return tx.DropUnpaid(sessions[paid:]...)
}

// address sets the callback URLs of a new session, or returns fault.Invalid.
func (s *Service) address(c *creation, t tenant.Terms) error {
	builtIn := c.req.TestReturnURL
	if c.sess.Livemode {
		builtIn = ""
	}
	success, cancel, refused := s.destinations(t, c.req.SuccessURL, c.req.CancelURL, builtIn)
	if len(refused) > 0 {
		return fault.InvalidFields(refused...)
	}
	c.sess.SuccessURL = success
	c.sess.CancelURL = cancel
	c.sess.WebhookURL = t.WebhookURL
	if c.req.SuccessURL != nil { // a registered URL names no order
		c.sess.OrderRef = orderOf(success)
	}
	return nil
}

// CheckDestinations returns the callback URL fields that Create would refuse. A
// nil URL stands for the registered one.
func (s *Service) CheckDestinations(
	ctx context.Context, caller tenant.Caller, success, cancel *string,
) ([]fault.FieldError, error) {
	t, err := s.tenants.Tenant(ctx, caller.TenantID)
	if err != nil {
		return nil, err
	}
	_, _, refused := s.destinations(t.Terms(), success, cancel, "")
	return refused, nil
}

// destinations returns the callback URLs of a session, or the refused fields. builtIn
// replaces a registered URL that is missing; it may be empty.
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

// idempotencyClaim returns the claim to store for a request with an Idempotency-Key.
func (s *Service) idempotencyClaim(c *creation, now time.Time) (IdempotencyClaim, error) {
	sealed, err := s.sealer.Seal([]byte(c.link), linkContext(c.sess.ID))
	key := sha256.Sum256([]byte(c.req.IdempotencyKey))
	request := sha256.Sum256(fmt.Appendf(nil, "%d\n%s\n%s",
		c.req.TargetAge, orNone(c.req.SuccessURL), orNone(c.req.CancelURL)))
	return IdempotencyClaim{
		TenantID: c.sess.TenantID, Livemode: c.sess.Livemode, KeyHash: key[:], RequestHash: request[:],
		SessionID: c.sess.ID, SealedLink: sealed, SessionEnd: now.Add(s.cfg.TTL), ExpiresAt: now.Add(IdempotencyTTL),
	}, err
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

func linkContext(id uuid.UUID) string { return "link|" + id.String() }

// orNone returns the URL, or "-", which is not a valid URL, if it was omitted.
func orNone(s *string) string {
	if s == nil {
		return "-"
	}
	return *s
}
