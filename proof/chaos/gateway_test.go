//go:build linux

package chaos

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"agegate/internal/store/pgtest"
	"agegate/proof/table"
)

// gateway is a process of the real binary. It can be killed and started again
// with the same address and database.
type gateway struct {
	t        *testing.T
	program  string
	operator string // program of the operator's commands
	args     []string
	env      []string
	url      string

	cmd    *exec.Cmd
	exited chan struct{} // closed when the process has ended
	log    *tail
}

// retries is the schedule of test webhooks under load, short enough for a test
// to see its end.
const retries = "AGEGATE_WEBHOOK_RETRY_TEST=200ms,400ms,800ms,1s,1s,1s"

// newGateway prepares a gateway on a database without starting it. settings
// are further NAME=VALUE variables.
func newGateway(t *testing.T, db database, settings ...string) *gateway {
	t.Helper()
	addr := pgtest.FreeAddr(t)
	g := &gateway{t: t, program: binary, operator: binary, args: []string{"serve"}, url: "http://" + addr, log: &tail{}}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "AGEGATE_") {
			g.env = append(g.env, v)
		}
	}
	g.env = append(g.env,
		"AGEGATE_LISTEN="+addr, "AGEGATE_DATABASE_URL="+db.url,
		"AGEGATE_SECRET_KEY="+base64.StdEncoding.EncodeToString(make([]byte, 32)),
		"AGEGATE_ESTIMATOR=off", "AGEGATE_TEST_DAILY_CAP=-1", "AGEGATE_ALLOW_INSECURE_CALLBACKS=true",
		"AGEGATE_WEBHOOK_ALLOW_NETS=127.0.0.0/8", "AGEGATE_LOG_LEVEL=warn",
		"AGEGATE_LAME_DUCK=0s", retries)
	g.env = append(g.env, settings...)
	t.Cleanup(func() {
		g.kill()
		if t.Failed() {
			t.Logf("the last lines of %s:\n%s", g.url, g.log)
		}
	})
	return g
}

// launch starts the process. The kernel kills it when the test process ends.
func (g *gateway) launch() {
	g.t.Helper()
	cmd := exec.Command(g.program, g.args...)
	cmd.Env, cmd.Stderr = g.env, g.log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		g.t.Fatal(err)
	}
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait() // its state is read from cmd.ProcessState
		close(exited)
	}()
	g.cmd, g.exited = cmd, exited
}

// await waits until the gateway is ready.
func (g *gateway) await() {
	g.t.Helper()
	for limit := time.Now().Add(table.HangLimit); time.Now().Before(limit); time.Sleep(5 * time.Millisecond) {
		select {
		case <-g.exited:
			g.t.Fatalf("the gateway ended when it started: %s\n%s", g.cmd.ProcessState, g.log)
		default:
		}
		res, err := http.Get(g.url + "/readyz")
		if err != nil {
			continue
		}
		res.Body.Close()
		if res.StatusCode == http.StatusOK {
			return
		}
	}
	g.t.Fatalf("the gateway is not ready after %s\n%s", table.HangLimit, g.log)
}

func (g *gateway) start() {
	g.t.Helper()
	g.launch()
	g.await()
}

// kill ends the process like kill -9.
func (g *gateway) kill() {
	if g.cmd != nil {
		_ = g.cmd.Process.Kill() // the process may have ended already
		<-g.exited
	}
}

// terminate sends SIGTERM and returns how long the process took to end, and
// its exit code.
func (g *gateway) terminate() (time.Duration, int) {
	g.t.Helper()
	start := time.Now()
	if err := g.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		g.t.Fatal(err)
	}
	select {
	case <-g.exited:
	case <-time.After(table.HangLimit):
		g.kill()
	}
	return time.Since(start), g.cmd.ProcessState.ExitCode()
}

// running reports whether the process still runs.
func (g *gateway) running() bool {
	select {
	case <-g.exited:
		return false
	default:
		return true
	}
}

// apiKeys are those of a tenant.
type apiKeys struct{ Test, Live string }

// merchant is a tenant as `tenant create` prints it.
type merchant struct {
	ID      string `json:"tenant_id"`
	apiKeys `json:"api_keys"`
}

// newShop registers a tenant and returns its test API key.
func (g *gateway) newShop(webhookURL string) string {
	g.t.Helper()
	return g.register(webhookURL).Test
}

// register registers a tenant with the operator's command. It works with and
// without a running gateway, and migrates the database if necessary.
func (g *gateway) register(webhookURL string) (m merchant) {
	g.t.Helper()
	out := g.run("tenant", "create", "--json", "--name", "Shop",
		"--success-url", "https://shop.example/ok", "--cancel-url", "https://shop.example/back", "--webhook-url", webhookURL)
	if err := json.Unmarshal([]byte(out), &m); err != nil {
		g.t.Fatal(err)
	}
	return m
}

// run runs a command of the operator's and returns its output.
func (g *gateway) run(args ...string) string {
	g.t.Helper()
	cmd := exec.Command(g.operator, args...)
	var stderr bytes.Buffer
	cmd.Env, cmd.Stderr = g.env, &stderr
	out, err := cmd.Output()
	if err != nil {
		g.t.Fatalf("%s %s: %v\n%s", g.operator, strings.Join(args, " "), err, &stderr)
	}
	return string(out)
}

// newShops registers n tenants whose webhooks go to the receiver.
func (g *gateway) newShops(n int, r *receiver) []string {
	g.t.Helper()
	keys := make([]string, n)
	for i := range keys {
		keys[i] = g.newShop(fmt.Sprintf("%s/%d", r.url, i))
	}
	return keys
}

// tail keeps the last bytes written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

func (l *tail) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buf = append(l.buf, p...)
	if extra := len(l.buf) - 4096; extra > 0 {
		l.buf = l.buf[extra:]
	}
	return len(p), nil
}

// String returns these bytes.
func (l *tail) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.buf)
}
