package app

import (
	"crypto/rand"

	"agegate/internal/app/config"
	"agegate/internal/backoffice/certify"
	"agegate/internal/rules/session"
	"agegate/internal/rules/webhook"
)

// guardedClient returns a client for addresses that tenants and published lists
// contain.
func guardedClient(cfg config.Config) *webhook.Client {
	return webhook.NewClient(cfg.WebhookAllowNets, cfg.NAT64Prefixes)
}

// newCertifier returns the service that attacks webhook receivers for the dashboard.
func (a *App) newCertifier(cfg config.Config) *certify.Service {
	return certify.NewService(certify.Config{
		Tools: certify.Tools{Client: guardedClient(cfg), Random: rand.Reader, Now: a.now},
		Store: a.Store, Tenants: a.Tenants, Sessions: a.Sessions,
		Clock: session.NewTestClock(a.Store, a.now), Rule: callbackRule(cfg),
	})
}
