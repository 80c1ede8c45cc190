package page

import (
	"fmt"
	"html/template"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/template/parse"

	"agegate/templates"
)

const layoutFile = "layout.html"

// screens returns the templates of all screens in one language, as one set, so that the
// parts that screens share are stored once. The templates of a screen's own file and of
// the layout are in the set once for each screen, under names by screenTemplate.
type screens func() (*template.Template, error)

// parseScreens parses every screen in every language and checks the texts that it uses. It does not keep the parsed
// templates, because they are large, and most processes show few languages or no page at all. The first page in a
// language parses its templates again.
func parseScreens(cfg Config, c *catalogue) (map[string]screens, error) {
	set, err := parseSet(cfg, c.locales[0])
	if err != nil {
		return nil, err
	}
	for _, screen := range cfg.Screens {
		if set.Lookup(screenTemplate(screen, layoutFile)) == nil {
			return nil, fmt.Errorf("page: template %s.html is missing", screen)
		}
	}
	sets := map[string]screens{}
	for _, l := range c.locales {
		if err := l.checkTexts(set); err != nil {
			return nil, err
		}
		sets[l.Tag] = sync.OnceValues(func() (*template.Template, error) { return parseLanguage(cfg, l) })
	}
	for _, key := range cfg.Keys {
		if !c.locales[0].Has(key) {
			return nil, fmt.Errorf("locale %s has no text %q", reference, key)
		}
	}
	return sets, nil
}

// screenTemplate is the name of a screen's own template in the set.
func screenTemplate(screen, name string) string { return screen + "/" + name }

// parseLanguage parses the screens and replaces texts with literal keys by the texts of a language.
func parseLanguage(cfg Config, l *Locale) (*template.Template, error) {
	set, err := parseSet(cfg, l)
	if err != nil {
		return nil, err
	}
	for _, part := range set.Templates() {
		if part.Tree != nil {
			l.settle(part.Tree.Root)
		}
	}
	return set, nil
}

// parseSet parses the screens. Their functions write texts of the language.
func parseSet(cfg Config, l *Locale) (*template.Template, error) {
	funcs := template.FuncMap{"t": l.text, "texts": l.group, "say": l.say, "list": l.list, "figure": l.figure}
	maps.Copy(funcs, cfg.Funcs)
	set, err := template.New("").Funcs(funcs).Option("missingkey=error").ParseFS(templates.Shared(), "*.html")
	if err != nil {
		return nil, err
	}
	blocks, err := fs.Glob(cfg.Files, "blocks/*.html")
	if err == nil && len(blocks) > 0 {
		set, err = set.ParseFS(cfg.Files, blocks...)
	}
	if err != nil {
		return nil, err
	}
	names, err := fs.Glob(cfg.Files, "*.html")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if name == layoutFile {
			continue
		}
		if err := addScreen(set, cfg.Files, name, funcs); err != nil {
			return nil, err
		}
	}
	return set, nil
}

// checkTexts reports the first text in a set that the language lacks, or that is used without one of its values.
func (l *Locale) checkTexts(set *template.Template) error {
	for _, part := range set.Templates() {
		if part.Tree == nil {
			continue
		}
		for _, call := range textCalls(part.Tree.Root) {
			if err := l.check(call); err != nil {
				return fmt.Errorf("%s: %w", part.Name(), err)
			}
		}
	}
	return nil
}

// settle replaces calls for texts with literal keys by the texts. Otherwise rendering a
// page would make hundreds of calls.
func (l *Locale) settle(node parse.Node) {
	switch n := node.(type) {
	case *parse.ListNode:
		for i, child := range n.Nodes {
			action, ok := child.(*parse.ActionNode)
			if !ok {
				continue
			}
			if text, ok := l.settled(action.Pipe); ok {
				n.Nodes[i] = &parse.TextNode{NodeType: parse.NodeText, Pos: action.Pos,
					Text: []byte(template.HTMLEscapeString(text))}
			}
		}
	case *parse.CommandNode:
		for i, arg := range n.Args {
			if text, ok := l.settled(arg); ok {
				n.Args[i] = &parse.StringNode{NodeType: parse.NodeString, Pos: arg.Position(), Quoted: strconv.Quote(text),
					Text: text}
			}
		}
	}
	for _, child := range children(node) {
		l.settle(child)
	}
}

// settled returns the text for a pipeline of the form: t "key".
func (l *Locale) settled(node parse.Node) (string, bool) {
	pipe, ok := node.(*parse.PipeNode)
	if !ok || len(pipe.Decl) > 0 || len(pipe.Cmds) != 1 || len(pipe.Cmds[0].Args) != 2 {
		return "", false
	}
	key, ok := keyOf(pipe.Cmds[0])
	if !ok {
		return "", false
	}
	text, err := l.text(key)
	return text, err == nil
}

// keyOf returns the key of a command that calls t with a literal key and no values.
func keyOf(command *parse.CommandNode) (string, bool) {
	if len(command.Args) < 2 {
		return "", false
	}
	name, isName := command.Args[0].(*parse.IdentifierNode)
	key, isKey := command.Args[1].(*parse.StringNode)
	if !isName || !isKey || name.Ident != "t" {
		return "", false
	}
	return key.Text, true
}

// addScreen adds the templates of the layout and of a screen's file to the set.
// The file may replace templates of the layout.
func addScreen(set *template.Template, files fs.FS, file string, funcs template.FuncMap) error {
	own, err := template.New("").Funcs(funcs).ParseFS(files, layoutFile, file)
	if err != nil {
		return err
	}
	screen, names := strings.TrimSuffix(file, ".html"), map[string]string{}
	for _, part := range own.Templates() {
		names[part.Name()] = screenTemplate(screen, part.Name())
	}
	for _, part := range own.Templates() {
		if part.Tree == nil {
			continue
		}
		rename(part.Tree.Root, names)
		if _, err := set.AddParseTree(names[part.Name()], part.Tree); err != nil {
			return err
		}
	}
	return nil
}

// rename changes the names of the templates that a template calls.
func rename(node parse.Node, names map[string]string) {
	if call, ok := node.(*parse.TemplateNode); ok && names[call.Name] != "" {
		call.Name = names[call.Name]
	}
	for _, child := range children(node) {
		rename(child, names)
	}
}

// textCall is a call of t with a literal key, and the names of its values.
type textCall struct {
	key    string
	values []string
}

// check reports a call with a text that does not exist or with a missing placeholder.
func (l *Locale) check(call textCall) error {
	text, ok := l.texts[call.key]
	if !ok {
		return fmt.Errorf("locale %s has no text %q", l.Tag, call.key)
	}
	for _, name := range text.placeholders() {
		if !slices.Contains(call.values, name) {
			return fmt.Errorf("text %q is used without its value %q", call.key, name)
		}
	}
	return nil
}

// textCalls returns the commands of a template that have the form: t "key" "name" value ….
func textCalls(node parse.Node) []textCall {
	var calls []textCall
	if command, ok := node.(*parse.CommandNode); ok {
		if key, ok := keyOf(command); ok {
			call := textCall{key: key}
			for i := 2; i < len(command.Args); i += 2 {
				if name, ok := command.Args[i].(*parse.StringNode); ok {
					call.values = append(call.values, name.Text)
				}
			}
			calls = append(calls, call)
		}
	}
	for _, child := range children(node) {
		calls = append(calls, textCalls(child)...)
	}
	return calls
}

func children(node parse.Node) []parse.Node {
	switch n := node.(type) {
	case *parse.ListNode:
		return n.Nodes
	case *parse.ActionNode:
		return []parse.Node{n.Pipe}
	case *parse.TemplateNode:
		if n.Pipe != nil {
			return []parse.Node{n.Pipe}
		}
	case *parse.IfNode:
		return branches(n.BranchNode)
	case *parse.RangeNode:
		return branches(n.BranchNode)
	case *parse.WithNode:
		return branches(n.BranchNode)
	case *parse.PipeNode:
		commands := make([]parse.Node, len(n.Cmds))
		for i, command := range n.Cmds {
			commands[i] = command
		}
		return commands
	case *parse.CommandNode:
		return n.Args
	}
	return nil
}

func branches(b parse.BranchNode) []parse.Node {
	if b.ElseList == nil {
		return []parse.Node{b.Pipe, b.List}
	}
	return []parse.Node{b.Pipe, b.List, b.ElseList}
}
