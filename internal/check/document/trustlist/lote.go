package trustlist

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"time"
)

// serviceIssuance ends the type of a service that issues documents. The other
// services of an entity revoke them.
const serviceIssuance = "/Issuance"

// joseMethods are the allowed algorithms of a JWS, and the sizes of their keys on
// elliptic curves.
var joseMethods = map[string]struct {
	method
	bits int
}{
	"ES256": {method{hash: crypto.SHA256, ecdsa: true}, 256},
	"ES384": {method{hash: crypto.SHA384, ecdsa: true}, 384},
	"ES512": {method{hash: crypto.SHA512, ecdsa: true}, 521},
	"RS256": {method{hash: crypto.SHA256}, 0},
	"RS384": {method{hash: crypto.SHA384}, 0},
	"RS512": {method{hash: crypto.SHA512}, 0},
	"PS256": {method{hash: crypto.SHA256, pss: true}, 0},
	"PS384": {method{hash: crypto.SHA384, pss: true}, 0},
	"PS512": {method{hash: crypto.SHA512, pss: true}, 0},
}

// joseHeader is the protected header of a compact JAdES signature (ETSI TS 119
// 182-1, baseline B).
type joseHeader struct {
	Algorithm  string   `json:"alg"`
	Critical   []string `json:"crit"`
	Chain      [][]byte `json:"x5c"`
	Thumbprint string   `json:"x5t#S256"`
	SignedAt   string   `json:"sigT"`
	IssuedAt   *float64 `json:"iat"`
	Encoded    *bool    `json:"b64"` // whether the payload is in base64url (RFC 7797), as it is without b64
}

// maxHeader bounds the protected header, which is decoded before the signature is
// verified.
const maxHeader = 64 << 10

// VerifyJWS checks a compact JAdES signature by one of the signers and returns the
// signed content. It returns a *RefusalError, which contains nothing of raw. It does
// not use go-jose, which refuses the critical header sigT of older signatures.
func VerifyJWS(raw []byte, signers []*x509.Certificate, now time.Time) ([]byte, error) {
	parts := strings.Split(strings.TrimSpace(string(raw)), ".")
	if len(parts) != 3 || len(parts[0]) > maxHeader {
		return nil, refuse(ReasonMalformed)
	}
	var header joseHeader
	encoded, err := decodeURL(parts[0])
	if err != nil || decodeJSON(encoded, &header) != nil {
		return nil, refuse(ReasonMalformed)
	}
	signer, err := header.signer(signers)
	if err != nil {
		return nil, err
	}
	algorithm, ok := joseMethods[header.Algorithm]
	if key, onCurve := signer.PublicKey.(*ecdsa.PublicKey); !ok || onCurve &&
		key.Curve.Params().BitSize != algorithm.bits {
		return nil, refuse(ReasonAlgorithm)
	}
	value, err := decodeURL(parts[2])
	if err != nil {
		return nil, err
	}
	if err := algorithm.verify(signer, []byte(parts[0]+"."+parts[1]), value); err != nil {
		return nil, err
	}
	if err := header.check(now); err != nil {
		return nil, err
	}
	return decodeURL(parts[1])
}

// signer returns the pinned certificate that the header names.
func (h joseHeader) signer(pinned []*x509.Certificate) (*x509.Certificate, error) {
	if len(h.Chain) == 0 && h.Thumbprint == "" {
		return nil, refuse(ReasonSignature)
	}
	for _, c := range pinned {
		sum := sha256.Sum256(c.Raw)
		if (len(h.Chain) == 0 || bytes.Equal(h.Chain[0], c.Raw)) &&
			(h.Thumbprint == "" || h.Thumbprint == base64.RawURLEncoding.EncodeToString(sum[:])) {
			return c, nil
		}
	}
	return nil, refuse(ReasonSigner)
}

// check checks the other fields of the header, after the header was verified.
func (h joseHeader) check(now time.Time) error {
	for _, name := range h.Critical {
		known := name == "sigT" && h.SignedAt != "" || name == "b64" && h.Encoded != nil
		if !known {
			return refuse(ReasonSignature)
		}
	}
	if h.Encoded != nil && !*h.Encoded || h.Critical != nil && len(h.Critical) == 0 {
		return refuse(ReasonSignature)
	}
	if h.SignedAt != "" {
		if at, err := readTime(h.SignedAt); err != nil || at.After(now.Add(clockSkew)) {
			return refuse(ReasonSignature)
		}
	}
	if h.IssuedAt != nil && *h.IssuedAt > float64(now.Add(clockSkew).Unix()) {
		return refuse(ReasonSignature)
	}
	return nil
}

// lote is the part of a list of trusted entities (ETSI TS 119 602) that is read.
type lote struct {
	List *struct {
		Scheme struct {
			Version    int         `json:"LoTEVersionIdentifier"`
			Sequence   int64       `json:"LoTESequenceNumber"`
			Type       string      `json:"LoTEType"`
			Issued     string      `json:"ListIssueDateTime"`
			NextUpdate string      `json:"NextUpdate"`
			Extensions []extension `json:"SchemeExtensions"`
		} `json:"ListAndSchemeInformation"`
		Entities []loteEntity `json:"TrustedEntitiesList"`
	} `json:"LoTE"`
}

type loteEntity struct {
	Information struct {
		Names   []loteText `json:"TEName"`
		Address struct {
			Postal []struct {
				Country string `json:"Country"`
			} `json:"TEPostalAddress"`
		} `json:"TEAddress"`
	} `json:"TrustedEntityInformation"`
	Services []struct {
		Information struct {
			Type     string `json:"ServiceTypeIdentifier"`
			Identity struct {
				Certificates []struct {
					Value string `json:"val"`
				} `json:"X509Certificates"`
			} `json:"ServiceDigitalIdentity"`
			Status     *string     `json:"ServiceStatus"`
			Since      string      `json:"StatusStartingTime"`
			Extensions []extension `json:"ServiceInformationExtensions"`
		} `json:"ServiceInformation"`
	} `json:"TrustedEntityServices"`
}

type loteText struct {
	Language string `json:"lang"`
	Value    string `json:"value"`
}

// extension is an extension of a list or a service. The package understands none.
type extension map[string]json.RawMessage

// isCritical reports whether an extension must be understood.
func (e extension) isCritical() bool {
	for name, value := range e {
		if strings.EqualFold(name, "critical") && string(value) != "false" {
			return true
		}
	}
	return false
}

func anyCritical(extensions []extension) bool {
	return slices.ContainsFunc(extensions, extension.isCritical)
}

// parseLoTE verifies a list of trusted entities, which must be of the given type.
func parseLoTE(raw []byte, listType string, signers []*x509.Certificate, now time.Time) (list List, err error) {
	payload, err := VerifyJWS(raw, signers, now)
	if err != nil {
		return list, err
	}
	var read lote
	if decodeJSON(payload, &read) != nil || read.List == nil {
		return list, refuse(ReasonMalformed)
	}
	scheme := read.List.Scheme
	if scheme.Type == "" || scheme.Type != listType {
		return list, refuse(ReasonType)
	}
	if scheme.Version != 1 || scheme.Sequence < 1 || anyCritical(scheme.Extensions) {
		return list, refuse(ReasonMalformed)
	}
	list.Sequence, list.Digest = scheme.Sequence, sha256.Sum256(payload)
	if list.Issued, err = readTime(scheme.Issued); err != nil {
		return list, refuse(ReasonIssued)
	}
	if list.NextUpdate, err = readTime(scheme.NextUpdate); err != nil {
		return list, refuse(ReasonNextUpdate)
	}
	for _, entity := range read.List.Entities {
		if err := list.addEntity(entity, now); err != nil {
			return list, err
		}
	}
	return list, nil
}

// addEntity adds those services of an entity that issue documents. A service without a
// status is granted, because such a list contains only granted services.
func (l *List) addEntity(entity loteEntity, now time.Time) error {
	name, country := "", ""
	for _, text := range entity.Information.Names {
		if name == "" || text.Language == "en" {
			name = text.Value
		}
	}
	for _, address := range entity.Information.Address.Postal {
		country = address.Country
	}
	for _, service := range entity.Services {
		info := service.Information
		if !strings.HasSuffix(info.Type, serviceIssuance) {
			continue
		}
		entry := Entry{Name: name, Country: country, Granted: !anyCritical(info.Extensions)}
		if info.Status != nil {
			since, err := readTime(info.Since)
			entry.Status = lastPart(*info.Status)
			entry.Granted = entry.Granted && slices.Contains(grantedEntities, entry.Status) && err == nil && !since.After(now)
		}
		if entry.Granted && len(info.Identity.Certificates) == 0 {
			l.Skipped++
		}
		for _, certificate := range info.Identity.Certificates {
			der, _ := decodeBase64(certificate.Value)
			if err := l.add(entry, der, now); err != nil {
				return err
			}
		}
	}
	return nil
}

// grantedEntities are the last parts of the statuses of trusted services. Public bodies are notified.
var grantedEntities = []string{"granted", "recognized", "notified"}

// decodeJSON decodes one JSON value with nothing behind it.
func decodeJSON(raw []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("trailing data")
	}
	return nil
}

func decodeURL(text string) ([]byte, error) {
	decoded, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(decoded) == 0 {
		return nil, refuse(ReasonMalformed)
	}
	return decoded, nil
}
