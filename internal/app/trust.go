package app

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"agegate/internal/app/config"
	"agegate/internal/app/metrics"
	"agegate/internal/check/document"
	"agegate/internal/check/document/trustlist"
	"agegate/internal/rules/webhook"
	"agegate/internal/store"
)

// trustListTypes are the media types of published lists, as an Accept header.
const trustListTypes = "application/vnd.etsi.tsl+xml, application/xml, application/jose, application/jwt, */*;q=0.1"

// GuardedClient returns a client for addresses that tenants and published lists contain.
func GuardedClient(cfg config.Config) *webhook.Client {
	return webhook.NewClient(cfg.WebhookAllowNets, cfg.NAT64Prefixes)
}

// NewLists returns the service that follows published lists of issuers. It fetches
// them from public addresses, and from the networks that webhooks may reach.
func NewLists(db *store.Store, cfg config.Config, now func() time.Time) *document.Lists {
	client := GuardedClient(cfg)
	return document.NewLists(db, callbackRule(cfg), func(ctx context.Context, url string) ([]byte, error) {
		raw, err := client.Get(ctx, url, trustListTypes, trustlist.MaxBytes)
		if err != nil {
			why := "there was no connection, or the answer was not a list: the status must be 200, redirects are not followed"
			if webhook.Classify(err) != webhook.ClassConnect {
				why = webhook.Reason(err)
			}
			return nil, errors.New("the list cannot be fetched: " + why)
		}
		return raw, nil
	}, now)
}

// trustState returns, for the metrics, the state of what wallets' checks depend on.
func (a *App) trustState(ctx context.Context) (metrics.Trust, error) {
	found, err := document.DependenciesOf(ctx, a.Store, a.now())
	if err != nil {
		return metrics.Trust{}, err
	}
	state := metrics.Trust{Ending: map[string]int{}, Failing: len(found.Failing)}
	for _, kind := range document.EndingKinds() {
		state.Ending[string(kind)] = 0
	}
	for _, e := range found.Before(a.now().Add(document.EndingSoon)) {
		state.Ending[string(e.Kind)]++
	}
	return state, nil
}

// tellEnded logs which of the gateway's own certificates for wallets have ended.
// Requests to wallets are then made without them.
func (a *App) tellEnded(ctx context.Context) error {
	found, err := document.DependenciesOf(ctx, a.Store, a.now())
	if err != nil {
		return err
	}
	for _, e := range found.Before(a.now()) {
		if e.Kind == document.EndingVerifier || e.Kind == document.EndingRegistration {
			a.log.LogAttrs(ctx, slog.LevelWarn, "a certificate for wallets has ended and is not used",
				slog.String("of", string(e.Kind)), slog.String("name", e.Name), slog.Time("ended", e.At))
		}
	}
	return nil
}
