// Package directory runs an ACME directory for tests: pebble, Let's Encrypt's own
// test server, which finds every host on this machine.
package directory

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/letsencrypt/challtestsrv"
	"github.com/letsencrypt/pebble/v2/ca"
	"github.com/letsencrypt/pebble/v2/db"
	"github.com/letsencrypt/pebble/v2/va"
	"github.com/letsencrypt/pebble/v2/wfe"
)

// Directory is a running ACME directory.
type Directory struct {
	URL   string
	Trust string         // a file with the certificate of URL, for SSL_CERT_FILE
	Roots *x509.CertPool `json:"-"`
	Root  string         // of the certificates that it gives, in PEM
	Pin   string         // of their intermediate: SHA-256 of its public key in base64

	server *httptest.Server
	names  *challtestsrv.ChallSrv
	log    logged
}

type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// Start runs a directory that looks for HTTP-01 answers at httpPort. It writes a
// file into dir. around may wrap its handler.
func Start(dir string, httpPort int, around func(http.Handler) http.Handler) (*Directory, error) {
	for name, value := range map[string]string{
		"PEBBLE_VA_NOSLEEP": "1", "PEBBLE_AUTHZREUSE": "0", "PEBBLE_WFE_NONCEREJECT": "5",
	} {
		if err := os.Setenv(name, value); err != nil {
			return nil, err
		}
	}
	d := &Directory{}
	names, err := freeAddress()
	if err != nil {
		return nil, err
	}
	d.names, err = challtestsrv.New(challtestsrv.Config{DNSAddrs: []string{names}, Log: log.New(io.Discard, "", 0)})
	if err != nil {
		return nil, err
	}
	d.names.SetDefaultDNSIPv4("127.0.0.1")
	d.names.SetDefaultDNSIPv6("")
	go d.names.Run()

	logger, memory := log.New(&d.log, "", 0), db.NewMemoryStore()
	life := map[string]ca.Profile{"default": {ValidityPeriod: 90 * 24 * 3600}}
	authority := ca.New(logger, memory, "", "ecdsa", 0, 1, life)
	front := wfe.New(logger, memory, va.New(logger, httpPort, 1, true, names, memory), authority,
		[]string{"pebble.letsencrypt.org"}, true, false, 1, 1)
	handler := front.Handler()
	if around != nil {
		handler = around(handler)
	}
	d.server = httptest.NewTLSServer(handler)
	d.URL = d.server.URL + wfe.DirectoryPath
	root, intermediate := authority.GetRootCert(0), authority.GetIntermediateCert(0)
	d.Root = string(root.PEM())
	d.Roots = x509.NewCertPool()
	d.Roots.AddCert(root.Cert)
	pin := sha256.Sum256(intermediate.Cert.RawSubjectPublicKeyInfo)
	d.Pin = base64.StdEncoding.EncodeToString(pin[:])
	d.Trust = filepath.Join(dir, "directory.pem")
	own := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: d.server.Certificate().Raw})
	return d, os.WriteFile(d.Trust, own, 0o600)
}

// Issued returns how many certificates the directory has given.
func (d *Directory) Issued() int {
	d.log.mu.Lock()
	defer d.log.mu.Unlock()
	return bytes.Count(d.log.text.Bytes(), []byte("Issued certificate serial"))
}

// Close ends the directory.
func (d *Directory) Close() {
	d.server.Close()
	d.names.Shutdown()
}

// freeAddress returns an address at which nothing listens, by TCP or UDP.
func freeAddress() (string, error) {
	for range 100 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return "", err
		}
		udp, err := net.ListenPacket("udp", l.Addr().String())
		_ = l.Close()
		if err != nil {
			time.Sleep(time.Millisecond)
			continue
		}
		return l.Addr().String(), udp.Close()
	}
	return "", fmt.Errorf("no free port")
}
