package trustlisttest

import (
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"time"
)

// Types of the EU's lists of trusted entities.
const (
	LoTEType    = "http://uri.etsi.org/19602/LoTEType/EUPIDProvidersList"
	loteService = "http://uri.etsi.org/19602/SvcType/PID/Issuance"
)

// LoTE is a list of trusted entities.
type LoTE struct {
	Type         string // empty: LoTEType
	Sequence     int
	Issued, Next time.Time
	Entities     []Service // with the type and status of the service; no status if it is empty
	// Header and List change the protected header and the list before they are
	// signed, and Final the signed list. Each may be nil.
	Header, List map[string]any // replace members; nil values remove them
	Final        func(string) string
}

// SignLoTE returns the list as a compact JWS.
func (p Publisher) SignLoTE(l LoTE) []byte {
	algorithm := "RS256"
	if _, ok := p.Key.(*ecdsa.PrivateKey); ok {
		algorithm = "ES256"
	}
	header := map[string]any{"alg": algorithm, "typ": "JOSE", "iat": l.Issued.Unix(),
		"x5c": []string{encode(p.Certificate.Raw)}}
	merge(header, l.Header)
	scheme := map[string]any{
		"LoTEVersionIdentifier": 1, "LoTESequenceNumber": l.Sequence, "LoTEType": or(l.Type, LoTEType),
		"SchemeOperatorName": []any{map[string]any{"lang": "en", "value": "Operator"}}, "SchemeTerritory": "EU",
		"ListIssueDateTime": l.Issued.UTC().Format(time.RFC3339), "NextUpdate": l.Next.UTC().Format(time.RFC3339),
	}
	merge(scheme, l.List)
	entities := []any{}
	for _, s := range l.Entities {
		entities = append(entities, entityOf(s.Provider, s.Type, s.Status, s.Certificate))
	}
	list := map[string]any{"LoTE": map[string]any{"ListAndSchemeInformation": scheme, "TrustedEntitiesList": entities}}
	signed := base64.RawURLEncoding.EncodeToString(must(json.Marshal(header))) + "." +
		base64.RawURLEncoding.EncodeToString(must(json.Marshal(list)))
	return []byte(edit(l.Final, signed+"."+base64.RawURLEncoding.EncodeToString(p.sign([]byte(signed)))))
}

func entityOf(name, serviceType, status string, certificate *x509.Certificate) map[string]any {
	service := map[string]any{
		"ServiceTypeIdentifier":  or(serviceType, loteService),
		"ServiceName":            []any{map[string]any{"lang": "en", "value": "Service"}},
		"ServiceDigitalIdentity": map[string]any{"X509Certificates": []any{map[string]any{"val": encode(certificate.Raw)}}},
	}
	if status != "" {
		service["ServiceStatus"], service["StatusStartingTime"] = status, "2025-01-01T00:00:00Z"
	}
	return map[string]any{
		"TrustedEntityInformation": map[string]any{
			"TEName":    []any{map[string]any{"lang": "de", "value": "Anbieter"}, map[string]any{"lang": "en", "value": name}},
			"TEAddress": map[string]any{"TEPostalAddress": []any{map[string]any{"lang": "en", "Country": "AT"}}},
		},
		"TrustedEntityServices": []any{map[string]any{"ServiceInformation": service}},
	}
}

// merge replaces members of an object; nil removes one.
func merge(object, by map[string]any) {
	for name, value := range by {
		if value == nil {
			delete(object, name)
		} else {
			object[name] = value
		}
	}
}
