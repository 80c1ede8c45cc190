package main

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"go/format"
	"path"
	"slices"
	"strings"
	"text/template"

	"go.yaml.in/yaml/v3"
)

//go:embed sdk/*.tmpl
var sdkTemplates embed.FS

// sdkFiles are the generated files of the SDKs, by the templates that make them.
var sdkFiles = map[string]string{
	"api.go.tmpl":      "sdk/go/api.gen.go",
	"types.d.ts.tmpl":  "sdk/typescript/types.d.ts",
	"client.d.ts.tmpl": "sdk/typescript/client.d.ts",
	"client.js.tmpl":   "sdk/typescript/client.js",
	"_types.py.tmpl":   "sdk/python/agegate/_types.py",
	"_client.py.tmpl":  "sdk/python/agegate/_client.py",
	"Client.php.tmpl":  "sdk/php/src/Client.php",
}

// sdkRoots are the schemas that SDKs need and no answer of 2xx has: what a
// webhook brings, and what a refusal lists.
var sdkRoots = []string{"CompletionEvent", "Violation"}

// sdkContract is what the templates show: the operations, and the schemas that
// their requests and answers use, in the order of the contract.
type sdkContract struct {
	Operations []sdkOperation
	Schemas    []sdkSchema
}

type sdkOperation struct {
	ID, Method, Path, Summary, Text string
	InPath, Optional                []sdkValue // parameters
	Body, Answer                    string     // schemas
}

// sdkSchema is an enumeration, an object, or another name for a simple type.
type sdkSchema struct {
	Name, Text string
	Values     []sdkConstant
	Members    []sdkValue
	Alias      *sdkType
}

type sdkConstant struct{ Name, Value, Text string }

// sdkValue is a parameter or a member of an object.
type sdkValue struct {
	Name, In, Text string
	Required       bool
	Type           sdkType
}

// sdkType is a schema's name, or a simple type.
type sdkType struct {
	Ref            string
	Simple, Format string
	Items          *sdkType
	Either         []sdkType
	Nullable       bool
}

// generateSDKs returns the generated files of the SDKs by path.
func generateSDKs(document []byte) (map[string][]byte, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(document, &root); err != nil {
		return nil, err
	}
	doc := &sdkReader{top: root.Content[0]}
	contract, err := doc.read()
	if err != nil {
		return nil, err
	}
	parsed, err := template.New("").Funcs(sdkFunctions).ParseFS(sdkTemplates, "sdk/*.tmpl")
	if err != nil {
		return nil, err
	}
	made := map[string][]byte{}
	for name, file := range sdkFiles {
		var out bytes.Buffer
		if err := parsed.ExecuteTemplate(&out, name, contract); err != nil {
			return nil, err
		}
		made[file] = out.Bytes()
		if path.Ext(file) == ".go" {
			if made[file], err = format.Source(out.Bytes()); err != nil {
				return nil, fmt.Errorf("%s: %w\n%s", file, err, out.Bytes())
			}
		}
	}
	return made, nil
}

// sdkReader reads the contract node by node, because its order and its
// references, which parsers resolve, matter here.
type sdkReader struct {
	top     *yaml.Node
	schemas []string // that are needed
	unread  []string // of them
}

func (r *sdkReader) read() (*sdkContract, error) {
	contract := &sdkContract{}
	for path, item := range pairs(member(r.top, "paths")) {
		for method, op := range pairs(item) {
			read, err := r.operation(strings.ToUpper(method), path, op)
			if err != nil {
				return nil, fmt.Errorf("%s %s: %w", method, path, err)
			}
			contract.Operations = append(contract.Operations, read)
		}
	}
	for _, name := range sdkRoots {
		r.use(name)
	}
	schemas := map[string]sdkSchema{}
	for len(r.unread) > 0 { // reading one may need others
		name := r.unread[0]
		r.unread = r.unread[1:]
		schema, err := r.schema(name, member(member(member(r.top, "components"), "schemas"), name))
		if err != nil {
			return nil, fmt.Errorf("schema %s: %w", name, err)
		}
		schemas[name] = schema
	}
	for name := range pairs(member(member(r.top, "components"), "schemas")) {
		if schema, ok := schemas[name]; ok {
			contract.Schemas = append(contract.Schemas, schema)
		}
	}
	return contract, nil
}

func (r *sdkReader) operation(method, path string, op *yaml.Node) (sdkOperation, error) {
	o := sdkOperation{
		ID: text(op, "operationId"), Method: method, Path: path,
		Summary: text(op, "summary"), Text: prose(text(op, "description")),
	}
	for p := range items(member(op, "parameters")) {
		p = r.follow(p)
		kind, err := r.kind(member(p, "schema"))
		if err != nil {
			return o, err
		}
		v := sdkValue{Name: text(p, "name"), In: text(p, "in"), Text: prose(text(p, "description")), Type: kind}
		switch {
		case v.In == "path":
			o.InPath = append(o.InPath, v)
		case text(p, "required") == "true":
			return o, errors.New("required parameters are only read in the path")
		default:
			o.Optional = append(o.Optional, v)
		}
	}
	if body := member(op, "requestBody"); body != nil {
		o.Body = r.content(body)
	}
	for status, answer := range pairs(member(op, "responses")) {
		if strings.HasPrefix(status, "2") {
			o.Answer = r.content(r.follow(answer))
		}
	}
	if o.ID == "" || o.Answer == "" {
		return o, errors.New("an operation needs an ID and an answer with a schema of a name")
	}
	return o, nil
}

// content returns the name of the schema of a body in JSON.
func (r *sdkReader) content(body *yaml.Node) string {
	schema := member(member(member(body, "content"), "application/json"), "schema")
	return r.use(path.Base(text(schema, "$ref")))
}

// use remembers that a schema is needed.
func (r *sdkReader) use(name string) string {
	if !slices.Contains(r.schemas, name) {
		r.schemas, r.unread = append(r.schemas, name), append(r.unread, name)
	}
	return name
}

// follow returns what a reference within the document leads to.
func (r *sdkReader) follow(node *yaml.Node) *yaml.Node {
	ref := text(node, "$ref")
	if ref == "" {
		return node
	}
	node = r.top
	for name := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		node = member(node, name)
	}
	return node
}

func (r *sdkReader) schema(name string, node *yaml.Node) (sdkSchema, error) {
	if node == nil {
		return sdkSchema{}, errors.New("it is not there")
	}
	s := sdkSchema{Name: name, Text: prose(text(node, "description"))}
	if values := member(node, "enum"); values != nil {
		names, meanings := member(node, "x-enum-varnames"), rows(text(node, "description"))
		if names == nil || len(names.Content) != len(values.Content) {
			return s, errors.New("an enumeration needs x-enum-varnames")
		}
		for i, value := range values.Content {
			s.Values = append(s.Values, sdkConstant{names.Content[i].Value, value.Value, meanings[value.Value]})
		}
		return s, nil
	}
	properties := member(node, "properties")
	if properties == nil {
		kind, err := r.kind(node)
		s.Alias = &kind
		return s, err
	}
	var required []string
	for name := range items(member(node, "required")) {
		required = append(required, name.Value)
	}
	for name, property := range pairs(properties) {
		kind, err := r.kind(property)
		if err != nil {
			return s, fmt.Errorf("%s: %w", name, err)
		}
		s.Members = append(s.Members, sdkValue{
			Name: name, Text: prose(text(property, "description")), Required: slices.Contains(required, name), Type: kind,
		})
	}
	return s, nil
}

// kind reads the type of a value.
func (r *sdkReader) kind(node *yaml.Node) (sdkType, error) {
	if ref := text(node, "$ref"); ref != "" {
		return sdkType{Ref: r.use(path.Base(ref))}, nil
	}
	t := sdkType{Simple: text(node, "type"), Format: text(node, "format")}
	if list := member(node, "type"); list != nil && list.Kind == yaml.SequenceNode {
		if len(list.Content) != 2 || list.Content[1].Value != "null" {
			return t, errors.New("a list of types is only read with one type and null")
		}
		t.Simple, t.Nullable = list.Content[0].Value, true
	}
	for either := range items(member(node, "oneOf")) {
		kind, err := r.kind(either)
		if err != nil {
			return t, err
		}
		t.Either = append(t.Either, kind)
	}
	if t.Simple == "array" {
		inner, err := r.kind(member(node, "items"))
		t.Items = &inner
		return t, err
	}
	if t.Either == nil && !slices.Contains([]string{"string", "integer", "number", "boolean"}, t.Simple) {
		return t, fmt.Errorf("the type %q is not read", t.Simple)
	}
	return t, nil
}
