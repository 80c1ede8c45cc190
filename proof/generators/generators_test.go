// Package generators runs the client generators that merchants use on the
// contract.
package generators

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"agegate/internal/gatewaytest"
)

// Code generators with default settings accept both published editions, and a
// merchant's code compiles with their output. ogen reads only the 3.0 edition.
// The generators are those of internal/tools/generators, from its Go module and
// its npm package.
func TestGenerators(t *testing.T) {
	const generators = "../../internal/tools/generators"
	dir := t.TempDir()
	copyFiles(t, dir, generators+"/go.mod", generators+"/go.sum")
	modules, err := filepath.Abs(generators + "/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(modules); err != nil {
		t.Fatal("the npm packages of internal/tools/generators are missing: run npm ci --ignore-scripts there")
	}
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	run(t, generators, "go", "build", "-o", dir+"/",
		"github.com/ogen-go/ogen/cmd/ogen", "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen")

	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	var work errgroup.Group
	work.SetLimit(runtime.NumCPU())
	for _, edition := range []string{"openapi", "openapi-3.0"} {
		write(t, filepath.Join(dir, edition+".yaml"), get(t, g.URL+"/"+edition+".yaml"))
		for _, args := range [][]string{
			{"node_modules/.bin/openapi-typescript", edition + ".yaml", "--output", edition + "/openapi-typescript/api.ts"},
			{"node_modules/.bin/openapi-ts", "--input", edition + ".yaml", "--output", edition + "/hey-api"},
			{"node_modules/.bin/swagger-typescript-api", "generate", "--path", edition + ".yaml", "--output", edition +
				"/swagger-typescript-api"},
			{"node_modules/.bin/orval", "--input", edition + ".yaml", "--output", edition + "/orval/api.ts"},
			{"./oapi-codegen", "-package", "api", "-o", edition + "/oapi-codegen/api.go", edition + ".yaml"},
		} {
			if err := os.MkdirAll(filepath.Join(dir, edition, filepath.Base(args[0])), 0o700); err != nil {
				t.Fatal(err)
			}
			work.Go(func() error { run(t, dir, args...); return nil })
		}
	}
	work.Go(func() error {
		run(t, dir, "./ogen", "-package", "api", "-target", "openapi-3.0/ogen", "openapi-3.0.yaml")
		return nil
	})
	_ = work.Wait()
	if t.Failed() {
		return
	}
	write(t, filepath.Join(dir, "openapi-3.0/ogen/merchant.go"), `package api

// Errors without a status of their own are Go errors of every operation.
func other(r *OtherErrorStatusCodeWithHeaders) error { return r }

func place(v Violation) []LocationPart { return v.Loc }
`)
	useGenerated(t, dir)
	work.Go(func() error { run(t, dir, "node_modules/.bin/tsc", "--project", "tsconfig.json"); return nil })
	work.Go(func() error { run(t, dir, "go", "vet", "./..."); return nil })
	_ = work.Wait()
}

// useGenerated writes a merchant's code next to each generator's output.
func useGenerated(t *testing.T, dir string) {
	t.Helper()
	merchant, err := os.ReadFile("testdata/merchant.ts")
	if err != nil {
		t.Fatal(err)
	}
	copyFiles(t, filepath.Join(dir, "openapi/openapi-typescript"), "testdata/webhooks.ts")
	for _, edition := range []string{"openapi", "openapi-3.0"} {
		in := func(name string) string { return filepath.Join(dir, edition, name) }
		// openapi-typescript puts all schemas into one type.
		write(t, in("openapi-typescript/named.ts"), `import type { components } from "./api";
type Schemas = components["schemas"];
export type CompletionEvent = Schemas["CompletionEvent"];
export type CreateSessionRequest = Schemas["CreateSessionRequest"];
export type DetectedAgeOut = Schemas["DetectedAgeOut"];
export type ErrorOut = Schemas["ErrorOut"];
export type TextError = Schemas["TextError"];
export type Violation = Schemas["Violation"];
`)
		for name, generated := range map[string]string{
			"openapi-typescript": "./named", "hey-api": "./types.gen", "swagger-typescript-api": "./Api", "orval": "./api",
		} {
			write(t, in(name+"/merchant.ts"), strings.ReplaceAll(string(merchant), "GENERATED", generated))
		}
		write(t, in("oapi-codegen/merchant.go"), `package api

import "fmt"

func passed(e CompletionEvent) bool { return e.Status == Verified && e.IsAdult }

func place(v Violation) (text string) {
	for _, part := range v.Loc {
		text += fmt.Sprint(".", part)
	}
	return text
}

func explain(e ErrorOut) (string, error) { return e.Detail.AsErrorText() }

// A delivery is described once, so that its parameters have one type.
type ReceiveCompletionParams = SessionCompletedParams
`)
	}
	write(t, filepath.Join(dir, "tsconfig.json"), `{
  "compilerOptions": {
    "strict": true, "noEmit": true, "target": "es2022", "lib": ["es2022", "dom", "dom.iterable"],
    "module": "esnext", "moduleResolution": "bundler", "types": [], "skipLibCheck": true
  },
  "include": ["openapi*/**/*.ts"]
}`)
}

// get returns what the gateway publishes at an address.
func get(t *testing.T, url string) string {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", url, res.Status, err)
	}
	return string(body)
}

// run fails the test if a program fails. The program cannot use the network.
func run(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "ORVAL_TELEMETRY=0", "DO_NOT_TRACK=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Error(err)
	}
}

func copyFiles(t *testing.T, dir string, paths ...string) {
	t.Helper()
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, filepath.Base(path)), string(text))
	}
}
