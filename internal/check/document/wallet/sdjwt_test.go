package wallet

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"encoding/base64"
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// sdVectors are examples that others published, from the SD-JWT documents of the
// IETF.
type sdVectors struct {
	Issuer   json.RawMessage
	Examples []struct {
		Name, Typ, Presentation, Audience, Nonce string
		At                                       int64
		Disclosed                                map[string]any
	}
}

func readSDVectors(t testing.TB) (v sdVectors) {
	t.Helper()
	raw, err := os.ReadFile("testdata/sdjwt.json")
	if err == nil {
		err = json.Unmarshal(raw, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestSDJWTVectors(t *testing.T) {
	v := readSDVectors(t)
	var issuer jose.JSONWebKey
	if err := issuer.UnmarshalJSON(v.Issuer); err != nil {
		t.Fatal(err)
	}
	for _, tt := range v.Examples {
		s := must(parseSDJWT(tt.Presentation))
		claims, algorithm, err := s.disclosed(issuer.Key, tt.Typ)
		if err != nil {
			t.Fatalf("%s: %v", tt.Name, err)
		}
		for name, want := range tt.Disclosed {
			if !reflect.DeepEqual(claims[name], want) {
				t.Errorf("%s: %s is %v, want %v", tt.Name, name, claims[name], want)
			}
		}
		for _, hidden := range []string{"birthdate", "email", "_sd", "_sd_alg"} {
			if _, open := claims[hidden]; open {
				t.Errorf("%s: %s is there", tt.Name, hidden)
			}
		}
		key, err := holderKey(claims)
		if err != nil {
			t.Fatalf("%s: %v", tt.Name, err)
		}
		at := time.Unix(tt.At, 0)
		for name, err := range map[string]error{
			"":                 s.bound(key, algorithm, tt.Audience, tt.Nonce, at),
			"another audience": s.bound(key, algorithm, tt.Audience+"/", tt.Nonce, at),
			"another nonce":    s.bound(key, algorithm, tt.Audience, tt.Nonce+"0", at),
			"another hash":     s.bound(key, crypto.SHA512, tt.Audience, tt.Nonce, at),
			"too old":          s.bound(key, algorithm, tt.Audience, tt.Nonce, at.Add(maxBindingAge+time.Second)),
			"in the future":    s.bound(key, algorithm, tt.Audience, tt.Nonce, at.Add(-clockSkew-time.Second)),
		} {
			want := ReasonDevice
			switch name {
			case "":
				want = ""
			case "in the future":
				want = ReasonClock
			}
			if ReasonOf(err) != want || (err == nil) != (want == "") {
				t.Errorf("%s, %s: %v", tt.Name, name, err)
			}
		}
	}
}

// pid is a presentation that tests put together: each part can be changed before
// it is signed.
type pid struct {
	claims      map[string]any // the issuer's
	header      map[jose.HeaderKey]any
	typ         jose.ContentType
	disclosures []string
	binding     map[string]any // nil for the right one, whose members change replaces
	bindingType jose.ContentType
	holder      *ecdsa.PrivateKey // signs the binding
	unbound     bool
}

const sdNonce, sdAudience = "nonce", "x509_hash:me"

// present returns the presentation, after change.
func present(t testing.TB, i *SampleIssuer, change func(p *pid)) Presentation {
	t.Helper()
	holder := must(signatureKey(must(deriveKey(make([]byte, 32)))))
	over := disclosureOf("18", true)
	p := pid{
		claims: map[string]any{
			"vct": DocTypePID, "iat": now.Add(-time.Hour).Unix(), "exp": now.Add(time.Hour).Unix(),
			"cnf":     map[string]any{"jwk": jose.JSONWebKey{Key: &holder.PublicKey}},
			claimOver: map[string]any{"_sd": []any{digestOf(crypto.SHA256, over)}},
		},
		header: map[jose.HeaderKey]any{"x5c": []string{base64.StdEncoding.EncodeToString(i.signerDER)}},
		typ:    typeSDJWT, disclosures: []string{over}, binding: map[string]any{}, bindingType: typeBinding, holder: holder,
	}
	if change != nil {
		change(&p)
	}
	text := strings.Join(append([]string{must(signJWT(i.signer, p.typ, p.header, p.claims))}, p.disclosures...), "~") + "~"
	binding := map[string]any{"aud": sdAudience, "nonce": sdNonce, "iat": now.Unix(),
		"sd_hash": digestOf(crypto.SHA256, text)}
	maps.Copy(binding, p.binding)
	maps.DeleteFunc(binding, func(_ string, v any) bool { return v == nil })
	if !p.unbound {
		text += must(signJWT(p.holder, p.bindingType, nil, binding))
	}
	return Presentation{docTypes: onlyPID, response: []byte(text), audience: sdAudience, nonce: sdNonce}
}

// opened returns a change that adds a disclosure, with its digest among the claims.
func opened(parts ...any) func(*pid) {
	return func(p *pid) {
		text := encode64(must(json.Marshal(parts)))
		p.disclosures = append(p.disclosures, text)
		p.claims["_sd"] = []any{digestOf(crypto.SHA256, text)}
	}
}

func TestSDJWTIsRefused(t *testing.T) {
	issuer, stranger := newIssuer(t, 2), newIssuer(t, 3)
	claim := func(name string, value any) func(*pid) { return func(p *pid) { p.claims[name] = value } }
	bind := func(name string, value any) func(*pid) { return func(p *pid) { p.binding[name] = value } }
	for name, tt := range map[string]struct {
		change func(*pid)
		want   Reason
	}{
		"as it should be":                 {nil, ""},
		"without a key binding":           {func(p *pid) { p.unbound = true }, ReasonMalformed},
		"a binding of another type":       {func(p *pid) { p.bindingType = "JWT" }, ReasonMalformed},
		"a binding by another key":        {func(p *pid) { p.holder = stranger.signer }, ReasonDevice},
		"a binding for another audience":  {bind("aud", "x509_hash:other"), ReasonDevice},
		"a binding for several audiences": {bind("aud", []string{sdAudience}), ReasonDevice},
		"a binding with another nonce":    {bind("nonce", "other"), ReasonDevice},
		"a binding without a nonce":       {bind("nonce", nil), ReasonDevice},
		"a binding of other disclosures":  {bind("sd_hash", digestOf(crypto.SHA256, "other")), ReasonDevice},
		"a binding without a hash":        {bind("sd_hash", nil), ReasonDevice},
		"a binding of last year":          {bind("iat", now.AddDate(-1, 0, 0).Unix()), ReasonDevice},
		"a binding of tomorrow":           {bind("iat", now.AddDate(0, 0, 1).Unix()), ReasonClock},
		"a phone's clock 4 minutes ahead": {bind("iat", now.Add(4*time.Minute).Unix()), ""},
		"a phone's clock 6 minutes ahead": {bind("iat", now.Add(6*time.Minute).Unix()), ReasonClock},
		"a binding that begins tomorrow":  {bind("nbf", now.AddDate(0, 0, 1).Unix()), ReasonClock},
		"a binding that ended in 1970":    {bind("exp", 1), ReasonDevice},
		"a binding's end as text":         {bind("exp", "tomorrow"), ReasonMalformed},
		"a binding's long type":           {func(p *pid) { p.bindingType = "application/kb+jwt" }, ""},
		"a binding's type in capitals":    {func(p *pid) { p.bindingType = "KB+JWT" }, ""},
		"a document's long type":          {func(p *pid) { p.typ = "application/dc+sd-jwt" }, ""},
		"a binding without a time":        {bind("iat", nil), ReasonDevice},
		"a binding with a time as text":   {bind("iat", "now"), ReasonMalformed},
		"a mobile document's type":        {func(p *pid) { p.typ = "JWT" }, ReasonMalformed},
		"of an earlier draft":             {func(p *pid) { p.typ = "vc+sd-jwt" }, ReasonMalformed},
		"without certificates":            {func(p *pid) { p.header = nil }, ReasonMalformed},
		"another type of credential":      {claim("vct", "urn:eudi:pid:2"), ReasonDocType},
		"no type of credential":           {func(p *pid) { delete(p.claims, "vct") }, ReasonDocType},
		"without a holder's key":          {func(p *pid) { delete(p.claims, "cnf") }, ReasonAlgorithm},
		"a secret as the holder's key": {claim("cnf",
			map[string]any{"jwk": map[string]any{"kty": "oct", "k": "AAAA"}}), ReasonAlgorithm},
		"a private key as the holder's": {claim("cnf", map[string]any{"jwk": jose.JSONWebKey{Key: stranger.signer}}),
			ReasonAlgorithm},
		"expired":                       {claim("exp", now.Unix()), ReasonExpired},
		"an end as text":                {claim("exp", "2099"), ReasonMalformed},
		"not valid yet":                 {claim("nbf", now.Add(time.Hour).Unix()), ReasonNotYetValid},
		"issued in the future":          {claim("iat", now.Add(time.Hour).Unix()), ReasonNotYetValid},
		"issued before the certificate": {claim("iat", 1), ReasonIssuerCertificate},
		"an unknown hash":               {claim("_sd_alg", "md5"), ReasonAlgorithm},
		"a hash that is no name":        {claim("_sd_alg", 256), ReasonAlgorithm},
		"a disclosure that nobody signed": {func(p *pid) {
			p.disclosures = append(p.disclosures,
				disclosureOf("21", true))
		}, ReasonDigest},
		"a disclosure twice": {func(p *pid) { p.disclosures = append(p.disclosures, p.disclosures[0]) },
			ReasonMalformed},
		"a digest twice":                     {claim("_sd", []any{"x", "x"}), ReasonMalformed},
		"a digest that is no text":           {claim("_sd", []any{1}), ReasonMalformed},
		"digests that are no list":           {claim("_sd", "x"), ReasonMalformed},
		"an element outside a list":          {claim("...", "x"), ReasonMalformed},
		"a hash below the top":               {claim("address", map[string]any{"_sd_alg": "sha-256"}), ReasonMalformed},
		"an element with more than a digest": {claim("list", []any{map[string]any{"...": "x", "y": 1}}), ReasonMalformed},
		"a hidden end":                       {opened("salt", "exp", now.AddDate(9, 0, 0).Unix()), ReasonMalformed},
		"a hidden type":                      {opened("salt", "vct", DocTypePID), ReasonMalformed},
		"a claim that is there already":      {opened("salt", claimOver, map[string]any{"18": true}), ReasonMalformed},
		"a disclosure named _sd":             {opened("salt", "_sd", []any{}), ReasonMalformed},
		"a disclosure of an element":         {opened("salt", true), ReasonMalformed},
		"a disclosure of one part":           {opened("salt"), ReasonMalformed},
		"a salt that is no text":             {opened(1, "a", "b"), ReasonMalformed},
		"a disclosure that is no JSON": {func(p *pid) { p.disclosures = []string{encode64([]byte("["))} },
			ReasonMalformed},
		"a disclosure with padding": {func(p *pid) { p.disclosures[0] += "=" }, ReasonMalformed},
		"an empty disclosure":       {func(p *pid) { p.disclosures = append(p.disclosures, "") }, ReasonMalformed},
		"too many disclosures": {func(p *pid) {
			p.disclosures = slices.Repeat([]string{disclosureOf("a", 1)},
				maxDisclosures+1)
		}, ReasonMalformed},
		"an object with a member twice": {func(p *pid) { p.disclosures[0] = encode64([]byte(`["s","a",{"b":1,"b":2}]`)) },
			ReasonMalformed},
		"nested without end": {func(p *pid) { p.disclosures[0] = encode64([]byte(strings.Repeat("[", 40))) },
			ReasonMalformed},
		"a status of another kind": {claim("status", map[string]any{"other": 1}), ReasonStatus},
		"an identifier list only": {claim("status", map[string]any{"identifier_list": map[string]any{}}),
			ReasonStatus},
		"a status that is no object": {claim("status", "valid"), ReasonMalformed},
		"a place in the list that is no size": {claim("status",
			map[string]any{"status_list": map[string]any{"idx": -1, "uri": listURI}}), ReasonMalformed},
		"no statement": {func(p *pid) { p.disclosures = nil }, ReasonNoStatement},
		"under age":    {claim(claimOver, map[string]any{"18": false}), ReasonDigest},
	} {
		verifier := Verifier{Issuers: issuer.Trusted()}
		if err := verifier.Verify(bg, present(t, issuer, tt.change), 18, now); ReasonOf(err) != tt.want ||
			(err == nil) != (tt.want == "") {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
	p := present(t, stranger, nil)
	if err := (Verifier{Issuers: issuer.Trusted()}).Verify(bg, p, 18, now); ReasonOf(err) != ReasonIssuerUnknown {
		t.Errorf("a stranger's issuer: %v", err)
	}
	p = present(t, issuer, nil)
	if err := (Verifier{Issuers: issuer.Trusted()[:2]}).Verify(bg, p, 18, now); ReasonOf(err) != ReasonIssuerUnknown {
		t.Errorf("an issuer that is trusted for other kinds: %v", err)
	}
}

// Changing any character of a presentation makes it refused.
func TestEveryChangedCharacterOfAnSDJWTIsRefused(t *testing.T) {
	issuer := newIssuer(t, 2)
	verifier := Verifier{Issuers: issuer.Trusted()}
	p := present(t, issuer, nil)
	for i := range p.response {
		changed := p
		changed.response = slices.Clone(p.response)
		if changed.response[i] ^= 0x01; changed.response[i] == '=' {
			continue
		}
		if err := verifier.Verify(bg, changed, 18, now); ReasonOf(err) == "" {
			t.Errorf("character %d of %d: %v", i, len(p.response), err)
		}
	}
}

// The statements decide, or the birth date; what contradicts itself proves nothing.
func TestAgesOfAPID(t *testing.T) {
	for _, tt := range []struct {
		claims map[string]any
		at     time.Time
		want   Reason
	}{
		{map[string]any{claimOver: map[string]any{"18": true}}, now, ""},
		{map[string]any{claimOver: map[string]any{"21": true}}, now, ""},
		{map[string]any{claimOver: map[string]any{"16": true}}, now, ReasonNoStatement},
		{map[string]any{claimOver: map[string]any{"18": false}}, now, ReasonUnderAge},
		{map[string]any{claimOver: map[string]any{"21": false}}, now, ReasonNoStatement},
		{map[string]any{claimOver: map[string]any{"16": false, "21": true}}, now, ReasonMalformed},
		{map[string]any{claimOver: map[string]any{"18": "true"}}, now, ReasonMalformed},
		{map[string]any{claimOver: map[string]any{"+18": true}}, now, ReasonMalformed},
		{map[string]any{claimOver: map[string]any{"018": true}}, now, ReasonMalformed},
		{map[string]any{claimOver: true}, now, ReasonMalformed},
		{map[string]any{claimBirth: "2008-05-01"}, now, ""},
		{map[string]any{claimBirth: "2008-05-02"}, now, ReasonUnderAge},
		// still 1 May in UTC
		{map[string]any{claimBirth: "2008-05-02"}, time.Date(2026, 5, 2, 1, 0, 0, 0, time.FixedZone("", 2*3600)),
			ReasonUnderAge},
		{map[string]any{claimBirth: "2008-02-29"}, time.Date(2026, 2, 28, 23, 59, 0, 0, time.UTC), ReasonUnderAge},
		{map[string]any{claimBirth: "2008-02-29"}, time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), ""},
		{map[string]any{claimBirth: "2008"}, now, ReasonMalformed},
		{map[string]any{claimBirth: "2008-13-01"}, now, ReasonMalformed},
		{map[string]any{claimBirth: nil}, now, ReasonMalformed},
		{map[string]any{claimBirth: "0000-06-01"}, now, ReasonNoStatement},
		{map[string]any{claimBirth: "0001-01-01"}, now, ReasonNoStatement},
		{map[string]any{claimBirth: "1700-01-01"}, now, ReasonNoStatement},
		{map[string]any{claimBirth: "1900-12-31"}, now, ReasonNoStatement},
		{map[string]any{claimBirth: "1901-01-01"}, now, ""},
		{map[string]any{claimBirth: now.AddDate(0, 0, 1).Format(time.DateOnly)}, now, ReasonNoStatement},
		{map[string]any{claimBirth: "9999-01-01"}, now, ReasonNoStatement},
		{map[string]any{claimBirth: "1980-02-30"}, now, ReasonMalformed},
		{map[string]any{claimBirth: "1980-02-01T00:00:00Z"}, now, ReasonMalformed},
		{map[string]any{claimBirth: "1700-01-01", claimOver: map[string]any{"18": true}}, now, ReasonNoStatement},
		{map[string]any{claimBirth: "1980-01-01", claimOver: map[string]any{"18": false}}, now, ReasonMalformed},
		{map[string]any{"age_in_years": json.Number("40"), "age_birth_year": json.Number("1980")}, now, ReasonNoStatement},
		{nil, now, ReasonNoStatement},
	} {
		if err := provesAgeByPID(tt.claims, 18, tt.at); ReasonOf(err) != tt.want || (err == nil) != (tt.want == "") {
			t.Errorf("%v: %v, want %q", tt.claims, err, tt.want)
		}
	}
}

// A wallet whose PID has no statement of age discloses the birth date, and a
// revoked one is refused.
func TestBirthDateAndStatusOfAPID(t *testing.T) {
	e, issuer := newExchange(t, 1), newIssuer(t, 2)
	entry := StatusEntry{Index: 7, URI: listURI}
	for _, tt := range []struct {
		document SampleDocument
		revoked  bool
		want     Reason
	}{
		{SampleDocument{Age: 18, born: true}, false, ""},
		{SampleDocument{Age: 17, born: true}, false, ReasonUnderAge},
		{SampleDocument{Age: 30, status: &entry}, false, ""},
		{SampleDocument{Age: 30, status: &entry}, true, ReasonRevoked},
	} {
		verifier := Verifier{Issuers: issuer.Trusted()}
		verifier.Revoked = revokes(t, entry, DocTypePID, tt.revoked)
		answer := ways["a PID by link"].answer(t, e, issuer, tt.document, 18)
		p, err := ways["a PID by link"].open(e, origin, responseURI, answer)
		if err == nil {
			err = verifier.Verify(bg, p, 18, now)
		}
		if ReasonOf(err) != tt.want || (err == nil) != (tt.want == "") {
			t.Errorf("%+v: %v, want %q", tt.document, err, tt.want)
		}
	}
}

// revokes answers the question for the status of one entry.
func revokes(
	t testing.TB, entry StatusEntry, docType string, revoked bool,
) func(context.Context, StatusEntry, string) (bool, error) {
	return func(_ context.Context, e StatusEntry, of string) (bool, error) {
		if e != entry || of != docType {
			t.Errorf("asked for %+v of %s", e, of)
		}
		return revoked, nil
	}
}

func FuzzSDJWT(f *testing.F) {
	issuer := newIssuer(f, 2)
	p := present(f, issuer, nil)
	f.Add(string(p.response))
	for _, v := range readSDVectors(f).Examples {
		f.Add(v.Presentation)
	}
	f.Add("a.b.c~~d")
	verifier := Verifier{Issuers: issuer.Trusted()}
	f.Fuzz(func(t *testing.T, text string) {
		q := p
		q.response = []byte(text)
		bounded(t, len(text), func() {
			if err := verifier.Verify(bg, q, 18, now); err != nil && ReasonOf(err) == "" {
				t.Errorf("no reason: %v", err)
			}
		})
	})
}

// FuzzDisclosures lets the fuzzer choose what an issuer signs and what a holder
// discloses.
func FuzzDisclosures(f *testing.F) {
	f.Add(`{"_sd":["x"],"a":[{"...":"y"}]}`, `["salt","a",true]`)
	f.Add(`{"a":{"_sd":[]}}`, `["salt",1]`)
	f.Fuzz(func(t *testing.T, claims, disclosure string) {
		bounded(t, len(claims)+len(disclosure), func() {
			payload, err := readJSONObject([]byte(claims))
			if err != nil {
				return
			}
			d := disclosing{open: map[string][]any{}, seen: map[string]bool{}}
			if d.add(encode64([]byte(disclosure)), crypto.SHA256) != nil {
				return
			}
			if _, err := d.value(payload, 0); err != nil && ReasonOf(err) == "" {
				t.Errorf("no reason: %v", err)
			}
		})
	})
}
