package main

import (
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"
	"text/template"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// pairs returns the members of a mapping in their order.
func pairs(node *yaml.Node) iter.Seq2[string, *yaml.Node] {
	return func(yield func(string, *yaml.Node) bool) {
		for i := 0; node != nil && i+1 < len(node.Content); i += 2 {
			if !yield(node.Content[i].Value, node.Content[i+1]) {
				return
			}
		}
	}
}

// items returns the entries of a list.
func items(node *yaml.Node) iter.Seq[*yaml.Node] {
	return func(yield func(*yaml.Node) bool) {
		if node == nil {
			return
		}
		for _, item := range node.Content {
			if !yield(item) {
				return
			}
		}
	}
}

// text returns a scalar member of a mapping, or "".
func text(node *yaml.Node, key string) string {
	if node == nil {
		return ""
	}
	if value := member(node, key); value != nil && value.Kind == yaml.ScalarNode {
		return value.Value
	}
	return ""
}

// prose is a description without its tables, in one line.
func prose(markdown string) string {
	var lines []string
	for line := range strings.Lines(markdown) {
		if !strings.HasPrefix(line, "|") {
			lines = append(lines, strings.Fields(line)...)
		}
	}
	return strings.Join(lines, " ")
}

var row = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (.*) \\|$")

// rows returns the second column of a table by the first.
func rows(markdown string) map[string]string {
	found := map[string]string{}
	for _, m := range row.FindAllStringSubmatch(markdown, -1) {
		found[m[1]] = m[2]
	}
	return found
}

// width is that of the comments in generated files.
const width = 100

// wrap breaks a text into lines that begin with a prefix.
func wrap(prefix, text string) string {
	var out strings.Builder
	line := prefix
	for word := range strings.FieldsSeq(text) {
		if len(line)+1+len(word) > width && line != prefix {
			out.WriteString(line + "\n")
			line = prefix
		}
		line += " " + word
	}
	return out.String() + line
}

// parts are the words of a name: session_id, webhook-id and createSession.
func parts(name string) []string {
	var found []string
	for _, word := range strings.FieldsFunc(name, func(r rune) bool { return r == '_' || r == '-' || r == '.' }) {
		start := 0
		for i, r := range word {
			if i > 0 && unicode.IsUpper(r) && unicode.IsLower(rune(word[i-1])) {
				found, start = append(found, word[start:i]), i
			}
		}
		found = append(found, word[start:])
	}
	return found
}

func pascal(name string) string {
	var out strings.Builder
	for _, word := range parts(name) {
		if word = strings.ToLower(word); word == "id" || word == "url" {
			out.WriteString(strings.ToUpper(word))
		} else {
			out.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return out.String()
}

func lower(text string) string { return strings.ToLower(text[:1]) + text[1:] }

func camel(name string) string {
	var out strings.Builder
	for i, word := range parts(name) {
		if word = strings.ToLower(word); i > 0 {
			word = strings.ToUpper(word[:1]) + word[1:]
		}
		out.WriteString(word)
	}
	return out.String()
}

func snake(name string) string { return strings.ToLower(strings.Join(parts(name), "_")) }

func (t sdkType) goType() string {
	if t.Nullable {
		t.Nullable = false
		return "*" + t.goType()
	}
	switch {
	case t.Ref != "":
		return t.Ref
	case t.Items != nil:
		return "[]" + t.Items.goType()
	case t.Either != nil:
		return "any"
	case t.Format == "date-time":
		return "time.Time"
	}
	return map[string]string{"string": "string", "integer": "int", "number": "float64", "boolean": "bool"}[t.Simple]
}

// script is the type in TypeScript.
func (t sdkType) script() string {
	return t.union(sdkTypes{
		simple: map[string]string{"string": "string", "integer": "number", "number": "number", "boolean": "boolean"},
		list:   "(%s)[]", null: "null",
	})
}

// python is the type in Python.
func (t sdkType) python() string {
	return t.union(sdkTypes{
		simple: map[string]string{"string": "str", "integer": "int", "number": "float", "boolean": "bool"},
		list:   "list[%s]", null: "None",
	})
}

// pythonValue is the type as an expression that Python evaluates, where it has "|"
// only since 3.10. Annotations are not evaluated.
func (t sdkType) pythonValue() string {
	if t.Either == nil || t.Nullable {
		return t.python()
	}
	var either []string
	for _, one := range t.Either {
		either = append(either, one.python())
	}
	return "Union[" + strings.Join(either, ", ") + "]"
}

// php is the type in PHP, as PHPStan reads it.
func (t sdkType) php() string {
	return t.union(sdkTypes{
		simple: map[string]string{"string": "string", "integer": "int", "number": "float", "boolean": "bool"},
		list:   "list<%s>", null: "null",
	})
}

// phpShape is the type of a schema in PHP, as PHPStan reads it.
func phpShape(s sdkSchema) string {
	if s.Alias != nil {
		return s.Alias.php()
	}
	var values, members []string
	for _, value := range s.Values {
		values = append(values, "'"+value.Value+"'")
	}
	if values != nil {
		return strings.Join(values, "|")
	}
	for _, m := range s.Members {
		name := m.Name
		if strings.Contains(name, "-") {
			name = "'" + name + "'"
		}
		if !m.Required {
			name += "?"
		}
		members = append(members, name+": "+m.Type.php())
	}
	return "array{" + strings.Join(members, ", ") + "}"
}

// joined writes a path as an expression: its texts and its escaped parameters
// between an operator.
func joined(path, operator string, escaped func(name string) string) string {
	parts := strings.Split(inPath(path, "\x00", "\x00", func(name string) string { return name }), "\x00")
	for i, part := range parts {
		if parts[i] = fmt.Sprintf("%q", part); i%2 == 1 {
			parts[i] = escaped(part)
		}
	}
	return strings.TrimSuffix(strings.Join(parts, operator), operator+`""`)
}

// sdkTypes are the types of a language that has unions.
type sdkTypes struct {
	simple map[string]string
	list   string // a format with the type of the items
	null   string
}

// union is the type in a language that writes either of two types as "a | b".
func (t sdkType) union(of sdkTypes) string {
	name := of.simple[t.Simple]
	switch {
	case t.Ref != "":
		name = t.Ref
	case t.Items != nil:
		name = fmt.Sprintf(of.list, t.Items.union(of))
	case t.Either != nil:
		var either []string
		for _, one := range t.Either {
			either = append(either, one.union(of))
		}
		name = strings.Join(either, " | ")
	}
	if t.Nullable {
		name += " | " + of.null
	}
	return name
}

// of returns the parameters of a kind: query, or headers.
func of(all []sdkValue, kind string) []sdkValue {
	var found []sdkValue
	for _, v := range all {
		if strings.HasPrefix(kind, v.In) {
			found = append(found, v)
		}
	}
	return found
}

// kinds returns the kinds of parameters that there are.
func kinds(all []sdkValue) []string {
	return slices.DeleteFunc([]string{"query", "headers"}, func(kind string) bool { return of(all, kind) == nil })
}

// inPath replaces the parameters of a path.
func inPath(path, before, after string, name func(string) string) string {
	return regexp.MustCompile(`\{(\w+)\}`).ReplaceAllStringFunc(path, func(m string) string {
		return before + name(strings.Trim(m, "{}")) + after
	})
}

// sdkFunctions are the functions of the SDKs' templates.
var sdkFunctions = template.FuncMap{
	"wrap": wrap, "pascal": pascal, "camel": camel, "snake": snake,
	"of": of, "kinds": kinds,
	"dashed": func(s sdkSchema) bool {
		return slices.ContainsFunc(s.Members, func(v sdkValue) bool { return strings.Contains(v.Name, "-") })
	},
	"optional": func(s sdkSchema) bool {
		return slices.ContainsFunc(s.Members, func(v sdkValue) bool { return !v.Required })
	},
	"goType": sdkType.goType, "script": sdkType.script, "python": sdkType.python, "pythonValue": sdkType.pythonValue,
	"php": sdkType.php, "phpShape": phpShape,
	"goPath": func(path string) string {
		return joined(path, " + ", func(name string) string { return "url.PathEscape(" + lower(pascal(name)) + ")" })
	},
	"phpPath": func(path string) string {
		return joined(path, " . ", func(name string) string { return "rawurlencode($" + camel(name) + ")" })
	},
	"scriptPath": func(path string) string {
		return "`" + inPath(path, "${encodeURIComponent(", ")}", camel) + "`"
	},
	"pythonPath": func(path string) string {
		return `f"` + inPath(path, "{_quote(", ")}", snake) + `"`
	},
	"lower": lower,
}
