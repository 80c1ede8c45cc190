package certificate_test

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agegate/internal/backoffice/certificate"
	"agegate/internal/rules/credential"
)

// counting is a store that counts its reads. It has one challenge.
type counting struct {
	certificate.Store

	reads atomic.Int64
}

func (c *counting) Certificates(context.Context) ([]certificate.Certificate, error) {
	c.reads.Add(1)
	return nil, nil
}

func (c *counting) Challenges(context.Context, time.Time) ([]certificate.Challenge, error) {
	c.reads.Add(1)
	return []certificate.Challenge{{Token: "known", Answer: "answer"}}, nil
}

// TestStrangersReadLittle: handshakes read nothing, and a crowd that asks for challenges shares a few reads.
func TestStrangersReadLittle(t *testing.T) {
	sealer, err := credential.NewSealer(make([]byte, credential.SecretLen), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	store := new(counting)
	a, err := certificate.NewACME(t.Context(), store, certificate.Config{
		Hosts: []string{"age.example.com"}, Sealer: sealer, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	store.reads.Store(0)
	for i := range 1000 {
		for _, name := range []string{"", "age.example.com", fmt.Sprintf("%d.example.com", i)} {
			if c, err := a.TLS().GetCertificate(&tls.ClientHelloInfo{ServerName: name}); c != nil || err == nil {
				t.Fatalf("a handshake for %q gets a certificate", name)
			}
		}
	}
	if n := store.reads.Load(); n != 0 {
		t.Errorf("handshakes read %d times", n)
	}
	var crowd sync.WaitGroup
	for i := range 1000 {
		crowd.Go(func() {
			if got, err := a.Answer(t.Context(), fmt.Sprint(i)); got != "" || err != nil {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	crowd.Go(func() {
		if got, err := a.Answer(t.Context(), "known"); got != "answer" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	})
	crowd.Wait()
	if n := store.reads.Load(); n > 100 { // two, unless the machine is busy
		t.Errorf("1001 questions read %d times", n)
	}
}
