package app

import (
	"crypto/rand"

	"agegate/internal/app/config"
	"agegate/internal/backoffice/certify"
	"agegate/internal/rules/webhook"
)

// newCertifier returns the service that attacks webhook receivers for the dashboard.
func (a *App) newCertifier(cfg config.Config) *certify.Service {
	return certify.NewService(certify.Config{
		Tools: certify.Tools{Client: webhook.NewClient(cfg.WebhookAllowNets, cfg.NAT64Prefixes), Random: rand.Reader, Now: a.now},
		Store: a.Store, Tenants: a.Tenants, Sessions: a.Sessions, Rule: callbackRule(cfg),
	})
}
