package oidc

import (
	"context"

	"agegate/internal/backoffice/account"
	"agegate/internal/rules/turn"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/google/uuid"
)

// How many requests to one provider may be under way. Further ones wait, so a slow
// provider can hold no more.
const (
	knownAtOnce  = 2 // in browsers in which a user of the provider has signed in
	othersAtOnce = 6
	// waiting is how many requests of a known user, or of a network, may wait.
	waiting = 100
)

// places holds the requests to one provider. Unknown browsers have separate places,
// shared by network, so they cannot take the places of known browsers.
type places struct {
	known, others *turn.Queue
	used          int // requests that have a place or wait for one
}

// begin waits for a place at a provider. It returns the context for the requests of one
// step, which limits their time.
func (c *Client) begin(
	ctx context.Context, p account.Provider, by account.Caller,
) (_ context.Context, end func(), _ error) {
	at := c.use(p.TenantID)
	queue, party := at.others, uuid.UUID(by.Network.Addr().As16())
	if by.User != uuid.Nil {
		queue, party = at.known, by.User
	}
	leave, err := queue.Take(ctx, party)
	if err != nil {
		c.release(p.TenantID)
		return nil, nil, &account.ProviderError{Why: account.WhyBusy}
	}
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, c.clientOf(p)), exchangeTime)
	return ctx, func() {
		cancel()
		leave()
		c.release(p.TenantID)
	}, nil
}

// use returns the places at a tenant's provider, or at the instance's, until
// release.
func (c *Client) use(of uuid.UUID) *places {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.places[of]
	if at == nil {
		at = &places{known: turn.NewQueue(knownAtOnce, waiting), others: turn.NewQueue(othersAtOnce, waiting)}
		c.places[of] = at
	}
	at.used++
	return at
}

func (c *Client) release(of uuid.UUID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.places[of].used--; c.places[of].used == 0 {
		delete(c.places, of)
	}
}
