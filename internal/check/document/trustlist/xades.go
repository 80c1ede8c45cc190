package trustlist

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"encoding/base64"
	"encoding/xml"
	"slices"
	"strings"
	"time"

	"github.com/beevik/etree"
	dsig "github.com/russellhaering/goxmldsig"
	"github.com/russellhaering/goxmldsig/etreeutils"
)

// The only canonicalisation and transforms that a signature may name.
const (
	exclusiveC14N    = string(dsig.CanonicalXML10ExclusiveAlgorithmId)
	enveloped        = string(dsig.EnvelopedSignatureAltorithmId)
	signedProperties = "http://uri.etsi.org/01903#SignedProperties"
)

// verifyXAdES checks the enveloped XAdES signature of a list (ETSI EN 319 132-1,
// baseline B). It returns the bytes whose digest is signed: the list in canonical form,
// without the signature.
//
// Only the canonicalisation of the library is used, not its validation. That accepts
// SHA-1, other transforms and further references, takes ECDSA signatures in the wrong
// encoding, does not know XAdES, and refuses lists of over 1,000 elements.
func verifyXAdES(raw []byte, pinned []*x509.Certificate, now time.Time) ([]byte, error) {
	doc := etree.NewDocument()
	doc.ReadSettings = etree.ReadSettings{MaxDepth: maxDepth + 1, PreserveDuplicateAttrs: true}
	if doc.ReadFromBytes(raw) != nil || doc.Root() == nil {
		return nil, refuse(ReasonMalformed)
	}
	root := doc.Root()
	element, err := onlySignature(root)
	if err != nil {
		return nil, err
	}
	whole, err := canonicalIn(root, element)
	if err != nil {
		return nil, err
	}
	named, err := readSignature(whole)
	if err != nil {
		return nil, err
	}
	signer, err := named.signer(pinned)
	if err != nil {
		return nil, err
	}
	info, err := canonicalAt(root, element, "SignedInfo")
	if err != nil {
		return nil, err
	}
	if err := named.method.verify(signer, info, named.value); err != nil {
		return nil, err
	}
	// From here on, everything that decides is decoded from signed bytes.
	list, properties, err := references(info, root.SelectAttrValue("Id", ""), named.propertiesID)
	if err != nil {
		return nil, err
	}
	if err := properties.areTrue(root, element, signer, now); err != nil {
		return nil, err
	}
	root.RemoveChild(element)
	content, err := canonical(root)
	if err == nil && !list.matches(content) {
		err = refuse(ReasonDigest)
	}
	return content, err
}

// onlySignature returns the list's signature: the only Signature element of the
// whole tree, directly below the root.
func onlySignature(root *etree.Element) (*etree.Element, error) {
	var found []*etree.Element
	var walk func(*etree.Element)
	walk = func(e *etree.Element) {
		if e.Tag == "Signature" {
			found = append(found, e)
		}
		for _, child := range e.ChildElements() {
			walk(child)
		}
	}
	walk(root)
	if len(found) != 1 || found[0].Parent() != root || found[0].NamespaceURI() != nsDSig {
		return nil, refuse(ReasonSignature)
	}
	return found[0], nil
}

// canonical returns the exclusive canonical form of an element that has no ancestors.
// It changes the element.
func canonical(e *etree.Element) ([]byte, error) {
	bytes, err := dsig.MakeC14N10ExclusiveCanonicalizerWithPrefixList("").Canonicalize(e)
	if err != nil {
		return nil, refuse(ReasonMalformed)
	}
	return bytes, nil
}

// canonicalIn returns a child of the root in exclusive canonical form.
func canonicalIn(root, child *etree.Element) ([]byte, error) {
	scope, err := etreeutils.NewDefaultNSContext().SubContext(root)
	if err != nil {
		return nil, refuse(ReasonMalformed)
	}
	return detached(scope, child)
}

// canonicalAt returns the element at the end of a path below the signature in
// exclusive canonical form. readSignature has checked that each name on the path
// occurs once.
func canonicalAt(root, signature *etree.Element, path ...string) ([]byte, error) {
	scope, err := etreeutils.NewDefaultNSContext().SubContext(root)
	e := signature
	for _, tag := range path {
		if err == nil {
			scope, err = scope.SubContext(e)
		}
		if err != nil {
			return nil, refuse(ReasonMalformed)
		}
		children := e.ChildElements()
		at := slices.IndexFunc(children, func(child *etree.Element) bool { return child.Tag == tag })
		if at < 0 {
			return nil, refuse(ReasonSignature)
		}
		e = children[at]
	}
	return detached(scope, e)
}

func detached(scope etreeutils.NSContext, e *etree.Element) ([]byte, error) {
	alone, err := etreeutils.NSDetatch(scope, e)
	if err != nil {
		return nil, refuse(ReasonMalformed)
	}
	return canonical(alone)
}

// signature is a Signature element. Only what is needed to find the signed parts is
// read from it. The parts themselves are decoded from their verified bytes.
type signature struct {
	method       method
	value        []byte
	certificates [][]byte // DER, of KeyInfo
	propertiesID string
}

func readSignature(canonical []byte) (s signature, err error) {
	n, err := parseNode(canonical)
	if err != nil {
		return s, err
	}
	info, ok := n.one(nsDSig, "SignedInfo")
	if !ok || !n.consists(nsDSig, "SignedInfo", "SignatureValue", "KeyInfo", "Object") {
		return s, refuse(ReasonSignature)
	}
	name, _ := info.one(nsDSig, "SignatureMethod")
	if s.method, ok = methods[name.attr("Algorithm")]; !ok {
		return s, refuse(ReasonAlgorithm)
	}
	if s.value, err = decodeBase64(n.text(nsDSig, "SignatureValue")); err != nil {
		return s, err
	}
	data, _ := n.one(nsDSig, "KeyInfo", "X509Data")
	for _, certificate := range data.all(nsDSig, "X509Certificate") {
		der, err := decodeBase64(certificate.Chardata)
		if err != nil {
			return s, err
		}
		s.certificates = append(s.certificates, der)
	}
	object, _ := n.one(nsDSig, "Object")
	qualifying, found := object.one(nsXAdES, "QualifyingProperties")
	properties, signed := qualifying.one(nsXAdES, "SignedProperties")
	id := n.attr("Id")
	if !found || !signed || len(object.Children) != 1 || id == "" || qualifying.attr("Target") != "#"+id {
		return s, refuse(ReasonSignature)
	}
	s.propertiesID = properties.attr("Id")
	return s, nil
}

// signer returns the pinned certificate that is the first one in the signature.
func (s signature) signer(pinned []*x509.Certificate) (*x509.Certificate, error) {
	if len(s.certificates) == 0 {
		return nil, refuse(ReasonSignature)
	}
	for _, c := range pinned {
		if bytes.Equal(c.Raw, s.certificates[0]) {
			return c, nil
		}
	}
	return nil, refuse(ReasonSigner)
}

// reference is a signed digest.
type reference struct {
	hash  crypto.Hash
	value []byte
}

// references returns the references to the list and to the signed properties in SignedInfo. There
// must be only these two, in this order. Their transforms must be exactly those that
// leave out nothing but the signature.
func references(signed []byte, rootID, propertiesID string) (list, properties reference, err error) {
	info, err := parseNode(signed)
	if err != nil {
		return list, properties, err
	}
	if !info.consists(nsDSig, "CanonicalizationMethod", "SignatureMethod", "Reference", "Reference") {
		return list, properties, refuse(ReasonReference)
	}
	method := info.Children[0]
	if method.attr("Algorithm") != exclusiveC14N || len(method.Children) > 0 || len(info.Children[1].Children) > 0 {
		return list, properties, refuse(ReasonAlgorithm)
	}
	first, second := info.Children[2], info.Children[3]
	if first.attr("Type") == signedProperties {
		first, second = second, first
	}
	uri := first.attr("URI") // a reference that lacks it, rather than having an empty one, names nothing
	hasURI := slices.ContainsFunc(first.Attrs, func(a xml.Attr) bool { return a.Name == xml.Name{Local: "URI"} })
	if uri != "" && (rootID == "" || uri != "#"+rootID) || first.attr("Type") != "" || !hasURI {
		return list, properties, refuse(ReasonReference)
	}
	if second.attr("Type") != signedProperties || propertiesID == "" || second.attr("URI") != "#"+propertiesID {
		return list, properties, refuse(ReasonReference)
	}
	if list, err = readReference(first, enveloped, exclusiveC14N); err != nil {
		return list, properties, err
	}
	properties, err = readReference(second, exclusiveC14N)
	return list, properties, err
}

// readReference reads a reference that must have exactly these transforms.
func readReference(n node, transforms ...string) (r reference, err error) {
	if !n.consists(nsDSig, "Transforms", "DigestMethod", "DigestValue") {
		return r, refuse(ReasonReference)
	}
	listed := n.Children[0]
	if len(listed.Children) != len(transforms) {
		return r, refuse(ReasonReference)
	}
	for i, algorithm := range transforms {
		if t := listed.Children[i]; !t.is(nsDSig, "Transform") || t.attr("Algorithm") != algorithm || len(t.Children) > 0 {
			return r, refuse(ReasonReference)
		}
	}
	return readDigest(n)
}

// readDigest reads the digest among an element's children.
func readDigest(n node) (r reference, err error) {
	algorithm, _ := n.one(nsDSig, "DigestMethod")
	hash, ok := hashes[algorithm.attr("Algorithm")]
	if !ok {
		return r, refuse(ReasonAlgorithm)
	}
	value, err := decodeBase64(n.text(nsDSig, "DigestValue"))
	return reference{hash, value}, err
}

func (r reference) matches(content []byte) bool {
	hash := r.hash.New()
	hash.Write(content)
	return bytes.Equal(hash.Sum(nil), r.value)
}

// areTrue checks the signed properties, to which the reference leads. They must name the
// signer's certificate by its digest, and the time of the signature.
func (r reference) areTrue(root, signature *etree.Element, signer *x509.Certificate, now time.Time) error {
	canonical, err := canonicalAt(root, signature, "Object", "QualifyingProperties", "SignedProperties")
	if err != nil {
		return err
	}
	if !r.matches(canonical) {
		return refuse(ReasonDigest)
	}
	n, err := parseNode(canonical)
	if err != nil {
		return err
	}
	signed, ok := n.one(nsXAdES, "SignedSignatureProperties")
	if !ok {
		return refuse(ReasonSignature)
	}
	at, err := time.Parse(time.RFC3339, signed.text(nsXAdES, "SigningTime"))
	if err != nil || at.After(now.Add(clockSkew)) {
		return refuse(ReasonSignature)
	}
	named := append(signed.all(nsXAdES, "SigningCertificateV2"), signed.all(nsXAdES, "SigningCertificate")...)
	if len(named) != 1 {
		return refuse(ReasonSignature)
	}
	certificates := named[0].all(nsXAdES, "Cert")
	if len(certificates) == 0 {
		return refuse(ReasonSignature)
	}
	digest, ok := certificates[0].one(nsXAdES, "CertDigest")
	if !ok {
		return refuse(ReasonSignature)
	}
	expected, err := readDigest(digest)
	if err != nil {
		return err
	}
	if !expected.matches(signer.Raw) {
		return refuse(ReasonSigner)
	}
	return nil
}

func decodeBase64(text string) ([]byte, error) {
	decoded, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
	if err != nil || len(decoded) == 0 {
		return nil, refuse(ReasonMalformed)
	}
	return decoded, nil
}
