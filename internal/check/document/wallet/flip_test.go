package wallet

import (
	"bytes"
	"crypto/ecdh"
	"testing"

	"github.com/fxamacker/cbor/v2"
)

type cborValue = cbor.RawMessage

// signedParts returns the parts of a response that a signature or a digest
// covers, as slices of raw.
func signedParts(t testing.TB, raw []byte, d document) map[string][]byte {
	t.Helper()
	message, err := parseSign1(d.IssuerSigned.IssuerAuth)
	if err != nil {
		t.Fatal(err)
	}
	parts := map[string][]byte{
		"security object":  message.Payload,
		"issuer signature": message.Signature,
		"device names":     d.DeviceSigned.NameSpaces,
	}
	if d.DeviceSigned.DeviceAuth.MAC != nil {
		var m mac0
		if err := decoder.Unmarshal(d.DeviceSigned.DeviceAuth.MAC, &m); err != nil {
			t.Fatal(err)
		}
		parts["device MAC"], parts["device header"] = m.Tag, m.Protected
	} else {
		device, err := parseSign1(d.DeviceSigned.DeviceAuth.Signature)
		if err != nil {
			t.Fatal(err)
		}
		parts["device signature"] = device.Signature
	}
	chain, err := certificates(message.Headers)
	if err != nil {
		t.Fatal(err)
	}
	parts["certificate"] = chain[0].Raw
	for _, items := range d.IssuerSigned.NameSpaces {
		for _, item := range items {
			parts["item "+string(rune('0'+len(parts)))] = item
		}
	}
	for name, part := range parts {
		if !bytes.Contains(raw, part) {
			t.Fatalf("%s is not in the response as received", name)
		}
	}
	return parts
}

// Flipping any byte of a signed part makes the response refused.
func TestEveryFlippedByteIsRefused(t *testing.T) {
	issuer := newIssuer(t, 2)
	sample := presentation(t, issuer, 30)
	annexD := vectors(t)["annex-d"]
	session, err := embedded(unhex(t, annexD.Transcript))
	if err != nil {
		t.Fatal(err)
	}
	readerKey, err := ecdh.P256().NewPrivateKey(unhex(t, annexD.ReaderKey))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		p      Presentation
		verify func(p Presentation) error
	}{
		{"sample", sample, func(p Presentation) error {
			return Verifier{Issuers: issuer.Trusted()}.Verify(bg, p, 18, now)
		}},
		{"annex-d", Presentation{response: unhex(t, annexD.Response), transcript: session, readerKey: readerKey},
			func(p Presentation) error {
				d, err := parseResponse(p.response)
				if err == nil {
					_, _, err = authenticate(d, p, annexD.issuers(t, DocTypeMDL, ""), namespaces[DocTypeMDL], annexD.Time)
				}
				return err
			}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.verify(tt.p); err != nil {
				t.Fatalf("unchanged: %v", err)
			}
			d, err := parseResponse(tt.p.response)
			if err != nil {
				t.Fatal(err)
			}
			for name, part := range signedParts(t, tt.p.response, d) {
				at := bytes.Index(tt.p.response, part)
				for i := range part {
					p := tt.p
					p.response = bytes.Clone(p.response)
					p.response[at+i] ^= 0x01
					if err := tt.verify(p); ReasonOf(err) == "" {
						t.Errorf("%s, byte %d of %d: %v", name, i, len(part), err)
					}
				}
			}
			for i := range tt.p.transcript {
				p := tt.p
				p.transcript = bytes.Clone(p.transcript)
				if p.transcript[i] ^= 0x01; decoder.Wellformed(p.transcript) != nil {
					continue // the verifier builds the transcript itself, so it is always well-formed
				}
				if err := tt.verify(p); ReasonOf(err) == "" {
					t.Errorf("transcript, byte %d: %v", i, err)
				}
			}
		})
	}
}
