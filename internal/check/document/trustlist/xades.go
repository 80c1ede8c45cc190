package trustlist

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"encoding/base64"
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
func verifyXAdES(raw []byte, signers []*x509.Certificate, now time.Time) ([]byte, error) {
	v := &verification{raw: raw, pinned: signers, now: now}
	for _, check := range checks {
		if err := check(v); err != nil {
			return nil, err
		}
	}
	return v.content, nil
}

// checks are the checks that a list must pass. Their order matters, because each uses
// what earlier ones found. From signsInfo on, everything that decides is decoded from
// signed bytes.
var checks = []func(*verification) error{
	(*verification).isXML,             // the text is XML with a root
	(*verification).hasOneSignature,   // the list's own, directly below the root
	(*verification).namesItsParts,     // it has the parts that XAdES requires, each once
	(*verification).isByPinned,        // its certificate is one of the pinned
	(*verification).signsInfo,         // the certificate's key signed SignedInfo
	(*verification).coversEverything,  // SignedInfo refers to the list and to the properties, whole
	(*verification).signsProperties,   // the properties have the digest in SignedInfo
	(*verification).propertiesAreTrue, // they name the certificate, and a time that has come
	(*verification).signsList,         // the list without the signature has the digest in SignedInfo
}

// verification is a list while it is checked, with what the checks have found.
type verification struct {
	raw    []byte
	pinned []*x509.Certificate
	now    time.Time

	root          *etree.Element    // of the list
	element       *etree.Element    // Signature
	signature     signature         // what Signature says about where things are
	signer        *x509.Certificate // the pinned certificate that signed
	info          []byte            // SignedInfo, verified
	list          reference         // to the list
	properties    reference         // to the signed properties
	propertyBytes []byte            // the signed properties, verified
	content       []byte            // the list, verified
}

func (v *verification) isXML() error {
	doc := etree.NewDocument()
	doc.ReadSettings = etree.ReadSettings{MaxDepth: maxDepth + 1, PreserveDuplicateAttrs: true}
	if doc.ReadFromBytes(v.raw) != nil || doc.Root() == nil {
		return refuse(ReasonMalformed)
	}
	v.root = doc.Root()
	return nil
}

func (v *verification) hasOneSignature() (err error) {
	v.element, err = onlySignature(v.root)
	return err
}

func (v *verification) namesItsParts() error {
	whole, err := canonicalIn(v.root, v.element)
	if err != nil {
		return err
	}
	v.signature, err = readSignature(whole)
	return err
}

func (v *verification) isByPinned() (err error) {
	v.signer, err = v.signature.signer(v.pinned)
	return err
}

func (v *verification) signsInfo() (err error) {
	if v.info, err = canonicalAt(v.root, v.element, "SignedInfo"); err != nil {
		return err
	}
	return v.signature.method.verify(v.signer, v.info, v.signature.value)
}

func (v *verification) coversEverything() error {
	info, err := parseNode(v.info)
	if err != nil {
		return err
	}
	v.list, v.properties, err = references(info, v.root.SelectAttrValue("Id", ""), v.signature.propertiesID)
	return err
}

func (v *verification) signsProperties() (err error) {
	v.propertyBytes, err = canonicalAt(v.root, v.element, "Object", "QualifyingProperties", "SignedProperties")
	if err == nil && !v.properties.matches(v.propertyBytes) {
		err = refuse(ReasonDigest)
	}
	return err
}

func (v *verification) propertiesAreTrue() error {
	return checkProperties(v.propertyBytes, v.signer, v.now)
}

func (v *verification) signsList() (err error) {
	v.root.RemoveChild(v.element)
	v.content, err = canonical(v.root)
	if err == nil && !v.list.matches(v.content) {
		err = refuse(ReasonDigest)
	}
	return err
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

// references returns the references to the list and to the signed properties. There
// must be only these two, in this order. Their transforms must be exactly those that
// leave out nothing but the signature.
func references(info node, rootID, propertiesID string) (list, properties reference, err error) {
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
	uri := first.attr("URI")
	if uri != "" && (rootID == "" || uri != "#"+rootID) || first.attr("Type") != "" || !hasURI(first) {
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

// hasURI reports whether a reference has a URI. Without one, the reference names
// nothing.
func hasURI(n node) bool {
	for _, a := range n.Attrs {
		if a.Name.Space == "" && a.Name.Local == "URI" {
			return true
		}
	}
	return false
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

// checkProperties checks the signed properties. They must name the signer's certificate
// by its digest, and the time of the signature.
func checkProperties(canonical []byte, signer *x509.Certificate, now time.Time) error {
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
