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

// comparableName returns a distinguished name such that two names are equal by RFC
// 5280, 7.1, if and only if the texts are: a UTF8String equals a PrintableString, and
// neither case nor repeated spaces count. What is no name is returned as it is.
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

// comparableValue returns the text of a value that may be written as UTF8String or as
// PrintableString in the form in which RFC 4518 compares it, and other values as they
// are.
func comparableValue(v asn1.RawValue) string {
	if v.Class != asn1.ClassUniversal || v.Tag != asn1.TagUTF8String && v.Tag != asn1.TagPrintableString {
		return string(v.FullBytes)
	}
	text := norm.NFKC.String(cases.Fold().String(norm.NFKC.String(string(v.Bytes))))
	return strings.Join(strings.Fields(text), " ")
}

// SameName reports whether two distinguished names in DER are equal by RFC 5280, 7.1.
func SameName(a, b []byte) bool { return string(comparableName(a)) == string(comparableName(b)) }

// Comparable returns a copy of a certificate for building chains: its names are in a
// form in which equal ones have the same bytes, as package x509 compares them. Its
// signature, its Raw and all else are unchanged.
func Comparable(c *x509.Certificate) *x509.Certificate {
	same := *c
	same.RawIssuer, same.RawSubject = comparableName(c.RawIssuer), comparableName(c.RawSubject)
	return &same
}
