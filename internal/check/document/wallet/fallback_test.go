package wallet

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
)

// The EU's app proves an age without showing the document where a request offers
// that (zero knowledge), and falls back to the plain document otherwise, as its
// profile requires. Our requests offer no zero knowledge, so that it falls back
// and is accepted. A proof that nobody asked for proves nothing here.
func TestTheFallbackOfTheEUsApp(t *testing.T) {
	e, issuer := newExchange(t, 1), newIssuer(t, 2)
	verifier := Verifier{Issuers: issuer.Trusted()}
	link := must(url.Parse(must(e.Link(SchemeProofOfAge, 18, responseURI))))
	var query dcqlQuery
	if err := json.Unmarshal([]byte(link.Query().Get("dcql_query")), &query); err != nil {
		t.Fatal(err)
	}
	const preferred = "mso_mdoc_zk"
	format := ""
	for _, want := range []string{preferred, formatMdoc} { // as the app chooses
		for _, credential := range query.Credentials {
			if format == "" && credential.Format == want {
				format = want
			}
		}
	}
	if format != formatMdoc || strings.Contains(link.String(), "zk_system") {
		t.Fatalf("the app answers with %q to %s", format, link)
	}
	_, form, err := issuer.AnswerLink(link.String(), SampleDocument{Age: 18}, now)
	if err != nil {
		t.Fatal(err)
	}
	p, err := e.OpenPost(SchemeProofOfAge, responseURI, form)
	if err == nil {
		err = verifier.Verify(bg, p, 18, now)
	}
	if err != nil {
		t.Errorf("the plain document: %v", err)
	}
	proof := encode(map[string]any{
		"version": "1.0", "status": 0,
		"zkDocuments": []any{map[string]any{"documentData": []byte{1}, "proof": []byte{2}}},
	})
	p.response = proof
	if err := verifier.Verify(bg, p, 18, now); ReasonOf(err) != ReasonMalformed {
		t.Errorf("a proof without a document: %v", err)
	}
}
