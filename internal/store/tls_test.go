package store_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agegate/internal/rules/fault"
	"agegate/internal/store"
	"agegate/internal/store/pgtest"
)

// issuer is a certificate authority.
type issuer struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	file        string // the key belongs to its certificate
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	a := &issuer{certificate: &x509.Certificate{
		Subject: pkix.Name{CommonName: "Test authority"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign,
	}, key: key, file: filepath.Join(t.TempDir(), "authority.pem")}
	if a.certificate, err = x509.ParseCertificate(a.sign(t, a.certificate, key)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(a.file, pemOf("CERTIFICATE", a.certificate.Raw), 0o600); err != nil {
		t.Fatal(err)
	}
	return a
}

func (a *issuer) sign(t *testing.T, template *x509.Certificate, key *ecdsa.PrivateKey) []byte {
	t.Helper()
	template.SerialNumber, template.NotBefore = big.NewInt(1), time.Now().Add(-24*time.Hour)
	if template.NotAfter.IsZero() {
		template.NotAfter = time.Now().Add(24 * time.Hour)
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// issue returns a server's certificate for a name, and its key.
func (a *issuer) issue(t *testing.T, name string, until time.Time) (certificate, private []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pemOf("CERTIFICATE", a.sign(t, &x509.Certificate{DNSNames: []string{name}, NotAfter: until}, key)),
		pemOf("PRIVATE KEY", raw)
}

func pemOf(kind string, raw []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw})
}

// onLocalhost returns an address that reaches a server by the name localhost.
func onLocalhost(t *testing.T) string {
	t.Helper()
	_, port, err := net.SplitHostPort(pgtest.FreeAddr(t))
	if err != nil {
		t.Fatal(err)
	}
	return "127.0.0.1:" + port
}

// TestOpenOverTLS covers valid certificates, and the errors that say what to do
// about others.
func TestOpenOverTLS(t *testing.T) {
	authority, stranger := newIssuer(t), newIssuer(t)
	server, expired, plain := pgtest.NewServer(t, onLocalhost(t)), pgtest.NewServer(t, onLocalhost(t)),
		pgtest.NewServer(t, onLocalhost(t))
	certificate, key := authority.issue(t, "localhost", time.Time{})
	server.UseTLS(t, certificate, key)
	certificate, key = authority.issue(t, "localhost", time.Now().Add(-time.Hour))
	expired.UseTLS(t, certificate, key)
	named := func(s *pgtest.Server) string { return strings.Replace(s.Addr, "127.0.0.1", "localhost", 1) }
	missing := filepath.Join(t.TempDir(), "none.pem")
	const wrong, name, old, none = "as sslrootcert", "name the host as it does", "renew it",
		"server refused TLS connection"
	for _, tt := range []struct{ name, addr, mode, authority, want string }{
		{"it fits", named(server), "verify-full", authority.file, ""},
		{"its name does not count", server.Addr, "verify-ca", authority.file, ""},
		{"another authority", named(server), "verify-full", stranger.file, wrong},
		{"another authority, whatever the name", server.Addr, "verify-ca", stranger.file, wrong},
		{"another host", server.Addr, "verify-full", authority.file, name},
		{"too old", named(expired), "verify-full", authority.file, old},
		{"too old, whatever the name", expired.Addr, "verify-ca", authority.file, old},
		{"no TLS", named(plain), "verify-full", authority.file, none},
		{"no authority", named(server), "verify-full", missing, missing},
	} {
		t.Run(tt.name, func(t *testing.T) {
			url := "postgres://postgres:hunter2@" + tt.addr + "/postgres?sslmode=" + tt.mode + "&sslrootcert=" + tt.authority
			s, err := store.Open(t.Context(), store.Config{URL: url})
			if err != nil {
				if tt.want == "" || !strings.Contains(err.Error(), tt.want) || fault.CodeOf(err) != "" && tt.want != none ||
					strings.Contains(err.Error(), "hunter2") {
					t.Errorf("error %v, want %q", err, tt.want)
				}
				return
			}
			defer s.Close()
			if tt.want != "" {
				t.Fatal("it was opened")
			}
			err = s.View(t.Context(), func(tx *store.Tx) error {
				n, err := tx.Count("SELECT count(*) FROM pg_stat_ssl WHERE pid = pg_backend_pid() AND ssl")
				if n != 1 {
					t.Error("the connection is not encrypted")
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}
