package dashboard_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"agegate/internal/pages/dashboard"
	"agegate/templates"
)

// textKey matches a key of the catalogue in the source.
var textKey = regexp.MustCompile(`^[a-z][a-z0-9_]*(\.[a-zA-Z0-9_]+)+$`)

// source returns the Go files of the pages and of the desk, without their tests.
func source(t *testing.T) []*ast.File {
	t.Helper()
	pages, err := filepath.Glob("*.go")
	ofDesk, failed := filepath.Glob("desk/*.go")
	if err = cmp.Or(err, failed); err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, name := range append(pages, ofDesk...) {
		if !strings.HasSuffix(name, "_test.go") {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, file)
		}
	}
	return files
}

// literal returns the value of a string literal.
func literal(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	value, err := strconv.Unquote(lit.Value)
	return value, err == nil
}

// called returns the name of the called function.
func called(call *ast.CallExpr) string {
	switch fun := call.Fun.(type) {
	case *ast.Ident:
		return fun.Name
	case *ast.SelectorExpr:
		return fun.Sel.Name
	}
	return ""
}

// keyPart is a parameter of a function that becomes a part of a text's key: its
// position, and the part of the key before it.
type keyPart struct {
	at     int
	prefix string
}

// keyParts finds the functions that compose a key from a literal and a parameter,
// and those with a parameter named notice, by their names.
func keyParts(files []*ast.File) map[string]keyPart {
	parts := map[string]keyPart{}
	note := func(name string, fun *ast.FuncType, body *ast.BlockStmt) {
		at := map[string]int{}
		for _, field := range fun.Params.List {
			for _, param := range field.Names {
				at[param.Name] = len(at)
			}
		}
		if i, ok := at["notice"]; ok {
			parts[name] = keyPart{i, "notice."}
		}
		ast.Inspect(body, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || called(call) != "Say" {
				return true
			}
			sum, ok := call.Args[0].(*ast.BinaryExpr)
			if !ok {
				return true
			}
			prefix, isLiteral := literal(sum.X)
			if param, isName := sum.Y.(*ast.Ident); isLiteral && isName {
				if i, ok := at[param.Name]; ok {
					parts[name] = keyPart{i, prefix}
				}
			}
			return true
		})
	}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				note(n.Name.Name, n.Type, n.Body)
			case *ast.AssignStmt:
				name, isName := n.Lhs[0].(*ast.Ident)
				if fun, ok := n.Rhs[0].(*ast.FuncLit); ok && isName {
					note(name.Name, fun.Type, fun.Body)
				}
			}
			return true
		})
	}
	return parts
}

// TestTextsExist: every text that the source names is in the catalogue. Features
// list the keys that are composed in other ways.
func TestTextsExist(t *testing.T) {
	files := source(t)
	parts := keyParts(files)
	var keys []string
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ImportSpec:
				return false
			case *ast.BasicLit:
				if value, ok := literal(n); ok && textKey.MatchString(value) && !strings.HasSuffix(value, "_") {
					keys = append(keys, value)
				}
			case *ast.CallExpr:
				part, ok := parts[called(n)]
				if !ok || part.at >= len(n.Args) {
					return true
				}
				if value, ok := literal(n.Args[part.at]); ok && value != "" {
					keys = append(keys, part.prefix+value)
				}
			}
			return true
		})
	}
	for _, known := range []string{"keys.made", "notice.key_revoked", "notice.tenant_disable",
		"urls.effect.no_success"} {
		if !slices.Contains(keys, known) {
			t.Errorf("the source is not read well: %s is not found", known)
		}
	}
	missing, err := dashboard.Missing(keys)
	if err != nil {
		t.Fatal(err)
	}
	if len(keys) < 200 || len(missing) > 0 {
		t.Errorf("%d texts are named, and these are not in the catalogue: %q", len(keys), missing)
	}
}

// otherVerbs match names of acts that make something, but not by "Create" or "anlegen".
var otherVerbs = map[string]*regexp.Regexp{
	"en": regexp.MustCompile(`^"(Make|New|Generate|Add a) ([a-z]+ ?){1,5}\??"$|"Made"|"Made by"`),
	"de": regexp.MustCompile(`(erstellen|erzeugen|hinzufügen)\??"$|"Erstellt"`),
}

// TestOneVerbForMaking: what is made is created, and people are invited.
func TestOneVerbForMaking(t *testing.T) {
	for language, other := range otherVerbs {
		files, err := fs.Glob(templates.Dashboard(), "locales/"+language+"/*.json")
		if err != nil || len(files) == 0 {
			t.Fatal(err)
		}
		for _, name := range files {
			text, err := fs.ReadFile(templates.Dashboard(), name)
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(text)) {
				key, value, _ := strings.Cut(strings.TrimRight(strings.TrimSpace(line), ","), ": ")
				if key != `"password.password"` && key != `"recover.password"` && other.MatchString(value) {
					t.Errorf("%s: %s is %s", name, key, value)
				}
			}
		}
	}
}

// command matches what people type: commands of the programs, variables and files.
var command = regexp.MustCompile(`AGEGATE_[A-Z]|\bagegate (audit|database|doctor|evidence|trust|user) |` +
	`\bagegate (doctor|trust sync)\b|\bagegate-(dev|lab)\b|\bmake run\b|\bcurve\.json`)

// TestCommandsAreCode: texts have commands between backquotes, and the pages show
// these as code. An apostrophe is a typographic one.
func TestCommandsAreCode(t *testing.T) {
	files, err := fs.Glob(templates.Dashboard(), "locales/*/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for _, name := range files {
		data, err := fs.ReadFile(templates.Dashboard(), name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			prose := regexp.MustCompile("`[^`]*`").ReplaceAllString(line, "")
			if command.MatchString(prose) {
				t.Errorf("%s: a command is not code: %s", name, line)
			}
			if regexp.MustCompile(`[a-z]'[a-z]`).MatchString(prose) {
				t.Errorf("%s: a straight apostrophe: %s", name, line)
			}
		}
	}
	c := newCrowd(t, 3, func(i int) string { return fmt.Sprint("Shop ", i) })
	for _, p := range c.pages(t) {
		res, body := p.by.Get(t, p.path)
		if strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") && strings.Contains(body, "`") {
			t.Errorf("%s shows a backquote", p.Path)
		}
	}
}
