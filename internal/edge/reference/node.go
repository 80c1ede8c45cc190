package reference

import (
	"bytes"
	"encoding/json"
	"errors"
	"iter"
	"strings"

	"go.yaml.in/yaml/v3"
)

// node is a value in the contract. It keeps the contract's order, because the
// pages show that order. It follows references. The zero node stands for a
// missing value, and all its methods work.
type node struct{ root, at *yaml.Node }

func readNode(document []byte) (node, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(document, &doc); err != nil {
		return node{}, err
	}
	if len(doc.Content) == 0 {
		return node{}, errors.New("reference: the document is empty")
	}
	return node{doc.Content[0], doc.Content[0]}, nil
}

// get follows keys from a mapping to the value below it.
func (n node) get(keys ...string) node {
	for _, key := range keys {
		next := node{root: n.root}
		for name, value := range n.pairs() {
			if name == key {
				next = value
			}
		}
		n = next
	}
	return n
}

func (n node) there() bool { return n.at != nil }

// text returns a scalar's text.
func (n node) text() string {
	if n.at == nil {
		return ""
	}
	return n.at.Value
}

// pairs are the members of a mapping.
func (n node) pairs() iter.Seq2[string, node] {
	return func(yield func(string, node) bool) {
		if n.at == nil || n.at.Kind != yaml.MappingNode {
			return
		}
		for i := 0; i < len(n.at.Content); i += 2 {
			if !yield(n.at.Content[i].Value, node{n.root, n.at.Content[i+1]}.resolved()) {
				return
			}
		}
	}
}

// items are the entries of a sequence.
func (n node) items() iter.Seq[node] {
	return func(yield func(node) bool) {
		if n.at == nil || n.at.Kind != yaml.SequenceNode {
			return
		}
		for _, item := range n.at.Content {
			if !yield(node{n.root, item}.resolved()) {
				return
			}
		}
	}
}

// resolved follows a reference within the document.
func (n node) resolved() node {
	if n.at.Kind != yaml.MappingNode || len(n.at.Content) != 2 || n.at.Content[0].Value != "$ref" {
		return n
	}
	path := strings.TrimPrefix(n.at.Content[1].Value, "#/")
	return node{n.root, n.root}.get(strings.Split(path, "/")...)
}

// has reports whether a sequence contains a text.
func (n node) has(text string) bool {
	for item := range n.items() {
		if item.text() == text {
			return true
		}
	}
	return false
}

// json returns the value as indented JSON, with its members in the contract's
// order.
func (n node) json() (string, error) {
	if n.at == nil {
		return "", errors.New("reference: an example is not there")
	}
	var compact, indented bytes.Buffer
	if err := writeJSON(&compact, n.at); err != nil {
		return "", err
	}
	if err := json.Indent(&indented, compact.Bytes(), "", "  "); err != nil {
		return "", err
	}
	return indented.String(), nil
}

// writeJSON writes a value as it stands, references included, in its order.
func writeJSON(w *bytes.Buffer, at *yaml.Node) error {
	switch at.Kind {
	case yaml.MappingNode:
		w.WriteString("{")
		for i := 0; i < len(at.Content); i += 2 {
			if i > 0 {
				w.WriteString(",")
			}
			quoted, err := json.Marshal(at.Content[i].Value)
			if err != nil {
				return err
			}
			w.Write(quoted)
			w.WriteString(":")
			if err := writeJSON(w, at.Content[i+1]); err != nil {
				return err
			}
		}
		w.WriteString("}")
	case yaml.SequenceNode:
		w.WriteString("[")
		for i, item := range at.Content {
			if i > 0 {
				w.WriteString(",")
			}
			if err := writeJSON(w, item); err != nil {
				return err
			}
		}
		w.WriteString("]")
	default:
		var value any
		if err := at.Decode(&value); err != nil {
			return err
		}
		encoder := json.NewEncoder(w)
		encoder.SetEscapeHTML(false)
		return encoder.Encode(value)
	}
	return nil
}
