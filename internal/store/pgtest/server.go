package pgtest

import (
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
)

// Server is a PostgreSQL of one test alone, as durable as PostgreSQL is by
// default, which the test may crash.
type Server struct {
	Addr    string // where it listens, beside its socket
	running *running
}

// NewServer starts a server that ends with the test. addr is a loopback address
// with a port that nobody else takes, also while the server is down.
func NewServer(t testing.TB, addr string) *Server {
	t.Helper()
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	r, err := start("-c listen_addresses=" + host + " -c max_connections=300 -p " + port)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		closeErr := r.orders.Close()
		_, readErr := io.Copy(io.Discard, r.lines)
		if err := errors.Join(closeErr, readErr, r.cmd.Wait()); err != nil {
			t.Errorf("end PostgreSQL: %v", err)
		}
	})
	return &Server{Addr: addr, running: r}
}

// URL returns the URL of the server's database as reached over addr: Addr, or
// a proxy in front of it. The database has no schema.
func (s *Server) URL(addr string) string {
	return fmt.Sprintf("postgres://postgres@%s/postgres?sslmode=disable", addr)
}

// Crash stops the server as a crash would and starts it again. It returns when
// the server answers.
func (s *Server) Crash() error {
	if _, err := io.WriteString(s.running.orders, "crash\n"); err != nil {
		return err
	}
	return s.running.ready()
}
