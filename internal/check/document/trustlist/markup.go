package trustlist

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"unicode/utf8"
)

// Limits of an XML list.
const (
	maxDepth    = 40
	maxNodes    = 60_000
	maxAttrs    = 40 // of an element
	maxPrefixes = 12 // different prefixes of the whole list
)

// checkMarkup refuses everything that parsers could read in different ways, and
// everything that makes a list costly to read: a document type, entities, processing
// instructions, duplicate attributes, IDs that occur twice, and deep nesting.
func checkMarkup(raw []byte) error {
	if !utf8.Valid(raw) || bytes.IndexByte(raw, 0) >= 0 || bytes.HasPrefix(raw, []byte("\xef\xbb\xbf")) {
		return refuse(ReasonMalformed)
	}
	m := markup{ids: map[string]bool{}, prefixes: map[string]bool{}}
	decoder := xml.NewDecoder(bytes.NewReader(raw))
	for {
		token, err := decoder.RawToken() // names with their prefixes, as written
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return refuse(ReasonMalformed)
		}
		if err := m.token(token); err != nil {
			return err
		}
	}
	if m.depth != 0 || m.roots != 1 {
		return refuse(ReasonMalformed)
	}
	return nil
}

type markup struct {
	depth, nodes, roots int
	ids, prefixes       map[string]bool
}

func (m *markup) token(token xml.Token) error {
	switch t := token.(type) {
	case xml.Directive, xml.Comment:
		return refuse(ReasonMarkup)
	case xml.ProcInst:
		if m.nodes > 0 || t.Target != "xml" {
			return refuse(ReasonMarkup)
		}
		m.nodes++
	case xml.StartElement:
		return m.start(t)
	case xml.EndElement:
		m.depth--
	case xml.CharData:
		if m.depth == 0 && len(bytes.TrimSpace(t)) > 0 {
			return refuse(ReasonMalformed)
		}
	}
	if m.depth < 0 {
		return refuse(ReasonMalformed)
	}
	return nil
}

func (m *markup) start(t xml.StartElement) error {
	if m.depth == 0 {
		m.roots++
	}
	m.depth++
	m.nodes++
	if m.depth > maxDepth || m.nodes > maxNodes || len(t.Attr) > maxAttrs {
		return refuse(ReasonSize)
	}
	names := make(map[xml.Name]bool, len(t.Attr))
	for _, a := range t.Attr {
		if names[a.Name] {
			return refuse(ReasonMarkup)
		}
		names[a.Name] = true
		if a.Name.Space == "xmlns" {
			m.prefixes[a.Name.Local] = true
		}
		if a.Name.Space != "xmlns" && strings.EqualFold(a.Name.Local, "id") {
			if m.ids[a.Value] {
				return refuse(ReasonReference)
			}
			m.ids[a.Value] = true
		}
	}
	if len(m.prefixes) > maxPrefixes {
		return refuse(ReasonSize)
	}
	return nil
}
