package wallets

import (
	"bufio"
	"encoding/json"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"agegate/internal/gatewaytest"
)

// npmWallet is a process of the wallet of npm packages in the folder npm.
type npmWallet struct {
	t      *testing.T
	mu     sync.Mutex
	orders io.Writer
	answer *bufio.Reader
	log    *gatewaytest.Log
}

// npmVersions returns the wallet's packages and their versions.
func npmVersions(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile("npm/package.json")
	if err != nil {
		t.Fatal(err)
	}
	var pinned struct {
		Dependencies map[string]string `json:"dependencies"`
	}
	if err := json.Unmarshal(raw, &pinned); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(pinned.Dependencies)) {
		names = append(names, name+" "+pinned.Dependencies[name])
	}
	return strings.Join(names, ", ")
}

// startNPM starts the wallet, which installs its packages if they are missing and
// runs until the test ends.
func startNPM(t *testing.T) *npmWallet {
	t.Helper()
	w := &npmWallet{t: t, log: &gatewaytest.Log{}}
	cmd := exec.Command("node", "npm/serve.mjs")
	cmd.Stderr = w.log
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.orders, w.answer = in, bufio.NewReaderSize(out, 1<<20)
	t.Cleanup(func() {
		_ = in.Close()
		stopped := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
		defer stopped.Stop()
		if err := cmd.Wait(); err != nil || t.Failed() {
			t.Log(err, w.log)
		}
	})
	return w
}

// do gives the wallet an order and decodes its answer into result. It returns why
// the wallet does not answer the verifier, or "".
func (w *npmWallet) do(order string, about map[string]any, result any) (refused string) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	about["order"] = order
	line, err := json.Marshal(about)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.orders.Write(append(line, '\n')); err != nil {
		w.t.Fatal(err, w.log)
	}
	line, err = w.answer.ReadBytes('\n')
	if err != nil {
		w.t.Fatal(err, w.log)
	}
	var answer struct {
		Answer  json.RawMessage `json:"answer"`
		Refused string          `json:"refused"`
		Failed  string          `json:"failed"`
	}
	if err := json.Unmarshal(line, &answer); err != nil || answer.Failed != "" {
		w.t.Fatalf("%s: %v %s", order, err, answer.Failed)
	}
	if answer.Refused == "" && result != nil {
		if err := json.NewDecoder(strings.NewReader(string(answer.Answer))).Decode(result); err != nil {
			w.t.Fatal(err)
		}
	}
	return answer.Refused
}
