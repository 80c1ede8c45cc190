package document

import (
	"context"
	"crypto/ecdsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"slices"
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

// NewVerifier describes a key to create.
type NewVerifier struct {
	TenantID *uuid.UUID // nil: the instance's
	Name     string
	Host     string
	ByHost   bool
	Curve    string          // p256 or p384
	Display  *wallet.Display // what Google Wallet shows; nil for no metadata
}

func (n NewVerifier) check() error {
	switch {
	case strings.TrimSpace(n.Name) == "" || utf8.RuneCountInString(n.Name) > 64 ||
		strings.ContainsFunc(n.Name, tenant.IsHidden):
		return fault.New(fault.Invalid, "the name must have 1 to 64 visible characters")
	case n.Host == "" || len(n.Host) > 253 || strings.ContainsAny(n.Host, "/:@ "):
		return fault.New(fault.Invalid, "the host must be that of the verification pages, such as verify.example.com")
	}
	return nil
}

// make creates the described key.
func (s *Verifiers) make(n NewVerifier) (VerifierKey, *ecdsa.PrivateKey, error) {
	if err := n.check(); err != nil {
		return VerifierKey{}, nil, err
	}
	v, key, err := s.generate(n.Curve)
	v.Role, v.TenantID, v.Name, v.Host, v.ByHost = RoleVerifier, n.TenantID, n.Name, n.Host, n.ByHost
	if n.Display != nil {
		v.Metadata = wallet.EncodeMetadata(*n.Display)
	}
	return v, key, err
}

// Request creates a key and returns it with a certificate request in PEM. The key
// is used once its certificate has been imported. Request returns fault.Invalid
// with the reason.
func (s *Verifiers) Request(ctx context.Context, actor audit.Actor, n NewVerifier) (VerifierKey, []byte, error) {
	v, key, err := s.make(n)
	if err != nil {
		return v, nil, err
	}
	extensions, err := extensionsOf(v)
	if err != nil {
		return v, nil, err
	}
	der, err := x509.CreateCertificateRequest(s.random, &x509.CertificateRequest{
		Subject: pkix.Name{CommonName: v.Name}, DNSNames: []string{v.Host}, ExtraExtensions: extensions,
	}, key)
	if err != nil {
		return v, nil, err
	}
	err = s.store.AddVerifier(ctx, v, s.act(actor, audit.VerifierAdd, v))
	return v, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}), err
}

// extensionsOf returns the extensions of a verifier's certificate.
func extensionsOf(v VerifierKey) ([]pkix.Extension, error) {
	if v.Metadata == nil {
		return nil, nil
	}
	value, err := wallet.MetadataExtension(v.Metadata)
	return []pkix.Extension{{Id: wallet.UsageMetadata, Value: value}}, err
}

// Rotate creates a key like the active one of a tenant, or of the instance. The
// active key stays in use until the new one's certificate is imported. Rotate
// returns fault.NotFound if there is no active key.
func (s *Verifiers) Rotate(ctx context.Context, actor audit.Actor, tenantID *uuid.UUID) (VerifierKey, []byte, error) {
	active, err := s.store.ActiveVerifier(ctx, RoleVerifier, tenantID)
	if err != nil {
		return VerifierKey{}, nil, err
	}
	old, err := openVerifier(s.sealer, active)
	if err != nil {
		return VerifierKey{}, nil, err
	}
	n := NewVerifier{TenantID: tenantID, Name: active.Name, Host: active.Host, ByHost: active.ByHost, Curve: "p256"}
	if old.Curve == curveOf("p384") {
		n.Curve = "p384"
	}
	if n.Display, err = wallet.DecodeMetadata(active.Metadata); err != nil {
		return VerifierKey{}, nil, err
	}
	return s.Request(ctx, actor, n)
}

// maxImported is the maximum number of certificates in a chain.
const maxImported = 4

// Import stores the certificates of a pending key, its own first, and makes the
// key active. It returns fault.Invalid with the reason, and fault.NotFound for a
// key that is not pending.
func (s *Verifiers) Import(ctx context.Context, actor audit.Actor, id uuid.UUID, text []byte) (VerifierKey, error) {
	v, err := s.store.Verifier(ctx, id)
	if err != nil {
		return v, err
	}
	if v.State != VerifierPending {
		return v, fault.New(fault.Conflict, "the key has its certificates already: make another one with agegate verifier "+
			"rotate")
	}
	key, err := openVerifier(s.sealer, v)
	if err != nil {
		return v, err
	}
	chain, err := parseChain(text)
	if err != nil {
		return v, err
	}
	if chain, err = checkChain(chain, key, v, s.now()); err != nil {
		return v, err
	}
	v.State = VerifierActive
	v.Chain, v.NotAfter = joinChain(chain)
	return v, s.store.ActivateVerifier(ctx, v, s.act(actor, audit.VerifierActivate, v))
}

func parseChain(text []byte) (chain []*x509.Certificate, err error) {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" || len(chain) == maxImported {
			return nil, fault.New(fault.Invalid, "the file must hold one to four certificates in PEM, that of the key first")
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fault.Wrap(err, fault.Invalid, "a certificate cannot be read")
		}
		if credential.CheckPublicKey(certificate.PublicKey) != nil {
			return nil, fault.New(fault.Invalid, "a certificate has a key of a kind or size that is not used")
		}
		chain = append(chain, certificate)
	}
	if len(chain) == 0 {
		return nil, fault.New(fault.Invalid, "the file must hold one to four certificates in PEM, that of the key first")
	}
	return chain, nil
}

// checkChain makes the checks that wallets make. It returns the chain without its root,
// which wallets already have.
func checkChain(
	chain []*x509.Certificate, key *ecdsa.PrivateKey, v VerifierKey, now time.Time,
) ([]*x509.Certificate, error) {
	leaf := chain[0]
	public, ok := leaf.PublicKey.(*ecdsa.PublicKey)
	switch {
	case !ok || !public.Equal(&key.PublicKey):
		return nil, fault.New(fault.Invalid, "the first certificate is not that of this key")
	case credential.SameName(leaf.RawIssuer, leaf.RawSubject):
		return nil, fault.New(fault.Invalid, "the certificate is self-signed, which wallets refuse")
	case leaf.KeyUsage != 0 && leaf.KeyUsage&x509.KeyUsageDigitalSignature == 0:
		return nil, fault.New(fault.Invalid, "the certificate may not sign: its key usage lacks digitalSignature")
	case v.ByHost && !slices.Contains(leaf.DNSNames, v.Host):
		return nil, fault.New(fault.Invalid, "the certificate does not name the host, by which requests would name the "+
			"verifier")
	}
	for n, c := range chain {
		if now.Before(c.NotBefore) || !now.Before(c.NotAfter) {
			return nil, fault.New(fault.Invalid, "a certificate is not valid now")
		}
		if n > 0 && chain[n-1].CheckSignatureFrom(c) != nil {
			return nil, fault.New(fault.Invalid, "a certificate was not issued by the next one in the file")
		}
	}
	if last := chain[len(chain)-1]; len(chain) > 1 && credential.SameName(last.RawIssuer, last.RawSubject) {
		chain = chain[:len(chain)-1]
	}
	return chain, nil
}

// joinChain returns a chain in its stored form, and its end.
func joinChain(chain []*x509.Certificate) (der []byte, end *time.Time) {
	for _, c := range chain {
		der = append(der, c.Raw...)
		if until := c.NotAfter.UTC(); end == nil || until.Before(*end) {
			end = &until
		}
	}
	return der, end
}

// Validity of certificates that a registrar signs. Browsers and wallets refuse
// end certificates that are valid for longer than about a year.
const (
	rootValidity = 10 * 365 * 24 * time.Hour
	leafValidity = 397 * 24 * time.Hour
	backdated    = time.Hour
)

// NewRegistrar creates the operator's root, which signs the certificates of
// verifiers. It returns the root with its certificate in PEM, which must be
// registered with wallets. An earlier root no longer signs.
func (s *Verifiers) NewRegistrar(
	ctx context.Context, actor audit.Actor, name, host string,
) (VerifierKey, []byte, error) {
	v, key, err := s.make(NewVerifier{Name: name, Host: host, Curve: "p256"})
	if err != nil {
		return v, nil, err
	}
	template := &x509.Certificate{
		Subject:   pkix.Name{CommonName: name},
		NotBefore: s.now().Add(-backdated), NotAfter: s.now().Add(rootValidity),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	der, err := x509.CreateCertificate(s.random, template, template, &key.PublicKey, key)
	if err != nil {
		return v, nil, err
	}
	until := template.NotAfter.UTC().Truncate(time.Second)
	v.Role, v.State, v.Chain, v.NotAfter = RoleRegistrar, VerifierActive, der, &until
	err = s.store.AddVerifier(ctx, v, s.act(actor, audit.VerifierAdd, v))
	return v, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), err
}

// Sign creates a key whose certificate the operator's root signs, and uses it at
// once. It returns fault.NotFound if there is no root.
func (s *Verifiers) Sign(ctx context.Context, actor audit.Actor, n NewVerifier) (VerifierKey, error) {
	registrar, err := s.store.ActiveVerifier(ctx, RoleRegistrar, nil)
	if err != nil {
		return registrar, err
	}
	root, err := x509.ParseCertificate(registrar.Chain)
	if err != nil {
		return registrar, err
	}
	rootKey, err := openVerifier(s.sealer, registrar)
	if err != nil {
		return registrar, err
	}
	v, key, err := s.make(n)
	if err != nil {
		return v, err
	}
	extensions, err := extensionsOf(v)
	if err != nil {
		return v, err
	}
	until := s.now().Add(leafValidity)
	if until.After(root.NotAfter) {
		until = root.NotAfter
	}
	der, err := x509.CreateCertificate(s.random, &x509.Certificate{
		Subject: pkix.Name{CommonName: v.Name}, DNSNames: []string{v.Host},
		NotBefore: s.now().Add(-backdated), NotAfter: until, KeyUsage: x509.KeyUsageDigitalSignature,
		UnknownExtKeyUsage: []asn1.ObjectIdentifier{wallet.UsageReader}, ExtraExtensions: extensions,
	}, root, &key.PublicKey, rootKey)
	if err != nil {
		return v, err
	}
	until = until.UTC().Truncate(time.Second)
	v.State, v.Chain, v.NotAfter = VerifierActive, der, &until
	return v, s.store.AddVerifier(ctx, v, s.act(actor, audit.VerifierActivate, v))
}
