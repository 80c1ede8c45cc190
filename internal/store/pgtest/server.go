package pgtest

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Server is a PostgreSQL server for one test, with PostgreSQL's default
// durability, which the test may crash.
type Server struct {
	Addr    string // TCP address, in addition to its socket
	running *running
	end     func() error
}

// FreeAddr returns a loopback address for a server that stops and starts again.
// No other program takes the address meanwhile: its port is outside the range
// that the system assigns to clients and listeners, and no server that listens on
// all addresses uses it.
func FreeAddr(t testing.TB) string {
	t.Helper()
	for range 100 {
		//nolint:gosec // no secret
		addr := fmt.Sprintf("127.%d.%d.%d:%d", 1+rand.N(254), rand.N(256), 1+rand.N(254), 10_000+rand.N(20_000))
		if l, err := net.Listen("tcp", addr); err == nil {
			_ = l.Close()
			return addr
		}
	}
	t.Fatal("no free address on the loopback network")
	return ""
}

// NewServer starts a server that ends with the test, at an address from FreeAddr.
func NewServer(t testing.TB, addr string) *Server {
	t.Helper()
	return listening(t, addr, "")
}

// NewReplica starts a hot standby of the server, at an address from FreeAddr.
func (s *Server) NewReplica(t testing.TB, addr string) *Server {
	t.Helper()
	return listening(t, addr, s.URL(s.Addr))
}

func listening(t testing.TB, addr, primary string) *Server {
	t.Helper()
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	return serve(t, addr, onDisk, "-c listen_addresses="+host+" -c max_connections=300 -p "+port, primary)
}

func serve(t testing.TB, addr, place, options, primary string) *Server {
	t.Helper()
	r, err := start(place, options, primary)
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Addr: addr, running: r, end: sync.OnceValue(r.end)}
	t.Cleanup(func() {
		if err := s.Kill(); err != nil {
			t.Errorf("end PostgreSQL: %v", err)
		}
	})
	return s
}

// ReplicaURL returns the URL of a hot standby of the process's PostgreSQL. The
// standby ends with the test.
func ReplicaURL(t testing.TB) string {
	t.Helper()
	c, err := cluster()
	if err != nil {
		t.Fatal(err)
	}
	standby := serve(t, "", MemoryDir(), fast, "postgres://postgres@/postgres?host="+c.dir)
	return databaseURL(standby.running.dir, "postgres")
}

// URL returns the URL of the server's database over addr, which is Addr or a
// proxy in front of it. The database has no schema.
func (s *Server) URL(addr string) string {
	return fmt.Sprintf("postgres://postgres@%s/postgres?sslmode=disable", addr)
}

// Crash stops the server like a crash and starts it again. It returns when the
// server answers.
func (s *Server) Crash() error {
	if _, err := io.WriteString(s.running.orders, "crash\n"); err != nil {
		return err
	}
	return s.running.ready()
}

// Kill stops the server permanently, like a crash.
func (s *Server) Kill() error { return s.end() }

// Exec runs one statement as the superuser.
func (s *Server) Exec(t testing.TB, statement string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.URL(s.Addr))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context())) //nolint:errcheck // the statement's result counts
	if _, err := conn.Exec(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}
