package mail

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

const (
	claimed = 10
	lease   = (claimed + 1) * sendTime // longer than all of a claim can take
	every   = 10 * time.Second
)

// waits are the times between attempts. After the last one a mail is given up.
var waits = []time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 3 * time.Hour, 6 * time.Hour,
	12 * time.Hour, 24 * time.Hour}

// Deliverer sends what is in the outbox.
type Deliverer struct {
	store  Store
	outbox *Outbox
	server Server
	log    *slog.Logger
}

// NewDeliverer returns a deliverer.
func NewDeliverer(store Store, outbox *Outbox, server Server, log *slog.Logger) *Deliverer {
	return &Deliverer{store: store, outbox: outbox, server: server, log: log}
}

// Run sends mails until ctx ends, one at a time. Several replicas may run it at once: each mail is sent by one of them.
func (d *Deliverer) Run(ctx context.Context) {
	for ctx.Err() == nil {
		n, err := d.Round(ctx)
		if err != nil && ctx.Err() == nil {
			d.log.Error("reading the outbox of mails failed", "error", err)
		}
		if n > 0 && err == nil {
			continue
		}
		select {
		case <-ctx.Done():
		case <-d.outbox.wake:
		case <-time.After(every):
		}
	}
}

// Round sends the mails that are due, a bounded number, and returns how many it tried.
func (d *Deliverer) Round(ctx context.Context) (int, error) {
	mails, err := d.store.ClaimMails(ctx, d.outbox.now(), lease, claimed)
	if err != nil {
		return 0, err
	}
	for i, m := range mails {
		if ctx.Err() != nil {
			return i, ctx.Err() // the rest is due again after its lease
		}
		if err := d.deliver(ctx, m); err != nil {
			return i, err
		}
	}
	return len(mails), nil
}

// deliver tries to send one mail and writes down what came of it.
func (d *Deliverer) deliver(ctx context.Context, m Mail) error {
	now := d.outbox.now()
	stands, err := d.store.LinkStands(ctx, m)
	if err != nil {
		return err
	}
	if !stands || !now.Before(m.ExpiresAt) {
		d.log.Warn("a mail was given up", "kind", m.Kind, "attempts", m.Attempts-1, "error",
			"its time is over, or its link was used, replaced or revoked")
		return d.store.EndMail(ctx, m)
	}
	l, err := d.outbox.open(m)
	if err != nil {
		d.log.Error("a mail was given up", "kind", m.Kind, "attempts", m.Attempts, "error",
			"it cannot be opened with the present secret key")
		return d.store.EndMail(ctx, m)
	}
	err = d.server.send(ctx, m.ID, now, l)
	if err == nil {
		return d.store.EndMail(context.WithoutCancel(ctx), m) // it would be sent twice
	}
	if refused, ok := errors.AsType[*failure](err); ok && refused.final || m.Attempts > len(waits) {
		d.log.Error("a mail was given up", "kind", m.Kind, "attempts", m.Attempts, "error", err)
		return d.store.EndMail(ctx, m)
	}
	d.log.Warn("a mail was not sent yet", "kind", m.Kind, "attempts", m.Attempts, "error", err)
	return d.store.PostponeMail(context.WithoutCancel(ctx), m, now.Add(waits[m.Attempts-1]))
}
