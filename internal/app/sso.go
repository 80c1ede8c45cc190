package app

import (
	"time"

	"agegate/internal/app/config"
	"agegate/internal/backoffice/account"
	"agegate/internal/backoffice/account/oidc"
	"agegate/internal/rules/webhook"
)

// newOpenID returns the client of identity providers. For providers that tenants
// choose, it has the guards of the webhook client.
func newOpenID(cfg config.Config, now func() time.Time) *oidc.Client {
	return oidc.New(oidc.Config{
		Instance: oidc.Unguarded(),
		Tenants:  guardedClient(cfg).Transport(),
		Classify: func(err error) account.Why { return account.Why(webhook.Classify(err)) }, // the same words
		Now:      now,
	})
}
