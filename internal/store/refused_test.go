package store_test

import (
	"net"
	"regexp"
	"strings"
	"testing"

	"agegate/internal/rules/fault"
	"agegate/internal/store"
	"agegate/internal/store/pgtest"

	"github.com/jackc/pgx/v5/pgproto3"
)

// TestRefusalsInWords: a server that refuses the connection is an error in words, with
// the code and without the server's own text.
func TestRefusalsInWords(t *testing.T) {
	for code, words := range map[string]string{
		"28P01": "refuses the password", "28000": "pg_hba.conf", "3D000": "no such database", "53300": "max_connections",
		"53100": "disk is full", "42501": "owner of the database", "XX000": "SQLSTATE XX000",
	} {
		_, err := store.Open(t.Context(), store.Config{URL: refusing(t, code)})
		if err == nil || !strings.Contains(err.Error(), words) || !strings.Contains(err.Error(), code) ||
			strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", code, err)
		}
		if (fault.CodeOf(err) == fault.Unavailable) != strings.HasPrefix(code, "53") {
			t.Errorf("%s is %q", code, fault.CodeOf(err))
		}
	}
	missing := regexp.MustCompile(`/[a-z0-9_]+\?`).ReplaceAllString(pgtest.EmptyURL(t), "/nothing?")
	if _, err := store.Open(t.Context(), store.Config{URL: missing}); err == nil ||
		!strings.Contains(err.Error(), "no such database") {
		t.Errorf("a missing database: %v", err)
	}
}

// TestRefusedParametersInWords: a real server's refusal of a parameter in the URL names the
// parameter, without its value, and says what to do.
func TestRefusedParametersInWords(t *testing.T) {
	for parameter, want := range map[string]string{
		"pgbouncer=true":                  "pgbouncer, which the server does not know: leave it out",
		"schema=canary":                   "schema, which the server does not know: leave it out",
		"keepalives=1":                    "keepalives, which the server does not know: leave it out",
		"wal_level=canary&work_mem=4MB":   "wal_level, which cannot be set there: leave it out",
		"work_mem=canary":                 "work_mem, whose value the server refuses: correct it",
		"timezone=Canary/X&work_mem=64MB": "timezone, whose value the server refuses: correct it",
	} {
		s, err := store.Open(t.Context(), store.Config{URL: pgtest.EmptyURL(t) + "&" + parameter})
		if err == nil || !strings.Contains(err.Error(), "the database URL has the parameter "+want) ||
			strings.Contains(strings.ToLower(err.Error()), "canary") {
			t.Errorf("%s: %v", parameter, err)
		}
		if err == nil {
			_ = s.Close()
		}
	}
}

// refusing returns the URL of a server that answers each connection with a code.
func refusing(t *testing.T, code string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			server := pgproto3.NewBackend(conn, conn)
			if _, err := server.ReceiveStartupMessage(); err == nil {
				server.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: code, Message: "canary"})
				_ = server.Flush() // the client sees whatever went wrong
			}
			_ = conn.Close()
		}
	}()
	return "postgres://canary:canary@" + listener.Addr().String() + "/x?sslmode=disable"
}
