package reference

import (
	"html/template"
	"strings"
	"sync"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/lexers"
)

// coloured keeps the code that was rendered, because several pages and servers of
// one process show the same. It holds only code of this repository.
var coloured sync.Map // [2]string, the language and the code, to template.HTML

// colour returns code as HTML with the class k for keywords, s for strings, m for
// numbers, c for comments and f for names of functions and members. Code in a
// language that is not known has no classes.
func colour(language, code string) template.HTML {
	key := [2]string{language, code}
	if out, ok := coloured.Load(key); ok {
		return out.(template.HTML) //nolint:forcetypeassert // only these are stored
	}
	out := template.HTML(tokenised(language, code)) //nolint:gosec // escaped
	coloured.Store(key, out)
	return out
}

func tokenised(language, code string) string {
	if language == "curl" {
		language = "bash"
	}
	lexer := lexers.Get(language)
	if lexer == nil || language == "" {
		return template.HTMLEscapeString(code)
	}
	tokens, err := chroma.Coalesce(lexer).Tokenise(nil, code)
	if err != nil {
		return template.HTMLEscapeString(code)
	}
	var b strings.Builder
	last, length := "", 0
	for token := tokens(); token != chroma.EOF; token = tokens() {
		// A lexer may add a line break at the end.
		token.Value = token.Value[:min(len(token.Value), len(code)-length)]
		length += len(token.Value)
		if class := classOf(token.Type); class != last && strings.TrimSpace(token.Value) != "" {
			if last != "" {
				b.WriteString("</span>")
			}
			if class != "" {
				b.WriteString(`<span class="` + class + `">`)
			}
			last = class
		}
		b.WriteString(template.HTMLEscapeString(token.Value))
	}
	if last != "" {
		b.WriteString("</span>")
	}
	return b.String()
}

func classOf(t chroma.TokenType) string {
	switch {
	case t.InCategory(chroma.Comment):
		return "c"
	case t.InCategory(chroma.Keyword):
		return "k"
	case t.InSubCategory(chroma.LiteralString):
		return "s"
	case t.InSubCategory(chroma.LiteralNumber):
		return "m"
	case t == chroma.NameFunction, t == chroma.NameTag, t == chroma.NameAttribute, t == chroma.NameBuiltin:
		return "f"
	}
	return ""
}
