package wallet

import (
	"bytes"
	"compress/zlib"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/veraison/go-cose"
)

const listURI = "https://issuer.example/statuslists/1"

// signedList returns a list as JWT and as CWT, signed by the sample issuer's
// signer.
func signedList(t testing.TB, i *SampleIssuer, claims statusClaims) map[string][]byte {
	t.Helper()
	object := map[string]any{"sub": claims.Subject,
		"status_list": map[string]any{"bits": claims.List.Bits, "lst": encode64(claims.List.List)}}
	for name, value := range map[string]*float64{"exp": claims.Expires, "nbf": claims.Begins, "iat": claims.Issued,
		"ttl": claims.TTL} {
		if value != nil {
			object[name] = *value
		}
	}
	payload, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	typ := "application/" + typeStatusListCWT
	if claims.Revoked != nil {
		typ = "application/" + typeIdentifierList
	}
	return map[string][]byte{"jwt": listJWT(t, i, typeStatusListJWT, string(payload)),
		"cwt": listCWT(t, i, typ, encode(claims))}
}

// listJWT returns a list with any type and payload; without a type if it is "".
func listJWT(t testing.TB, i *SampleIssuer, typ jose.ContentType, payload string) []byte {
	t.Helper()
	options := &jose.SignerOptions{}
	if typ != "" {
		options.WithType(typ)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: i.signer},
		options.WithHeader("x5c", []string{base64.StdEncoding.EncodeToString(i.signerDER)}))
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign([]byte(payload))
	if err != nil {
		t.Fatal(err)
	}
	text, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return []byte(text)
}

// listCWT is listJWT for CBOR.
func listCWT(t testing.TB, i *SampleIssuer, typ any, payload []byte) []byte {
	t.Helper()
	signer, err := cose.NewSigner(cose.AlgorithmES256, i.signer)
	if err != nil {
		t.Fatal(err)
	}
	protected := cose.ProtectedHeader{cose.HeaderLabelAlgorithm: cose.AlgorithmES256}
	if typ != "" {
		protected[cose.HeaderLabelType] = typ
	}
	message := cose.UntaggedSign1Message{Payload: payload, Headers: cose.Headers{Protected: protected,
		Unprotected: cose.UnprotectedHeader{cose.HeaderLabelX5Chain: i.signerDER}}}
	if err := message.Sign(rand.Reader, nil, signer); err != nil {
		t.Fatal(err)
	}
	token, err := message.MarshalCBOR()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// TestStatusListsAreReadStrictly: what two readers could read differently is refused,
// and a number counts by its value.
func TestStatusListsAreReadStrictly(t *testing.T) {
	issuer := newIssuer(t, 2)
	list := func(content byte) string {
		return `"status_list":{"bits":1,"lst":"` + encode64(deflated(t, []byte{content})) + `"}`
	}
	revoked, sub := list(1), `"sub":"`+listURI+`",`
	later := fmt.Sprint(now.Add(time.Hour).Unix())
	for name, row := range map[string]struct {
		typ     jose.ContentType
		payload string
		want    Reason
	}{
		"good":                {typeStatusListJWT, sub + revoked, ""},
		"no type":             {"", sub + revoked, ReasonStatus},
		"another type":        {"JWT", sub + revoked, ReasonStatus},
		"a PID's type":        {typeSDJWT, sub + revoked, ReasonStatus},
		"a list twice":        {typeStatusListJWT, sub + revoked + "," + list(0), ReasonStatus},
		"another case after":  {typeStatusListJWT, sub + revoked + "," + strings.Replace(list(0), "s", "S", 1), ""},
		"another case alone":  {typeStatusListJWT, sub + strings.Replace(revoked, "s", "S", 1), ReasonStatus},
		"another case inside": {typeStatusListJWT, sub + strings.Replace(revoked, "bits", "Bits", 1), ReasonStatus},
		"an end of 0":         {typeStatusListJWT, sub + revoked + `,"exp":0`, ReasonStatus},
		"an end before 1970":  {typeStatusListJWT, sub + revoked + `,"exp":-1`, ReasonStatus},
		"an end as text":      {typeStatusListJWT, sub + revoked + `,"exp":"` + later + `"`, ReasonStatus},
		"an end of null":      {typeStatusListJWT, sub + revoked + `,"exp":null`, ReasonStatus},
		"an exponent":         {typeStatusListJWT, sub + revoked + `,"exp":1.8e9`, ""},
		"a fraction":          {typeStatusListJWT, sub + revoked + `,"exp":` + later + `.5,"ttl":43200.0`, ""},
		"a negative ttl":      {typeStatusListJWT, sub + revoked + `,"ttl":-1`, ReasonStatus},
		"bits with a point":   {typeStatusListJWT, sub + strings.Replace(revoked, ":1,", ":1.0,", 1), ""},
		"half a bit":          {typeStatusListJWT, sub + strings.Replace(revoked, ":1,", ":1.5,", 1), ReasonStatus},
		"not valid yet":       {typeStatusListJWT, sub + revoked + `,"nbf":` + later, ReasonStatus},
		"issued in an hour":   {typeStatusListJWT, sub + revoked + `,"iat":` + later, ReasonStatus},
	} {
		token := listJWT(t, issuer, row.typ, "{"+row.payload+"}")
		got, err := ParseStatusList(token, listURI, DocTypeMDL, issuer.Trusted(), now)
		if ReasonOf(err) != row.want || (err == nil) != (row.want == "") {
			t.Errorf("%s: %v, want %q", name, err, row.want)
		}
		if got == nil {
			continue
		}
		if is, err := got.Revoked(StatusEntry{Index: 0}); err != nil || !is {
			t.Errorf("%s: a revoked document: %t, %v", name, is, err)
		}
	}
	payload := encode(statusClaims{Subject: listURI, List: statusBytes{Bits: 1, List: deflated(t, []byte{1})}})
	for typ, want := range map[any]Reason{"application/" + typeStatusListCWT: "", "": ReasonStatus, "application/cwt": ReasonStatus,
		"application/" + typeIdentifierList: ReasonStatus, uint64(18): ReasonStatus} {
		token := listCWT(t, issuer, typ, payload)
		if _, err := ParseStatusList(token, listURI, DocTypeMDL, issuer.Trusted(), now); ReasonOf(err) != want {
			t.Errorf("in CBOR, of the type %v: %v, want %q", typ, err, want)
		}
	}
}

func deflated(t testing.TB, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	if _, err := w.Write(content); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// The examples of draft-ietf-oauth-status-list, 4.1.
func TestStatusListExamples(t *testing.T) {
	issuer := newIssuer(t, 2)
	for _, tt := range []struct {
		bits uint64
		lst  string
		want []int
	}{
		{1, "eNrbuRgAAhcBXQ", []int{1, 0, 0, 1, 1, 1, 0, 1, 1, 1, 0, 0, 0, 1, 0, 1}},
		{2, "eNo76fITAAPfAgc", []int{1, 2, 0, 3, 0, 1, 0, 1, 1, 2, 3, 3}},
	} {
		compressed, err := decode64(tt.lst)
		if err != nil {
			t.Fatal(err)
		}
		for name, token := range signedList(t, issuer,
			statusClaims{Subject: listURI, List: statusBytes{Bits: tt.bits, List: compressed}}) {
			list, err := ParseStatusList(token, listURI, DocTypeMDL, issuer.Trusted(), now)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for i, want := range tt.want {
				if got, err := list.Revoked(StatusEntry{Index: uint64(i)}); err != nil || got != (want != 0) {
					t.Errorf("%s of %d bits: document %d is %t, %v; its status is %d", name, tt.bits, i, got, err, want)
				}
			}
			if _, err := list.Revoked(StatusEntry{Index: uint64(len(tt.want))}); ReasonOf(err) != ReasonStatus {
				t.Errorf("%s: a document that is not in the list: %v", name, err)
			}
			if _, err := list.Revoked(StatusEntry{Index: 1 << 63}); ReasonOf(err) != ReasonStatus {
				t.Errorf("%s: a huge index: %v", name, err)
			}
		}
	}
}

func TestStatusListIsRefused(t *testing.T) {
	issuer, stranger := newIssuer(t, 2), newIssuer(t, 3)
	good := statusClaims{Subject: listURI, List: statusBytes{Bits: 1, List: deflated(t, []byte{1})}}
	with := func(change func(c *statusClaims)) statusClaims {
		c := good
		change(&c)
		return c
	}
	for name, tt := range map[string]struct {
		claims  statusClaims
		issuers []Issuer
		want    Reason
	}{
		"good":    {good, issuer.Trusted(), ""},
		"lasting": {with(func(c *statusClaims) { c.Expires = new(float64(now.Unix()) + 1.5) }), issuer.Trusted(), ""},
		"expired": {with(func(c *statusClaims) { c.Expires = new(float64(now.Unix())) }), issuer.Trusted(), ReasonStatus},
		"beginning": {with(func(c *statusClaims) { c.Begins = new(float64(now.Unix()) + 3600) }), issuer.Trusted(),
			ReasonStatus},
		"of the end of 0":    {with(func(c *statusClaims) { c.Expires = new(0.0) }), issuer.Trusted(), ReasonStatus},
		"of another address": {with(func(c *statusClaims) { c.Subject += "0" }), issuer.Trusted(), ReasonStatus},
		"of three bits":      {with(func(c *statusClaims) { c.List.Bits = 3 }), issuer.Trusted(), ReasonStatus},
		"of no bits":         {with(func(c *statusClaims) { c.List.Bits = 0 }), issuer.Trusted(), ReasonStatus},
		"not compressed":     {with(func(c *statusClaims) { c.List.List = []byte{1} }), issuer.Trusted(), ReasonStatus},
		"growing without end": {with(func(c *statusClaims) { c.List.List = deflated(t, make([]byte, maxStatusBytes+1)) }),
			issuer.Trusted(), ReasonStatus},
		"a stranger's":      {good, stranger.Trusted(), ReasonStatus},
		"nobody is trusted": {good, nil, ReasonStatus},
	} {
		for encoding, token := range signedList(t, issuer, tt.claims) {
			if _, err := ParseStatusList(token, listURI, DocTypeMDL, tt.issuers, now); ReasonOf(err) != tt.want ||
				(err == nil) != (tt.want == "") {
				t.Errorf("%s, %s: %v, want %q", name, encoding, err, tt.want)
			}
			if tt.want != "" {
				continue
			}
			changed := bytes.Clone(token)
			changed[len(changed)-3] ^= 1
			if _, err := ParseStatusList(changed, listURI, DocTypeMDL, tt.issuers, now); ReasonOf(err) != ReasonStatus {
				t.Errorf("%s, %s, changed: %v", name, encoding, err)
			}
		}
	}
	for _, token := range [][]byte{nil, []byte("a.b.c"), []byte("{}"), make([]byte, MaxStatusListBytes+1)} {
		if _, err := ParseStatusList(token, listURI, DocTypeMDL, issuer.Trusted(), now); ReasonOf(err) != ReasonStatus {
			t.Errorf("%.9q: %v", token, err)
		}
	}
}

func TestStatusListIsKept(t *testing.T) {
	for _, tt := range []struct {
		list StatusList
		want time.Duration
	}{
		{StatusList{}, time.Hour},
		{StatusList{ttl: time.Minute}, time.Minute},
		{StatusList{ttl: time.Minute, until: now.Add(time.Second)}, time.Second},
		{StatusList{ttl: 24 * time.Hour, until: now.Add(24 * time.Hour)}, time.Hour},
	} {
		if got := tt.list.Until(now, time.Hour); !got.Equal(now.Add(tt.want)) {
			t.Errorf("%+v: %v", tt.list, got.Sub(now))
		}
	}
}

func TestStatusOfADocumentIsRead(t *testing.T) {
	var object securityObject
	err := decoder.Unmarshal(encode(map[string]any{"status": map[string]any{
		"status_list": map[string]any{"idx": 412, "uri": listURI}, "identifier_list": map[string]any{"id": []byte{1}},
	}}), &object)
	if err != nil || object.Status == nil || *object.Status.List != (StatusEntry{Index: 412, URI: listURI}) {
		t.Errorf("%+v, %v", object.Status, err)
	}
}

func FuzzStatusList(f *testing.F) {
	issuer := newIssuer(f, 2)
	for _, token := range signedList(f, issuer,
		statusClaims{Subject: listURI, List: statusBytes{Bits: 1, List: deflated(f, []byte{1})}}) {
		f.Add(token)
	}
	f.Add(signedList(f, issuer, identifiers("revoked"))["cwt"])
	f.Fuzz(func(t *testing.T, token []byte) {
		bounded(t, len(token), func() {
			list, err := ParseStatusList(token, listURI, DocTypeMDL, issuer.Trusted(), now)
			if err != nil && ReasonOf(err) == "" {
				t.Errorf("no reason: %v", err)
			}
			if list != nil {
				_, _ = list.Revoked(StatusEntry{Index: 5})
			}
		})
	})
}

// A binary list may end with a byte that is whitespace in text.
func TestStatusListEndsWithAnyByte(t *testing.T) {
	issuer := newIssuer(t, 2)
	claims := statusClaims{Subject: listURI, List: statusBytes{Bits: 1, List: deflated(t, []byte{1})}}
	for range 10_000 {
		token := signedList(t, issuer, claims)["cwt"]
		if !bytes.ContainsAny(token[len(token)-1:], " \n\t\r") {
			continue
		}
		if _, err := ParseStatusList(token, listURI, DocTypeMDL, issuer.Trusted(), now); err != nil {
			t.Error(err)
		}
		return
	}
	t.Fatal("no signature ended with a space")
}
