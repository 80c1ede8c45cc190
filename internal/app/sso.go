package app

import (
	"crypto/tls"
	"net"
	"net/http"
	"time"

	"agegate/internal/app/config"
	"agegate/internal/rules/account"
	"agegate/internal/rules/account/oidc"
	"agegate/internal/rules/webhook"
)

// newOpenID returns the client of identity providers. Those that tenants choose
// are reached with the guards of webhooks.
func newOpenID(cfg config.Config, now func() time.Time) *oidc.Client {
	return oidc.New(oidc.Config{
		Instance: &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			DialContext:            (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
			TLSHandshakeTimeout:    5 * time.Second,
			TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
			ForceAttemptHTTP2:      true,
			DisableKeepAlives:      true, // log-ins are rare
			MaxResponseHeaderBytes: 16 << 10,
		},
		Tenants:  webhook.NewClient(cfg.WebhookAllowNets).Transport(),
		Classify: whyOf,
		Now:      now,
	})
}

// whyOf returns the reason of an error of a transport.
func whyOf(err error) account.Why {
	switch webhook.Classify(err) {
	case webhook.ClassDNS:
		return account.WhyDNS
	case webhook.ClassBlocked:
		return account.WhyBlocked
	case webhook.ClassTLS:
		return account.WhyTLS
	case webhook.ClassTimeout:
		return account.WhyTimeout
	default:
		return account.WhyConnect
	}
}
