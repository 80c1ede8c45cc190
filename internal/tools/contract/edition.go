package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/getkin/kin-openapi/openapi3"
	"go.yaml.in/yaml/v3"
)

const notice = "Made from openapi.yaml by make generate, for tools that do not read OpenAPI 3.1. Do not edit."

// createPath is the operation that a delivery is a callback of, and receiver the
// callback's address: an example, because the request does not name it.
const (
	createPath = "/api/v1/sessions/create"
	receiver   = "https://shop.example.com/webhooks/agegate"
)

// convert30 writes an OpenAPI 3.1 document as 3.0.3, which has no summary of the
// document and no webhooks: each webhook becomes a callback of the creation. A
// type list with null becomes nullable. Order and comments stay. A document
// that uses anything else of 3.1 is refused.
func convert30(document []byte) ([]byte, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(document, &root); err != nil {
		return nil, err
	}
	top := root.Content[0]
	version := member(top, "openapi")
	if version == nil || version.Value != "3.1.0" {
		return nil, errors.New("not an OpenAPI 3.1.0 document")
	}
	version.Value = "3.0.3"
	top.HeadComment = notice
	remove(member(top, "info"), "summary")
	if err := moveWebhooks(top); err != nil {
		return nil, err
	}
	if err := convertTypes(top); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := errors.Join(enc.Encode(&root), enc.Close()); err != nil {
		return nil, err
	}
	doc, err := openapi3.NewLoader().LoadFromData(out.Bytes())
	if err != nil {
		return nil, err
	}
	if err := doc.Validate(context.Background()); err != nil {
		return nil, fmt.Errorf("not expressible in OpenAPI 3.0: %w", err)
	}
	return out.Bytes(), nil
}

// moveWebhooks makes the document's webhooks callbacks of the creation.
func moveWebhooks(top *yaml.Node) error {
	webhooks := member(top, "webhooks")
	create := member(member(member(top, "paths"), createPath), "post")
	if webhooks == nil || create == nil {
		return errors.New("no webhooks, or no creation to which they belong")
	}
	remove(top, "webhooks")
	for i := 1; i < len(webhooks.Content); i += 2 {
		webhooks.Content[i] = &yaml.Node{Kind: yaml.MappingNode,
			Content: []*yaml.Node{scalar(receiver, "!!str"), webhooks.Content[i]}}
	}
	create.Content = append(create.Content, scalar("callbacks", "!!str"), webhooks)
	return nil
}

// convertTypes rewrites `type: [X, 'null']` below node as X and nullable.
func convertTypes(node *yaml.Node) error {
	for _, child := range node.Content {
		if err := convertTypes(child); err != nil {
			return err
		}
	}
	list := member(node, "type")
	if list == nil || list.Kind != yaml.SequenceNode {
		return nil
	}
	if len(list.Content) != 2 || list.Content[1].Value != "null" {
		return fmt.Errorf("line %d: a list of types is only read with one type and null", list.Line)
	}
	*list = *list.Content[0]
	node.Content = append(node.Content, scalar("nullable", "!!str"), scalar("true", "!!bool"))
	return nil
}

func scalar(value, tag string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Value: value, Tag: tag}
}

// member returns the value of a key of a mapping, or nil.
func member(node *yaml.Node, key string) *yaml.Node {
	if i := index(node, key); i >= 0 {
		return node.Content[i+1]
	}
	return nil
}

func remove(node *yaml.Node, key string) {
	if i := index(node, key); i >= 0 {
		node.Content = slices.Delete(node.Content, i, i+2)
	}
}

// index returns the position of a key of a mapping, or -1.
func index(node *yaml.Node, key string) int {
	if node == nil || node.Kind != yaml.MappingNode {
		return -1
	}
	for i := 0; i < len(node.Content); i += 2 {
		if node.Content[i].Value == key {
			return i
		}
	}
	return -1
}
