package document

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"io"
	"time"

	"agegate/internal/check/document/wallet"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/fault"

	"github.com/google/uuid"
)

// VerifierKey is a key that identifies the gateway to wallets.
type VerifierKey struct {
	ID        uuid.UUID
	TenantID  *uuid.UUID // nil: the instance's, for every tenant without a key
	Role      string
	Name      string // of the verifier, as its certificate says
	Host      string // host of the addresses that wallets fetch
	ByHost    bool   // requests name the verifier by Host (x509_san_dns), not by the certificate's hash
	Metadata  []byte // wallet.EncodeMetadata; nil for none
	Sealed    []byte // private key in PKCS #8, sealed
	Chain     []byte // DER, one certificate after the other, the key's own first; nil before it is imported
	State     string
	NotAfter  *time.Time // of the chain
	CreatedAt time.Time
}

// Roles of keys.
const (
	RoleVerifier  = "verifier"  // signs requests
	RoleRegistrar = "registrar" // root of the operator: signs certificates of verifiers
)

// States of keys.
const (
	VerifierPending = "pending" // its certificate was not imported yet
	VerifierActive  = "active"
)

// VerifierStore stores the keys. A method that takes an audit.Act writes the
// change and the act in one transaction.
type VerifierStore interface {
	// AddVerifier adds a key. An active key replaces the owner's active key with
	// the same role.
	AddVerifier(ctx context.Context, v VerifierKey, act audit.Act) error
	// ActivateVerifier writes the chain and its end to a pending key, which
	// replaces its owner's active one. It returns fault.NotFound unless the key
	// is pending.
	ActivateVerifier(ctx context.Context, v VerifierKey, act audit.Act) error
	// RemoveVerifier deletes a key, or returns fault.NotFound.
	RemoveVerifier(ctx context.Context, id uuid.UUID, act audit.Act) error
	// Verifiers returns all keys, oldest first.
	Verifiers(ctx context.Context) ([]VerifierKey, error)
	// Verifier returns a key, or fault.NotFound.
	Verifier(ctx context.Context, id uuid.UUID) (VerifierKey, error)
	// ActiveVerifier returns the active key with a role of a tenant, or of the
	// instance if tenantID is nil, or fault.NotFound.
	ActiveVerifier(ctx context.Context, role string, tenantID *uuid.UUID) (VerifierKey, error)
	// PutRegistration adds a registration certificate, which replaces its owner's
	// earlier one.
	PutRegistration(ctx context.Context, r Registration, act audit.Act) error
	// RemoveRegistration deletes a registration certificate, or returns
	// fault.NotFound.
	RemoveRegistration(ctx context.Context, id uuid.UUID, act audit.Act) error
	// Registrations returns all registration certificates, oldest first.
	Registrations(ctx context.Context) ([]Registration, error)
}

// Verifiers manages the keys. A change applies to the next request.
type Verifiers struct {
	store  VerifierStore
	sealer *credential.Sealer
	random io.Reader
	now    func() time.Time
}

// NewVerifiers returns the service over a store.
func NewVerifiers(store VerifierStore, sealer *credential.Sealer, now func() time.Time) *Verifiers {
	return &Verifiers{store, sealer, rand.Reader, now}
}

// VerifierContext returns what a verifier's key is sealed with.
func VerifierContext(id string) string { return "verifier key|" + id }

// curveOf returns the curve with a name, or nil.
func curveOf(name string) elliptic.Curve {
	return map[string]elliptic.Curve{"p256": elliptic.P256(), "p384": elliptic.P384()}[name]
}

// generate creates a key, sealed for a new row.
func (s *Verifiers) generate(curve string) (VerifierKey, *ecdsa.PrivateKey, error) {
	c := curveOf(curve)
	if c == nil {
		return VerifierKey{}, nil, fault.New(fault.Invalid, "the curve must be p256 or p384")
	}
	id, err := uuid.NewV7()
	if err != nil {
		return VerifierKey{}, nil, err
	}
	key, err := ecdsa.GenerateKey(c, s.random)
	if err != nil {
		return VerifierKey{}, nil, err
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return VerifierKey{}, nil, err
	}
	sealed, err := s.sealer.Seal(encoded, VerifierContext(id.String()))
	return VerifierKey{ID: id, Sealed: sealed, State: VerifierPending,
		CreatedAt: s.now().UTC().Truncate(time.Microsecond)}, key, err
}

// open returns the private key of a row.
func openVerifier(sealer *credential.Sealer, v VerifierKey) (*ecdsa.PrivateKey, error) {
	encoded, err := sealer.Open(v.Sealed, VerifierContext(v.ID.String()))
	if err != nil {
		return nil, err
	}
	parsed, err := x509.ParsePKCS8PrivateKey(encoded)
	if err != nil {
		return nil, err
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok {
		return nil, errors.New("verifier: the key is of another kind")
	}
	return key, nil
}

// valid reports whether the key's certificates are valid now.
func (v VerifierKey) valid(now time.Time) bool {
	return v.Chain != nil && v.NotAfter != nil && now.Before(*v.NotAfter)
}

// identityOf returns a valid key in the form in which it signs requests.
func identityOf(sealer *credential.Sealer, v VerifierKey) (wallet.Identity, error) {
	key, err := openVerifier(sealer, v)
	if err != nil {
		return wallet.Identity{}, err
	}
	chain, err := x509.ParseCertificates(v.Chain)
	if err != nil {
		return wallet.Identity{}, err
	}
	identity := wallet.Identity{Key: key, Chain: chain, Metadata: v.Metadata}
	if v.ByHost {
		identity.DNS = v.Host
	}
	return identity, nil
}

// List returns all keys, oldest first.
func (s *Verifiers) List(ctx context.Context) ([]VerifierKey, error) { return s.store.Verifiers(ctx) }

// Remove deletes a key. Wallets can no longer answer requests signed with it. It
// returns fault.NotFound for an unknown key.
func (s *Verifiers) Remove(ctx context.Context, actor audit.Actor, id uuid.UUID) error {
	return s.store.RemoveVerifier(ctx, id, s.act(actor, audit.VerifierRemove, VerifierKey{ID: id}))
}

func (s *Verifiers) act(actor audit.Actor, action audit.Action, v VerifierKey) audit.Act {
	act := audit.Act{Scope: audit.Instance, At: s.now(), Actor: actor, Action: action, Target: v.ID.String()}
	if v.Name != "" {
		act.Detail.Params = map[string]string{"name": v.Name, "role": v.Role}
		if v.TenantID != nil {
			act.Detail.Params["tenant"] = v.TenantID.String()
		}
	}
	return act
}
