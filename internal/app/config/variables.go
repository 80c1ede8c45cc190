package config

import (
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"agegate/internal/rules/mail"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
)

// DatabaseURLName is the variable that may hold the database's password.
const DatabaseURLName = "AGEGATE_DATABASE_URL"

// MigrationURLName is the variable that names the server behind a pooler.
const MigrationURLName = "AGEGATE_MIGRATION_URL"

// SecretKeyName is the variable that every command which uses secrets requires.
const SecretKeyName = "AGEGATE_SECRET_KEY"

// NewSecretKeyName is the variable that holds the new key during a change of
// the secret key.
const NewSecretKeyName = "AGEGATE_NEW_SECRET_KEY" //nolint:gosec // a name, no secret

// The variables of links, which are checked after all variables are read.
const (
	privacyURLName = "AGEGATE_PRIVACY_URL"
	helpURLName    = "AGEGATE_HELP_URL"
	smtpURLName    = "AGEGATE_SMTP_URL"
	mailFromName   = "AGEGATE_MAIL_FROM"
	termsURLName   = "AGEGATE_TERMS_URL"
)

// dashboardURLName is checked again when the dashboard is served, because it has
// a default that another variable sets.
const dashboardURLName = "AGEGATE_DASHBOARD_URL"

// roleName is checked again once the database is known.
const roleName = "AGEGATE_ROLE"

// maxOperatorName is the maximum length of the operator's name, in characters.
const maxOperatorName = 100

// Variables are all settings, in the order of the documentation.
var Variables = []Variable{
	{Name: roleName, Default: RoleAll, Help: "parts that this process runs: api (API, dashboard, webhooks, housekeeping), pages (the hosted page), or all",
		set: setRole},
	{Name: "AGEGATE_LISTEN", Default: ":8080", Help: "address the gateway listens on",
		set: func(c *Config, v string) error { return setAddress(&c.Listen, v) }},
	{Name: DatabaseURLName, Default: "sqlite:./data/agegate.db", Help: "sqlite:PATH or postgres://…; put a password in the variable only",
		set: setDatabaseURL},
	{Name: MigrationURLName, Help: "postgres://… of the server itself, where the database URL leads to a pooler", Secret: true,
		set: setMigrationURL},
	{Name: "AGEGATE_BASE_URL", Help: "public address of the API (default: http on the listen address)",
		set: func(c *Config, v string) error { return setOrigin(&c.BaseURL, v) }},
	{Name: "AGEGATE_VERIFY_URL", Help: "public address of the hosted page (default: the base URL)",
		set: func(c *Config, v string) error { return setOrigin(&c.VerifyURL, v) }},
	{Name: "AGEGATE_DASHBOARD", Default: "on", Help: "on, or off: no dashboard and no operator's pages",
		set: setDashboard},
	{Name: dashboardURLName, Help: "public address of the dashboard (default: the base URL); https, or http on localhost",
		set: setDashboardURL},
	{Name: "AGEGATE_DASHBOARD_LISTEN", Help: "address of a listener for the dashboard and the operator's pages alone; empty: they are served with the rest",
		set: func(c *Config, v string) error { return setOptionalAddress(&c.DashboardListen, v) }},
	{Name: "AGEGATE_TRUSTED_PROXIES", Help: "CIDRs of the reverse proxies whose X-Forwarded-For names the client, comma-separated; log-ins are then limited by network too",
		set: setTrustedProxies},
	{Name: SecretKeyName, Help: "32 bytes in base64; seals signing secrets at rest", Secret: true,
		set: func(c *Config, v string) error { return setSecretKey(&c.SecretKey, v) }},
	{Name: NewSecretKeyName, Help: "32 bytes in base64; the key that replaces the secret key, during the change", Secret: true,
		set: func(c *Config, v string) error { return setSecretKey(&c.NewSecretKey, v) }},
	{Name: "AGEGATE_MODELS_DIR", Default: "models", Help: "directory of the model files and their manifest",
		set: func(c *Config, v string) error { c.ModelsDir = v; return nil }},
	{Name: "AGEGATE_SESSION_TTL", Default: "30m", Help: "time from creation to expiry",
		set: func(c *Config, v string) error { return setDuration(&c.SessionTTL, v, time.Second, 24*time.Hour) }},
	{Name: "AGEGATE_RETENTION", Help: "days for which finished sessions are kept, such as 90d; empty: until somebody deletes them",
		set: func(c *Config, v string) error { return setDays(&c.Retention, v) }},
	{Name: "AGEGATE_TEST_DAILY_CAP", Default: "200", Help: "test sessions per tenant and UTC day; -1 for no cap",
		set: func(c *Config, v string) error { return setLimit(&c.TestDailyCap, v) }},
	{Name: "AGEGATE_FREE_CHECKS_PER_MONTH", Default: "500", Help: "free live checks per tenant and UTC month; -1 for no limit",
		set: func(c *Config, v string) error { return setLimit(&c.FreeChecksPerMonth, v) }},
	{Name: "AGEGATE_AGE_MARGIN", Default: "7", Help: "years added to the target age before a face passes",
		set: setAgeMargin},
	{Name: "AGEGATE_DRIFT_STEP", Help: "turns the governor of drift on: years, 0.5 to 20, that it adds to the margin where estimates have shifted from their reference; empty: off",
		set: setDriftStep},
	{Name: "AGEGATE_REDIRECT_TOKEN_TTL", Default: "10m", Help: "life of a redirect token",
		set: func(c *Config, v string) error { return setDuration(&c.RedirectTokenTTL, v, time.Second, 24*time.Hour) }},
	{Name: "AGEGATE_WEBHOOK_RETRY_LIVE", Default: "5s,5m,30m,2h,5h,10h,14h,20h,24h", Help: "waits between the attempts of a live webhook; the first is made at once",
		set: func(c *Config, v string) error { return setDurations(&c.WebhookRetryLive, v) }},
	{Name: "AGEGATE_WEBHOOK_RETRY_TEST", Default: "5s,30s,5m", Help: "the same for test webhooks",
		set: func(c *Config, v string) error { return setDurations(&c.WebhookRetryTest, v) }},
	{Name: "AGEGATE_WEBHOOK_ALLOW_NETS", Help: "CIDRs of private networks webhooks may reach, comma-separated",
		set: func(c *Config, v string) error { return setNets(&c.WebhookAllowNets, v) }},
	{Name: "AGEGATE_ALLOW_INSECURE_CALLBACKS", Default: "false", Help: "accept http callback URLs (development)",
		set: func(c *Config, v string) (err error) { c.AllowInsecureCallbacks, err = parseBool(v); return err }},
	{Name: "AGEGATE_DOCUMENT_WAYS", Default: "wallet,photo", Help: "ways of the document check, comma-separated: wallet, photo; none turns all off",
		set: setDocumentWays},
	{Name: "AGEGATE_OPERATOR_NAME", Help: "who runs the gateway, shown to shoppers on the hosted page",
		set: setOperatorName},
	{Name: privacyURLName, Help: "privacy notice that the hosted page links to",
		set: func(c *Config, v string) error { c.OperatorLinks.PrivacyURL = v; return nil }},
	{Name: helpURLName, Help: "help page that the hosted page links to",
		set: func(c *Config, v string) error { c.OperatorLinks.HelpURL = v; return nil }},
	{Name: termsURLName, Help: "terms that the hosted page links to",
		set: func(c *Config, v string) error { c.OperatorLinks.TermsURL = v; return nil }},
	{Name: smtpURLName, Help: "mail server for invitations, recovery links and alerts: smtp:// (with STARTTLS) or smtps://, user:password@host:port; empty: no mail is sent", Secret: true,
		set: setSMTP},
	{Name: mailFromName, Help: "sender of mails, such as agegate <no-reply@example.com>",
		set: setMailFrom},
	{Name: "AGEGATE_ESTIMATOR", Default: EstimatorONNX, Help: "onnx, or off: no live checks",
		set: setEstimator},
	{Name: "AGEGATE_INFERENCE_WORKERS", Default: "0", Help: "frames estimated at the same time; 0 for the number of cores that it may use",
		set: setWorkers},
	{Name: "AGEGATE_METRICS_LISTEN", Help: "address of the metrics listener; empty for none",
		set: func(c *Config, v string) error { return setOptionalAddress(&c.MetricsListen, v) }},
	{Name: "AGEGATE_LOG_LEVEL", Default: "info", Help: "debug, info, warn or error",
		set: setLogLevel},
}

func setSMTP(c *Config, v string) error {
	if v == "" {
		return nil
	}
	server, err := mail.ParseServer(v)
	c.SMTP = &server
	return err
}

func setMailFrom(c *Config, v string) error {
	if v == "" {
		return nil
	}
	c.MailFrom = v
	return mail.CheckFrom(v)
}

func setRole(c *Config, v string) error {
	if v != RoleAll && v != RoleAPI && v != RolePages {
		return errors.New("must be api, pages or all")
	}
	c.Role = v
	return nil
}

func setAddress(dst *string, v string) error {
	if _, port, err := net.SplitHostPort(v); err != nil || port == "" {
		return errors.New("must be host:port or :port")
	}
	*dst = v
	return nil
}

func setOptionalAddress(dst *string, v string) error {
	if v == "" {
		return nil
	}
	return setAddress(dst, v)
}

func setDatabaseURL(c *Config, v string) error {
	path, isSQLite := strings.CutPrefix(v, "sqlite:")
	if isSQLite && path != "" || strings.HasPrefix(v, "postgres://") || strings.HasPrefix(v, "postgresql://") {
		c.DatabaseURL = v
		return nil
	}
	return errors.New("must be sqlite:PATH or postgres://…")
}

func setMigrationURL(c *Config, v string) error {
	if v != "" && !strings.HasPrefix(v, "postgres://") && !strings.HasPrefix(v, "postgresql://") {
		return errors.New("must be postgres://…")
	}
	c.MigrationURL = v
	return nil
}

// HasPassword reports whether a database URL contains a password, or might,
// because it cannot be parsed.
func HasPassword(databaseURL string) bool {
	if !strings.HasPrefix(databaseURL, "postgres") {
		return false
	}
	u, err := url.Parse(databaseURL)
	if err != nil || strings.Contains(u.Path, "@") { // the text before it may be an unescaped password
		return true
	}
	for name, values := range u.Query() {
		if strings.Contains(strings.ToLower(name), "password") && strings.Join(values, "") != "" {
			return true
		}
	}
	password, _ := u.User.Password()
	return password != ""
}

func setOrigin(dst *string, v string) error {
	if v == "" {
		return nil
	}
	u, err := url.Parse(v)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil ||
		u.RawQuery != "" || u.Fragment != "" || u.Path != "" && u.Path != "/" {
		return errors.New("must be an http or https address without a path, such as https://age.example.com")
	}
	*dst = u.Scheme + "://" + u.Host
	return nil
}

func setDashboard(c *Config, v string) error {
	if v != "on" && v != "off" {
		return errors.New("must be on or off")
	}
	c.Dashboard = v == "on"
	return nil
}

func setDashboardURL(c *Config, v string) error {
	if err := setOrigin(&c.DashboardURL, v); err != nil {
		return err
	}
	if v != "" && !Private(c.DashboardURL) {
		return errors.New("must be an https address, or http on localhost")
	}
	return nil
}

func setOperatorName(c *Config, v string) error {
	if v == "" {
		return nil
	}
	if strings.TrimSpace(v) == "" || !utf8.ValidString(v) || utf8.RuneCountInString(v) > maxOperatorName || strings.ContainsFunc(v, tenant.IsHidden) {
		return fmt.Errorf("must be a name of at most %d visible characters", maxOperatorName)
	}
	c.OperatorName = v
	return nil
}

func setSecretKey(dst *[]byte, v string) error {
	if v == "" {
		return nil
	}
	key, err := base64.StdEncoding.DecodeString(v)
	if err != nil || len(key) != 32 {
		return errors.New("must be 32 bytes in base64")
	}
	*dst = key
	return nil
}

func setDuration(dst *time.Duration, v string, least, most time.Duration) error {
	d, err := time.ParseDuration(v)
	if err != nil || d < least || d > most {
		return fmt.Errorf("must be a duration from %s to %s, such as 30m", least, most)
	}
	*dst = d
	return nil
}

func setDays(dst *time.Duration, v string) error {
	if v == "" {
		return nil
	}
	const most = 3650
	number, isDays := strings.CutSuffix(v, "d")
	n, err := strconv.Atoi(number)
	if err != nil || !isDays || n < 1 || n > most {
		return fmt.Errorf("must be days from 1d to %dd, such as 90d", most)
	}
	*dst = time.Duration(n) * 24 * time.Hour
	return nil
}

func setDurations(dst *[]time.Duration, v string) error {
	var all []time.Duration
	for part := range strings.SplitSeq(v, ",") {
		d, err := time.ParseDuration(strings.TrimSpace(part))
		if err != nil || d < 0 {
			return errors.New("must be durations separated by commas, such as 5s,5m,30m")
		}
		all = append(all, d)
	}
	*dst = all
	return nil
}

func setLimit(dst *int64, v string) error {
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < -1 {
		return errors.New("must be a whole number, -1 for no limit")
	}
	*dst = n
	return nil
}

func setDriftStep(c *Config, v string) error {
	if v == "" {
		return nil
	}
	f, err := strconv.ParseFloat(v, 64)
	if err != nil || !(f >= 0.5 && f <= 20) {
		return errors.New("must be a number of years from 0.5 to 20, or empty for no governor")
	}
	c.DriftStep = f
	return nil
}

func setAgeMargin(c *Config, v string) error {
	f, err := strconv.ParseFloat(v, 64)
	if err != nil || !(f >= 0 && f <= 50) {
		return errors.New("must be a number of years from 0 to 50: a margin below 0 would pass people younger than the target age")
	}
	c.AgeMargin = f
	return nil
}

func setNets(dst *[]netip.Prefix, v string) error {
	for part := range strings.SplitSeq(v, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		prefix, err := netip.ParsePrefix(part)
		if err != nil {
			return errors.New("must be CIDRs separated by commas, such as 127.0.0.0/8,::1/128")
		}
		*dst = append(*dst, prefix)
	}
	return nil
}

func setTrustedProxies(c *Config, v string) error {
	if err := setNets(&c.TrustedProxies, v); err != nil {
		return err
	}
	if slices.ContainsFunc(c.TrustedProxies, func(p netip.Prefix) bool { return p.Bits() == 0 }) {
		return errors.New("must be the networks of the proxies alone, without their clients'")
	}
	return nil
}

func setDocumentWays(c *Config, v string) error {
	if strings.TrimSpace(v) == "none" {
		return nil
	}
	for part := range strings.SplitSeq(v, ",") {
		way := session.Way(strings.TrimSpace(part))
		if !slices.Contains(tenant.DocumentWays, string(way)) || slices.Contains(c.DocumentWays, way) {
			return errors.New("must be wallet, photo, or both separated by a comma, or none")
		}
		c.DocumentWays = append(c.DocumentWays, way)
	}
	return nil
}

func parseBool(v string) (bool, error) {
	b, err := strconv.ParseBool(v)
	if err != nil {
		return false, errors.New("must be true or false")
	}
	return b, nil
}

func setEstimator(c *Config, v string) error {
	if v != EstimatorONNX && v != EstimatorOff {
		return errors.New("must be onnx or off")
	}
	c.Estimator = v
	return nil
}

// cores is how many cores the process had when it started: a container's limit,
// where the machine has more. App raises GOMAXPROCS afterwards.
var cores = runtime.GOMAXPROCS(0)

func setWorkers(c *Config, v string) error {
	n, err := strconv.Atoi(v)
	if err != nil || n < 0 || n > 1024 {
		return errors.New("must be a whole number from 0 to 1024")
	}
	if n == 0 {
		n = cores
	}
	c.InferenceWorkers = n
	return nil
}

func setLogLevel(c *Config, v string) error {
	levels := map[string]slog.Level{
		"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
	}
	level, ok := levels[strings.ToLower(v)]
	if !ok {
		return errors.New("must be debug, info, warn or error")
	}
	c.LogLevel = level
	return nil
}
