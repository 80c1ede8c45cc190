package page

import (
	"html/template"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// syntax is what the colouring of a language needs to know.
type syntax struct {
	tokens   func() *regexp.Regexp
	keywords []string
	// members says that strings before a colon are names, as in JSON.
	members bool
}

// with returns a function that returns the pattern of a language's tokens. A token is a comment, as the given pattern
// describes it, a string, a number, or a word or address. Strings may have three double quotes, as in Python, or
// backticks. The pattern is compiled at the function's first call.
func with(comment string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(` + comment + `)|("""(?s:.*?)"""|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|` + "`[^`]*`" +
			`)|(\b[0-9][0-9_.]*\b)|([A-Za-z_][A-Za-z0-9_]*(?:://[^\s"'<>\\]*)?)`)
	})
}

var (
	hash    = with(`(?m:(?:^|[ \t])#.*)`)
	slashes = with(`//[^\n]*|(?s:/\*.*?\*/)`)
	dashes  = with(`--[^\n]*`)
)

var (
	shell = syntax{tokens: hash, keywords: []string{"case", "do", "done", "elif", "else", "esac", "export", "fi", "for",
		"if", "in", "then", "until", "while"}}
	script = syntax{tokens: slashes, keywords: []string{"async", "await", "break", "case", "catch", "const", "default",
		"else", "export", "for", "from", "function", "if", "import", "interface", "let", "new", "null", "return", "switch",
		"throw", "true", "false", "try", "type", "undefined"}}
	golang = syntax{tokens: slashes, keywords: []string{"break", "case", "chan", "const", "continue", "default", "defer",
		"else", "false", "for", "func", "go", "if", "import", "interface", "map", "nil", "package", "range", "return",
		"select", "struct", "switch", "true", "type", "var"}}
	php = syntax{tokens: slashes, keywords: []string{"array", "as", "case", "catch", "echo", "else", "exit", "false",
		"foreach", "function", "if", "new", "null", "require", "return", "static", "throw", "true", "try", "use"}}
	python = syntax{tokens: hash, keywords: []string{"and", "as", "class", "def", "elif", "else", "except", "False", "for",
		"from", "if", "import", "in", "is", "None", "not", "or", "pass", "raise", "return", "True", "try", "while", "with"}}
	object = syntax{tokens: slashes, keywords: []string{"true", "false", "null"}, members: true}

	syntaxes = map[string]syntax{
		"curl": shell, "bash": shell, "sh": shell, "js": script, "javascript": script, "mjs": script, "ts": script,
		"typescript": script,
		"go":         golang, "php": php, "py": python, "python": python, "json": object,
		"yaml": {tokens: hash}, "sql": {tokens: dashes,
			keywords: []string{"ADD", "ALTER", "ATTACH", "BEGIN", "COMMIT", "CREATE", "FROM", "INSERT", "SELECT", "SET", "TABLE",
				"UPDATE", "WHERE"}},
	}
)

// Colour returns code as HTML with the class k for keywords, s for strings, m for numbers, c for comments and f for
// names of functions and members. The case of the language's name does not matter. Code in a language that is not
// known has no classes. A library that knows hundreds of languages would take 7 MB of memory in every process.
func Colour(name, code string) template.HTML {
	l, known := syntaxes[strings.ToLower(name)]
	if !known {
		return template.HTML(template.HTMLEscapeString(code)) //nolint:gosec // escaped
	}
	var b strings.Builder
	end := 0
	for _, at := range l.tokens().FindAllStringSubmatchIndex(code, -1) {
		group := slices.IndexFunc([]int{at[2], at[4], at[6], at[8]}, func(begin int) bool { return begin >= 0 })
		class := l.class("csmw"[group], code[at[0]:at[1]], strings.TrimLeft(code[at[1]:], " "))
		b.WriteString(template.HTMLEscapeString(code[end:at[0]]))
		end = at[1]
		text := template.HTMLEscapeString(code[at[0]:at[1]])
		if class != "" {
			text = `<span class="` + class + `">` + text + `</span>`
		}
		b.WriteString(text)
	}
	b.WriteString(template.HTMLEscapeString(code[end:]))
	return template.HTML(b.String()) //nolint:gosec // escaped
}

// class returns the class of a token: a comment, a string, a number or a word.
func (l syntax) class(kind byte, text, after string) string {
	switch {
	case kind == 's' && l.members && strings.HasPrefix(after, ":"):
		return "f"
	case kind != 'w':
		return string(kind)
	case slices.Contains(l.keywords, text):
		return "k"
	case strings.HasPrefix(after, "("):
		return "f"
	}
	return ""
}
