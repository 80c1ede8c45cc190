package wallet

import (
	"crypto/x509"
	"net/url"
	"runtime"
	"testing"
)

// maxGrowth is how many bytes may be allocated while one hostile response is
// read.
const maxGrowth = 64 << 20

// bounded runs read and fails if it allocates too much for the size of its input.
func bounded(t *testing.T, size int, read func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	read()
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > maxGrowth {
		t.Errorf("%d bytes allocate %d", size, grown)
	}
}

func FuzzDeviceResponse(f *testing.F) {
	issuer := newIssuer(f, 2)
	p := presentation(f, issuer, 30)
	f.Add(p.response)
	for _, v := range vectors(f) {
		if raw, err := decode64(v.Response); err == nil {
			f.Add(raw)
		}
	}
	f.Add([]byte{0x9b, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}) // an array of 2^63 elements
	verifier := Verifier{Issuers: issuer.Trusted()}
	f.Fuzz(func(t *testing.T, response []byte) {
		q := p
		q.response = response
		bounded(t, len(response), func() {
			if err := verifier.Verify(bg, q, 18, now); err != nil && ReasonOf(err) == "" {
				t.Errorf("no reason: %v", err)
			}
		})
	})
}

func FuzzEncryptedResponse(f *testing.F) {
	e, issuer := newExchange(f, 1), newIssuer(f, 2)
	answer, err := url.ParseQuery(string(linkAnswer(SchemeOpenID)(f, e, issuer, SampleDocument{Age: 30}, 18)))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(answer.Get("response"), "")
	answer, err = url.ParseQuery(string(linkAnswer(SchemeProofOfAge)(f, e, issuer, SampleDocument{Age: 30}, 18)))
	if err != nil {
		f.Fatal(err)
	}
	f.Add("", answer.Get("vp_token"))
	f.Add("....", `{"a":["",""]}`)
	f.Fuzz(func(t *testing.T, response, token string) {
		scheme, form := SchemeProofOfAge, url.Values{"vp_token": {token}}
		if response != "" {
			scheme, form = SchemeOpenID, url.Values{"response": {response}}
		}
		bounded(t, len(response)+len(token), func() {
			if _, err := e.OpenPost(scheme, responseURI, form); err != nil && ReasonOf(err) == "" {
				t.Errorf("no reason: %v", err)
			}
		})
	})
}

func FuzzBrowserResponse(f *testing.F) {
	e, issuer := newExchange(f, 1), newIssuer(f, 2)
	f.Add(ProtocolMdoc, browserAnswer(0)(f, e, issuer, SampleDocument{Age: 30}, 18))
	f.Add(ProtocolOpenID, browserAnswer(2)(f, e, issuer, SampleDocument{Age: 30}, 18))
	f.Add("", []byte("{}"))
	f.Fuzz(func(t *testing.T, protocol string, data []byte) {
		bounded(t, len(data), func() {
			if _, err := e.OpenBrowser(origin, protocol, data); err != nil && ReasonOf(err) == "" {
				t.Errorf("no reason: %v", err)
			}
		})
	})
}

// FuzzCertificate puts a certificate that the fuzzer chooses in the place of the
// signer's.
func FuzzCertificate(f *testing.F) {
	issuer := newIssuer(f, 2)
	f.Add(issuer.signerDER)
	f.Add(issuer.root.Raw)
	f.Fuzz(func(t *testing.T, der []byte) {
		certificate, err := x509.ParseCertificate(der)
		if err != nil {
			return
		}
		bounded(t, len(der), func() {
			err := verifyChain([]*x509.Certificate{certificate, issuer.root}, DocTypeMDL, issuer.Trusted(), now)
			if err != nil && ReasonOf(err) == "" {
				t.Errorf("no reason: %v", err)
			}
		})
	})
}
