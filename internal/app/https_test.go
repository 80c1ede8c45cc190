package app

import (
	"bytes"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agegate/internal/app/config"
	"agegate/internal/backoffice/certificate/certificatetest"
)

// TestEndedCertificateIsTold: a gateway that starts with a certificate past its end says so.
func TestEndedCertificateIsTold(t *testing.T) {
	for _, left := range []time.Duration{-time.Hour, time.Hour} {
		dir, now := t.TempDir(), time.Now()
		cfg := config.Config{BaseURL: "https://age.example.com", TLS: config.TLS{
			CertFile: filepath.Join(dir, "cert.pem"), KeyFile: filepath.Join(dir, "key.pem")}}
		certificatetest.Write(t, cfg.TLS.CertFile, cfg.TLS.KeyFile, "age.example.com", 1, now.Add(left))
		var log bytes.Buffer
		a := &App{now: func() time.Time { return now }, log: slog.New(slog.NewTextHandler(&log, nil))}
		if err := a.openHTTPS(t.Context(), cfg, nil); err != nil {
			t.Fatal(err)
		}
		if told := strings.Contains(log.String(), "AGEGATE_TLS_CERT has ended"); told != (left < 0) {
			t.Errorf("%s left: the log says %q", left, log.String())
		}
	}
}
