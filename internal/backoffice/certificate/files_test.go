package certificate_test

import (
	"crypto/tls"
	"os"
	"path/filepath"
	"testing"
	"time"

	"agegate/internal/backoffice/certificate"
	"agegate/internal/backoffice/certificate/certificatetest"
)

// write writes a certificate that ends after some days, and its key.
func write(t *testing.T, certificateFile, keyFile string, days int) {
	t.Helper()
	certificatetest.Write(t, certificateFile, keyFile, "age.example.com", int64(days), time.Unix(int64(days)*24*3600, 0))
}

func put(t *testing.T, file string, data []byte) {
	t.Helper()
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestFiles: a new pair is taken over; a broken one is refused once, and the old one stays.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	chain, key, other := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"), filepath.Join(dir, "other")
	if _, err := certificate.OpenFiles(chain, key, nil); err == nil {
		t.Error("it starts without the files")
	}
	write(t, chain, key, 1)
	if _, err := certificate.OpenFiles(chain, chain, nil); err == nil {
		t.Error("it starts without a key")
	}
	f, err := certificate.OpenFiles(chain, key, []string{"age.example.com"})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		name   string
		change func()
		days   int
		fails  bool
	}{
		{"unchanged", func() {}, 1, false},
		{"a key of another certificate", func() { write(t, other, key, 2) }, 1, true},
		{"the same again", func() {}, 1, false},
		{"a new pair", func() { write(t, chain, key, 3) }, 3, false},
		{"half a file", func() { put(t, chain, []byte("-----BEGIN CERT")) }, 3, true},
		{"no file", func() { _ = os.Remove(chain) }, 3, true},
		{"no file, still", func() {}, 3, false},
		{"a pair again", func() { write(t, chain, key, 4) }, 4, false},
	} {
		step.change()
		if err := f.Look(t.Context()); (err != nil) != step.fails {
			t.Errorf("%s: %v", step.name, err)
		}
		served, err := f.TLS().GetCertificate(&tls.ClientHelloInfo{ServerName: "any"})
		if err != nil || served.Leaf.SerialNumber.Int64() != int64(step.days) {
			t.Errorf("%s: %v, %v", step.name, served.Leaf.SerialNumber, err)
		}
		if end := f.Ends()["age.example.com"]; end.Unix() != int64(step.days)*24*3600 {
			t.Errorf("%s: it ends on %s", step.name, end)
		}
	}
}
