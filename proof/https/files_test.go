package https

import (
	"crypto/tls"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agegate/internal/backoffice/certificate/certificatetest"
	"agegate/internal/gatewaytest"
)

// write writes a certificate with a number, and its key.
func write(t *testing.T, chain, key string, number int64) {
	t.Helper()
	certificatetest.Write(t, chain, key, host, number, time.Now().Add(time.Hour))
}

// TestFiles: a gateway serves the certificate in its files, goes on with it when a
// new pair is broken and says so, and takes over the pair that is not.
func TestFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	chain, key := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	write(t, chain, key, 1)
	g := gatewaytest.Start(t, gatewaytest.SQLite(t), append(append([]string{}, settings...), "AGEGATE_TLS=",
		"AGEGATE_TLS_CERT="+chain, "AGEGATE_TLS_KEY="+key)...)
	number := func() int64 {
		conn, err := tls.Dial("tcp", g.App.Addr(), &tls.Config{ServerName: "any.example", InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		return conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	if n := number(); n != 1 {
		t.Errorf("it serves certificate %d", n)
	}
	write(t, chain, filepath.Join(dir, "other.key"), 2)
	await(t, "the broken pair in the log", func() bool {
		return strings.Contains(g.Log.String(), "private key does not match public key")
	})
	if n := number(); n != 1 {
		t.Errorf("with a broken pair it serves certificate %d", n)
	}
	write(t, chain, key, 3)
	await(t, "the new pair", func() bool { return number() == 3 })
	plain := listener(t, g, " redirects to https")
	for request, want := range map[string]string{
		"GET /.well-known/acme-challenge/x": "301 https://" + host + "/.well-known/acme-challenge/x", // no order of its own
		"GET /":                             "301 https://" + host + "/",
	} {
		if got, err := raw(plain, request+" HTTP/1.1\r\nHost: "+host+"\r\n\r\n"); err != nil || got != want {
			t.Errorf("%s: %s, %v", request, got, err)
		}
	}
}
