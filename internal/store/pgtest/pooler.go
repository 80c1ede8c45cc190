package pgtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// poolerSettings are PgBouncer's defaults, except for the directory, the log and
// the pool mode.
const poolerSettings = `[databases]
* = host=%[1]s
[pgbouncer]
unix_socket_dir = %[2]s
logfile = %[2]s/log
auth_type = trust
auth_file = %[2]s/users
pool_mode = transaction
%[3]s
`

const runPooler = `pgbouncer -q "$1/settings" </dev/null >/dev/null 2>&1 & pid=$!
read -r _; kill -KILL $pid; wait $pid; cd / && rm -rf "$1"`

// Pooler is a PgBouncer in front of the process's PostgreSQL that lends a server
// connection for one transaction.
type Pooler struct{ dir string }

// NewPooler starts a PgBouncer that ends with the test. settings are added to its
// configuration. The test fails if PgBouncer is not installed.
func NewPooler(t testing.TB, settings ...string) *Pooler {
	t.Helper()
	if _, err := exec.LookPath("pgbouncer"); err != nil {
		t.Fatalf("%v; on Debian: apt-get install pgbouncer", err)
	}
	c, err := cluster()
	if err != nil {
		t.Fatal(err)
	}
	dir, credential, err := workplace(onDisk)
	if err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{
		"settings": fmt.Sprintf(poolerSettings, c.dir, dir, strings.Join(settings, "\n")),
		"users":    `"postgres" ""` + "\n",
	} {
		//nolint:gosec // read by another user
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	background(t, credential, runPooler, dir)
	p := &Pooler{dir: dir}
	await(t, dir, p.Through("@/postgres"))
	return p
}

// URL returns the URL of a new database with the current schema, through the
// pooler. EmptyURL does the same without a schema.
func (p *Pooler) URL(t testing.TB) string {
	t.Helper()
	return p.Through(URL(t))
}

// EmptyURL returns the URL, through the pooler, of a new database.
func (p *Pooler) EmptyURL(t testing.TB) string {
	t.Helper()
	return p.Through(EmptyURL(t))
}

// Through returns the URL, through the pooler, of a database of this package.
func (p *Pooler) Through(url string) string {
	_, rest, _ := strings.Cut(url, "@/")
	name, _, _ := strings.Cut(rest, "?")
	return fmt.Sprintf("postgres://postgres@/%s?host=%s&port=6432&sslmode=disable", name, p.dir)
}

// background runs a script. When its standard input closes, at the end of the
// test or when the test is killed, the script removes the directory in its first
// argument.
func background(t testing.TB, credential *syscall.Credential, script string, args ...string) {
	t.Helper()
	//nolint:gosec // fixed scripts
	cmd := exec.Command("/bin/sh", append([]string{"-c", "trap '' INT TERM HUP\n" + script, "server"}, args...)...)
	cmd.Dir = args[0]
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: credential}
	orders, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(orders.Close(), cmd.Wait()); err != nil {
			t.Errorf("end a server: %v", err)
		}
	})
}

// await waits until a server answers queries at the URL.
func await(t testing.TB, dir, url string) {
	t.Helper()
	for limit := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		conn, err := pgx.Connect(t.Context(), url)
		if err == nil {
			_ = conn.Close(t.Context())
			return
		}
		if time.Now().After(limit) {
			log, _ := os.ReadFile(filepath.Join(dir, "log")) //nolint:gosec // the test's own
			t.Fatalf("the server did not start: %v\n%s", err, log)
		}
	}
}
