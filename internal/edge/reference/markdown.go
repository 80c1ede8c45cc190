package reference

import (
	"bytes"
	"fmt"
	"html/template"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// section is the text under one heading, for the navigation and the search.
type section struct {
	ID, Title string
	Level     int // of the heading
	Text      string
}

// markdown renders the documents of one page. Their headings get anchors that are unique in the page.
type markdown struct {
	engine goldmark.Markdown
	ids    ids
}

func newMarkdown(samples *template.Template) *markdown {
	return &markdown{
		engine: goldmark.New(
			goldmark.WithExtensions(extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignNone))),
			goldmark.WithParserOptions(parser.WithAutoHeadingID()),
			goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(&blocks{samples: samples}, 1))),
		),
		ids: ids{},
	}
}

// render returns a document as HTML, its headings shift levels lower, and its sections.
func (m *markdown) render(source string, shift int) (template.HTML, []section, error) {
	data := []byte(source)
	tree := m.engine.Parser().Parse(text.NewReader(data), parser.WithContext(parser.NewContext(parser.WithIDs(m.ids))))
	sections := []section{}
	err := ast.Walk(tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			n.Level += shift
			id, _ := n.AttributeString("id")
			sections = append(sections, section{ID: fmt.Sprintf("%s", id), Title: plain(n, data), Level: n.Level})
			return ast.WalkSkipChildren, nil
		case *extast.Table:
			labelCells(n, data)
			if n.FirstChild().ChildCount() >= minWide { // nobody searches for its figures
				return ast.WalkSkipChildren, nil
			}
		case *extast.TableCell:
			if title, _ := n.AttributeString("data-title"); slices.Contains(unsearchedColumns, fmt.Sprintf("%s", title)) {
				return ast.WalkSkipChildren, nil
			}
		case *ast.Link:
			n.Destination = []byte(markdownPage.ReplaceAllString(string(n.Destination), "$1$2"))
		}
		if n.Type() == ast.TypeBlock && n.Kind() != ast.KindDocument && n.FirstChild() != nil &&
			n.FirstChild().Type() == ast.TypeInline {
			if len(sections) > 0 {
				sections[len(sections)-1].Text += plain(n, data) + " "
			}
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return "", nil, err
	}
	var out bytes.Buffer
	if err := m.engine.Renderer().Render(&out, data, tree); err != nil {
		return "", nil, err
	}
	return template.HTML(out.String()), sections, nil //nolint:gosec // made of documents of this repository
}

// markdownPage is a link to the Markdown of a page; in HTML it becomes a link to the page.
var markdownPage = regexp.MustCompile(`^(/docs/[a-z.-]+)\.md(#.*)?$`)

// plain returns the text of a node without its markup.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	// The function returns no error.
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, ok := n.(*ast.Text); ok && entering {
			b.Write(t.Segment.Value(source))
			if t.SoftLineBreak() {
				b.WriteByte(' ')
			}
		} else if _, ok := n.(*ast.CodeSpan); !ok && !entering && n.Type() == ast.TypeBlock {
			b.WriteByte(' ')
		}
		return ast.WalkContinue, nil
	})
	return strings.TrimSpace(b.String())
}

// ids makes anchors for headings in the same way as GitHub, so that links work there too: lower case, words joined by
// hyphens, underscores kept. Only the titles of statuses differ.
type ids map[string]bool

// Generate returns an anchor that the page does not have yet.
func (used ids) Generate(title []byte, _ ast.NodeKind) []byte {
	id := anchor(string(title))
	unique := id
	for n := 1; used[unique]; n++ {
		unique = fmt.Sprintf("%s-%d", id, n)
	}
	used[unique] = true
	return []byte(unique)
}

// Put reserves an anchor.
func (used ids) Put(id []byte) { used[string(id)] = true }

// status matches a title such as "402: the credit", of the guide to errors.
var status = regexp.MustCompile(`^([0-9]{3}): .*$`)

// anchor returns the anchor of a title: for a status the number alone, so that links to it last when its words
// change.
func anchor(title string) string {
	title = status.ReplaceAllString(title, "$1")
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '_', r == '-':
			return unicode.ToLower(r)
		case r == ' ':
			return '-'
		}
		return -1
	}, strings.TrimSpace(title))
}

// blocks renders the parts that the pages show differently from plain HTML: headings that link to themselves, tables
// and code that can be scrolled by keyboard, neighbouring code blocks of different languages as one block with a
// choice, and of the HTML in a document its pictures alone.
type blocks struct {
	samples *template.Template
	groups  int // number of groups so far
}

// RegisterFuncs implements renderer.NodeRenderer.
func (b *blocks) RegisterFuncs(register renderer.NodeRendererFuncRegisterer) {
	register.Register(ast.KindHeading, b.heading)
	register.Register(ast.KindFencedCodeBlock, b.code)
	register.Register(extast.KindTable, b.table)
	register.Register(ast.KindHTMLBlock, b.picture)
}

func (b *blocks) heading(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	h := n.(*ast.Heading) //nolint:forcetypeassert // registered for this kind
	if !entering {
		fmt.Fprintf(w, "</a></h%d>\n", h.Level)
		return ast.WalkContinue, nil
	}
	id, _ := h.AttributeString("id")
	fmt.Fprintf(w, `<h%d id="%s"><a href="#%s">`, h.Level, id, id)
	return ast.WalkContinue, nil
}

// picture writes a picture, and leaves out any other HTML, such as comments.
func (b *blocks) picture(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if block := n.Lines().Value(source); entering && bytes.HasPrefix(block, []byte("<picture>")) {
		fmt.Fprintf(w, "%s", block)
	}
	return ast.WalkSkipChildren, nil
}

// code writes a code block together with those that follow it directly.
func (b *blocks) code(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if _, follows := n.PreviousSibling().(*ast.FencedCodeBlock); follows || !entering {
		return ast.WalkSkipChildren, nil
	}
	b.groups++
	group := samples{Name: fmt.Sprintf("samples-%d", b.groups)}
	for block, ok := n.(*ast.FencedCodeBlock); ok; block, ok = block.NextSibling().(*ast.FencedCodeBlock) {
		code := strings.TrimSuffix(string(block.Lines().Value(source)), "\n")
		group.Languages = append(group.Languages, sample{languageOf(string(block.Language(source))), code})
	}
	return ast.WalkSkipChildren, b.samples.Execute(w, group)
}

// languageOf returns the full name for a language's short name at a code block, or the short name itself.
func languageOf(short string) string {
	if name := map[string]string{"python": "Python", "js": "JavaScript", "ts": "TypeScript"}[short]; name != "" {
		return name
	}
	for _, language := range languages {
		if language.ending == short {
			return language.name
		}
	}
	return short
}
