package config

import (
	"errors"
	"fmt"
	"net/mail"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// The variables of TLS, which are checked after all variables are read.
const (
	listenName  = "AGEGATE_LISTEN"
	baseURLName = "AGEGATE_BASE_URL"
	tlsName     = "AGEGATE_TLS"
	tlsCertName = "AGEGATE_TLS_CERT"
	tlsKeyName  = "AGEGATE_TLS_KEY"
)

// TLS says how a process serves https itself.
type TLS struct {
	ACME       bool   // order certificates
	CertFile   string // otherwise: with its chain, in PEM; empty: no TLS
	KeyFile    string
	Directory  string // URL of the ACME directory
	Email      string // for its notices; may be empty
	HTTPListen string // address of the listener that leads browsers to https
}

// On reports whether the process serves https itself.
func (t TLS) On() bool { return t.ACME || t.CertFile != "" }

func setTLS(c *Config, v string) error {
	if v != "acme" {
		return errors.New("must be acme, or empty")
	}
	c.TLS.ACME = true
	return nil
}

func setDirectory(c *Config, v string) error {
	u, err := url.Parse(v)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil {
		return errors.New("must be the https address of an ACME directory")
	}
	c.TLS.Directory = v
	return nil
}

func setACMEEmail(c *Config, v string) error {
	if a, err := mail.ParseAddress(v); err != nil || a.Address != v {
		return errors.New("must be an e-mail address")
	}
	c.TLS.Email = v
	return nil
}

// checkTLS checks the settings of TLS together. listen is the listen address that was set, if any.
func (c *Config) checkTLS(listen string) (errs []error) {
	t := c.TLS
	if t.ACME && (t.CertFile != "" || t.KeyFile != "") {
		errs = append(errs, fmt.Errorf("%s must not be set where %s or %s is", tlsName, tlsCertName, tlsKeyName))
	}
	if (t.CertFile == "") != (t.KeyFile == "") {
		errs = append(errs, fmt.Errorf("%s and %s must be set together", tlsCertName, tlsKeyName))
	}
	if !t.On() {
		return errs
	}
	if listen == "" {
		c.Listen = ":443"
	}
	if !strings.HasPrefix(c.BaseURL, "https://") {
		errs = append(errs, fmt.Errorf("%s must be an https address where the gateway serves https itself", baseURLName))
	}
	if t.ACME && slices.ContainsFunc(c.Hosts(), func(host string) bool {
		_, err := netip.ParseAddr(host)
		return err == nil || !strings.Contains(strings.Trim(host, "."), ".") || strings.HasSuffix(host, ".")
	}) {
		errs = append(errs, fmt.Errorf("%s needs public addresses with names in DNS, such as https://age.example.com: "+
			"no certificate is given for an address or a name without a dot", tlsName))
	}
	return errs
}

// Origins returns the public https addresses, one for each host: those for which the process has certificates.
func (c *Config) Origins() (origins []*url.URL) {
	all := []string{c.BaseURL, c.VerifyURL}
	if c.Dashboard {
		all = append(all, c.DashboardURL)
	}
	for _, raw := range all {
		u, err := url.Parse(strings.ToLower(raw))
		same := func(other *url.URL) bool { return other.Hostname() == u.Hostname() }
		if err == nil && u.Scheme == "https" && !slices.ContainsFunc(origins, same) {
			origins = append(origins, u)
		}
	}
	return origins
}

// Hosts returns the hosts of Origins.
func (c *Config) Hosts() (hosts []string) {
	for _, u := range c.Origins() {
		hosts = append(hosts, u.Hostname())
	}
	return hosts
}
