// Package config reads the gateway's configuration from AGEGATE_ variables
// and the flags that mirror them into one validated struct.
package config

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"
	"unicode"

	"agegate/internal/backoffice/account"
	"agegate/internal/backoffice/mail"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
)

// Estimators.
const (
	EstimatorONNX = "onnx" // models run in process
	EstimatorOff  = "off"  // live pages without a document say that the check is unavailable
)

// Roles: the parts of the gateway that a process runs.
const (
	RoleAll   = "all"
	RoleAPI   = "api"   // the API, the dashboard, and the background work on the database
	RolePages = "pages" // the hosted page and its camera checks
)

// Forms of the log.
const (
	LogText = "text"
	LogJSON = "json"
)

// Config is the configuration of a process. It is not changed after Load.
type Config struct {
	Role                   string // RoleAll, RoleAPI or RolePages
	Listen                 string
	DatabaseURL            string // may hold a password: never logged
	MigrationURL           string // may hold a password; empty: DatabaseURL
	BaseURL                string // without a trailing slash
	VerifyURL              string // without a trailing slash
	Dashboard              bool   // serve the dashboard
	DashboardURL           string // without a trailing slash
	DashboardListen        string // empty: on Listen
	TrustedProxies         []netip.Prefix
	SecretKey              []byte // 32 bytes; seals secrets at rest
	NewSecretKey           []byte // 32 bytes, or nil; if set, it encrypts, and both keys decrypt
	ModelsDir              string
	SessionTTL             time.Duration
	TestDailyCap           int64 // -1 unlimited
	FreeChecksPerMonth     int64 // -1 unlimited
	Margin                 tenant.MarginRule
	Retention              time.Duration // of finished sessions; 0: no end
	RedirectTokenTTL       time.Duration
	WebhookRetryLive       []time.Duration // wait after each failed attempt except the last
	WebhookRetryTest       []time.Duration
	WebhookAllowNets       []netip.Prefix
	NAT64Prefixes          []netip.Prefix
	AllowInsecureCallbacks bool
	DocumentWays           []session.Way // of the document check: those that the operator allows, in the order offered
	OperatorName           string        // operator's name as shown to shoppers; empty: not shown
	OperatorLinks          tenant.Links  // shown where the tenant has set none
	ImprintURL             string        // shown on all pages for shoppers and readers; empty: not shown
	Security               SecurityContact
	SMTP                   *mail.Server // sends mails to staff; nil: none are sent
	MailFrom               string       // their sender
	SSO                    account.Provider
	TLS                    TLS
	Estimator              string // EstimatorONNX or EstimatorOff
	InferenceWorkers       int
	LameDuck               time.Duration // for which requests are served after SIGTERM while the process is not ready
	Drain                  time.Duration // for which running camera checks may go on after SIGTERM
	MetricsListen          string        // empty: no metrics
	LogLevel               slog.Level
	LogFormat              string // LogText or LogJSON
	Traces                 Traces
	Version                string // of the binary; set by its command, not by a variable
	SampleShop             string // address of the shop that the demo runs; set by its command, not by a variable
	Fingerprint            string // identifies the settings that all processes must share, without revealing them
	PasswordMemory         uint32 // KiB to hash a password; set by tests, not by a variable; 0: the recommended
}

// ServesAPI reports whether the process has the API's part.
func (c Config) ServesAPI() bool { return c.Role != RolePages }

// ServesPages reports whether the process has the hosted page's part.
func (c Config) ServesPages() bool { return c.Role != RoleAPI }

// Variable is one setting: its environment name, default and meaning.
type Variable struct {
	Name    string // AGEGATE_…
	Default string
	Help    string
	Secret  bool                                // has no flag, because other users can see command lines
	Own     bool                                // may differ between the processes and places of one gateway
	set     func(c *Config, value string) error // not called for an unset variable without a default
}

// Flag returns the name of the flag that mirrors the variable: listen for AGEGATE_LISTEN.
func (v Variable) Flag() string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(v.Name, "AGEGATE_")), "_", "-")
}

// Usage returns the help text of the flag.
func (v Variable) Usage() string {
	if v.Default != "" {
		return v.Help + " (default " + v.Default + ") [" + v.Name + "]"
	}
	return v.Help + " [" + v.Name + "]"
}

// Error lists all problems of a configuration.
type Error []error

// Error has a line for each problem.
func (e Error) Error() string {
	return "the configuration is not usable:\n" + errors.Join(e...).Error()
}

// Unwrap returns the problems.
func (e Error) Unwrap() []error { return e }

// Lookup returns the value of a variable, like os.LookupEnv.
type Lookup func(name string) (string, bool)

// trimmed returns a lookup of values without white space and invisible characters around
// them, which files and secrets of Kubernetes leave there.
func trimmed(lookup Lookup) Lookup {
	return func(name string) (string, bool) {
		value, ok := lookup(name)
		return strings.TrimFunc(value, func(c rune) bool { return unicode.IsSpace(c) || tenant.IsHidden(c) }), ok
	}
}

// Load reads every variable and reports all errors at once as an Error, by name and never with a value. Values are
// trimmed, and an empty one counts as unset. required names variables that must be set for the current command.
func Load(lookup Lookup, required ...string) (Config, error) {
	var c Config
	var errs []error
	given := lookup
	lookup = trimmed(lookup)
	shared := sha256.New()
	for _, v := range Variables {
		value, _ := lookup(v.Name)
		if raw, _ := given(v.Name); raw != "" && value == "" {
			errs = append(errs, fmt.Errorf("%s must not be white space alone", v.Name))
			continue
		}
		value = cmp.Or(value, v.Default)
		if !v.Secret && !v.Own {
			fmt.Fprintf(shared, "%s=%q\n", v.Name, value)
		}
		if value == "" {
			continue
		}
		if err := v.set(&c, value); err != nil {
			errs = append(errs, fmt.Errorf("%s %w", v.Name, err))
		}
	}
	if value, _ := lookup(LameDuckName); value == "" && strings.HasPrefix(c.DatabaseURL, "sqlite:") {
		c.LameDuck = 0 // a SQLite file has one server: no other takes over
	}
	listen, _ := lookup(listenName)
	errs = slices.Concat(errs, c.checkDatabase(), c.setTraces(lookup, given), c.checkLinks(), c.checkMail(),
		c.checkSecurity(), c.checkSSO(), c.checkTLS(listen))
	for _, name := range required {
		if value, _ := lookup(name); value == "" {
			const key = "32 random bytes in base64, for example from openssl rand -base64 32"
			hints := map[string]string{NewSecretKeyName: ": " + key, SecretKeyName: ": the key that the gateway has, as in " +
				"/etc/agegate/agegate.env, or in .env with Compose, with which the command ag runs, or in ~/agegate.env from " +
				"the source (set -a; . ~/agegate.env); only a new gateway gets a new one, " + key}
			errs = append(errs, fmt.Errorf("%s must be set%s", name, hints[name]))
		}
	}
	if len(errs) > 0 {
		return Config{}, Error(errs)
	}
	c.Fingerprint = hex.EncodeToString(shared.Sum(nil)[:6])
	c.deriveURLs()
	return c, nil
}

// NoFileYet returns the path of the SQLite database, and reports whether that is set but there is no file.
func (c Config) NoFileYet() (path string, missing bool) {
	path, isFile := strings.CutPrefix(c.DatabaseURL, "sqlite:")
	_, err := os.Stat(path)
	return path, isFile && errors.Is(err, fs.ErrNotExist)
}

// checkDatabase checks what goes with the database and its key.
func (c *Config) checkDatabase() (errs []error) {
	if c.NewSecretKey != nil && bytes.Equal(c.NewSecretKey, c.SecretKey) {
		errs = append(errs, fmt.Errorf("%s must differ from %s: remove it once the change is over", NewSecretKeyName,
			SecretKeyName))
	}
	if c.Role != "" && c.Role != RoleAll && strings.HasPrefix(c.DatabaseURL, "sqlite:") {
		errs = append(errs, fmt.Errorf("%s must be %s where %s is a SQLite file, which has one server: roles apart need "+
			"PostgreSQL", roleName, RoleAll, DatabaseURLName))
	}
	if c.MigrationURL != "" && strings.HasPrefix(c.DatabaseURL, "sqlite:") {
		errs = append(errs, fmt.Errorf("%s must not be set where %s is a SQLite file", MigrationURLName, DatabaseURLName))
	}
	return errs
}

// checkMail checks that a sender of mails is set if a mail server is.
func (c *Config) checkMail() []error {
	if c.SMTP == nil {
		return nil
	}
	if c.SMTP.From = c.MailFrom; c.MailFrom == "" {
		return []error{fmt.Errorf("%s must be set where %s is: the sender of mails", mailFromName, smtpURLName)}
	}
	return nil
}

// checkLinks checks the operator's links, whose rule depends on another variable.
func (c *Config) checkLinks() []error {
	rule := tenant.CallbackRule{AllowInsecure: c.AllowInsecureCallbacks}
	var errs []error
	for _, link := range []struct{ name, raw string }{
		{privacyURLName, c.OperatorLinks.PrivacyURL}, {helpURLName, c.OperatorLinks.HelpURL},
		{termsURLName, c.OperatorLinks.TermsURL}, {imprintURLName, c.ImprintURL},
	} {
		if err := rule.CheckLink(link.raw); err != nil {
			errs = append(errs, fmt.Errorf("%s must be an address that pages may link to: %w", link.name, err))
		}
	}
	return errs
}

// deriveURLs fills in the addresses whose defaults are other addresses.
func (c *Config) deriveURLs() {
	c.BaseURL = cmp.Or(c.BaseURL, "http://"+localAddress(c.Listen))
	c.VerifyURL = cmp.Or(c.VerifyURL, c.BaseURL)
	if c.DashboardURL == "" && c.DashboardListen != "" {
		c.DashboardURL = "http://" + localAddress(c.DashboardListen)
	}
	c.DashboardURL = cmp.Or(c.DashboardURL, c.BaseURL)
}

// CheckDashboard returns an error if the dashboard cannot be served. It refuses plain http except on this machine,
// because others on the network could read cookies and passwords.
func (c *Config) CheckDashboard() error {
	if !c.Dashboard || Private(c.DashboardURL) {
		return nil
	}
	return fmt.Errorf("%s must be an https address, or http on localhost: set it, or AGEGATE_DASHBOARD=off to serve no "+
		"dashboard", dashboardURLName)
}

// Private reports whether an origin uses https or is on this machine, so that
// nobody on the network can read what is sent to it.
func Private(origin string) bool {
	u, err := url.Parse(origin)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Scheme == "https" || u.Hostname() == "localhost" || err == nil && ip.IsLoopback()
}

// localAddress returns a listen address in the form in which a browser on this
// machine reaches it: an empty or unspecified host becomes localhost.
func localAddress(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err == nil && (host == "" || net.ParseIP(host).IsUnspecified()) {
		return "localhost:" + port
	}
	return listen
}
