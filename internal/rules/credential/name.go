package credential

import (
	"crypto/x509"
	"encoding/asn1"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// attribute is a part of a distinguished name, such as its country.
type attribute struct {
	Type  asn1.ObjectIdentifier
	Value asn1.RawValue
}

// relative has the attributes of one level of a distinguished name.
type relative []attribute

// comparableName returns the form of a distinguished name in which two names are the
// same bytes if and only if they are equal by RFC 5280, 7.1. A UTF8String equals a
// PrintableString; case and repeated spaces do not count. Bytes that are not a name are
// returned unchanged.
func comparableName(raw []byte) []byte {
	var levels []asn1.RawValue
	if rest, err := asn1.Unmarshal(raw, &levels); err != nil || len(rest) > 0 {
		return raw
	}
	var name strings.Builder
	for _, level := range levels {
		var attributes relative
		if rest, err := asn1.UnmarshalWithParams(level.FullBytes, &attributes, "set"); err != nil || len(rest) > 0 {
			return raw
		}
		var parts []string
		for _, a := range attributes {
			parts = append(parts, fmt.Sprintf("%v=%q", a.Type, comparableValue(a.Value)))
		}
		slices.Sort(parts)
		fmt.Fprintf(&name, "%q", parts)
	}
	return []byte(name.String())
}

// comparableValue returns a value in the form in which RFC 4518 compares it, if it is a
// UTF8String or a PrintableString. It returns other values unchanged.
func comparableValue(v asn1.RawValue) string {
	if v.Class != asn1.ClassUniversal || v.Tag != asn1.TagUTF8String && v.Tag != asn1.TagPrintableString {
		return string(v.FullBytes)
	}
	text := norm.NFKC.String(cases.Fold().String(norm.NFKC.String(string(v.Bytes))))
	return strings.Join(strings.Fields(text), " ")
}

// SameName reports whether two distinguished names in DER are equal by RFC 5280, 7.1.
func SameName(a, b []byte) bool { return string(comparableName(a)) == string(comparableName(b)) }

// Comparable returns a copy of a certificate for building chains. Its names are in the
// form of comparableName, because package x509 compares names by their bytes. All else,
// such as Raw and the signature, is unchanged.
func Comparable(c *x509.Certificate) *x509.Certificate {
	same := *c
	same.RawIssuer, same.RawSubject = comparableName(c.RawIssuer), comparableName(c.RawSubject)
	return &same
}
