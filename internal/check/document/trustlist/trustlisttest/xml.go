package trustlisttest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"github.com/beevik/etree"
	dsig "github.com/russellhaering/goxmldsig"
)

// Service is an entry of a list in XML.
type Service struct {
	Provider    string
	Certificate *x509.Certificate
	Type        string // empty: a provider of proofs of age
	Status      string // empty: recognized
	Extra       string // XML after the status
}

// XML is a list of age verification providers.
type XML struct {
	Sequence     int
	Issued, Next time.Time
	Services     []Service
	// Body, Properties, Info and Final change the list before it is digested, its
	// signed properties, what is signed, and the signed list. Each may be nil.
	Body, Properties, Info, Final func(string) string
}

// The identifiers of the EU's test lists.
const (
	avType    = "http://ec.europa.eu/tools/lotl/av/TrstSvc/TrustedList/TSLType/AVTL"
	avService = "http://ec.europa.eu/tools/lotl/av/TrstSvc/Svctype/PAA"
	avStatus  = "http://ec.europa.eu/tools/lotl/av/TrstSvc/TrustedList/Svcstatus/recognized"
)

// SignXML returns the signed list, in the form of the EU's test lists.
func (p Publisher) SignXML(x XML) []byte {
	body := edit(x.Body, x.body())
	whole := digest(canonical(body))
	certificate := sha256.Sum256(p.Certificate.Raw)
	properties := edit(x.Properties, fmt.Sprintf(`<xades:SignedProperties xmlns:xades="http://uri.etsi.org/01903/v1.3.2#" xmlns:ds="http://www.w3.org/2000/09/xmldsig#" Id="xades-1"><xades:SignedSignatureProperties><xades:SigningTime>%s</xades:SigningTime><xades:SigningCertificateV2><xades:Cert><xades:CertDigest><ds:DigestMethod Algorithm="http://www.w3.org/2001/04/xmlenc#sha256"/><ds:DigestValue>%s</ds:DigestValue></xades:CertDigest></xades:Cert></xades:SigningCertificateV2></xades:SignedSignatureProperties></xades:SignedProperties>`,
		x.Issued.UTC().Format(time.RFC3339), encode(certificate[:])))
	method := dsig.RSASHA256SignatureMethod
	if _, ok := p.Key.(*ecdsa.PrivateKey); ok {
		method = dsig.ECDSASHA256SignatureMethod
	}
	info := edit(x.Info, fmt.Sprintf(`<ds:SignedInfo xmlns:ds="http://www.w3.org/2000/09/xmldsig#"><ds:CanonicalizationMethod Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"/><ds:SignatureMethod Algorithm="%s"/><ds:Reference Id="ref-1" URI=""><ds:Transforms><ds:Transform Algorithm="http://www.w3.org/2000/09/xmldsig#enveloped-signature"/><ds:Transform Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"/></ds:Transforms><ds:DigestMethod Algorithm="http://www.w3.org/2001/04/xmlenc#sha256"/><ds:DigestValue>%s</ds:DigestValue></ds:Reference><ds:Reference Type="http://uri.etsi.org/01903#SignedProperties" URI="#xades-1"><ds:Transforms><ds:Transform Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"/></ds:Transforms><ds:DigestMethod Algorithm="http://www.w3.org/2001/04/xmlenc#sha256"/><ds:DigestValue>%s</ds:DigestValue></ds:Reference></ds:SignedInfo>`,
		method, whole, digest(canonical(properties))))
	signature := fmt.Sprintf(`<ds:Signature xmlns:ds="http://www.w3.org/2000/09/xmldsig#" Id="sig-1">%s<ds:SignatureValue>%s</ds:SignatureValue><ds:KeyInfo><ds:X509Data><ds:X509Certificate>%s</ds:X509Certificate></ds:X509Data></ds:KeyInfo><ds:Object><xades:QualifyingProperties xmlns:xades="http://uri.etsi.org/01903/v1.3.2#" Target="#sig-1">%s</xades:QualifyingProperties></ds:Object></ds:Signature>`,
		info, encode(p.sign(canonical(info))), encode(p.Certificate.Raw), properties)
	end := strings.LastIndex(body, "</TrustServiceStatusList>")
	return []byte(edit(x.Final, `<?xml version="1.0" encoding="UTF-8"?>`+body[:end]+signature+body[end:]))
}

func (x XML) body() string {
	var b strings.Builder
	fmt.Fprintf(&b, `<TrustServiceStatusList xmlns="http://uri.etsi.org/02231/v2#" xmlns:ns2="http://www.w3.org/2000/09/xmldsig#" Id="list-1" TSLTag="http://uri.etsi.org/19612/TSLTag">
<SchemeInformation><TSLVersionIdentifier>6</TSLVersionIdentifier><TSLSequenceNumber>%d</TSLSequenceNumber><TSLType>%s</TSLType><SchemeTerritory>EU</SchemeTerritory><ListIssueDateTime>%s</ListIssueDateTime><NextUpdate><dateTime>%s</dateTime></NextUpdate></SchemeInformation>
<TrustServiceProviderList>`, x.Sequence, avType, x.Issued.UTC().Format(time.RFC3339), x.Next.UTC().Format(time.RFC3339))
	for _, s := range x.Services {
		fmt.Fprintf(&b, `
<TrustServiceProvider><TSPInformation><TSPName><Name xml:lang="de">Anbieter</Name><Name xml:lang="en">%s</Name></TSPName><TSPAddress><PostalAddresses><PostalAddress xml:lang="en"><CountryName>AT</CountryName></PostalAddress></PostalAddresses></TSPAddress></TSPInformation><TSPServices><TSPService><ServiceInformation><ServiceTypeIdentifier>%s</ServiceTypeIdentifier><ServiceName><Name xml:lang="en">Service</Name></ServiceName><ServiceDigitalIdentity><DigitalId><X509Certificate>
%s</X509Certificate></DigitalId><DigitalId><X509SubjectName>CN=x</X509SubjectName></DigitalId></ServiceDigitalIdentity><ServiceStatus>%s</ServiceStatus><StatusStartingTime>2025-02-15T09:00:00Z</StatusStartingTime>%s</ServiceInformation></TSPService></TSPServices></TrustServiceProvider>`,
			s.Provider, or(s.Type, avService), encode(s.Certificate.Raw), or(s.Status, avStatus), s.Extra)
	}
	return b.String() + "\n</TrustServiceProviderList>\n</TrustServiceStatusList>"
}

// sign signs a message as XML signatures do: r and s of ECDSA without ASN.1.
func (p Publisher) sign(message []byte) []byte {
	hash := sha256.Sum256(message)
	if key, ok := p.Key.(*ecdsa.PrivateKey); ok {
		return rawECDSA(key, hash[:])
	}
	return must(p.Key.Sign(rand.Reader, hash[:], crypto.SHA256))
}

func rawECDSA(key *ecdsa.PrivateKey, hash []byte) []byte {
	r, s, err := ecdsa.Sign(rand.Reader, key, hash)
	if err != nil {
		panic(err)
	}
	half := (key.Params().BitSize + 7) / 8
	value := make([]byte, 2*half)
	r.FillBytes(value[:half])
	s.FillBytes(value[half:])
	return value
}

func canonical(text string) []byte {
	doc := etree.NewDocument()
	if err := doc.ReadFromString(text); err != nil {
		panic(err)
	}
	return must(dsig.MakeC14N10ExclusiveCanonicalizerWithPrefixList("").Canonicalize(doc.Root()))
}

func edit(change func(string) string, text string) string {
	if change == nil {
		return text
	}
	return change(text)
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return encode(sum[:])
}

func encode(data []byte) string { return base64.StdEncoding.EncodeToString(data) }

func or(text, other string) string {
	if text == "" {
		return other
	}
	return text
}
