package app

import (
	"context"
	"crypto/rand"
	"time"

	"agegate/internal/app/config"
	"agegate/internal/backoffice/certify"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
	"agegate/internal/rules/webhook"
	"agegate/internal/store"

	"github.com/google/uuid"
)

// NewCertifier returns the certifier of an operator's command, which works with
// a running gateway.
func NewCertifier(
	cfg config.Config, db *store.Store, tenants *tenant.Service, sealer *credential.Sealer, now func() time.Time,
) *certify.Service {
	sessions := session.NewService(session.Config{
		VerifyURL: cfg.VerifyURL, TTL: cfg.SessionTTL, TokenTTL: cfg.RedirectTokenTTL, Callbacks: callbackRule(cfg),
		Limits: limits(cfg),
	}, db, tenants, sealer, rand.Reader, now, func() {}) // the gateway finds due deliveries by polling
	return newCertifier(cfg, db, tenants, sessions, now)
}

func newCertifier(
	cfg config.Config, db *store.Store, tenants *tenant.Service, sessions *session.Service, now func() time.Time,
) *certify.Service {
	clock := session.NewTestClock(db, now)
	return certify.NewService(certify.Config{
		Store: db, Tenants: tenants, Sessions: sessions,
		Expire: func(ctx context.Context, actor audit.Actor, tenantID, id uuid.UUID) error {
			return clock.Expire(ctx, actor, webhook.OfMode(tenantID, false), id)
		},
		Client: webhook.NewClient(cfg.WebhookAllowNets), Rule: callbackRule(cfg), Random: rand.Reader, Now: now,
	})
}
