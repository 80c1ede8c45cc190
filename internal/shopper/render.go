package shopper

import (
	"bytes"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"text/template/parse"
	"time"

	"github.com/labstack/echo/v4"
)

// layout is what the frame around every page needs. Each screen's view embeds
// it; render fills in what it knows itself.
type layout struct {
	Locale      *locale
	Languages   []*locale
	Static      string // base of the static files
	Revisitable bool   // the page has an address of its own, so a link may lead back to it
	Link        string // path of the page that shows the session's state
	Test        bool   // a test session: carries the banner
	Forcible    bool   // and is still open: the banner has the outcomes
	Spoofable   bool   // and spoof is one of them
	Assisted    bool   // the shopper cannot move their head
}

func (l *layout) base() *layout { return l }

// view is the data of one screen.
type view interface{ base() *layout }

const languageCookie = "agegate-lang"

// render writes a screen in the browser's language.
func (p *Pages) render(c echo.Context, status int, screen string, v view) error {
	l := v.base()
	l.Locale, l.Languages = p.locale(c), p.catalogue.locales
	l.Static, l.Revisitable = p.assets.base, c.Request().Method != http.MethodPost
	l.Assisted = assisted(c)
	var page bytes.Buffer
	t, ok := p.screens[l.Locale.Tag][screen]
	if !ok {
		return fmt.Errorf("shopper: no screen %q", screen)
	}
	if err := t.ExecuteTemplate(&page, "layout.html", v); err != nil {
		return fmt.Errorf("shopper: screen %s: %w", screen, err)
	}
	h := c.Response().Header()
	h.Set("Content-Security-Policy", p.policy)
	h.Set("Permissions-Policy", "camera=(self), microphone=(), geolocation=(), display-capture=()")
	h.Set("Cache-Control", "no-store")
	// Not no-referrer: browsers would send a null Origin with our own forms.
	h.Set("Referrer-Policy", "same-origin")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Content-Language", l.Locale.Tag)
	h.Set("Vary", "Accept-Language, Cookie")
	return c.HTMLBlob(status, page.Bytes())
}

// locale is the language picked with ?lang= (and remembered), picked earlier,
// or asked for by the browser.
func (p *Pages) locale(c echo.Context) *locale {
	if l, ok := p.catalogue.byTag(c.QueryParam("lang")); ok {
		p.setCookie(c, languageCookie, l.Tag, 365*24*time.Hour)
		return l
	}
	if cookie, err := c.Cookie(languageCookie); err == nil {
		if l, ok := p.catalogue.byTag(cookie.Value); ok {
			return l
		}
	}
	return p.catalogue.match(c.Request().Header.Get("Accept-Language"))
}

// parseScreens parses every page once per language and checks that the texts
// it names exist.
func parseScreens(files fs.FS, c *catalogue) (map[string]map[string]*template.Template, error) {
	names, err := fs.Glob(files, "*.html")
	if err != nil {
		return nil, err
	}
	screens := map[string]map[string]*template.Template{}
	for _, l := range c.locales {
		screens[l.Tag] = map[string]*template.Template{}
		funcs := template.FuncMap{"t": l.text, "texts": l.group, "trouble": troubleOf}
		for _, name := range names {
			if name == "layout.html" {
				continue
			}
			t, err := template.New("").Funcs(funcs).Option("missingkey=error").ParseFS(files, "layout.html", name)
			if err != nil {
				return nil, err
			}
			if err := checkTexts(t, l); err != nil {
				return nil, err
			}
			screens[l.Tag][strings.TrimSuffix(path.Base(name), ".html")] = t
		}
	}
	for _, needed := range []string{"intro", "consent", "camera", "document", "fallback", "spoof", "notice", "onward", "handover", "phone"} {
		if screens[reference][needed] == nil {
			return nil, fmt.Errorf("shopper: template %s.html is missing", needed)
		}
	}
	return screens, checkComposed(c.locales[0])
}

// checkComposed looks up the keys that templates put together from a name.
func checkComposed(l *locale) error {
	var keys []string
	for name := range notices {
		keys = append(keys, "notice."+name+".title", "notice."+name+".body")
	}
	for _, kind := range troubles {
		keys = append(keys, "trouble."+kind+".title", "trouble."+kind+".body", "trouble."+kind+".action")
	}
	for _, key := range keys {
		if _, err := l.text(key); err != nil {
			return err
		}
	}
	return nil
}

// checkTexts looks up every literal key that a template gives to t.
func checkTexts(t *template.Template, l *locale) error {
	for _, part := range t.Templates() {
		if part.Tree == nil {
			continue
		}
		for _, key := range textKeys(part.Tree.Root) {
			if _, err := l.text(key); err != nil {
				return fmt.Errorf("%s: %w", part.Name(), err)
			}
		}
	}
	return nil
}

// textKeys walks a template for commands of the form: t "key" ….
func textKeys(node parse.Node) []string {
	var keys []string
	if command, ok := node.(*parse.CommandNode); ok && len(command.Args) > 1 {
		name, isName := command.Args[0].(*parse.IdentifierNode)
		key, isKey := command.Args[1].(*parse.StringNode)
		if isName && name.Ident == "t" && isKey {
			keys = append(keys, key.Text)
		}
	}
	for _, child := range children(node) {
		keys = append(keys, textKeys(child)...)
	}
	return keys
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
