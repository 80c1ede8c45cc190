package certificate

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"os"
	"sync/atomic"
	"time"
)

// Files is a certificate and its key in files that somebody else renews.
type Files struct {
	certificate, key string   // the files' names
	hosts            []string // for Ends
	current          atomic.Pointer[tls.Certificate]
	tried            [sha256.Size]byte // what the last Look found
}

// OpenFiles reads a certificate with its chain, and its key, both in PEM. The
// certificate is served for every name; hosts are those that it is meant for.
func OpenFiles(certificate, key string, hosts []string) (*Files, error) {
	f := &Files{certificate: certificate, key: key, hosts: hosts}
	return f, f.Look(context.Background())
}

// Look takes over a pair of files that has changed. If the new pair cannot be used, the old one is kept; Look returns
// why, once for each content of the files. It must not be called by several goroutines.
func (f *Files) Look(context.Context) error {
	chain, err := os.ReadFile(f.certificate)
	var key []byte
	if err == nil {
		key, err = os.ReadFile(f.key)
	}
	found := sha256.Sum256(fmt.Appendf(nil, "%d %s %s %v", len(chain), chain, key, err))
	if found == f.tried {
		return nil
	}
	f.tried = found
	if err != nil {
		return err
	}
	pair, err := tls.X509KeyPair(chain, key)
	if err != nil {
		return err
	}
	f.current.Store(&pair)
	return nil
}

// TLS returns the configuration of a TLS listener.
func (f *Files) TLS() *tls.Config {
	return serving(func(string) *tls.Certificate { return f.current.Load() })
}

// Ends returns when the certificate ends, for each host.
func (f *Files) Ends() map[string]time.Time {
	ends := map[string]time.Time{}
	for _, host := range f.hosts {
		ends[host] = f.current.Load().Leaf.NotAfter
	}
	return ends
}
