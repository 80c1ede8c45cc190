package webhook

import (
	"net/http"
	"net/netip"
	"time"
)

// NewLocalClient returns a Client for receivers on this machine.
func NewLocalClient(timeout time.Duration) *Client {
	return newClient(newDialer([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, nil), timeout)
}

// NewClientOver returns a Client whose requests a test answers itself.
func NewClientOver(answers http.RoundTripper, timeout time.Duration) *Client {
	return &Client{transport: answers, timeout: timeout}
}
