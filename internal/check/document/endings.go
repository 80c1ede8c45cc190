package document

import (
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"slices"
	"time"

	"agegate/internal/rules/fault"

	"github.com/google/uuid"
)

// EndingKind is a kind of thing that ends and on which wallets' checks depend.
type EndingKind string

// The kinds.
const (
	EndingList     EndingKind = "list"     // a published list: its next update
	EndingSigner   EndingKind = "signer"   // the last pinned certificate of a published list
	EndingIssuer   EndingKind = "issuer"   // an issuer's certificate
	EndingVerifier EndingKind = "verifier" // a certificate of the gateway's own key
	// EndingRegistration is a registration certificate of a relying party.
	EndingRegistration EndingKind = "registration"
)

// EndingSoon is how long before its end a thing is reported.
const EndingSoon = 14 * 24 * time.Hour

// EndingKinds returns all kinds.
func EndingKinds() []EndingKind {
	return []EndingKind{EndingList, EndingSigner, EndingIssuer, EndingVerifier, EndingRegistration}
}

// Ending is a thing that ends and on which wallets' checks depend.
type Ending struct {
	Kind EndingKind
	Name string
	At   time.Time // from then on it is not used
}

// EndingStore reads what can end.
type EndingStore interface {
	// Issuers is TrustStore.Issuers.
	Issuers(ctx context.Context) ([]TrustedIssuer, error)
	// TrustLists is ListStore.TrustLists.
	TrustLists(ctx context.Context) ([]TrustList, error)
	// Verifiers is VerifierStore.Verifiers.
	Verifiers(ctx context.Context) ([]VerifierKey, error)
	// Registrations is VerifierStore.Registrations.
	Registrations(ctx context.Context) ([]Registration, error)
	// ActiveVerifier is VerifierStore.ActiveVerifier.
	ActiveVerifier(ctx context.Context, role string, tenantID *uuid.UUID) (VerifierKey, error)
}

// Dependencies are what wallets' checks depend on.
type Dependencies struct {
	Endings []Ending // by time
	Failing []TrustList
	Empty   []TrustList // nothing was applied yet, and no attempt has failed
	// Unlogged are the keys whose access certificate has no proof that it was published (see isUnlogged).
	Unlogged []VerifierKey
	// Unsent are the registration certificates that are not sent, because they do not
	// name the subject of the certificate that signs their owner's requests.
	Unsent []Registration
}

// DependenciesOf reads what wallets' checks depend on.
func DependenciesOf(ctx context.Context, store EndingStore, now time.Time) (d Dependencies, err error) {
	lists, err := store.TrustLists(ctx)
	if err != nil {
		return d, err
	}
	issuers, err := store.Issuers(ctx)
	if err != nil {
		return d, err
	}
	keys, err := store.Verifiers(ctx)
	if err != nil {
		return d, err
	}
	for _, l := range lists {
		if err := d.addList(l); err != nil {
			return d, err
		}
	}
	for _, i := range issuers {
		d.Endings = append(d.Endings, Ending{EndingIssuer, i.Name, i.NotAfter})
	}
	for _, k := range keys {
		if k.NotAfter != nil {
			d.Endings = append(d.Endings, Ending{EndingVerifier, k.Name, *k.NotAfter})
		}
		if chain, err := x509.ParseCertificates(k.Chain); err == nil && len(chain) > 0 && isUnlogged(chain[0]) {
			d.Unlogged = append(d.Unlogged, k)
		}
	}
	if err := d.addRegistrations(ctx, store, now); err != nil {
		return d, err
	}
	slices.SortStableFunc(d.Endings, func(a, b Ending) int { return a.At.Compare(b.At) })
	return d, nil
}

func (d *Dependencies) addRegistrations(ctx context.Context, store EndingStore, now time.Time) error {
	registrations, err := store.Registrations(ctx)
	if err != nil {
		return err
	}
	for _, r := range registrations {
		if r.NotAfter != nil {
			d.Endings = append(d.Endings, Ending{EndingRegistration, r.Owner(), *r.NotAfter})
		}
		if r.ended(now) {
			continue
		}
		key, err := signerOf(ctx, store, r.TenantID, now)
		if err != nil && fault.CodeOf(err) != fault.NotFound {
			return err
		}
		chain, err := x509.ParseCertificates(key.Chain)
		if err != nil {
			return err
		}
		if len(chain) == 0 || !r.sentWith(chain[0], now) {
			d.Unsent = append(d.Unsent, r)
		}
	}
	return nil
}

// oidTimestamps is the extension of a certificate that has its SCTs (RFC 6962, 3.3), the proofs that it was published.
// oidAccess is the extended key usage of access certificates. accessPolicies begins the identifiers of their policies
// (ETSI TS 119 411-8).
var (
	oidTimestamps  = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 11129, 2, 4, 2}
	oidAccess      = asn1.ObjectIdentifier{0, 4, 0, 19411, 8, 1}
	accessPolicies = asn1.ObjectIdentifier{0, 4, 0, 194118, 1}
)

// isUnlogged reports whether a certificate is an access certificate to EUDI wallets without SCTs.
func isUnlogged(c *x509.Certificate) bool {
	isPolicy := func(id asn1.ObjectIdentifier) bool {
		return len(id) > len(accessPolicies) && id[:len(accessPolicies)].Equal(accessPolicies)
	}
	isAccess := slices.ContainsFunc(c.UnknownExtKeyUsage, oidAccess.Equal) ||
		slices.ContainsFunc(c.PolicyIdentifiers, isPolicy)
	return isAccess && !slices.ContainsFunc(c.Extensions, func(e pkix.Extension) bool { return e.Id.Equal(oidTimestamps) })
}

func (d *Dependencies) addList(l TrustList) error {
	source, err := l.source()
	if err != nil {
		return err
	}
	var last time.Time
	for _, c := range source.Signers {
		if c.NotAfter.After(last) {
			last = c.NotAfter
		}
	}
	d.Endings = append(d.Endings, Ending{EndingSigner, l.Name, last})
	if l.NextUpdate != nil {
		d.Endings = append(d.Endings, Ending{EndingList, l.Name, *l.NextUpdate})
	}
	switch {
	case l.Failure != "":
		d.Failing = append(d.Failing, l)
	case l.SyncedAt == nil:
		d.Empty = append(d.Empty, l)
	}
	return nil
}

// Before returns what ends before a time, or has ended already.
func (d Dependencies) Before(at time.Time) []Ending {
	n, _ := slices.BinarySearchFunc(d.Endings, at, func(e Ending, at time.Time) int { return e.At.Compare(at) })
	return d.Endings[:n]
}
