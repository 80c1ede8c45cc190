package reference

import (
	"cmp"
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"slices"
	"strings"

	"agegate"
	"agegate/internal/pages/page"
)

// operation is an operation of the contract as the reference shows it, or the
// webhook. Texts are Markdown.
type operation struct {
	ID, Method, Path string // a webhook has no path
	Summary, Text    string
	Parameters       []field
	Body             []field
	Examples         []example // of the body
	Answers          []answer
	Refusals         []answer
	Samples          samples
}

// field is a parameter, a header or a member of a JSON object.
type field struct {
	Name, In, Type, Text string
	Required             bool
}

type answer struct {
	Status, Text string
	About        string // the description of the JSON object
	Headers      []field
	Fields       []field
	Examples     []example
	Details      []string // for a refusal: headings in the guide to errors
}

type example struct{ Title, JSON string }

// HTML returns the example in colours.
func (e example) HTML() template.HTML { return page.Colour("json", e.JSON) }

// samples are one request or function in several languages. The name is unique on
// its page.
type samples struct {
	Name      string
	Languages []sample
}

type sample struct{ Language, Code string }

// Label returns what a page says above code that stands alone.
func (s sample) Label() string {
	switch s.Language {
	case "":
		return "Text"
	case "curl":
		return "Shell"
	case "json", "yaml":
		return strings.ToUpper(s.Language)
	}
	return s.Language
}

// HTML returns the code in colours.
func (s sample) HTML() template.HTML { return page.Colour(s.Language, s.Code) }

// languages are the languages of samples, with the file extension or the name at
// a code block, in the order in which the pages offer them.
var languages = []struct{ ending, name string }{
	{"sh", "curl"}, {"py", "Python"}, {"mjs", "JavaScript"}, {"go", "Go"}, {"php", "PHP"},
}

// readOperations returns the operations in the order of the contract, the
// webhooks last.
func readOperations(doc node) ([]operation, error) {
	var all []operation
	for _, kind := range []string{"paths", "webhooks"} {
		for path, item := range doc.get(kind).pairs() {
			if kind == "webhooks" {
				path = ""
			}
			for method, op := range item.pairs() {
				read, err := readOperation(op, strings.ToUpper(method), path)
				if err == nil && path != "" {
					read.Samples, err = readSamples(read.ID)
				}
				if err != nil {
					return nil, err
				}
				all = append(all, read)
			}
		}
	}
	return all, nil
}

func readOperation(op node, method, path string) (operation, error) {
	o := operation{
		ID: op.get("operationId").text(), Method: method, Path: path,
		Summary: op.get("summary").text(), Text: op.get("description").text(),
	}
	if path != "" {
		o.Parameters = []field{{Name: "X-API-Key", In: "header", Type: "string", Required: true,
			Text: "Your tenant's API key."}}
	}
	for p := range op.get("parameters").items() {
		o.Parameters = append(o.Parameters, readField(p.get("name").text(), p, p.get("required").text() == "true"))
	}
	media := op.get("requestBody", "content", "application/json")
	o.Body = readFields(media.get("schema"))
	var err error
	if o.Examples, err = readExamples(media); err != nil {
		return o, err
	}
	for status, response := range op.get("responses").pairs() {
		a := answer{Status: status, Text: response.get("description").text()}
		for name, header := range response.get("headers").pairs() {
			a.Headers = append(a.Headers, readField(name, header, header.get("required").text() == "true"))
		}
		media := response.get("content", "application/json")
		a.About, a.Fields = media.get("schema", "description").text(), readFields(media.get("schema"))
		if a.Examples, err = readExamples(media); err != nil {
			return o, err
		}
		for _, e := range media.get("examples").pairs() {
			for _, detail := range details(e.get("value", "detail")) {
				if !slices.Contains(a.Details, detail) {
					a.Details = append(a.Details, detail)
				}
			}
		}
		if a.Details != nil {
			o.Refusals = append(o.Refusals, a)
		} else {
			o.Answers = append(o.Answers, a)
		}
	}
	return o, nil
}

// details returns the headings for a detail: a text is its own heading, an object
// has its code as the heading, and a list the types of its entries.
func details(detail node) []string {
	if text := cmp.Or(detail.text(), detail.get("code").text()); text != "" {
		return []string{text}
	}
	var types []string
	for violation := range detail.items() {
		types = append(types, violation.get("type").text())
	}
	return types
}

// readFields returns the members of an object. Members of nested objects have
// names joined by dots.
func readFields(schema node) []field {
	var all []field
	required := schema.get("required")
	for name, member := range schema.get("properties").pairs() {
		all = append(all, readField(name, member, required.has(name)))
		inner, prefix := member, name+"."
		if items := member.get("items"); items.there() {
			inner, prefix = items, name+"[]."
		}
		for _, f := range readFields(inner) {
			f.Name = prefix + f.Name
			all = append(all, f)
		}
	}
	return all
}

// readField describes a member or a parameter. The schema of a parameter is one
// level deeper.
func readField(name string, n node, required bool) field {
	schema := n
	if inner := n.get("schema"); inner.there() {
		schema = inner
	}
	return field{
		Name: name, In: n.get("in").text(), Type: typeOf(schema), Required: required,
		Text: cmp.Or(n.get("description").text(), schema.get("description").text()),
	}
}

// typeOf returns a schema's type and limits in words.
func typeOf(schema node) string {
	var words []string
	if t := schema.get("type"); t.text() != "" {
		words = append(words, t.text())
	} else {
		var either []string
		for item := range t.items() {
			either = append(either, item.text())
		}
		for item := range schema.get("oneOf").items() {
			either = append(either, item.get("type").text())
		}
		words = append(words, strings.Join(either, " or "))
	}
	if format := schema.get("format").text(); format != "" {
		words = append(words, format)
	}
	if low, high := schema.get("minimum").text(), schema.get("maximum").text(); low != "" && high != "" {
		words = append(words, low+" to "+high)
	}
	if most := schema.get("maxLength").text(); most != "" {
		words = append(words, "at most "+most+" characters")
	}
	if items := schema.get("items"); items.there() {
		words[0] += " of " + typeOf(items)
	}
	var values []string
	for value := range schema.get("enum").items() {
		values = append(values, value.text())
	}
	if len(values) > 0 {
		words = append(words, "one of "+strings.Join(values, ", "))
	}
	return strings.Join(words, ", ")
}

func readExamples(media node) ([]example, error) {
	var all []example
	for _, e := range media.get("examples").pairs() {
		text, err := e.get("value").json()
		if err != nil {
			return nil, err
		}
		all = append(all, example{e.get("summary").text(), text})
	}
	return all, nil
}

// readSamples returns the requests of an operation, which are programs that a
// test runs.
func readSamples(operationID string) (samples, error) {
	all := samples{Name: "samples-" + operationID}
	for _, language := range languages {
		name := path.Join("docs/samples", operationID, "request."+language.ending)
		code, err := fs.ReadFile(agegate.Docs, name)
		if err != nil {
			return all, fmt.Errorf("reference: %w", err)
		}
		all.Languages = append(all.Languages, sample{language.name, strings.TrimSuffix(string(code), "\n")})
	}
	return all, nil
}
