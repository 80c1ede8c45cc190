package pgtest

import (
	"os"
	"path/filepath"
	"testing"
)

// UseTLS makes the server offer TLS with a certificate and its key, both in PEM.
func (s *Server) UseTLS(t testing.TB, certificate, key []byte) {
	t.Helper()
	for file, text := range map[string][]byte{"server.pem": certificate, "server.key": key} {
		path := filepath.Join(s.running.dir, file)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if c := s.running.credential; c != nil {
			if err := os.Chown(path, int(c.Uid), int(c.Gid)); err != nil {
				t.Fatal(err)
			}
		}
	}
	dir := s.running.dir
	for _, statement := range []string{
		"ALTER SYSTEM SET ssl_cert_file = '" + dir + "/server.pem'", "ALTER SYSTEM SET ssl_key_file = '" + dir +
			"/server.key'",
		"ALTER SYSTEM SET ssl = on", "SELECT pg_reload_conf()",
	} {
		s.Exec(t, statement)
	}
	await(t, dir, "postgres://postgres@"+s.Addr+"/postgres?sslmode=require")
}
