package wallet

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"agegate/internal/check/document/wallet/wallettest"
)

var (
	now = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	bg  = context.Background()
)

const (
	origin      = "https://age.example.com"
	responseURI = origin + "/w/token"
)

func newExchange(t testing.TB, secret byte) Exchange {
	t.Helper()
	e, err := NewExchange(bytes.Repeat([]byte{secret}, 32), newIssuer(t, 2).Trusted(), now)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func newIssuer(t testing.TB, secret byte) *SampleIssuer {
	t.Helper()
	i, err := NewSampleIssuer(bytes.Repeat([]byte{secret}, 32))
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// ways are the protocols: each asks for a proof, has the sample wallet answer,
// and reads the answer, which may belong to another request, origin or address.
var ways = map[string]struct {
	answer func(t testing.TB, e Exchange, i *SampleIssuer, s SampleDocument, targetAge int) []byte
	open   func(e Exchange, origin, responseURI string, answer []byte) (Presentation, error)
}{
	"org-iso-mdoc, proof of age": {browserAnswer(0), browserOpen(ProtocolMdoc)},
	"org-iso-mdoc, licence":      {browserAnswer(1), browserOpen(ProtocolMdoc)},
	"openid4vp in the browser":   {browserAnswer(2), browserOpen(ProtocolOpenID)},
	"openid4vp by link":          {linkAnswer(SchemeOpenID), postOpen(SchemeOpenID)},
	"av by link":                 {linkAnswer(SchemeProofOfAge), postOpen(SchemeProofOfAge)},
	"a PID by link":              {ofPID(linkAnswer(SchemeOpenID)), postOpen(SchemeOpenID)},
	"a PID in the browser":       {ofPID(browserAnswer(0)), browserOpen(ProtocolOpenID)},
}

// ofPID asks for a PID only.
func ofPID(
	answer func(testing.TB, Exchange, *SampleIssuer, SampleDocument, int) []byte,
) func(testing.TB, Exchange, *SampleIssuer, SampleDocument, int) []byte {
	return func(t testing.TB, e Exchange, i *SampleIssuer, s SampleDocument, targetAge int) []byte {
		t.Helper()
		e.docTypes = onlyPID
		return answer(t, e, i, s, targetAge)
	}
}

func browserAnswer(n int) func(testing.TB, Exchange, *SampleIssuer, SampleDocument, int) []byte {
	return func(t testing.TB, e Exchange, i *SampleIssuer, s SampleDocument, targetAge int) []byte {
		t.Helper()
		requests, err := e.BrowserRequests(targetAge, origin, now)
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(requests[n].Data)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := wallettest.AnswerBrowser(i, requests[n].Protocol, data, origin, s, now)
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
}

func browserOpen(protocol string) func(Exchange, string, string, []byte) (Presentation, error) {
	return func(e Exchange, origin, _ string, answer []byte) (Presentation, error) {
		return e.OpenBrowser(origin, protocol, answer)
	}
}

func linkAnswer(scheme string) func(testing.TB, Exchange, *SampleIssuer, SampleDocument, int) []byte {
	return func(t testing.TB, e Exchange, i *SampleIssuer, s SampleDocument, targetAge int) []byte {
		t.Helper()
		link, err := e.Link(scheme, targetAge, responseURI)
		if err != nil {
			t.Fatal(err)
		}
		to, form, err := i.AnswerLink(link, s, now)
		if err != nil {
			t.Fatal(err)
		}
		if to != responseURI {
			t.Errorf("the answer goes to %s", to)
		}
		return []byte(form.Encode())
	}
}

func postOpen(scheme string) func(Exchange, string, string, []byte) (Presentation, error) {
	return func(e Exchange, _, responseURI string, answer []byte) (Presentation, error) {
		form, err := url.ParseQuery(string(answer))
		if err != nil {
			return Presentation{}, err
		}
		return e.OpenPost(scheme, responseURI, form)
	}
}

func TestEveryWay(t *testing.T) {
	e, issuer, stranger := newExchange(t, 1), newIssuer(t, 2), newIssuer(t, 3)
	verifier := Verifier{Issuers: issuer.Trusted()}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			for _, tt := range []struct {
				what                string
				answer              []byte
				exchange            Exchange
				origin, responseURI string
				at                  time.Time
				want                []Reason
			}{
				{"of age", way.answer(t, e, issuer, SampleDocument{Age: 18}, 18), e, origin, responseURI, now, []Reason{""}},
				// the target age is 18 below
				{"an age without a common statement", way.answer(t, e, issuer, SampleDocument{Age: 77}, 77), e, origin, responseURI,
					now, []Reason{ReasonNoStatement}},
				{"under age", way.answer(t, e, issuer, SampleDocument{Age: 17}, 18), e, origin, responseURI, now,
					[]Reason{ReasonUnderAge}},
				{"expired", way.answer(t, e, issuer, SampleDocument{Age: 40, Expired: true}, 18), e, origin, responseURI, now,
					[]Reason{ReasonExpired}},
				{"used when it has expired", way.answer(t, e, issuer, SampleDocument{Age: 40}, 18), e, origin, responseURI,
					now.Add(2 * time.Hour), []Reason{ReasonExpired, ReasonDevice}},
				{"used before it is valid", way.answer(t, e, issuer, SampleDocument{Age: 40}, 18), e, origin, responseURI,
					now.Add(-time.Hour), []Reason{ReasonNotYetValid, ReasonDevice, ReasonClock}},
				{"a stranger's issuer", way.answer(t, e, stranger, SampleDocument{Age: 40}, 18), e, origin, responseURI, now,
					[]Reason{ReasonIssuerUnknown}},
				{"another request's", way.answer(t, e, issuer, SampleDocument{Age: 40}, 18), newExchange(t, 9), origin, responseURI,
					now, []Reason{ReasonEncryption, ReasonDevice}},
				{"at another place", way.answer(t, e, issuer, SampleDocument{Age: 40}, 18), e, "https://shop.example", responseURI +
					"x", now, []Reason{ReasonEncryption, ReasonDevice}},
			} {
				p, err := way.open(tt.exchange, tt.origin, tt.responseURI, tt.answer)
				targetAge := 18
				if tt.want[0] == ReasonNoStatement {
					targetAge = 78 // a statement that the holder is over 77 does not prove 78
				}
				if err == nil {
					err = verifier.Verify(bg, p, targetAge, tt.at)
				}
				if !matches(err, tt.want) {
					t.Errorf("%s: %v, want %q", tt.what, err, tt.want)
				}
			}
		})
	}
}

func matches(err error, want []Reason) bool {
	for _, reason := range want {
		if ReasonOf(err) == reason && (err == nil) == (reason == "") {
			return true
		}
	}
	return false
}

// A statement for a lower age proves nothing, and one for a higher age does.
func TestStatements(t *testing.T) {
	for _, tt := range []struct {
		elements map[string]any
		want     Reason
	}{
		{map[string]any{"age_over_18": true}, ""},
		{map[string]any{"age_over_21": true}, ""},
		{map[string]any{"age_over_16": true}, ReasonNoStatement},
		{map[string]any{"age_over_21": false}, ReasonNoStatement},
		{map[string]any{"age_over_16": false}, ReasonUnderAge},
		{map[string]any{"age_over_18": false}, ReasonUnderAge},
		{map[string]any{"age_over_18": true, "age_over_21": false}, ""},
		{map[string]any{"age_over_16": true, "age_over_18": false}, ReasonUnderAge},
		{map[string]any{"age_over_16": false, "age_over_18": true}, ReasonMalformed},
		{map[string]any{"age_over_18": 1}, ReasonMalformed},
		{map[string]any{"age_over_18": "true"}, ReasonMalformed},
		{map[string]any{"age_over_18": nil}, ReasonNoStatement},
		{map[string]any{"age_over_18": nil, "age_over_21": true}, ""},
		{map[string]any{"age_over_18": nil, "age_over_16": false}, ReasonUnderAge},
		{map[string]any{"age_over_180": true, "age_over_9": true, "age_over_+9": true, "age_over_": true,
			"Age_over_18": true}, ReasonNoStatement},
		{map[string]any{"age_in_years": 40, "birth_date": "1980-01-01"}, ReasonNoStatement},
		{nil, ReasonNoStatement},
	} {
		elements := map[string]cborValue{}
		for name, value := range tt.elements {
			elements[name] = encode(value)
		}
		if err := provesAge(elements, 18); ReasonOf(err) != tt.want {
			t.Errorf("%v: %v, want %q", tt.elements, err, tt.want)
		}
	}
}

// The verifier looks up whether a document was revoked only after everything else
// except the age holds. So it fetches nothing for a forged document.
func TestStatusIsLookedUpLast(t *testing.T) {
	issuer, stranger := newIssuer(t, 2), newIssuer(t, 3)
	entry := StatusEntry{Index: 7, URI: listURI}
	answers := func(revoked bool, err error) func(context.Context, StatusEntry, string) (bool, error) {
		return func(context.Context, StatusEntry, string) (bool, error) { return revoked, err }
	}
	for _, tt := range []struct {
		name     string
		document SampleDocument
		by       *SampleIssuer
		revoked  func(context.Context, StatusEntry, string) (bool, error)
		want     Reason
		asked    int
	}{
		{"not revocable", SampleDocument{Age: 30}, issuer, answers(true, nil), "", 0},
		{"not revoked", SampleDocument{Age: 30, status: &entry}, issuer, answers(false, nil), "", 1},
		{"revoked", SampleDocument{Age: 30, status: &entry}, issuer, answers(true, nil), ReasonRevoked, 1},
		{"unknown", SampleDocument{Age: 30, status: &entry}, issuer, answers(false, errors.New("unreachable")), ReasonStatus,
			1},
		{"nobody to ask", SampleDocument{Age: 30, status: &entry}, issuer, nil, ReasonStatus, 0},
		{"under age", SampleDocument{Age: 3, status: &entry}, issuer, answers(false, nil), ReasonUnderAge, 1},
		{"expired", SampleDocument{Age: 30, Expired: true, status: &entry}, issuer, answers(false, nil), ReasonExpired, 0},
		{"a stranger's", SampleDocument{Age: 30, status: &entry}, stranger, answers(false, nil), ReasonIssuerUnknown, 0},
	} {
		asked := 0
		verifier := Verifier{Issuers: issuer.Trusted()}
		if tt.revoked != nil {
			verifier.Revoked = func(ctx context.Context, e StatusEntry, docType string) (bool, error) {
				if asked++; e != entry || docType != DocTypeProofOfAge {
					t.Errorf("%s: asked for %+v of %s", tt.name, e, docType)
				}
				return tt.revoked(ctx, e, docType)
			}
		}
		if err := verifier.Verify(bg, presented(t, tt.by, tt.document), 18, now); ReasonOf(err) != tt.want ||
			asked != tt.asked {
			t.Errorf("%s: %v after %d questions, want %q after %d", tt.name, err, asked, tt.want, tt.asked)
		}
	}
	unknown := securityObject{Status: &objectStatus{}}
	if err := (Verifier{Revoked: answers(false, nil)}).checkStatus(bg, unknown.Status,
		unknown.DocType); ReasonOf(err) != ReasonStatus {
		t.Errorf("a status of another kind: %v", err)
	}
}

// answered returns the form that the sample wallet posts in answer to a link with
// changed parameters.
func answered(t testing.TB, e Exchange, i *SampleIssuer, scheme string, change func(values url.Values)) url.Values {
	t.Helper()
	link, err := e.Link(scheme, 18, responseURI)
	if err != nil {
		t.Fatal(err)
	}
	request := must(url.Parse(link))
	values := request.Query()
	change(values)
	request.RawQuery = values.Encode()
	_, form, err := i.AnswerLink(request.String(), SampleDocument{Age: 40}, now)
	if err != nil {
		t.Fatal(err)
	}
	return form
}

// asksFor changes a request's query.
func asksFor(old, replacement string) func(url.Values) {
	return func(values url.Values) {
		values.Set("dcql_query", strings.ReplaceAll(values.Get("dcql_query"), old, replacement))
	}
}

// Answers that prove the age, but do not follow the request.
func TestAnswersAgainstTheProtocol(t *testing.T) {
	e, issuer := newExchange(t, 1), newIssuer(t, 2)
	verifier := Verifier{Issuers: issuer.Trusted()}
	licenceOnly := e
	licenceOnly.docTypes = []string{DocTypeMDL}
	asAsked := func(url.Values) {}
	inMode := func(mode string) func(url.Values) {
		return func(values url.Values) { values.Set("response_mode", mode) }
	}
	renamed := func(form url.Values) url.Values {
		return url.Values{"vp_token": {strings.Replace(form.Get("vp_token"), `"age"`, `"other"`, 1)}}
	}
	twice := func(form url.Values) url.Values {
		return url.Values{"vp_token": {form.Get("vp_token"), form.Get("vp_token")}}
	}
	plain := answered(t, e, issuer, SchemeProofOfAge, asAsked)
	sealed := answered(t, e, issuer, SchemeOpenID, asAsked)
	for _, tt := range []struct {
		name   string
		e      Exchange
		scheme string
		form   url.Values
		want   Reason
	}{
		{"as asked", e, SchemeProofOfAge, plain, ""},
		{"as asked, encrypted", e, SchemeOpenID, sealed, ""},
		{"a member that is no query", e, SchemeProofOfAge, renamed(plain), ReasonMalformed},
		{"a member that is no query, encrypted", e, SchemeOpenID,
			answered(t, e, issuer, SchemeOpenID, asksFor(`"id":"age"`, `"id":"other"`)), ReasonMalformed},
		{"a proof of age as the licence", e, SchemeOpenID,
			answered(t, e, issuer, SchemeOpenID, asksFor(`"id":"age"`, `"id":"licence"`)), ReasonDocType},
		{"a licence as the proof of age", e, SchemeProofOfAge,
			answered(t, e, issuer, SchemeProofOfAge, asksFor("eu.europa.ec.av.1", DocTypeMDL)), ReasonDocType},
		{"a licence to the link for proofs of age", e, SchemeProofOfAge,
			answered(t, e, issuer, SchemeProofOfAge, func(values url.Values) {
				values.Set("dcql_query", string(must(json.Marshal(query(18, DocTypeMDL)))))
			}), ReasonMalformed},
		{"a kind that was not asked for", licenceOnly, SchemeOpenID, sealed, ReasonMalformed},
		{"not encrypted", e, SchemeOpenID, answered(t, e, issuer, SchemeOpenID, inMode("direct_post")), ReasonMalformed},
		{"encrypted where it must not be", e, SchemeProofOfAge, sealed, ReasonMalformed},
		{"both", e, SchemeOpenID, url.Values{"response": sealed["response"], "vp_token": plain["vp_token"]}, ReasonMalformed},
		{"twice", e, SchemeProofOfAge, twice(plain), ReasonMalformed},
		{"declined", e, SchemeOpenID, url.Values{"error": {"access_denied"}}, ReasonDeclined},
		{"declined, not encrypted", e, SchemeProofOfAge, url.Values{"error": {"access_denied"}, "state": {""}},
			ReasonDeclined},
		{"unable", e, SchemeOpenID, url.Values{"error": {"vp_formats_not_supported"}}, ReasonUnable},
	} {
		p, err := tt.e.OpenPost(tt.scheme, responseURI, tt.form)
		if err == nil {
			err = verifier.Verify(bg, p, 18, now)
		}
		if ReasonOf(err) != tt.want || (err == nil) != (tt.want == "") {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
	licence := browserAnswer(1)(t, e, issuer, SampleDocument{Age: 40}, 18)
	ageOnly := e
	ageOnly.docTypes = proofOfAge
	p, err := ageOnly.OpenBrowser(origin, ProtocolMdoc, licence)
	if err == nil {
		err = verifier.Verify(bg, p, 18, now)
	}
	if ReasonOf(err) != ReasonDocType {
		t.Errorf("a licence in the browser that was not asked for: %v", err)
	}
	if _, err := e.OpenBrowser(origin, ProtocolOpenID,
		json.RawMessage(`{"error":"access_denied"}`)); ReasonOf(err) != ReasonDeclined {
		t.Errorf("declined in the browser: %v", err)
	}
}

func TestExchangesDiffer(t *testing.T) {
	a, b, again := newExchange(t, 1), newExchange(t, 2), newExchange(t, 1)
	if a.Nonce() == b.Nonce() || a.key.Equal(b.key) || a.Nonce() != again.Nonce() || !a.key.Equal(again.key) {
		t.Error("an exchange is not a function of its secret")
	}
}

// presentation returns a presentation that proves the age.
func presentation(t testing.TB, i *SampleIssuer, age int) Presentation {
	t.Helper()
	return presented(t, i, SampleDocument{Age: age})
}

// presented returns a presentation of a document through the browser.
func presented(t testing.TB, i *SampleIssuer, s SampleDocument) Presentation {
	t.Helper()
	e := newExchange(t, 1)
	p, err := e.OpenBrowser(origin, ProtocolMdoc, browserAnswer(0)(t, e, i, s, 18))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A response that decrypts but holds garbage, too much or several documents.
func TestMalformedResponses(t *testing.T) {
	issuer := newIssuer(t, 2)
	p := presentation(t, issuer, 30)
	var response deviceResponse
	if err := decoder.Unmarshal(p.response, &response); err != nil {
		t.Fatal(err)
	}
	change := func(do func(r *deviceResponse)) []byte {
		r := response
		r.Documents = append([]document{}, response.Documents...)
		do(&r)
		return encode(r)
	}
	huge := make([]byte, MaxResponseBytes+1)
	_, _ = rand.Read(huge)
	for name, tt := range map[string]struct {
		response []byte
		want     Reason
	}{
		"empty":       {nil, ReasonMalformed},
		"no document": {change(func(r *deviceResponse) { r.Documents = nil }), ReasonMalformed},
		"two documents": {change(func(r *deviceResponse) { r.Documents = append(r.Documents, r.Documents[0]) }),
			ReasonMalformed},
		"status of an error": {change(func(r *deviceResponse) { r.Status = 10 }), ReasonMalformed},
		"trailing bytes":     {append(bytes.Clone(p.response), 0), ReasonMalformed},
		"too large":          {huge, ReasonMalformed},
		"another doctype": {change(func(r *deviceResponse) { r.Documents[0].DocType = "org.example.ticket" }),
			ReasonDocType},
		"a licence's name": {change(func(r *deviceResponse) { r.Documents[0].DocType = DocTypeMDL }), ReasonDocType},
		"no device signature": {change(func(r *deviceResponse) { r.Documents[0].DeviceSigned.DeviceAuth.Signature = nil }),
			ReasonDevice},
		"no issuer signature": {change(func(r *deviceResponse) { r.Documents[0].IssuerSigned.IssuerAuth = encode(nil) }),
			ReasonMalformed},
		"statement twice": {change(func(r *deviceResponse) {
			r.Documents[0].IssuerSigned.NameSpaces = map[string][]cborValue{"eu.europa.ec.av.1": append(r.Documents[0].IssuerSigned.NameSpaces["eu.europa.ec.av.1"], r.Documents[0].IssuerSigned.NameSpaces["eu.europa.ec.av.1"]...)}
		}), ReasonMalformed},
		"in another namespace": {change(func(r *deviceResponse) {
			r.Documents[0].IssuerSigned.NameSpaces = map[string][]cborValue{"org.iso.18013.5.1": r.Documents[0].IssuerSigned.NameSpaces["eu.europa.ec.av.1"]}
		}), ReasonDigest},
	} {
		q := p
		q.response = tt.response
		if err := (Verifier{Issuers: issuer.Trusted()}).Verify(bg, q, 18, now); ReasonOf(err) != tt.want {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	issuer := newIssuer(b, 2)
	p := presentation(b, issuer, 30)
	verifier := Verifier{Issuers: issuer.Trusted()}
	b.ReportAllocs()
	for b.Loop() {
		if err := verifier.Verify(bg, p, 18, now); err != nil {
			b.Fatal(err)
		}
	}
}
