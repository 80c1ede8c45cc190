package wallet

import (
	"bytes"
	"crypto/ecdh"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"os"
	"testing"
	"time"
)

// vector is a published device response of another implementation, with what is
// needed to verify it. Responses are hexadecimal or base64url.
type vector struct {
	Origin      string    `json:"origin"`
	Time        time.Time `json:"time"`
	Response    string    `json:"response"`
	Transcript  string    `json:"transcript_bytes"`
	ReaderKey   string    `json:"reader_key"`
	Certificate string    `json:"issuer_certificate"`
	IssuerPEM   string    `json:"issuer_pem"`
	SignerPEM   string    `json:"signer_pem"`
}

func vectors(t testing.TB) map[string]vector {
	t.Helper()
	raw, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]vector
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

func (v vector) documents(t testing.TB) []document {
	t.Helper()
	raw, err := hex.DecodeString(v.Response)
	if err != nil {
		if raw, err = decode64(v.Response); err != nil {
			t.Fatal(err)
		}
	}
	documents, err := parseDocuments(raw)
	if err != nil {
		t.Fatal(err)
	}
	return documents
}

// issuers returns the vector's certificates as issuers trusted for a kind of
// document.
func (v vector) issuers(t testing.TB, docType string, text string) []Issuer {
	t.Helper()
	var issuers []Issuer
	add := func(der []byte) {
		certificate, err := x509.ParseCertificate(der)
		if err != nil {
			t.Fatal(err)
		}
		issuers = append(issuers, Issuer{DocType: docType, Certificate: certificate})
	}
	if v.Certificate != "" {
		add(unhex(t, v.Certificate))
	}
	for rest := []byte(text); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return issuers
		}
		add(block.Bytes)
	}
}

// signer returns the certificate that signed a document as a trusted issuer.
func signer(t testing.TB, d document) []Issuer {
	t.Helper()
	message, err := parseSign1(d.IssuerSigned.IssuerAuth)
	if err != nil {
		t.Fatal(err)
	}
	chain, err := certificates(message.Headers)
	if err != nil {
		t.Fatal(err)
	}
	return []Issuer{{DocType: d.DocType, Certificate: chain[0]}}
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func sha(b []byte) []byte {
	sum := sha256.Sum256(b)
	return sum[:]
}

// transcript18 is the session transcript of OpenID4VP draft 18 (ISO/IEC
// 18013-7, Annex B), which only vectors use.
func transcript18(clientID, responseURI, nonce, mdocNonce string) []byte {
	return encode([]any{nil, nil, []any{
		sha(encode([]any{clientID, mdocNonce})), sha(encode([]any{responseURI, mdocNonce})), nonce,
	}})
}

func TestPublishedPresentationsHold(t *testing.T) {
	all := vectors(t)
	d := all["annex-d"]
	transcriptD, err := embedded(unhex(t, d.Transcript))
	if err != nil {
		t.Fatal(err)
	}
	readerKey, err := ecdh.P256().NewPrivateKey(unhex(t, d.ReaderKey))
	if err != nil {
		t.Fatal(err)
	}
	const (
		googleOrigin = "https://ellis-occurrence-ac-smoking.trycloudflare.com"
		googleNonce  = "UwQek7MemM55VM2Lc7UPPsdsxa-vejebSUo75B_G7vk"
	)
	for _, tt := range []struct {
		name         string
		presentation Presentation
		chain        Reason // the reason with which the vector's own issuer certificate is refused
	}{
		{"annex-d", Presentation{transcript: transcriptD, readerKey: readerKey}, ""},
		{"animo", Presentation{transcript: transcriptOpenID("x509_san_dns:playground.animo.id",
			"LMGPB6k--THpBUSkEBvLxmdMIi3Ee1fjHXXUUzBVa04",
			unhex(t, "61a29f269176244d397cae26f7f80ab196bffcb65fe3052b540c78073dab7c1e"),
			"https://playground.animo.id/oid4vp/8caaebcc-d48c-471b-86b0-a534e15c4774/authorize?session=6c115dbc-1364-4e9f-a325-173eeec01a5a")}, ""},
		{"france", Presentation{transcript: transcript18("example.com", "https://example.com/12345/response",
			"abcdefgh1234567890", "")}, ""},
		{"google", Presentation{transcript: transcript("OpenID4VPDCAPIHandover", googleOrigin, "web-origin:"+googleOrigin,
			googleNonce)}, ReasonIssuerUnknown},
		{"ubique", Presentation{transcript: transcript18("Cq1anPb8vZU5j5C0d7hcsbuJLBpIawUJIDQRi2Ebwb4",
			"http://localhost:4000/api/presentation_request/dc8999df-d6ea-4c84-9985-37a8b81a82ec/callback", "abcdefg",
			"123456")}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := all[tt.name]
			for _, d := range v.documents(t) {
				_, err := verifyIssuer(d, v.issuers(t, d.DocType, v.IssuerPEM), v.Time)
				if got := ReasonOf(err); got != tt.chain {
					t.Errorf("chain: %v, want %q", err, tt.chain)
				}
				object, elements, err := authenticate(d, tt.presentation, signer(t, d), namespaces[d.DocType], v.Time)
				if err != nil {
					t.Errorf("signatures: %v", err)
				}
				if object.DocType != d.DocType || namespaces[d.DocType] != "" && len(elements) == 0 {
					t.Errorf("%d elements of %s", len(elements), object.DocType)
				}
			}
		})
	}
}

// A wallet's answer to a request of Annex C, decrypted: Verify accepts it, and it
// proves 21.
func TestPublishedAnnexCHolds(t *testing.T) {
	const encryptionInfo = "gmVkY2FwaaJlbm9uY2VYJDIyYzM5N2RlLTMxOGQtNGRlYi05ODllLTk1ZmM5MmI2NzkxMnJyZWNpcGllbnRQdWJsaWNLZXmkAQIgASFYIE41Vzd64i_hmldM69mhScccGflR26YMa4Gmucrqf9poIlggfYHxugJeg5riQdiicRi02Ckaw6KS-G8mJGPmixLATb0"
	v := vectors(t)["walt-annex-c"]
	response, err := decode64(v.Response)
	if err != nil {
		t.Fatal(err)
	}
	issuer := signer(t, v.documents(t)[0])
	issuer[0].SignerUsage = UsageMDL
	p := Presentation{docTypes: []string{DocTypeMDL}, response: response,
		transcript: transcriptMdocAPI(encryptionInfo, "http://localhost:5173")}
	for targetAge, want := range map[int]Reason{18: "", 21: "", 22: ReasonNoStatement} {
		if err := (Verifier{Issuers: issuer}).Verify(bg, p, targetAge, v.Time); ReasonOf(err) != want ||
			(err == nil) != (want == "") {
			t.Errorf("%d: %v, want %q", targetAge, err, want)
		}
	}
	p.transcript = transcriptMdocAPI(encryptionInfo, "http://localhost:5174")
	if err := (Verifier{Issuers: issuer}).Verify(bg, p, 18, v.Time); ReasonOf(err) != ReasonDevice {
		t.Errorf("at another origin: %v", err)
	}
	// The request's key is encoded as in the vector.
	raw, err := decode64(encryptionInfo)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ecdh.P256().NewPublicKey(unhex(t,
		"044e3557377ae22fe19a574cebd9a149c71c19f951dba60c6b81a6b9caea7fda687d81f1ba025e839ae241d8a27118b4d8291ac3a292f86f262463e68b12c04dbd"))
	if err != nil {
		t.Fatal(err)
	}
	nonce := []byte("22c397de-318d-4deb-989e-95fc92b67912")
	if got := encode([]any{"dcapi", encryptionParameters{Nonce: nonce, Recipient: coseKey(key)}}); !bytes.Equal(got, raw) {
		t.Errorf("%x, want %x", got, raw)
	}
}

// The transcripts of these vectors were not published, so only issuer and digests
// are checked.
func TestPublishedIssuerDataHolds(t *testing.T) {
	all := vectors(t)
	for _, tt := range []struct {
		name    string
		at      time.Time
		want    Reason
		expired []bool // by document
	}{
		{"eudi-pid-mdl", time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC), "", []bool{false, false}},
		{"eudi-three", time.Date(2024, 10, 15, 0, 0, 0, 0, time.UTC), "", []bool{false, false, true}},
		// Signed after its signer's certificate had expired.
		{"eudi-mdl", time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC), ReasonIssuerExpired, []bool{false}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			documents := all[tt.name].documents(t)
			if len(documents) != len(tt.expired) {
				t.Fatalf("%d documents", len(documents))
			}
			for i, d := range documents {
				object, err := verifyIssuer(d, signer(t, d), tt.at)
				if err == nil {
					_, err = d.elements(object, namespaces[d.DocType])
				}
				if ReasonOf(err) != tt.want {
					t.Errorf("document %d, %s: %v, want %q", i, d.DocType, err, tt.want)
				}
				if expired := tt.at.After(object.ValidityInfo.ValidUntil.Time); expired != tt.expired[i] {
					t.Errorf("document %d, %s: expired %t", i, d.DocType, expired)
				}
			}
		})
	}
}

// The examples of OpenID4VP 1.0, B.2.6.
func TestTranscriptsOfOpenID(t *testing.T) {
	const nonce = "exc7gBkxjx1rdc9udRrveKvSsJIq80avlXeLHhGwqtA"
	thumbprint := unhex(t, "4283ec927ae0f208daaa2d026a814f2b22dca52cf85ffa8f3f8626c6bd669047")
	for want, got := range map[string][]byte{
		"83f6f682714f70656e494434565048616e646f7665725820048bc053c00442af9b8eed494cefdd9d95240d254b046b11b68013722aad38ac":           transcriptOpenID("x509_san_dns:example.com", nonce, thumbprint, "https://example.com/response"),
		"83f6f682764f70656e4944345650444341504948616e646f7665725820fbece366f4212f9762c74cfdbf83b8c69e371d5d68cea09cb4c48ca6daab761a": transcriptOpenIDAPI("https://example.com", nonce, thumbprint),
	} {
		if hex.EncodeToString(got) != want {
			t.Errorf("%x, want %s", got, want)
		}
	}
}
