package document

import (
	"context"
	"crypto/x509"
	"time"

	"agegate/internal/check/document/trustlist"
	"agegate/internal/rules/audit"

	"github.com/google/uuid"
)

// TrustList is a published list of issuers that the gateway follows.
type TrustList struct {
	ID       uuid.UUID
	Name     string
	Format   string // a trustlist.Format
	URL      string // where it is fetched; empty if it is imported from files
	ListType string // of a list of trusted entities, its type
	DocType  string // kind of documents of its issuers; empty: the list says it
	Signers  []byte // pinned certificates, DER, one after the other

	// Of the last list that was verified. The pointers are nil before the first.
	Sequence   int64
	Digest     []byte
	IssuedAt   *time.Time
	NextUpdate *time.Time
	SyncedAt   *time.Time

	Failure   string    // why the last attempt failed; empty if it did not
	DueAt     time.Time // when it is fetched next
	CreatedAt time.Time
}

func (l TrustList) source() (trustlist.Source, error) {
	signers, err := x509.ParseCertificates(l.Signers)
	return trustlist.Source{Format: trustlist.Format(l.Format), Signers: signers, Type: l.ListType}, err
}

// IssuerList is the list from which an issuer comes. The zero IssuerList stands for an issuer that an operator added.
type IssuerList struct {
	ID    uuid.UUID
	Name  string
	Until time.Time // the list's next update
}

// ListChange is what a synchronisation changes besides the list itself.
type ListChange struct {
	Add    []TrustedIssuer
	Remove []uuid.UUID
	Delete bool // the list itself, with all its issuers
	Acts   []audit.Act
}

// ListStore stores the lists that the gateway follows.
type ListStore interface {
	// AddTrustList adds a list and writes the act, in one transaction. It returns fault.Conflict if the name is taken.
	AddTrustList(ctx context.Context, l TrustList, act audit.Act) error
	// TrustLists returns all lists, oldest first.
	TrustLists(ctx context.Context) ([]TrustList, error)
	// UpdateTrustList locks a list, calls fn with it and its issuers, and writes the list as fn leaves it and the
	// change that fn returns, with its acts, in one transaction. It may call fn again after a conflict. It returns
	// fault.NotFound for an unknown list.
	UpdateTrustList(ctx context.Context, id uuid.UUID,
		fn func(l *TrustList, issuers []TrustedIssuer) (ListChange, error)) error
	// ClaimTrustList sets the time at which a list is next due, unless the list is not
	// due at now. It reports whether it did. Of several replicas, one succeeds.
	ClaimTrustList(ctx context.Context, id uuid.UUID, now, due time.Time) (bool, error)
}
