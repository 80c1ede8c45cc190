package trustlist_test

import (
	"fmt"
	"strings"
	"testing"

	"agegate/internal/check/document/trustlist"
	"agegate/internal/check/document/trustlist/trustlisttest"
)

const (
	attackXMLDSig = "http://www.w3.org/2000/09/xmldsig#"
	inclusive     = "http://www.w3.org/TR/2001/REC-xml-c14n-20010315"
	exclusive     = "http://www.w3.org/2001/10/xml-exc-c14n#"
	wholeList     = `<ds:Transform Algorithm="http://www.w3.org/2000/09/xmldsig#enveloped-signature"/><ds:Transform Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"/>`
)

// part is the moment at which a mutation changes a list: before it is digested
// (so the publisher signed the fault), or after it was signed.
type part int

const (
	body part = iota
	properties
	info
	final
)

// mutation is one way in which a list is not what it must be.
type mutation struct {
	name    string
	in      part
	change  func(string) string
	refused trustlist.Reason
}

// mutations are lists that must be refused. The fault of those changed in body,
// properties and info is signed by the pinned certificate.
func mutations(t *testing.T, other trustlisttest.Publisher) []mutation {
	t.Helper()
	swap := func(old, by string) func(string) string { return replace(t, old, by) }
	section := func(text, begin, end string) string {
		from := strings.Index(text, begin)
		return text[from : from+strings.Index(text[from:], end)+len(end)]
	}
	return []mutation{
		// The content, after it was signed.
		{"an issuer's certificate is exchanged", final, swap("\nMII", "\nMIJ"), trustlist.ReasonDigest},
		{"the number is raised", final, swap("<TSLSequenceNumber>7", "<TSLSequenceNumber>8"), trustlist.ReasonDigest},
		{"the end is moved", final, swap("<NextUpdate><dateTime>2026", "<NextUpdate><dateTime>2036"), trustlist.ReasonDigest},
		{"the status is changed", final, swap("recognized", "granted"), trustlist.ReasonDigest},
		{"a provider is repeated", final, func(s string) string {
			p := section(s, "<TrustServiceProvider>", "</TrustServiceProvider>")
			return strings.Replace(s, p, p+p, 1)
		}, trustlist.ReasonDigest},
		{"a provider is removed", final, func(s string) string {
			return strings.Replace(s, section(s, "<TrustServiceProvider>", "</TrustServiceProvider>"), "", 1)
		}, trustlist.ReasonDigest},
		{"white space is added to the list", final, swap("<TSLType>", "\n<TSLType>"), trustlist.ReasonDigest},
		{"an attribute is added to the root", final, swap(` TSLTag="`, ` a="b" TSLTag="`), trustlist.ReasonDigest},
		{"the namespace of the list is another", final, swap(`xmlns="http://uri.etsi.org/02231/v2#"`, `xmlns="urn:other"`),
			trustlist.ReasonDigest},
		{"text stands behind the signature", final, swap("</ds:Signature>", "</ds:Signature>x"), trustlist.ReasonDigest},
		{"an element stands behind the signature", final, swap("</ds:Signature>", "</ds:Signature><x/>"),
			trustlist.ReasonDigest},
		// The signature, after it was made.
		{"the signature's value is another", final, func(s string) string {
			value := section(s, "<ds:SignatureValue>", "</ds:SignatureValue>")
			return strings.Replace(s, value, "<ds:SignatureValue>"+strings.Repeat("A", 86)+"==</ds:SignatureValue>", 1)
		}, trustlist.ReasonDigest},
		{"the signature's value is empty", final, func(s string) string {
			return strings.Replace(s, section(s, "<ds:SignatureValue>", "</ds:SignatureValue>"),
				"<ds:SignatureValue></ds:SignatureValue>", 1)
		}, trustlist.ReasonMalformed},
		{"the signature is missing", final, func(s string) string {
			return strings.Replace(s, section(s, "<ds:Signature ", "</ds:Signature>"), "", 1)
		}, trustlist.ReasonSignature},
		{"there are two signatures", final, func(s string) string {
			signature := section(s, "<ds:Signature ", "</ds:Signature>")
			again := strings.NewReplacer(`Id="sig-1"`, `Id="sig-2"`, `"xades-1"`, `"xades-2"`, `"ref-1"`,
				`"ref-2"`).Replace(signature)
			return strings.Replace(s, signature, signature+again, 1)
		}, trustlist.ReasonSignature},
		{"the signature is not directly in the list", final, func(s string) string {
			signature := section(s, "<ds:Signature ", "</ds:Signature>")
			return strings.Replace(s, signature, "<x>"+signature+"</x>", 1)
		}, trustlist.ReasonSignature},
		{"the signature names another certificate", final, func(s string) string {
			return strings.Replace(s, section(s, "<ds:X509Certificate>", "</ds:X509Certificate>"), "<ds:X509Certificate>"+
				base64Of(other.Certificate.Raw)+"</ds:X509Certificate>", 1)
		}, trustlist.ReasonSigner},
		{"the signature names no certificate", final, func(s string) string {
			return strings.Replace(s, section(s, "<ds:KeyInfo>", "</ds:KeyInfo>"), "", 1)
		}, trustlist.ReasonSignature},
		{"the signing time is changed", final, swap("<xades:SigningTime>2026", "<xades:SigningTime>2025"),
			trustlist.ReasonDigest},
		{"the properties are missing", final, func(s string) string {
			return strings.Replace(s, section(s, "<ds:Object>", "</ds:Object>"), "", 1)
		}, trustlist.ReasonSignature},
		{"the properties are of another signature", final, swap(`Target="#sig-1"`, `Target="#sig-2"`),
			trustlist.ReasonSignature},
		{"a second object stands in the signature", final, swap("</ds:Object>", "</ds:Object><ds:Object/>"),
			trustlist.ReasonSignature},
		{"unsigned properties replace the signed ones", final,
			swap("<xades:SignedProperties ", `<xades:SignedProperties Id="evil"/><xades:SignedProperties `),
			trustlist.ReasonSignature},
		// Wrapping: the signed list is there, but another one is read.
		{"the signed list is wrapped into another", final, func(s string) string {
			list := strings.TrimPrefix(s, `<?xml version="1.0" encoding="UTF-8"?>`)
			signature := section(list, "<ds:Signature ", "</ds:Signature>")
			evil := strings.Replace(strings.Replace(list, signature, "", 1), `Id="list-1"`, `Id="evil"`, 1)
			return strings.Replace(evil, "</TrustServiceStatusList>", list+"</TrustServiceStatusList>", 1)
		}, trustlist.ReasonSignature},
		{"the signed list is moved into the signature", final, func(s string) string {
			list := strings.TrimPrefix(s, `<?xml version="1.0" encoding="UTF-8"?>`)
			signature := section(list, "<ds:Signature ", "</ds:Signature>")
			bare := strings.Replace(list, signature, "", 1)
			moved := strings.Replace(signature, "</ds:Signature>", "<ds:Object>"+bare+"</ds:Object></ds:Signature>", 1)
			return strings.Replace(strings.Replace(bare, `Id="list-1"`, `Id="evil"`, 1), "</TrustServiceStatusList>", moved+
				"</TrustServiceStatusList>", 1)
		}, trustlist.ReasonSignature},
		{"an ID occurs twice", final, swap("<SchemeTerritory>", `<SchemeTerritory Id="xades-1">`), trustlist.ReasonReference},
		{"an ID occurs twice in another case", final, swap("<SchemeTerritory>", `<SchemeTerritory ID="list-1">`),
			trustlist.ReasonReference},
		// Markup that parsers could read in different ways.
		{"a document type", final, swap("<TrustServiceStatusList ",
			"<!DOCTYPE TrustServiceStatusList><TrustServiceStatusList "), trustlist.ReasonMarkup},
		{"an entity that reads a file", final,
			swap("<TrustServiceStatusList ", `<!DOCTYPE l [<!ENTITY x SYSTEM "file:///etc/passwd">]><TrustServiceStatusList `),
			trustlist.ReasonMarkup},
		{"an undefined entity", final, swap("<SchemeTerritory>EU", "<SchemeTerritory>&x;"), trustlist.ReasonMalformed},
		{"a comment within a certificate", final, swap("\nMII", "\nMI<!-- -->I"), trustlist.ReasonMarkup},
		{"a processing instruction", final, swap("<SchemeTerritory>", `<?php echo?><SchemeTerritory>`),
			trustlist.ReasonMarkup},
		{"an attribute occurs twice", final, swap(` TSLTag="`, ` Id="evil" TSLTag="`), trustlist.ReasonMarkup},
		{"a second list follows", final, func(s string) string {
			return s + strings.TrimPrefix(s,
				`<?xml version="1.0" encoding="UTF-8"?>`)
		}, trustlist.ReasonReference},
		{"an element follows", final, func(s string) string { return s + "<x/>" }, trustlist.ReasonMalformed},
		{"another encoding", final, swap(`encoding="UTF-8"`, `encoding="UTF-16"`), trustlist.ReasonMalformed},
		{"an undeclared prefix", final, swap("<SchemeTerritory>EU</SchemeTerritory>",
			"<q:SchemeTerritory>EU</q:SchemeTerritory>"), trustlist.ReasonMalformed},
		{"nesting without end", final, swap("<SchemeTerritory>", strings.Repeat("<x>", 5000)+"<SchemeTerritory>"),
			trustlist.ReasonSize},
		{"the list is cut off", final, func(s string) string { return s[:len(s)-10] }, trustlist.ReasonMalformed},
		{"the list is empty", final, func(string) string { return "" }, trustlist.ReasonMalformed},
		{"the list is too large", final, func(s string) string { return s + strings.Repeat(" ", trustlist.MaxBytes) },
			trustlist.ReasonSize},
		// What the signature covers, signed by the pinned certificate.
		{"the digest is SHA-1", info, swap("http://www.w3.org/2001/04/xmlenc#sha256", attackXMLDSig+"sha1"),
			trustlist.ReasonAlgorithm},
		{"the signature is by SHA-1", info, swap("http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha256",
			"http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha1"), trustlist.ReasonAlgorithm},
		{"the signature is a MAC", info, swap("http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha256", attackXMLDSig+
			"hmac-sha256"), trustlist.ReasonAlgorithm},
		{"the signature is of another kind of key", info, swap("ecdsa-sha256", "rsa-sha256"), trustlist.ReasonAlgorithm},
		{"another canonicalisation of the signature", info,
			swap(`CanonicalizationMethod Algorithm="`+exclusive, `CanonicalizationMethod Algorithm="`+inclusive),
			trustlist.ReasonAlgorithm},
		{"a canonicalisation with prefixes", info,
			swap(`CanonicalizationMethod Algorithm="`+exclusive+`"/>`, `CanonicalizationMethod Algorithm="`+exclusive+
				`"><InclusiveNamespaces xmlns="`+exclusive+`" PrefixList="ns2"/></ds:CanonicalizationMethod>`),
			trustlist.ReasonAlgorithm},
		{"another canonicalisation of the list", info,
			swap(`enveloped-signature"/><ds:Transform Algorithm="`+exclusive, `enveloped-signature"/><ds:Transform Algorithm="`+
				inclusive), trustlist.ReasonReference},
		{"an XPath transform", info, swap(wholeList, wholeList+
			`<ds:Transform Algorithm="http://www.w3.org/TR/1999/REC-xpath-19991116"><ds:XPath>false()</ds:XPath></ds:Transform>`), trustlist.ReasonReference},
		{"an XSLT transform", info, swap(wholeList, `<ds:Transform Algorithm="http://www.w3.org/TR/1999/REC-xslt-19991116"/>`+
			wholeList), trustlist.ReasonReference},
		{"no transforms", info, swap(`<ds:Transforms>`+wholeList+`</ds:Transforms>`, ""), trustlist.ReasonReference},
		{"a reference to a part of the list", info, swap(`URI=""`, `URI="#part"`), trustlist.ReasonReference},
		{"a reference to another address", info, swap(`URI=""`, `URI="https://example.com/list.xml"`),
			trustlist.ReasonReference},
		{"a reference by XPointer", info, swap(`URI=""`, `URI="#xpointer(/)"`), trustlist.ReasonReference},
		{"a reference without an address", info, swap(` URI=""`, ""), trustlist.ReasonReference},
		{"a further reference", info, swap("</ds:SignedInfo>", `<ds:Reference URI=""/></ds:SignedInfo>`),
			trustlist.ReasonReference},
		{"the list is not signed", info, func(s string) string {
			return strings.Replace(s, section(s, `<ds:Reference Id="ref-1"`, "</ds:Reference>"), "", 1)
		}, trustlist.ReasonReference},
		{"the properties are not signed", info, swap("http://uri.etsi.org/01903#SignedProperties", "urn:other"),
			trustlist.ReasonReference},
		{"the properties are those of another ID", info, swap("#xades-1", "#xades-2"), trustlist.ReasonReference},
		{"the signer signed as another certificate", properties, func(s string) string {
			return strings.Replace(s, section(s, "<ds:DigestValue>", "</ds:DigestValue>"), "<ds:DigestValue>"+
				sha256Of(other.Certificate.Raw)+"</ds:DigestValue>", 1)
		}, trustlist.ReasonSigner},
		{"the certificate's digest is SHA-1", properties,
			swap("http://www.w3.org/2001/04/xmlenc#sha256", attackXMLDSig+"sha1"), trustlist.ReasonAlgorithm},
		{"the signer's certificate is not named", properties, func(s string) string {
			return strings.Replace(s, section(s, "<xades:SigningCertificateV2>", "</xades:SigningCertificateV2>"), "", 1)
		}, trustlist.ReasonSignature},
		{"it was signed in the future", properties, swap("<xades:SigningTime>2026", "<xades:SigningTime>2036"),
			trustlist.ReasonSignature},
		// What the list says, signed by the pinned certificate.
		{"another type of list", body, swap("/av/TrstSvc/TrustedList/TSLType/AVTL", "/TrstSvc/TrustedList/TSLType/EUgeneric"),
			trustlist.ReasonType},
		{"two types", body, swap("<TSLType>", "<TSLType>x</TSLType><TSLType>"), trustlist.ReasonType},
		{"it has expired", body, swap("<dateTime>2026-09", "<dateTime>2026-03"), trustlist.ReasonExpired},
		{"it does not say when it ends", body, func(s string) string {
			return strings.Replace(s, section(s, "<dateTime>", "</dateTime>"), "", 1)
		}, trustlist.ReasonNextUpdate},
		{"it ends before it was issued", body, swap("<dateTime>2026-09", "<dateTime>2020-09"), trustlist.ReasonNextUpdate},
		{"its end has no zone", body, swap("Z</dateTime>", "</dateTime>"), trustlist.ReasonNextUpdate},
		{"it is of the future", body, swap("<ListIssueDateTime>2026-03", "<ListIssueDateTime>2026-04"),
			trustlist.ReasonIssued},
		{"it has no number", body, swap("<TSLSequenceNumber>7", "<TSLSequenceNumber>"), trustlist.ReasonMalformed},
		{"its number is zero", body, swap("<TSLSequenceNumber>7", "<TSLSequenceNumber>0"), trustlist.ReasonMalformed},
		{"another version of the format", body, swap("<TSLVersionIdentifier>6", "<TSLVersionIdentifier>7"),
			trustlist.ReasonMalformed},
		{"a critical extension of the list", body,
			swap("<ListIssueDateTime>", `<SchemeExtensions><Extension Critical="true"/></SchemeExtensions><ListIssueDateTime>`),
			trustlist.ReasonMalformed},
		{"two lists of providers", body, swap("</TrustServiceProviderList>",
			"</TrustServiceProviderList><TrustServiceProviderList></TrustServiceProviderList>"), trustlist.ReasonMalformed},
	}
}

// TestMutations: each mutated list is refused, for the reason that the fault has.
func TestMutations(t *testing.T) {
	publisher, other := trustlisttest.NewPublisher("Publisher"), trustlisttest.NewPublisher("Other")
	table := mutations(t, other)
	names := map[string]bool{}
	for _, m := range table {
		names[m.name] = true
		t.Run(m.name, func(t *testing.T) {
			x := exampleXML()
			x.Services = []trustlisttest.Service{{Provider: "Provider", Certificate: other.Certificate}}
			if _, err := trustlist.Parse(publisher.SignXML(x), source(trustlist.FormatAV, publisher.Certificate),
				now); err != nil {
				t.Fatalf("the list is refused without the mutation: %v", err)
			}
			switch m.in {
			case body:
				x.Body = m.change
			case properties:
				x.Properties = m.change
			case info:
				x.Info = m.change
			case final:
				x.Final = m.change
			}
			list, err := trustlist.Parse(publisher.SignXML(x), source(trustlist.FormatAV, publisher.Certificate), now)
			if trustlist.ReasonOf(err) != m.refused {
				t.Errorf("%v, want %q", err, m.refused)
			}
			if len(list.Entries) > 0 && err == nil {
				t.Errorf("it has %d entries", len(list.Entries))
			}
		})
	}
	if len(names) != len(table) || len(names) < 30 {
		t.Errorf("%d ways", len(names))
	}
}

// TestSigner: only a pinned certificate that is valid now counts.
func TestSigner(t *testing.T) {
	publisher, other := trustlisttest.NewPublisher("Publisher"), trustlisttest.NewPublisher("Publisher")
	renewed := trustlisttest.Certify("Publisher", publisher.Key, now.AddDate(1, 0, 0)) // the same key
	expired := trustlisttest.Publisher{Key: publisher.Key,
		Certificate: trustlisttest.Certify("Publisher", publisher.Key, now)}
	weak := trustlisttest.NewRSAPublisher("Weak", 1024)
	raw := publisher.SignXML(exampleXML())
	for name, test := range map[string]struct {
		raw    []byte
		source trustlist.Source
		want   trustlist.Reason
	}{
		"another certificate":     {raw, source(trustlist.FormatAV, other.Certificate), trustlist.ReasonSigner},
		"another of the same key": {raw, source(trustlist.FormatAV, renewed), trustlist.ReasonSigner},
		"none":                    {raw, source(trustlist.FormatAV), trustlist.ReasonSignerExpired},
		"an expired one": {expired.SignXML(exampleXML()), source(trustlist.FormatAV, expired.Certificate),
			trustlist.ReasonSignerExpired},
		"a weak key": {weak.SignXML(exampleXML()), source(trustlist.FormatAV, weak.Certificate),
			trustlist.ReasonSignerExpired},
		"an unknown format":        {raw, source("other", publisher.Certificate), trustlist.ReasonMalformed},
		"one of several":           {raw, source(trustlist.FormatAV, other.Certificate, publisher.Certificate), ""},
		"one and an expired other": {raw, source(trustlist.FormatAV, expired.Certificate, publisher.Certificate), ""},
	} {
		if _, err := trustlist.Parse(test.raw, test.source, now); trustlist.ReasonOf(err) != test.want || test.want == "" &&
			err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFlips: a list with one changed byte is refused, or says the same.
func TestFlips(t *testing.T) {
	publisher := trustlisttest.NewPublisher("Publisher")
	x := exampleXML()
	x.Services = []trustlisttest.Service{{Provider: "Provider", Certificate: publisher.Certificate}}
	raw := publisher.SignXML(x)
	want, err := trustlist.Parse(raw, source(trustlist.FormatAV, publisher.Certificate), now)
	if err != nil {
		t.Fatal(err)
	}
	same := 0
	for i := 0; i < len(raw); i += 3 {
		mutated := []byte(string(raw))
		mutated[i] ^= 1
		list, err := trustlist.Parse(mutated, source(trustlist.FormatAV, publisher.Certificate), now)
		if err != nil {
			continue
		}
		same++
		if list.Digest != want.Digest || fmt.Sprint(list.Sequence, len(list.Entries)) != fmt.Sprint(want.Sequence,
			len(want.Entries)) {
			t.Errorf("byte %d: the list is accepted and says something else", i)
		}
	}
	t.Logf("%d bytes, %d of them say nothing", len(raw), same)
}

// FuzzXML: no input makes the parser fail otherwise than by a refusal, and no
// list is accepted that says anything but the signed one.
func FuzzXML(f *testing.F) {
	publisher := trustlisttest.NewPublisher("Publisher")
	x := exampleXML()
	x.Services = []trustlisttest.Service{{Provider: "Provider", Certificate: publisher.Certificate}}
	raw := publisher.SignXML(x)
	f.Add([]byte(`<a xmlns:b="c" b:d="e"><f/></a>`))
	fuzzList(f, raw, source(trustlist.FormatAV, publisher.Certificate))
}
