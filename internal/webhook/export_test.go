package webhook

import (
	"net/netip"
	"time"
)

// NewLocalClient returns a Client for receivers on this machine.
func NewLocalClient(timeout time.Duration) *Client {
	return newClient(newDialer([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}), timeout)
}

// Hurry makes the dispatcher poll and drain within milliseconds.
func (d *Dispatcher) Hurry(poll, drain time.Duration) { d.poll, d.drain = poll, drain }
