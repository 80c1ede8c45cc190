package app

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"time"

	"agegate/internal/app/config"
	"agegate/internal/backoffice/certificate"
	"agegate/internal/rules/credential"
)

// https provides the certificates with which a process serves https itself.
type https interface {
	TLS() *tls.Config
	// Look loads certificates that have changed, and orders those that are due.
	Look(ctx context.Context) error
	// Ends returns when the certificate of each host ends.
	Ends() map[string]time.Time
}

// openHTTPS reads the certificates, if the process serves https itself.
func (a *App) openHTTPS(ctx context.Context, cfg config.Config, sealer *credential.Sealer) error {
	switch {
	case cfg.TLS.ACME:
		ordered, err := certificate.NewACME(ctx, a.Store, certificate.Config{
			Directory: cfg.TLS.Directory, Email: cfg.TLS.Email, Hosts: cfg.Hosts(), Sealer: sealer, Now: a.now, Logger: a.log,
		})
		if err != nil {
			return err
		}
		a.https = ordered
	case cfg.TLS.On():
		files, err := certificate.OpenFiles(cfg.TLS.CertFile, cfg.TLS.KeyFile, cfg.Hosts())
		if err != nil {
			return fmt.Errorf("AGEGATE_TLS_CERT and AGEGATE_TLS_KEY: %w", err)
		}
		if end := files.Ends()[cfg.Hosts()[0]]; !a.now().Before(end) {
			a.log.Warn("the certificate in AGEGATE_TLS_CERT has ended: browsers and shops refuse it", "ended", end)
		}
		a.https = files
	}
	return nil
}

// plainHandler serves plain HTTP beside https.
func (a *App) plainHandler(cfg config.Config) http.Handler {
	if ordered, ok := a.https.(*certificate.ACME); ok {
		return certificate.Plain(cfg.Origins(), ordered.Answer)
	}
	return certificate.Plain(cfg.Origins(), nil)
}
