package trustlist

import (
	"encoding/xml"
	"strings"
)

// Namespaces.
const (
	nsTSL   = "http://uri.etsi.org/02231/v2#"
	nsDSig  = "http://www.w3.org/2000/09/xmldsig#"
	nsXAdES = "http://uri.etsi.org/01903/v1.3.2#"
)

// node is an element of canonical XML.
type node struct {
	XMLName  xml.Name
	Attrs    []xml.Attr `xml:",any,attr"`
	Children []node     `xml:",any"`
	Chardata string     `xml:",chardata"`
}

// parseNode decodes canonical bytes whose signature or digest was verified.
func parseNode(canonical []byte) (node, error) {
	var n node
	if xml.Unmarshal(canonical, &n) != nil {
		return n, refuse(ReasonMalformed)
	}
	return n, nil
}

func (n node) is(space, local string) bool {
	return n.XMLName.Space == space && n.XMLName.Local == local
}

// all returns the children with a name.
func (n node) all(space, local string) (found []node) {
	for _, child := range n.Children {
		if child.is(space, local) {
			found = append(found, child)
		}
	}
	return found
}

// one returns the element at the end of a path of names. It returns false if an element
// on the path is missing or is not the only one of its name.
func (n node) one(space string, path ...string) (node, bool) {
	for _, local := range path {
		found := n.all(space, local)
		if len(found) != 1 {
			return node{}, false
		}
		n = found[0]
	}
	return n, true
}

// text returns the text of the only element at the end of a path, or "".
func (n node) text(space string, path ...string) string {
	found, ok := n.one(space, path...)
	if !ok || len(found.Children) > 0 {
		return ""
	}
	return strings.TrimSpace(found.Chardata)
}

// attr returns the value of an attribute without a namespace, or "".
func (n node) attr(name string) string {
	for _, a := range n.Attrs {
		if a.Name.Space == "" && a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// consists reports whether the children are exactly these, in this order.
func (n node) consists(space string, locals ...string) bool {
	if len(n.Children) != len(locals) {
		return false
	}
	for i, local := range locals {
		if !n.Children[i].is(space, local) {
			return false
		}
	}
	return true
}
