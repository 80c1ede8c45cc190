package wallet

import (
	"crypto/x509"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"
)

// Requests ask only for kinds of documents with a trusted issuer.
func TestRequestsNameWhatIsTrusted(t *testing.T) {
	for _, tt := range []struct {
		docTypes []string
		schemes  []string
		requests int
		absent   string
	}{
		{DocTypes(), []string{SchemeProofOfAge, SchemeOpenID}, 5, "-"},
		{[]string{DocTypePhotoID, DocTypeIDCard}, []string{SchemeOpenID}, 3, DocTypeMDL},
		{[]string{DocTypeMDL}, []string{SchemeOpenID}, 2, DocTypeProofOfAge},
		{[]string{DocTypeProofOfAge}, []string{SchemeProofOfAge, SchemeOpenID}, 2, DocTypeMDL},
		{nil, nil, 0, "-"},
	} {
		e := newExchange(t, 1)
		e.docTypes = tt.docTypes
		requests, err := e.BrowserRequests(18, origin, now)
		if err != nil {
			t.Fatal(err)
		}
		if len(requests) != tt.requests || !slices.Equal(e.Schemes(), tt.schemes) {
			t.Errorf("%v: %d requests and %v", tt.docTypes, len(requests), e.Schemes())
		}
		asked := string(must(json.Marshal(requests)))
		for _, scheme := range e.Schemes() {
			asked += must(url.QueryUnescape(must(e.Link(scheme, 18, responseURI))))
		}
		if strings.Contains(asked, tt.absent) && tt.absent != "-" {
			t.Errorf("%v: %s is asked for", tt.docTypes, tt.absent)
		}
	}
}

// A request asks for what is needed and no more.
func TestQueries(t *testing.T) {
	for _, tt := range []struct {
		targetAge int
		want      []string
	}{
		{18, []string{`"claims":[{"path":["eu.europa.ec.av.1","age_over_18"]}]}]`}},
		{16, []string{`["eu.europa.ec.av.1","age_over_16"]`,
			`"claim_sets":[["age_over_16"],["age_over_18"],["age_over_21"]]`}},
		{19, []string{`"claim_sets":[["age_over_19"],["age_over_21"]]`}},
		{25, []string{`"claims":[{"path":["eu.europa.ec.av.1","age_over_25"]}]}]`}},
	} {
		got, err := json.Marshal(query(tt.targetAge, DocTypeProofOfAge))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range tt.want {
			if !strings.Contains(string(got), want) {
				t.Errorf("%d: %s has no %s", tt.targetAge, got, want)
			}
		}
		if strings.Contains(string(got), "credential_sets") {
			t.Errorf("%d: %s", tt.targetAge, got)
		}
	}
	link, err := newExchange(t, 1).Link(SchemeProofOfAge, 18, responseURI)
	if err != nil {
		t.Fatal(err)
	}
	values := must(url.Parse(link)).Query()
	if !strings.HasPrefix(link, "av://?") || values.Get("client_id") != "redirect_uri:"+responseURI ||
		values.Get("response_mode") != "direct_post" || values.Has("client_metadata") {
		t.Errorf("not as the profile says: %s", link)
	}
}

// Requests name the key identifiers of the trusted issuers, so that a wallet
// offers no document that would be refused. If one issuer has no identifier, they
// name none.
func TestRequestsNameTheAuthorities(t *testing.T) {
	issuer, other := newIssuer(t, 2), newIssuer(t, 3)
	id, otherID := encode64(issuer.root.SubjectKeyId), encode64(other.root.SubjectKeyId)
	trusted := func(docType string, certificates ...*x509.Certificate) (issuers []Issuer) {
		for _, c := range certificates {
			issuers = append(issuers, Issuer{DocType: docType, Certificate: c})
		}
		return issuers
	}
	unnamed := *other.root
	unnamed.SubjectKeyId = nil
	expired := *other.root
	expired.NotAfter = now.Add(-time.Hour)
	signer := must(x509.ParseCertificate(issuer.signerDER))
	many := slices.Repeat([]*x509.Certificate{issuer.root}, maxAuthorities+1)
	for name, tt := range map[string]struct {
		issuers []Issuer
		want    []string
	}{
		"one":                   {trusted(DocTypeMDL, issuer.root), []string{id}},
		"two":                   {trusted(DocTypeMDL, issuer.root, other.root), []string{id, otherID}},
		"a signer":              {trusted(DocTypePhotoID, signer), []string{id}},
		"one that is not valid": {trusted(DocTypeMDL, issuer.root, &expired), []string{id}},
		"one without":           {trusted(DocTypeMDL, issuer.root, &unnamed), nil},
		"too many":              {trusted(DocTypeMDL, many...), nil},
	} {
		e, err := NewExchange(make([]byte, 32), tt.issuers, now)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, trust := range e.query(18).Credentials[0].Trusted {
			if trust.Type != "aki" {
				t.Errorf("%s: %s", name, trust.Type)
			}
			got = trust.Values
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

// Annex C: alternatives of the second edition for an age that few documents
// state.
func TestAlternativeElements(t *testing.T) {
	e := newExchange(t, 1)
	for targetAge, want := range map[int]string{
		18: "",
		16: `[{"requestedElement": ["org.iso.18013.5.1", "age_over_16"], "alternativeElementSets": [[["org.iso.18013.5.1", "age_over_18"]], [["org.iso.18013.5.1", "age_over_21"]]]}]`,
		19: `[{"requestedElement": ["org.iso.18013.5.1", "age_over_19"], "alternativeElementSets": [[["org.iso.18013.5.1", "age_over_21"]]]}]`,
	} {
		var request deviceRequest
		var items struct {
			Info struct {
				Alternatives cborValue `cbor:"alternativeDataElements"`
			} `cbor:"requestInfo"`
		}
		if err := decoder.Unmarshal(must(decode64(must(e.mdocRequest(DocTypeMDL, targetAge, origin)).DeviceRequest)),
			&request); err != nil {
			t.Fatal(err)
		}
		if err := decoder.Unmarshal(must(embedded(request.Requests[0].Items)), &items); err != nil {
			t.Fatal(err)
		}
		got := ""
		if items.Info.Alternatives != nil {
			got = must(cbor.Diagnose(items.Info.Alternatives))
		}
		if got != want {
			t.Errorf("%d: %s, want %s", targetAge, got, want)
		}
	}
}

// Documents of the other kinds prove an age by the statements of their
// namespaces.
func TestOtherKindsOfDocuments(t *testing.T) {
	e, issuer := newExchange(t, 1), newIssuer(t, 2)
	for _, docType := range []string{DocTypePhotoID, DocTypeIDCard} {
		e.docTypes = []string{docType}
		trusted := []Issuer{{DocType: docType, Certificate: issuer.root}}
		for age, want := range map[int]Reason{18: "", 17: ReasonUnderAge} {
			for n, protocol := range []string{ProtocolMdoc, ProtocolOpenID} {
				p, err := e.OpenBrowser(origin, protocol, browserAnswer(n)(t, e, issuer, SampleDocument{Age: age}, 18))
				if err == nil {
					err = Verifier{Issuers: trusted}.Verify(bg, p, 18, now)
				}
				if ReasonOf(err) != want || (err == nil) != (want == "") {
					t.Errorf("%s, %d, %s: %v, want %q", docType, age, protocol, err, want)
				}
			}
		}
	}
}
