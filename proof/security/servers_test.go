package security

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agegate/internal/check/vision/visiontest"
)

// bounds are the fields by which a server ends what a client never ends.
var bounds = []string{"ReadHeaderTimeout", "ReadTimeout", "WriteTimeout", "IdleTimeout", "MaxHeaderBytes"}

// TestServersAreBounded: each server of the tree has all bounds, the gateway's, the
// door's, the lab's and those of the examples.
func TestServersAreBounded(t *testing.T) {
	found := 0
	for _, top := range []string{"cmd", "internal", "sdk"} {
		err := filepath.WalkDir(filepath.Join(visiontest.Root(), top), func(path string, d fs.DirEntry, err error) error {
			if d != nil && d.IsDir() && d.Name() == "node_modules" {
				return filepath.SkipDir
			}
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				literal, ok := n.(*ast.CompositeLit)
				if ok && isHTTP(literal.Type, "Server") {
					found++
					for _, name := range bounds {
						if !slices.ContainsFunc(literal.Elts, func(e ast.Expr) bool { return sets(e, name) }) {
							t.Errorf("%s: the server has no %s", path, name)
						}
					}
				}
				if call, ok := n.(*ast.CallExpr); ok && (isHTTP(call.Fun, "ListenAndServe") || isHTTP(call.Fun, "Serve")) {
					t.Errorf("%s: a server without bounds", path)
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found < 6 {
		t.Errorf("%d servers were found", found)
	}
}

// isHTTP reports whether an expression is a name of net/http.
func isHTTP(e ast.Expr, name string) bool {
	selector, ok := e.(*ast.SelectorExpr)
	if !ok || selector.Sel.Name != name {
		return false
	}
	pkg, ok := selector.X.(*ast.Ident)
	return ok && pkg.Name == "http"
}

func sets(e ast.Expr, field string) bool {
	pair, ok := e.(*ast.KeyValueExpr)
	if !ok {
		return false
	}
	name, ok := pair.Key.(*ast.Ident)
	return ok && name.Name == field
}
