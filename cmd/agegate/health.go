package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"agegate/internal/rules/tenant"

	"github.com/spf13/cobra"
)

// healthTimeout bounds the request. It is longer than the gateway's own checks.
const healthTimeout = 5 * time.Second

func (c *cli) healthCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "health",
		Short: "Ask the running gateway whether it can serve requests",
		Long: `Ask the gateway that runs on this machine with the same configuration whether it
can serve requests: /readyz at AGEGATE_LISTEN. Exits with 0 if it can and with 1 if
not, as health checks of containers expect.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := c.load()
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), healthTimeout)
			defer cancel()
			address, err := ownAddress(cfg.Listen)
			if err != nil {
				return err
			}
			scheme := "http://"
			if cfg.TLS.On() {
				scheme = "https://"
			}
			return confirm(cmd, askReady(ctx, scheme+address+"/readyz", cfg.Hosts()), "The gateway is ready.\n")
		},
	}
}

// ownAddress returns the address at which this machine reaches a listen address,
// without using DNS. An empty or unspecified host becomes the loopback address.
func ownAddress(listen string) (string, error) {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return "", err
	}
	ip, err := netip.ParseAddr(host)
	switch {
	case host == "" || err == nil && ip.IsUnspecified() && ip.Is4():
		host = "127.0.0.1"
	case err == nil && ip.IsUnspecified():
		host = "::1"
	}
	return net.JoinHostPort(host, port), nil
}

// askReady returns nil if the answer is 200. Otherwise its error contains the answer,
// or says that there was none. hosts are those for which https is served.
func askReady(ctx context.Context, url string, hosts []string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	transport := &http.Transport{DisableKeepAlives: true} // uses no proxy
	if len(hosts) > 0 {
		// By an address of this machine: whether browsers accept the certificate is the doctor's question.
		transport.TLSClientConfig = &tls.Config{ServerName: hosts[0], InsecureSkipVerify: true} //nolint:gosec // above
	}
	client := http.Client{Transport: transport}
	res, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("no gateway answers at %s: %w", url, errors.Unwrap(err))
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(res.Body, 1<<10))
		return fmt.Errorf("the gateway is not ready: %s answers %d %s", url, res.StatusCode,
			tenant.Visible(strings.TrimSpace(string(text))))
	}
	return nil
}
