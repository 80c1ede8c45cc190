package app

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestGoroutines: goroutines of the gateway are started by package routine only,
// which recovers their panics. What runs beside a gateway, and tests, are free.
func TestGoroutines(t *testing.T) {
	free := map[string]bool{"lab": true, "tools": true, "gatewaytest": true, "routine": true}
	files := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (free[d.Name()] || strings.HasSuffix(d.Name(), "test")):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		files++
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				t.Errorf("%s: a go statement; use routine.Go", set.Position(n.Pos()))
			case *ast.CallExpr: // of sync.WaitGroup and errgroup.Group
				method, ok := n.Fun.(*ast.SelectorExpr)
				if !ok || method.Sel.Name != "Go" {
					break
				}
				if of, ok := method.X.(*ast.Ident); !ok || of.Name != "routine" {
					t.Errorf("%s: Go of a group; use routine.Group", set.Position(n.Pos()))
				}
			}
			return true
		})
		return nil
	})
	if err != nil || files < 200 {
		t.Errorf("%d files, %v", files, err)
	}
}
