// Package document is the document check: shoppers whose estimated age was
// refused can prove their age with a document. It knows the ways, their steps and
// their limits. It ends in session.Service.Resolve, like every check. It stores
// only the way and the outcome.
package document

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"encoding/hex"
	"encoding/pem"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"agegate/internal/check/document/wallet"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/tenant"

	"github.com/google/uuid"
)

// TrustedIssuer is an entry of the trust list: a certificate from which wallets'
// documents of one kind are accepted, in every session.
type TrustedIssuer struct {
	ID          uuid.UUID
	Name        string
	Country     string // ISO 3166-1 alpha-2
	DocType     string
	Certificate []byte // DER
	Fingerprint []byte // SHA-256 of Certificate
	SignerUsage string // OID that the document signer's certificate must have; empty if none is required
	NotBefore   time.Time
	NotAfter    time.Time
	CreatedAt   time.Time
	List        IssuerList `gorm:"-"` // from which it comes
}

// usable reports whether the issuer's documents may be accepted now. An issuer from a
// published list is usable until List.Until. An issuer that an operator added is always
// usable.
func (i TrustedIssuer) usable(now time.Time) bool {
	return i.List.ID == uuid.Nil || now.Before(i.List.Until)
}

// TrustStore stores the trust list. A method that takes an audit.Act writes the
// change and the act in one transaction.
type TrustStore interface {
	// AddIssuer adds an entry. It returns fault.Conflict if the certificate is
	// already trusted for the kind of document.
	AddIssuer(ctx context.Context, i TrustedIssuer, act audit.Act) error
	// Issuers returns the trust list, oldest first: first the issuers that operators
	// added, then those of published lists, including lists that have ended.
	Issuers(ctx context.Context) ([]TrustedIssuer, error)
	// RemoveIssuer removes an entry, or returns fault.NotFound.
	RemoveIssuer(ctx context.Context, id uuid.UUID, act audit.Act) error
}

// Trust manages the trust list. A change applies to the next presentation.
type Trust struct {
	store TrustStore
	now   func() time.Time
}

// NewTrust returns the service over a store.
func NewTrust(store TrustStore, now func() time.Time) *Trust { return &Trust{store, now} }

// NewIssuer describes an issuer to trust.
type NewIssuer struct {
	Name    string
	Country string // empty: the country in the certificate
	DocType string
	// SignerUsage is the OID of the extended key usage that document signers must
	// have. If it is empty, mobile driving licences require the one of ISO/IEC
	// 18013-5 and other documents none. AnySignerUsage always means that none is
	// required.
	SignerUsage string
	PEM         []byte // one certificate
}

// AnySignerUsage requires no extended key usage.
const AnySignerUsage = "any"

const maxIssuerName = 100

var countryCode = regexp.MustCompile(`^[A-Z]{2}$`)

// checkName refuses a name of an issuer or a list that cannot be shown.
func checkName(name string) error {
	if strings.TrimSpace(name) == "" || !utf8.ValidString(name) || utf8.RuneCountInString(name) > maxIssuerName ||
		strings.ContainsFunc(name, tenant.IsHidden) {
		return fault.New(fault.Invalid, "the name must have 1 to "+strconv.Itoa(maxIssuerName)+" visible characters")
	}
	return nil
}

// Add trusts an issuer and writes an entry to the instance's audit log. It
// returns fault.Invalid with the reason, or fault.Conflict if the certificate is
// already trusted.
func (t *Trust) Add(ctx context.Context, actor audit.Actor, n NewIssuer) (TrustedIssuer, error) {
	if err := checkName(n.Name); err != nil {
		return TrustedIssuer{}, err
	}
	if !slices.Contains(wallet.DocTypes(), n.DocType) {
		return TrustedIssuer{}, fault.New(fault.Invalid, "the kind of document must be one of "+
			strings.Join(wallet.DocTypes(), ", "))
	}
	certificate, err := parseCertificate(n.PEM)
	if err != nil {
		return TrustedIssuer{}, err
	}
	if n.Country == "" && len(certificate.Subject.Country) == 1 {
		n.Country = strings.ToUpper(certificate.Subject.Country[0])
	}
	if !countryCode.MatchString(n.Country) {
		return TrustedIssuer{}, fault.New(fault.Invalid, "the country must be two letters, such as DE")
	}
	now := t.now()
	if !now.Before(certificate.NotAfter) {
		return TrustedIssuer{}, fault.New(fault.Invalid, "the certificate has expired")
	}
	usage, err := signerUsage(n)
	if err != nil {
		return TrustedIssuer{}, err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return TrustedIssuer{}, err
	}
	fingerprint := sha256.Sum256(certificate.Raw)
	issuer := TrustedIssuer{
		ID: id, Name: n.Name, Country: n.Country, DocType: n.DocType, Certificate: certificate.Raw,
		Fingerprint: fingerprint[:],
		SignerUsage: usage, NotBefore: certificate.NotBefore.UTC(), NotAfter: certificate.NotAfter.UTC(), CreatedAt: now,
	}
	err = t.store.AddIssuer(ctx, issuer, audit.Act{
		Scope: audit.Instance, At: now, Actor: actor, Action: audit.IssuerTrust, Target: id.String(),
		Detail: audit.Detail{Params: map[string]string{
			"name": n.Name, "country": n.Country, "doctype": n.DocType, "fingerprint": hex.EncodeToString(issuer.Fingerprint),
		}},
	})
	if fault.CodeOf(err) == fault.Conflict {
		err = fault.New(fault.Conflict, "this certificate is trusted for this kind of document already")
	}
	return issuer, err
}

func parseCertificate(text []byte) (*x509.Certificate, error) {
	block, rest := pem.Decode(text)
	if block == nil || block.Type != "CERTIFICATE" {
		return nil, fault.New(fault.Invalid, "the file must hold a certificate in PEM")
	}
	if next, _ := pem.Decode(rest); next != nil {
		return nil, fault.New(fault.Invalid, "the file must hold one certificate only: add each issuer by itself")
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "the certificate cannot be read")
	}
	if err := credential.CheckPublicKey(certificate.PublicKey); err != nil {
		return nil, fault.Wrap(err, fault.Invalid,
			"the certificate's key must be RSA of 2048 to 4096 bits, or on P-256, P-384, P-521 or Ed25519")
	}
	return certificate, nil
}

func signerUsage(n NewIssuer) (string, error) {
	switch {
	case n.SignerUsage == AnySignerUsage, n.SignerUsage == "" && n.DocType != wallet.DocTypeMDL:
		return "", nil
	case n.SignerUsage == "":
		return wallet.UsageMDL.String(), nil
	}
	oid, err := parseOID(n.SignerUsage)
	if err != nil {
		return "", fault.New(fault.Invalid, "the signers' usage must be an OID, such as 1.0.18013.5.1.2, or "+AnySignerUsage)
	}
	return oid.String(), nil
}

func parseOID(text string) (asn1.ObjectIdentifier, error) {
	var oid asn1.ObjectIdentifier
	for part := range strings.SplitSeq(text, ".") {
		n, err := strconv.ParseUint(part, 10, 31)
		if err != nil {
			return nil, err
		}
		oid = append(oid, int(n))
	}
	if _, err := asn1.Marshal(oid); err != nil {
		return nil, err
	}
	return oid, nil
}

// List returns the trust list, oldest first.
func (t *Trust) List(ctx context.Context) ([]TrustedIssuer, error) { return t.store.Issuers(ctx) }

// Remove ends the trust in an issuer that an operator added, and writes an entry to the
// instance's audit log. It returns fault.NotFound for other issuers. Issuers of a list
// are removed with their list.
func (t *Trust) Remove(ctx context.Context, actor audit.Actor, id uuid.UUID) error {
	return t.store.RemoveIssuer(ctx, id, audit.Act{
		Scope: audit.Instance, At: t.now(), Actor: actor, Action: audit.IssuerDistrust, Target: id.String(),
	})
}

// verified returns an entry in the form that a verifier uses, or
// credential.ErrPublicKey for a key that Add would refuse. An older version may have
// stored one.
func (i TrustedIssuer) verified() (wallet.Issuer, error) {
	certificate, err := x509.ParseCertificate(i.Certificate)
	if err != nil {
		return wallet.Issuer{}, err
	}
	if err := credential.CheckPublicKey(certificate.PublicKey); err != nil {
		return wallet.Issuer{}, err
	}
	issuer := wallet.Issuer{DocType: i.DocType, Certificate: certificate}
	if i.SignerUsage != "" {
		issuer.SignerUsage, err = parseOID(i.SignerUsage)
	}
	return issuer, err
}
