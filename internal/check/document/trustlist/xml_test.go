package trustlist_test

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"os"
	"strings"
	"testing"
	"time"

	"agegate/internal/check/document/trustlist"
	"agegate/internal/check/document/trustlist/trustlisttest"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func source(format trustlist.Format, signers ...*x509.Certificate) trustlist.Source {
	return trustlist.Source{Format: format, Signers: signers}
}

func exampleXML() trustlisttest.XML {
	return trustlisttest.XML{Sequence: 7, Issued: now.Add(-time.Hour), Next: now.AddDate(0, 6, 0)}
}

func TestXML(t *testing.T) {
	issuer, ended, other := trustlisttest.NewIssuer("Issuer"), trustlisttest.NewIssuer("Ended"),
		trustlisttest.NewIssuer("Other")
	old := trustlisttest.NewPublisher("Old")
	expired := trustlisttest.Certify("Expired", old.Key, now)
	x := exampleXML()
	x.Services = []trustlisttest.Service{
		{Provider: "  Proof \n of Age ", Certificate: issuer},
		{Provider: "Ended", Certificate: ended,
			Status: "http://ec.europa.eu/tools/lotl/av/TrstSvc/TrustedList/Svcstatus/deprecated"},
		{Provider: "Other service", Certificate: other, Type: "http://uri.etsi.org/TrstSvc/Svctype/CA/QC"},
		{Provider: "Expired", Certificate: expired},
		{Provider: "Critical", Certificate: other,
			Extra: `<ServiceInformationExtensions><Extension Critical="true"/></ServiceInformationExtensions>`},
	}
	for name, p := range map[string]trustlisttest.Publisher{
		"ECDSA": trustlisttest.NewPublisher("Publisher"), "RSA": trustlisttest.NewRSAPublisher("Publisher", 2048),
	} {
		t.Run(name, func(t *testing.T) {
			list, err := trustlist.Parse(p.SignXML(x), source(trustlist.FormatAV, other, p.Certificate), now)
			if err != nil {
				t.Fatal(err)
			}
			if list.Sequence != 7 || !list.Issued.Equal(x.Issued) || !list.NextUpdate.Equal(x.Next) || list.Skipped != 1 ||
				len(list.Entries) != 3 {
				t.Fatalf("%+v", list)
			}
			first, second, third := list.Entries[0], list.Entries[1], list.Entries[2]
			if !first.Certificate.Equal(issuer) || first.Name != "Proof of Age" || first.Country != "AT" || !first.Granted ||
				first.Status != "recognized" {
				t.Errorf("%+v", first)
			}
			if !second.Certificate.Equal(ended) || second.Granted || second.Status != "deprecated" || third.Granted {
				t.Errorf("%+v, %+v", second, third)
			}
		})
	}
}

// TestXMLDigest: the digest of a list depends on its content only, and not on its
// signer or on how often it was signed.
func TestXMLDigest(t *testing.T) {
	x := exampleXML()
	one, two := trustlisttest.NewPublisher("One"), trustlisttest.NewPublisher("Two")
	parse := func(p trustlisttest.Publisher) trustlist.List {
		list, err := trustlist.Parse(p.SignXML(x), source(trustlist.FormatAV, p.Certificate), now)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	first, second := parse(one), parse(two)
	x.Sequence++
	if first.Digest != second.Digest || first.Digest == parse(one).Digest {
		t.Error("the digest does not follow the content")
	}
}

// TestXMLVectors: lists signed by another implementation, the XML signatures of
// OpenJDK 17, verify.
func TestXMLVectors(t *testing.T) {
	for _, name := range []string{"rsa", "ecdsa"} {
		signer := readCertificate(t, "testdata/"+name+".pem")
		raw, err := os.ReadFile("testdata/" + name + ".xml")
		if err != nil {
			t.Fatal(err)
		}
		at := time.Date(2026, 12, 15, 0, 0, 0, 0, time.UTC)
		list, err := trustlist.Parse(raw, source(trustlist.FormatAV, signer), at)
		if err != nil || list.Sequence != 1 || len(list.Entries) != 2 || !list.Entries[0].Granted || list.Entries[1].Granted {
			t.Errorf("%s: %+v, %v", name, list, err)
		}
		for _, change := range [][2]string{{"éèùâ", "éèùa"},
			{"\n        <TSLSequenceNumber>1<", "\n        <TSLSequenceNumber>2<"}, {"&amp;", "&lt;"}, {"Tab\tand", "Tab and"}} {
			mutated := bytes.Replace(raw, []byte(change[0]), []byte(change[1]), 1)
			if bytes.Equal(mutated, raw) {
				t.Fatalf("%s: %q does not occur", name, change[0])
			}
			if _, err := trustlist.Parse(mutated, source(trustlist.FormatAV, signer),
				at); trustlist.ReasonOf(err) != trustlist.ReasonDigest {
				t.Errorf("%s with %q: %v", name, change[1], err)
			}
		}
	}
}

func readCertificate(t *testing.T, file string) *x509.Certificate {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(text)
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return certificate
}

// replace returns a change of text. It fails the test if the text does not occur.
func replace(t *testing.T, old, by string) func(string) string {
	t.Helper()
	return func(text string) string {
		if !strings.Contains(text, old) {
			t.Fatalf("%q does not occur", old)
		}
		return strings.Replace(text, old, by, 1)
	}
}

func base64Of(data []byte) string { return base64.StdEncoding.EncodeToString(data) }

func sha256Of(data []byte) string {
	sum := sha256.Sum256(data)
	return base64Of(sum[:])
}
