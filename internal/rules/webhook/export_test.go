package webhook

import (
	"net/netip"
	"time"
)

// NewLocalClient returns a Client for receivers on this machine.
func NewLocalClient(timeout time.Duration) *Client {
	return newClient(newDialer([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, nil), timeout)
}

// Hurry sets how often the dispatcher polls, how long it drains, and the age at
// which an attempt is no longer prompt.
func (d *Dispatcher) Hurry(poll, drain, prompt time.Duration) {
	d.poll, d.drain, d.prompt = poll, drain, prompt
}
