package doctor

import (
	"cmp"
	"context"
	"crypto/x509"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"agegate/internal/rules/routine"
	"agegate/internal/rules/tenant"
	"agegate/internal/rules/webhook"

	"github.com/google/uuid"
)

const (
	callbackTime = 2 * time.Minute // for all hosts together
	hostsAtOnce  = 16
)

// host is a host in callback URLs of enabled tenants.
type host struct {
	address string // host:port
	name    string // as people read it
	secure  bool
	webhook bool            // the gateway itself connects to the host
	tenants []tenant.Tenant // tenants with a callback URL on it

	looked bool
	leaf   *x509.Certificate
	err    error
}

// callbacks connects to the hosts of all enabled tenants' callback URLs, as a
// webhook delivery would, and sends nothing.
func (e *examiner) callbacks(ctx context.Context, tenants *tenant.Service) {
	const check = "callback hosts"
	e.Progress(check)
	ctx, cancel := context.WithTimeout(ctx, callbackTime)
	defer cancel()
	hosts, err := hostsOf(ctx, tenants)
	if err != nil {
		e.problem(check, err.Error(), "look for the cause in the database's own log")
		return
	}
	e.look(ctx, hosts)
	good, left := 0, 0
	var bad []Finding
	var of []map[uuid.UUID]string // for each of bad, the hosts of its tenants
	for _, h := range hosts {
		f := e.judge(h)
		switch {
		case !h.looked:
			left++
			continue
		case f.Grade == OK:
			good++
			continue
		}
		i := slices.IndexFunc(bad, f.like)
		if i < 0 {
			i, bad, of = len(bad), append(bad, f), append(of, map[uuid.UUID]string{})
		}
		for _, t := range h.tenants {
			if of[i][t.ID] == "" {
				bad[i].Tenants = append(bad[i].Tenants, t)
			}
			of[i][t.ID] += ", " + h.name
		}
	}
	for i, f := range bad {
		e.Tell(naming(f.Tenants, of[i], f, ""))
	}
	if left > 0 {
		e.warn(check, fmt.Sprintf("%d of %d were not examined in %s", left, len(hosts), callbackTime),
			"run agegate doctor again when the network is less busy")
	}
	if good == len(hosts) {
		e.ok(check, fmt.Sprintf("%d of %d are well", good, len(hosts)))
	}
}

// hostsOf collects the hosts, in the order of their names.
func hostsOf(ctx context.Context, tenants *tenant.Service) ([]*host, error) {
	hosts := map[string]*host{}
	for batch, err := range tenants.All(ctx) {
		if err != nil {
			return nil, err
		}
		for _, t := range batch {
			if t.Disabled {
				continue
			}
			for _, raw := range []string{t.SuccessURL, t.CancelURL, t.WebhookURL} {
				addHost(hosts, raw, t, raw == t.WebhookURL)
			}
		}
	}
	return slices.SortedFunc(maps.Values(hosts), func(a, b *host) int { return strings.Compare(a.address, b.address) }),
		nil
}

func addHost(hosts map[string]*host, raw string, t tenant.Tenant, isWebhook bool) {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return // unset
	}
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	address := net.JoinHostPort(u.Hostname(), port)
	h := hosts[u.Scheme+address]
	if h == nil {
		h = &host{address: address, name: tenant.HostPort(raw), secure: u.Scheme == "https"}
		hosts[u.Scheme+address] = h
	}
	h.webhook = h.webhook || isWebhook
	if n := len(h.tenants); n == 0 || h.tenants[n-1].ID != t.ID {
		h.tenants = append(h.tenants, t)
	}
}

// look connects to the hosts, several at a time, until ctx ends.
func (e *examiner) look(ctx context.Context, hosts []*host) {
	client := webhook.NewClient(e.Config.WebhookAllowNets, e.Config.NAT64Prefixes)
	var all routine.Group
	var done atomic.Int64
	places := make(chan struct{}, hostsAtOnce)
	for _, h := range hosts {
		places <- struct{}{}
		all.Start(func() error {
			defer func() { <-places }()
			if ctx.Err() != nil {
				return nil
			}
			ctx, cancel := context.WithTimeout(ctx, e.Timeout)
			defer cancel()
			h.leaf, h.err = client.Connect(ctx, h.address, h.secure)
			h.looked = true
			e.Progress(fmt.Sprintf("callback hosts: %d of %d", done.Add(1), len(hosts)))
			return nil
		})
	}
	if err := all.Wait(); err != nil {
		e.problem("callback hosts", err.Error(), "report this: it is a fault of agegate")
	}
}

// judge returns what is wrong with a host, if anything is. A host that only browsers open
// may be unreachable from this machine.
func (e *examiner) judge(h *host) Finding {
	f := Finding{Check: "callback hosts", Grade: Warning}
	last, soon := e.endsSoon(h.leaf)
	if !soon && h.err == nil {
		return Finding{Grade: OK}
	}
	switch f.Found = webhook.Reason(h.err); {
	case soon:
		f.Found, f.Advice = "its certificate ends on "+last, "tell the merchant"
	case !h.webhook:
		f.Advice = "only shoppers' browsers go there: open it in one, and tell the merchant if it fails"
	case webhook.Classify(h.err) == webhook.ClassBlocked:
		f.Advice = "if the network is yours, list it in AGEGATE_WEBHOOK_ALLOW_NETS; otherwise tell the merchant"
	default:
		f.Advice = "tell the merchant; if several fail alike, look at DNS and the firewall of this machine"
	}
	return f
}
