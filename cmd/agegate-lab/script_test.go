package main

import (
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"agegate-lab": main})
}

// TestScripts runs testdata/script/*.txtar. SPECIMENS is a directory of pictures of
// documents.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			specimens, err := filepath.Abs(filepath.Join("..", "..", "internal", "check", "document", "reader", "testdata"))
			env.Setenv("SPECIMENS", specimens)
			return err
		},
	})
}
