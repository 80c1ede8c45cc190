package session

import (
	"context"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"agegate/internal/rules/audit"
	"agegate/internal/rules/billing"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/tenant"

	"github.com/google/uuid"
)

// Limits of a tenant's QA cards. Anybody with the link of a card can use it.
const (
	MaxCards    = 30 // of a tenant at the same time
	CardShare   = 50 // sessions created with one card in a UTC day
	MaxCardName = 60 // characters
)

// CardOutcomes are the outcomes that cards can force, as values of the hosted
// page's parameter force.
var CardOutcomes = []string{"verified", "fallback", "spoof"}

// Card is a QA card: a printable link that creates test sessions with one
// outcome. Anyone who has the link can use it.
type Card struct {
	ID        uuid.UUID
	TenantID  uuid.UUID
	LinkHash  []byte // hash of the token, which is not stored
	Name      string
	Outcome   string // one of CardOutcomes
	TargetAge int
	CreatedAt time.Time
	Day       string // the UTC day, 2006-01-02, of the last scan; empty before the first
	Used      int64  // sessions created on that day
}

// UsedOn returns how many sessions the card has created in the UTC day of now.
func (c Card) UsedOn(now time.Time) int64 {
	if c.Day != billing.Day(now) {
		return 0
	}
	return c.Used
}

// Refusals of cards.
var (
	ErrCardName     = fault.New(fault.Invalid, "name must have 1 to 60 characters, none of them hidden")
	ErrTooManyCards = fault.New(fault.Conflict, "the tenant has as many cards as it may have")
	ErrCardUsedUp   = fault.New(fault.TooMany, "the card has made all its sessions of the day")
	ErrNoCard       = fault.New(fault.NotFound, "Card not found")
)

// CardStore stores the cards of all tenants.
type CardStore interface {
	// InsertCards stores new cards of one tenant, and their entries of the audit log.
	// It locks the tenant's row. It returns ErrTooManyCards if the tenant would then
	// have more cards than limit.
	InsertCards(ctx context.Context, cards []Card, limit int, acts []audit.Act) error
	// DeleteCard deletes a tenant's card, with an entry, or returns fault.NotFound.
	DeleteCard(ctx context.Context, tenantID, id uuid.UUID, act audit.Act) error
	// Cards returns a tenant's cards, newest first.
	Cards(ctx context.Context, tenantID uuid.UUID) ([]Card, error)
	// CardByLink returns the card with the hash of a token, or fault.NotFound.
	CardByLink(ctx context.Context, linkHash []byte) (Card, error)
	// TakeScan counts one session of a card on a day, and reports whether it did. It
	// counts none if share sessions (1 or more) were counted on that day already, or if
	// the tenant is disabled.
	TakeScan(ctx context.Context, id uuid.UUID, day string, share int64) (bool, error)
}

// Cards creates, lists, revokes and uses QA cards. They create only test
// sessions.
type Cards struct {
	store    CardStore
	sessions *Service
	random   io.Reader
	now      func() time.Time
}

// NewCards returns the cards over a store. random must be cryptographically
// secure; now must return UTC in whole microseconds.
func NewCards(store CardStore, sessions *Service, random io.Reader, now func() time.Time) *Cards {
	return &Cards{store: store, sessions: sessions, random: random, now: now}
}

// MadeCard is a new card with its link's token, which cannot be read later.
type MadeCard struct {
	Card
	Token string
}

// Make creates a card for each of the outcomes, which must be in CardOutcomes. It
// creates all of them or, with an error, none. The errors are fault.Invalid with
// ErrCardName in the field name, and ErrTooManyCards.
func (c *Cards) Make(
	ctx context.Context, actor audit.Actor, tenantID uuid.UUID, name string, targetAge int, outcomes []string,
) ([]MadeCard, error) {
	name = strings.TrimSpace(name)
	if name == "" || !utf8.ValidString(name) || utf8.RuneCountInString(name) > MaxCardName ||
		strings.ContainsFunc(name, tenant.IsHidden) {
		return nil, fault.InvalidFields(fault.FieldError{Field: "name", Err: ErrCardName})
	}
	var made []MadeCard
	var cards []Card
	var acts []audit.Act
	for _, outcome := range outcomes {
		token, err := credential.NewLinkToken(c.random)
		if err != nil {
			return nil, err
		}
		card := Card{
			ID: uuid.Must(uuid.NewV7()), TenantID: tenantID, LinkHash: credential.HashToken(token),
			Name: name, Outcome: outcome, TargetAge: targetAge, CreatedAt: c.now(),
		}
		made = append(made, MadeCard{card, token})
		cards = append(cards, card)
		acts = append(acts, c.act(actor, audit.QACardCreate, card))
	}
	return made, c.store.InsertCards(ctx, cards, MaxCards, acts)
}

func (c *Cards) act(actor audit.Actor, action audit.Action, card Card) audit.Act {
	return audit.Act{
		Scope: audit.OfTenant(card.TenantID), At: c.now(), Actor: actor, Action: action, Target: card.ID.String(),
		Detail: audit.Detail{Params: map[string]string{"name": card.Name, "outcome": card.Outcome}},
	}
}

// List returns a tenant's cards, newest first.
func (c *Cards) List(ctx context.Context, tenantID uuid.UUID) ([]Card, error) {
	return c.store.Cards(ctx, tenantID)
}

// Card returns a tenant's card, or ErrNoCard.
func (c *Cards) Card(ctx context.Context, tenantID, id uuid.UUID) (Card, error) {
	cards, err := c.store.Cards(ctx, tenantID)
	if err != nil {
		return Card{}, err
	}
	i := slices.IndexFunc(cards, func(card Card) bool { return card.ID == id })
	if i < 0 {
		return Card{}, ErrNoCard
	}
	return cards[i], nil
}

// Revoke deletes a tenant's card. Only the entries of the audit log remain. It
// returns ErrNoCard.
func (c *Cards) Revoke(ctx context.Context, actor audit.Actor, tenantID, id uuid.UUID) error {
	card, err := c.Card(ctx, tenantID, id)
	if err != nil {
		return err
	}
	return notFoundAs(c.store.DeleteCard(ctx, tenantID, id, c.act(actor, audit.QACardRevoke, card)), ErrNoCard)
}

// ByLink returns the card of a link's token, or ErrNoCard. It does not count as a
// use.
func (c *Cards) ByLink(ctx context.Context, token string) (Card, error) {
	card, err := c.store.CardByLink(ctx, credential.HashToken(token))
	return card, notFoundAs(err, ErrNoCard)
}

// Use creates a test session with a card, and returns its verification URL with
// the outcome. The session leads to returnURL where the tenant has registered no
// callback URL, see CreateRequest. Use returns ErrCardUsedUp, even for a disabled
// tenant, and the errors of Service.Create. A session that could not be created
// still counts as a use.
func (c *Cards) Use(ctx context.Context, card Card, returnURL string) (string, error) {
	took, err := c.store.TakeScan(ctx, card.ID, billing.Day(c.now()), CardShare)
	if err != nil {
		return "", err
	}
	if !took {
		return "", ErrCardUsedUp
	}
	created, err := c.sessions.Create(ctx, tenant.Caller{TenantID: card.TenantID}, CreateRequest{
		TargetAge: card.TargetAge, TestReturnURL: returnURL,
	})
	return created.VerificationURL + "?force=" + card.Outcome, err
}
