package certificate

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"agegate/internal/rules/credential"
	"agegate/internal/rules/gather"
	"agegate/internal/rules/routine"

	"golang.org/x/crypto/acme"
)

const (
	// orderTime bounds one order.
	orderTime = 2 * time.Minute
	// After an order that failed, the wait before the next doubles from the first to
	// the last of these. Let's Encrypt refuses a host after five failures in an hour.
	firstWait, lastWait = time.Minute, 32 * time.Minute
	// A challenge is read by at most one query at a time, followed by this pause.
	challengePause = 20 * time.Millisecond
	// maxTogether is how many challenges one query serves.
	maxTogether = 10_000
)

// Config says for which hosts certificates are ordered, and from which directory.
type Config struct {
	Directory string   // its URL
	Email     string   // for the directory's notices; may be empty
	Hosts     []string // in lower case
	Sealer    *credential.Sealer
	Now       func() time.Time
	Logger    *slog.Logger
}

// ACME orders a certificate for each host and renews it. All replicas share the certificates; one replica orders at a
// time. A client's connection never causes an order, and reads nothing from the store except challenges.
type ACME struct {
	Config

	store      Store
	current    map[string]*atomic.Pointer[loaded] // by host; the hosts never change
	challenges *gather.Group[string, string, map[string]string]
}

// loaded is a certificate with the sealed bytes from which it was read.
type loaded struct {
	sealed []byte
	pair   tls.Certificate
}

// NewACME loads the certificates that the replicas already have. It orders none; Look does.
func NewACME(ctx context.Context, store Store, c Config) (*ACME, error) {
	a := &ACME{Config: c, store: store, current: map[string]*atomic.Pointer[loaded]{}}
	for _, host := range c.Hosts {
		a.current[host] = new(atomic.Pointer[loaded])
	}
	a.challenges = gather.New(maxTogether, a.readChallenges)
	_, err := a.load(ctx)
	return a, err
}

// TLS returns the configuration of a TLS listener.
func (a *ACME) TLS() *tls.Config {
	return serving(func(host string) *tls.Certificate {
		at := a.current[strings.ToLower(host)]
		if at == nil || at.Load() == nil {
			return nil
		}
		return &at.Load().pair
	})
}

// Ends returns when the certificate of each host ends: at the zero time if it has none.
func (a *ACME) Ends() map[string]time.Time {
	ends := map[string]time.Time{}
	for host, at := range a.current {
		ends[host] = time.Time{}
		if c := at.Load(); c != nil {
			ends[host] = c.pair.Leaf.NotAfter
		}
	}
	return ends
}

// Look loads the certificates that any replica has ordered, and orders those that are due.
func (a *ACME) Look(ctx context.Context) error {
	due, err := a.load(ctx)
	if err != nil || len(due) == 0 {
		return err
	}
	lease := a.Now().Add(time.Duration(len(due)+1) * orderTime)
	mine, err := a.store.ClaimOrders(ctx, a.Now(), lease)
	if err != nil || !mine {
		return err
	}
	if due, err = a.load(ctx); err != nil { // another replica may have ordered before
		return err
	}
	account, client, err := a.account(ctx)
	if err != nil {
		return err
	}
	for _, c := range due {
		err = errors.Join(err, a.renew(ctx, client, c))
	}
	account.DueAt = a.Now() // the next to claim need not wait
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), orderTime)
	defer cancel()
	_, failed := a.load(end)
	return errors.Join(err, failed, a.store.SaveCertificate(end, account))
}

// load begins to serve the stored certificates, and returns those that have to be ordered.
func (a *ACME) load(ctx context.Context) (due []Certificate, err error) {
	stored, err := a.store.Certificates(ctx)
	if err != nil {
		return nil, err
	}
	known := map[string]Certificate{}
	for _, c := range stored {
		known[c.Name] = c
	}
	for _, host := range a.Hosts {
		c, at := known[host], a.current[host]
		c.Name = host
		if now := at.Load(); c.Sealed != nil && (now == nil || !bytes.Equal(now.sealed, c.Sealed)) {
			pair, err := a.open(c)
			if err != nil {
				a.Logger.LogAttrs(ctx, slog.LevelError, "a certificate cannot be used", slog.String("host", host),
					slog.Any("error", err))
			} else {
				at.Store(&loaded{c.Sealed, pair})
			}
		}
		// A certificate that does not open, for example after the secret key was lost, is ordered again.
		if !c.DueAt.After(a.Now()) || c.Sealed != nil && at.Load() == nil && c.Failures == 0 {
			due = append(due, c)
		}
	}
	return due, nil
}

func (a *ACME) open(c Certificate) (tls.Certificate, error) {
	plain, err := a.Sealer.Open(c.Sealed, SealContext(c.Name))
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(plain, plain)
}

// renew orders the certificate of a host. It stores the certificate, or why the order failed.
func (a *ACME) renew(ctx context.Context, client *acme.Client, c Certificate) error {
	bounded, cancel := context.WithTimeout(ctx, orderTime)
	defer cancel()
	pair, err := a.order(bounded, client, c.Name)
	if ctx.Err() != nil {
		return nil // this process ends; the next one orders
	}
	if err != nil {
		wait := min(firstWait<<min(c.Failures, 10), lastWait)
		if limit, ok := acme.RateLimit(err); ok {
			wait = max(wait, min(limit, 24*time.Hour))
		}
		c.Failures++
		c.Failure = reason(err)
		c.DueAt = a.Now().Add(wait)
		a.Logger.LogAttrs(ctx, slog.LevelError, "ordering a certificate failed", slog.String("host", c.Name),
			slog.String("reason", c.Failure), slog.Duration("next_in", wait))
		return a.store.SaveCertificate(ctx, c)
	}
	own, err := tls.X509KeyPair(pair, pair)
	if err != nil {
		return err
	}
	if c.Sealed, err = a.Sealer.Seal(pair, SealContext(c.Name)); err != nil {
		return err
	}
	life := own.Leaf.NotAfter.Sub(own.Leaf.NotBefore)
	c.NotAfter = &own.Leaf.NotAfter
	c.Failures, c.Failure = 0, ""
	c.DueAt = own.Leaf.NotAfter.Add(-life / 3)
	a.Logger.LogAttrs(ctx, slog.LevelInfo, "certificate ordered", slog.String("host", c.Name),
		slog.Time("ends", *c.NotAfter))
	return a.store.SaveCertificate(ctx, c)
}

// Answer returns the answer to a challenge of an order that any replica makes, or "" if there is none.
func (a *ACME) Answer(ctx context.Context, token string) (string, error) {
	answers, err := a.challenges.Do(ctx, "", token)
	return answers[token], err
}

func (a *ACME) readChallenges(ctx context.Context, _ string, _ []string) (map[string]string, error) {
	all, err := a.store.Challenges(ctx, a.Now())
	if err != nil {
		return nil, err
	}
	answers := map[string]string{}
	for _, c := range all {
		answers[c.Token] = c.Answer
	}
	_ = routine.Wait(ctx, challengePause) // anybody can ask
	return answers, nil
}
