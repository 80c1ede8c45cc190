package wallet

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"agegate/internal/rules/credential"

	"github.com/go-jose/go-jose/v4"
)

// SD-JWT (RFC 9901) is a signed JWT whose claims the holder can disclose one by one,
// with a second JWT by which the holder's key presents it (key binding).
// docs/decisions.md says why no library is used.

const (
	typeSDJWT   = "dc+sd-jwt"
	typeBinding = "kb+jwt"
)

// maxDisclosures is the maximum number of disclosures in a presentation. One or two are
// asked for.
const maxDisclosures = 64

// maxBindingAge is how old a key binding may be. The holder makes it when they agree.
// The request's nonce already limits it to one request.
const maxBindingAge = 15 * time.Minute

// jwtAlgorithms are the accepted signature algorithms of JWTs.
var jwtAlgorithms = []jose.SignatureAlgorithm{jose.ES256, jose.ES384, jose.ES512, jose.EdDSA}

// disclosureHashes are the accepted algorithms of digests, by the names in
// RFC 9901, 4.1.1.
var disclosureHashes = map[string]crypto.Hash{"sha-256": crypto.SHA256, "sha-384": crypto.SHA384,
	"sha-512": crypto.SHA512}

// sdJWT is a presentation in its parts, as received.
type sdJWT struct {
	issued      string // the issuer's JWT
	disclosures []string
	binding     string // the holder's JWT
	presented   string // all that the holder's JWT signs the hash of
}

// parseSDJWT splits a presentation with key binding (RFC 9901, 4).
func parseSDJWT(text string) (sdJWT, error) {
	parts := strings.Split(text, "~")
	last := len(parts) - 1
	if len(text) > MaxResponseBytes || last < 1 || last-1 > maxDisclosures || parts[0] == "" || parts[last] == "" {
		return sdJWT{}, refuse(ReasonMalformed)
	}
	return sdJWT{parts[0], parts[1:last], parts[last], text[:len(text)-len(parts[last])]}, nil
}

// verifyJWT checks the signature and the type of a JWT, and returns its claims.
func verifyJWT(text, typ string, key any, reason Reason) (map[string]any, error) {
	header, err := headerOf(text)
	if err != nil || !IsType(header["typ"], typ) {
		return nil, refuse(ReasonMalformed)
	}
	signed, err := jose.ParseSignedCompact(text, jwtAlgorithms)
	if err != nil {
		return nil, refuse(ReasonAlgorithm)
	}
	payload, err := signed.Verify(key)
	if err != nil {
		return nil, refuse(reason)
	}
	return readJSONObject(payload)
}

// IsType reports whether the type in a header is the one named, which has no
// "application/". Types are media types, so case does not count, and a header may
// have the prefix (RFC 7515, 4.1.9).
func IsType(header any, name string) bool {
	text, _ := header.(string)
	return strings.EqualFold(text, name) || strings.EqualFold(text, "application/"+name)
}

// headerOf returns the protected header of a JWT.
func headerOf(text string) (map[string]any, error) {
	encoded, _, _ := strings.Cut(text, ".")
	raw, err := base64.RawURLEncoding.Strict().DecodeString(encoded)
	if err != nil {
		return nil, refuse(ReasonMalformed)
	}
	return readJSONObject(raw)
}

// disclosed checks the issuer's signature and the digests of all disclosures. It
// returns the claims, those that are always disclosed and those of the disclosures.
func (s sdJWT) disclosed(key any, typ string) (map[string]any, crypto.Hash, error) {
	claims, err := verifyJWT(s.issued, typ, key, ReasonIssuerSignature)
	if err != nil {
		return nil, 0, err
	}
	algorithm := crypto.SHA256
	if name, named := claims["_sd_alg"]; named {
		text, _ := name.(string)
		if algorithm = disclosureHashes[text]; algorithm == 0 {
			return nil, 0, refuse(ReasonAlgorithm)
		}
		delete(claims, "_sd_alg")
	}
	d := disclosing{open: map[string][]any{}, seen: map[string]bool{}}
	for _, text := range s.disclosures {
		if err := d.add(text, algorithm); err != nil {
			return nil, 0, err
		}
	}
	open, err := d.value(claims, 0)
	if err != nil {
		return nil, 0, err
	}
	if len(d.open) > 0 { // a disclosure that no digest names
		return nil, 0, refuse(ReasonDigest)
	}
	claims, _ = open.(map[string]any)
	return claims, algorithm, nil
}

// disclosing puts disclosures in the places of their digests (RFC 9901, 7.1).
type disclosing struct {
	open map[string][]any // disclosures that have no place yet, by digest
	seen map[string]bool  // digests
}

func digestOf(algorithm crypto.Hash, text string) string {
	hash := algorithm.New()
	hash.Write([]byte(text))
	return base64.RawURLEncoding.EncodeToString(hash.Sum(nil))
}

// add reads a disclosure. It has a salt, a value, and between them the name of a claim,
// unless the value is an element of a list.
func (d disclosing) add(text string, algorithm crypto.Hash) error {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return refuse(ReasonMalformed)
	}
	value, err := readJSON(raw)
	if err != nil {
		return err
	}
	parts, _ := value.([]any)
	digest := digestOf(algorithm, text)
	if _, twice := d.open[digest]; twice || len(parts) != 2 && len(parts) != 3 {
		return refuse(ReasonMalformed)
	}
	if _, ok := parts[0].(string); !ok {
		return refuse(ReasonMalformed)
	}
	d.open[digest] = parts
	return nil
}

// take returns the disclosure with a digest, or nil. A digest may occur only once.
func (d disclosing) take(digest any, parts int) ([]any, error) {
	text, ok := digest.(string)
	if !ok || d.seen[text] {
		return nil, refuse(ReasonMalformed)
	}
	d.seen[text] = true
	found := d.open[text]
	if found != nil && len(found) != parts {
		return nil, refuse(ReasonMalformed)
	}
	delete(d.open, text)
	return found, nil
}

func (d disclosing) value(v any, depth int) (any, error) {
	if depth > maxDepth {
		return nil, refuse(ReasonMalformed)
	}
	switch v := v.(type) {
	case map[string]any:
		return d.object(v, depth)
	case []any:
		return d.list(v, depth)
	default:
		return v, nil
	}
}

func (d disclosing) object(v map[string]any, depth int) (any, error) {
	digests, hidden := v["_sd"]
	delete(v, "_sd")
	list, ok := digests.([]any)
	_, element := v["..."]
	_, algorithm := v["_sd_alg"]
	if hidden && !ok || element || algorithm {
		return nil, refuse(ReasonMalformed)
	}
	open := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(v)) { // in one order, so that the same input gives the same refusal
		value, err := d.value(v[name], depth+1)
		if err != nil {
			return nil, err
		}
		open[name] = value
	}
	for _, digest := range list {
		if err := d.reveal(open, digest, depth); err != nil {
			return nil, err
		}
	}
	return open, nil
}

// reveal adds the claim with a digest to an object, if it is disclosed.
func (d disclosing) reveal(open map[string]any, digest any, depth int) error {
	found, err := d.take(digest, 3)
	if err != nil || found == nil {
		return err
	}
	name, ok := found[1].(string)
	_, twice := open[name]
	if !ok || twice || reserved[name] || depth == 0 && alwaysDisclosed[name] {
		return refuse(ReasonMalformed)
	}
	open[name], err = d.value(found[2], depth+1)
	return err
}

// reserved are the names that no disclosed claim may have.
var reserved = map[string]bool{"_sd": true, "_sd_alg": true, "...": true}

// alwaysDisclosed are the claims that an issuer may not hide (SD-JWT VC, 2.2.2.2),
// because a holder could then leave them out.
var alwaysDisclosed = map[string]bool{"iss": true, "nbf": true, "exp": true, "cnf": true, "vct": true, "status": true}

func (d disclosing) list(v []any, depth int) (any, error) {
	open := []any{}
	for _, element := range v {
		object, _ := element.(map[string]any)
		digest, hidden := object["..."]
		if !hidden {
			value, err := d.value(element, depth+1)
			if err != nil {
				return nil, err
			}
			open = append(open, value)
			continue
		}
		found, err := d.take(digest, 2)
		if err != nil || len(object) != 1 {
			return nil, refuse(ReasonMalformed)
		}
		if found == nil {
			continue
		}
		value, err := d.value(found[1], depth+1)
		if err != nil {
			return nil, err
		}
		open = append(open, value)
	}
	return open, nil
}

// holderKey returns the key to which the issuer bound the claims (RFC 7800, 3.2).
func holderKey(claims map[string]any) (any, error) {
	confirmation, _ := claims["cnf"].(map[string]any)
	encoded, err := json.Marshal(confirmation["jwk"])
	if err != nil {
		return nil, refuse(ReasonMalformed)
	}
	var jwk jose.JSONWebKey
	if jwk.UnmarshalJSON(encoded) != nil || !jwk.Valid() {
		return nil, refuse(ReasonAlgorithm)
	}
	switch jwk.Key.(type) {
	case *ecdsa.PublicKey, ed25519.PublicKey:
		if credential.CheckPublicKey(jwk.Key) == nil {
			return jwk.Key, nil
		}
	}
	return nil, refuse(ReasonAlgorithm)
}

// bound checks that the holder made this presentation now, for an audience and a
// nonce (RFC 9901, 7.3).
func (s sdJWT) bound(key any, algorithm crypto.Hash, audience, nonce string, now time.Time) error {
	claims, err := verifyJWT(s.binding, typeBinding, key, ReasonDevice)
	if err != nil {
		return err
	}
	at, ok, err := timeOf(claims, "iat")
	if err != nil {
		return err
	}
	from, _, err := timeOf(claims, "nbf")
	if err != nil {
		return err
	}
	until, ends, err := timeOf(claims, "exp")
	if err != nil {
		return err
	}
	latest := now.Add(clockSkew)
	switch {
	case !ok, claims["aud"] != audience, claims["nonce"] != nonce,
		claims["sd_hash"] != digestOf(algorithm, s.presented), at.Before(now.Add(-maxBindingAge)),
		ends && until.Before(now.Add(-clockSkew)):
		return refuse(ReasonDevice)
	case at.After(latest), from.After(latest):
		return refuse(ReasonClock)
	}
	return nil
}

// timeOf returns a claim that is a time in seconds since 1970, and whether there
// is one.
func timeOf(claims map[string]any, name string) (at time.Time, ok bool, err error) {
	seconds, err := numberOf(claims, name)
	if err != nil {
		return time.Time{}, false, err
	}
	at, err = instant(seconds)
	return at, seconds != nil, err
}

// numberOf returns a member that is a number; nil for none.
func numberOf(object map[string]any, name string) (*float64, error) {
	value, ok := object[name]
	if !ok {
		return nil, nil //nolint:nilnil // none is none
	}
	number, _ := value.(json.Number)
	f, err := number.Float64()
	if err != nil {
		return nil, refuse(ReasonMalformed)
	}
	return &f, nil
}

// instant returns a time in seconds since 1970, and the zero time for none.
func instant(seconds *float64) (time.Time, error) {
	const limit = 1 << 40 // beyond it, a time cannot be compared
	switch {
	case seconds == nil:
		return time.Time{}, nil
	case !(*seconds >= 0 && *seconds <= limit):
		return time.Time{}, refuse(ReasonMalformed)
	}
	return time.Unix(int64(*seconds), 0), nil
}
