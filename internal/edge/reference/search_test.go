package reference_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// indexOf returns the address of the search's index, which the pages name.
func indexOf(t *testing.T, base string) string {
	t.Helper()
	return regexp.MustCompile(`/docs/index/[0-9a-f]{16}`).FindString(get(t, base+"/docs"))
}

// TestQuestions: what people ask is answered. The script of the search runs in Node.js.
func TestQuestions(t *testing.T) {
	base := serve(t)
	index := filepath.Join(t.TempDir(), "index.json")
	for file, path := range map[string]string{index: indexOf(t, base), index + ".de": "/docs/support.de.md"} {
		if err := os.WriteFile(file, []byte(get(t, base+path)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "node", "testdata/questions.mjs")
	cmd.Env = append(cmd.Environ(), "INDEX="+index)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestIndexIsKept: browsers keep the index for ever, but not that of another build.
func TestIndexIsKept(t *testing.T) {
	base := serve(t)
	for address, forever := range map[string]bool{indexOf(t, base): true, "/docs/index/0123456789abcdef": false} {
		res, err := http.Get(base + address)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if got := res.Header.Get("Cache-Control"); strings.Contains(got, "immutable") != forever {
			t.Errorf("%s: %d, %s", address, res.StatusCode, got)
		}
	}
}
