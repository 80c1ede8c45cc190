package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestHealthHTTPS: the command asks a gateway that serves https itself by https, for
// the host that it serves. It accepts every certificate.
func TestHealthHTTPS(t *testing.T) {
	c := newConsole(t)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS.ServerName != "age.example.com" || r.URL.Path != "/readyz" {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = io.WriteString(w, "ok")
	}))
	defer server.Close()
	c.env["AGEGATE_LISTEN"] = server.Listener.Addr().String()
	c.env["AGEGATE_BASE_URL"] = "https://age.example.com"
	if _, err := c.try("health"); err == nil {
		t.Error("it asks by https behind a proxy")
	}
	c.env["AGEGATE_TLS"] = "acme"
	if out, err := c.try("health"); err != nil || out != "The gateway is ready.\n" {
		t.Errorf("%q, %v", out, err)
	}
}
