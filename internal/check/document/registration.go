package document

import (
	"context"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"encoding/json"
	"math"
	"strings"
	"time"

	"agegate/internal/check/document/trustlist"
	"agegate/internal/check/document/wallet"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/strictjson"

	"github.com/google/uuid"
)

// Registration is a relying party's registration certificate (ETSI TS 119 475, 5.2), by
// which a registrar states what the party may ask wallets for. It is sent with the
// owner's signed requests, and is public.
type Registration struct {
	ID        uuid.UUID
	TenantID  *uuid.UUID // nil: the instance's, for every tenant without one
	Text      string     // a JWT
	NotAfter  *time.Time // nil: it names no end
	CreatedAt time.Time
}

// Owner names the owner of the registration certificate.
func (r Registration) Owner() string {
	if r.TenantID == nil {
		return "instance"
	}
	return r.TenantID.String()
}

// ended reports whether the certificate has ended.
func (r Registration) ended(now time.Time) bool { return r.NotAfter != nil && !now.Before(*r.NotAfter) }

// sentWith reports whether requests signed with the key of a certificate carry the
// registration certificate.
func (r Registration) sentWith(leaf *x509.Certificate, now time.Time) bool {
	claims, err := registrationClaims(r.Text)
	return err == nil && !r.ended(now) && names(claims, leaf)
}

// Bounds of a registration certificate.
const (
	MaxRegistrationBytes = 32 << 10
	maxRegistrationDepth = 16
)

const typeRegistration = "rc-wrp+jwt"

// errRegistration refuses what is not a registration certificate.
var errRegistration = fault.New(fault.Invalid,
	"the file must hold one registration certificate as a JWT of the type rc-wrp+jwt, of at most 32 KiB")

// readRegistration checks the form and the signature of a registration certificate and
// returns its claims. The signer's own certificates are part of it. It does not check
// their issuer; wallets do.
func readRegistration(text string, now time.Time) (map[string]any, error) {
	header, err := jwtPart(text, 0)
	if err != nil || len(text) > MaxRegistrationBytes || !wallet.IsType(header["typ"], typeRegistration) {
		return nil, errRegistration
	}
	chain, _ := header["x5c"].([]any)
	if len(chain) == 0 || len(chain) > maxImported {
		return nil, fault.New(fault.Invalid, "the registration certificate must come with one to four certificates of its "+
			"signer (x5c)")
	}
	encoded, _ := chain[0].(string)
	der, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, errRegistration
	}
	signer, err := x509.ParseCertificate(der)
	if err != nil || credential.CheckPublicKey(signer.PublicKey) != nil {
		return nil, fault.New(fault.Invalid, "the certificate of the registration certificate's signer cannot be read, or "+
			"its key is of a kind or size that is not used")
	}
	if _, err := trustlist.VerifyJWS([]byte(text), []*x509.Certificate{signer}, now); err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "the signature of the registration certificate does not verify, or its "+
			"algorithm is not ES, PS or RS with 256, 384 or 512")
	}
	return registrationClaims(text)
}

// registrationClaims returns the claims of a registration certificate without
// checking its signature.
func registrationClaims(text string) (map[string]any, error) { return jwtPart(text, 1) }

// jwtPart returns the header (0) or the claims (1) of a JWT.
func jwtPart(text string, part int) (map[string]any, error) {
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return nil, errRegistration
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(parts[part])
	if err != nil {
		return nil, errRegistration
	}
	value, err := strictjson.Read(raw, maxRegistrationDepth)
	object, ok := value.(map[string]any)
	if err != nil || !ok {
		return nil, errRegistration
	}
	return object, nil
}

// registrationTime returns the time of a claim, nil if it is missing.
func registrationTime(claims map[string]any, name string) (*time.Time, error) {
	value, given := claims[name]
	if !given {
		return nil, nil //nolint:nilnil // the claim is optional
	}
	number, _ := value.(json.Number)
	seconds, err := number.Float64()
	if err != nil || seconds < 0 || seconds > math.MaxInt32*4 {
		return nil, errRegistration
	}
	at := time.Unix(int64(seconds), 0).UTC()
	return &at, nil
}

// oidOrganization is the X.520 attribute organizationIdentifier, by which a
// certificate names a legal person (ETSI EN 319 412-1, 5.1.4).
var oidOrganization = asn1.ObjectIdentifier{2, 5, 4, 97}

// names reports whether the claims name the subject of a certificate, as the
// relying party or as the intermediary that asks for it.
func names(claims map[string]any, leaf *x509.Certificate) bool {
	subject := leaf.Subject.SerialNumber // of a natural person
	for _, attribute := range leaf.Subject.Names {
		if text, ok := attribute.Value.(string); ok && attribute.Type.Equal(oidOrganization) {
			subject = text
		}
	}
	if subject == "" {
		return false
	}
	intermediary, _ := claims["intermediary"].(map[string]any)
	return claims["sub"] == subject || intermediary["sub"] == subject
}

// Register stores the registration certificate of a tenant, or of the instance if
// tenantID is nil, in place of an earlier one. It returns fault.Invalid with the
// reason if it is not one, has ended, or does not name the subject of the
// certificate by which the owner's requests are signed, and fault.NotFound if no
// key signs them.
func (s *Verifiers) Register(
	ctx context.Context, actor audit.Actor, tenantID *uuid.UUID, text []byte,
) (r Registration, err error) {
	r = Registration{TenantID: tenantID, Text: strings.TrimSpace(string(text)),
		CreatedAt: s.now().UTC().Truncate(time.Microsecond)}
	claims, err := readRegistration(r.Text, s.now())
	if err != nil {
		return r, err
	}
	issued, err := registrationTime(claims, "iat")
	if err != nil {
		return r, err
	}
	if r.NotAfter, err = registrationTime(claims, "exp"); err != nil {
		return r, err
	}
	if r.ended(s.now()) || issued != nil && issued.After(s.now().Add(registrationSkew)) {
		return r, fault.New(fault.Invalid, "the registration certificate is not valid now")
	}
	key, err := signerOf(ctx, s.store, tenantID, s.now())
	if err != nil {
		return r, err
	}
	chain, err := x509.ParseCertificates(key.Chain)
	if err != nil {
		return r, err
	}
	if !names(claims, chain[0]) {
		return r, fault.New(fault.Invalid, "the registration certificate names another relying party and another "+
			"intermediary than the certificate by which requests are signed: its sub or intermediary.sub must be the "+
			"organizationIdentifier there")
	}
	if r.ID, err = uuid.NewV7(); err != nil {
		return r, err
	}
	return r, s.store.PutRegistration(ctx, r, s.registrationAct(actor, audit.RegistrationAdd, r))
}

// registrationSkew is how far a registrar's clock may be ahead.
const registrationSkew = 5 * time.Minute

// signerOf returns the key that signs the requests of a tenant, or of tenants without a
// key if tenantID is nil. The tenant's key goes before the instance's; a key counts
// only if its certificates are valid now. signerOf returns fault.NotFound if there is
// none.
func signerOf(
	ctx context.Context, store activeVerifiers, tenantID *uuid.UUID, now time.Time,
) (VerifierKey, error) {
	owners := []*uuid.UUID{nil}
	if tenantID != nil {
		owners = []*uuid.UUID{tenantID, nil}
	}
	for _, owner := range owners {
		key, err := store.ActiveVerifier(ctx, RoleVerifier, owner)
		if fault.CodeOf(err) == fault.NotFound || err == nil && !key.valid(now) {
			continue
		}
		return key, err
	}
	return VerifierKey{}, fault.New(fault.NotFound, "No key signs requests")
}

// activeVerifiers is the part of a store that signerOf reads.
type activeVerifiers interface {
	ActiveVerifier(ctx context.Context, role string, tenantID *uuid.UUID) (VerifierKey, error)
}

// registrationFor returns the registration certificate for a tenant's request that the
// key of leaf signs. It is the tenant's, or the instance's if the tenant has none.
// registrationFor returns "" if it has ended or does not name the subject of leaf.
func (w *Wallets) registrationFor(ctx context.Context, tenantID uuid.UUID, leaf *x509.Certificate) (string, error) {
	for _, owner := range []*uuid.UUID{&tenantID, nil} {
		r, err := w.store.RegistrationOf(ctx, owner)
		switch {
		case fault.CodeOf(err) == fault.NotFound:
			continue
		case err != nil:
			return "", err
		case r.sentWith(leaf, w.now()):
			return r.Text, nil
		}
		return "", nil
	}
	return "", nil
}

// Registrations returns all registration certificates, oldest first.
func (s *Verifiers) Registrations(ctx context.Context) ([]Registration, error) {
	return s.store.Registrations(ctx)
}

// Unregister deletes a registration certificate, or returns fault.NotFound.
func (s *Verifiers) Unregister(ctx context.Context, actor audit.Actor, id uuid.UUID) error {
	act := s.registrationAct(actor, audit.RegistrationRemove, Registration{ID: id})
	return s.store.RemoveRegistration(ctx, id, act)
}

func (s *Verifiers) registrationAct(actor audit.Actor, action audit.Action, r Registration) audit.Act {
	act := audit.Act{Scope: audit.Instance, At: s.now(), Actor: actor, Action: action, Target: r.ID.String()}
	if r.TenantID != nil {
		act.Detail.Params = map[string]string{"tenant": r.TenantID.String()}
	}
	return act
}
