// Package mail sends messages to staff: it keeps them in an outbox until the operator's mail server has taken them.
package mail

import (
	"context"
	"encoding/json"
	"time"

	"agegate/internal/rules/credential"
	"agegate/internal/rules/fault"

	"github.com/google/uuid"
)

// Kind says what a message is about.
type Kind string

// The kinds of message.
const (
	Invitation       Kind = "invitation"        // a link that makes a member of a tenant
	Recovery         Kind = "recovery"          // a link that replaces a user's factors
	EndpointDisabled Kind = "endpoint_disabled" // no more webhooks are sent to an address
	CreditLow        Kind = "credit_low"        // fewer checks are left than the tenant wants
)

// Message is what a message to one person says.
type Message struct {
	Kind     Kind
	TenantID *uuid.UUID // whose message it is; nil: the instance's
	To       string     // an e-mail address
	Locale   string     // BCP 47, or empty: English
	Tenant   string     // the tenant's name
	By, Role string     // of an invitation: the name of who invites, and the role, in English
	Link     string     // where the message leads
	Host     string     // of EndpointDisabled
	Left     int64      // of CreditLow: how many checks
}

// Mail is a message in the outbox. Its recipient and its text, which may hold a
// link, are sealed, and deleted once it is sent or given up.
type Mail struct {
	ID        uuid.UUID
	TenantID  *uuid.UUID
	Kind      Kind
	Sealed    []byte
	Attempts  int
	CreatedAt time.Time
	DueAt     time.Time
	ExpiresAt time.Time // afterwards it is not sent: its link no longer works
	Link      []byte    // the hash of its link, without which it is not sent; nil: it has none
}

// MaxADay is the largest number of messages that a tenant, or the instance itself, can have made in 24 hours.
const MaxADay = 100

// ErrTooMany is returned for a message beyond MaxADay.
var ErrTooMany = fault.New(fault.TooMany, "Too many mails today")

// Store keeps the outbox.
type Store interface {
	// ClaimMails returns mails that are due at now, at most limit, and makes them
	// due again after lease, with one attempt more. It takes turns between tenants.
	ClaimMails(ctx context.Context, now time.Time, lease time.Duration, limit int) ([]Mail, error)
	// PostponeMail makes a claimed mail due at another time. It does nothing if the mail was claimed again.
	PostponeMail(ctx context.Context, m Mail, due time.Time) error
	// LinkStands reports whether the link of a mail can still be used, or it has none.
	LinkStands(ctx context.Context, m Mail) (bool, error)
	// EndMail deletes what a claimed mail says. It does nothing if the mail was claimed again.
	EndMail(ctx context.Context, m Mail) error
}

// Outbox makes mails.
type Outbox struct {
	sealer *credential.Sealer
	now    func() time.Time
	wake   chan struct{}

	Operator string // the name of who runs the gateway; may be empty
}

// NewOutbox returns an outbox. now must return UTC in whole microseconds.
func NewOutbox(sealer *credential.Sealer, now func() time.Time) *Outbox {
	return &Outbox{sealer: sealer, now: now, wake: make(chan struct{}, 1)}
}

// Wake makes the Deliverer of this process look at the outbox now. It does not wait. Call it once mails are stored.
func (o *Outbox) Wake() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// letter is what a mail holds, sealed.
type letter struct{ To, Subject, Body string }

// Compose returns the mail of a message. It is not sent later than life after now. The
// caller stores it in the transaction of the act that the message is about.
func (o *Outbox) Compose(m Message, life time.Duration) (Mail, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return Mail{}, err
	}
	plain, err := json.Marshal(m.letter(o.Operator))
	if err != nil {
		return Mail{}, err
	}
	sealed, err := o.sealer.Seal(plain, SealContext(id.String()))
	now := o.now()
	return Mail{ID: id, TenantID: m.TenantID, Kind: m.Kind, Sealed: sealed, CreatedAt: now, DueAt: now,
		ExpiresAt: now.Add(life)}, err
}

func (o *Outbox) open(m Mail) (l letter, err error) {
	plain, err := o.sealer.Open(m.Sealed, SealContext(m.ID.String()))
	if err == nil {
		err = json.Unmarshal(plain, &l)
	}
	return l, err
}

// SealContext returns what the content of a mail is sealed with.
func SealContext(id string) string { return "mail " + id }
