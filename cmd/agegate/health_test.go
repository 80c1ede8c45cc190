package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"agegate/internal/store/pgtest"
)

// TestHealth checks a running gateway, and other things that may answer at its address.
func TestHealth(t *testing.T) {
	c := newConsole(t)
	c.env["AGEGATE_LISTEN"] = pgtest.FreeAddr(t)
	if _, err := c.try("health"); err == nil ||
		!strings.Contains(err.Error(), "no gateway answers at http://127.") ||
		!strings.Contains(err.Error(), "refused") {
		t.Errorf("without a gateway: %v", err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, []string{"serve", "--estimator", "off"},
			func(name string) (string, bool) { v, ok := c.env[name]; return v, ok }, io.Discard, io.Discard)
	}()
	for limit := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		out, err := c.try("health")
		if err == nil && out == "The gateway is ready.\n" {
			break
		}
		if len(ended) > 0 || time.Now().After(limit) {
			t.Fatalf("a running gateway: %q, %v", out, err)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("serve: %v", err)
	}

	failed := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, r.URL.Path+" \x1b failed\n")
	}))
	defer failed.Close()
	c.env["AGEGATE_LISTEN"] = failed.Listener.Addr().String()
	if _, err := c.try("health"); err == nil ||
		!strings.HasSuffix(err.Error(), `/readyz answers 503 /readyz \u001b failed`) {
		t.Errorf("a gateway that is not ready: %v", err)
	}
}

func TestOwnAddress(t *testing.T) {
	for listen, want := range map[string]string{
		":8080": "127.0.0.1:8080", "0.0.0.0:8080": "127.0.0.1:8080", "[::]:8080": "[::1]:8080",
		"10.0.0.7:80": "10.0.0.7:80", "[fd00::7]:80": "[fd00::7]:80", "gateway:80": "gateway:80",
	} {
		if got, err := ownAddress(listen); got != want || err != nil {
			t.Errorf("%s is asked at %s, %v", listen, got, err)
		}
	}
}
