package config

import (
	"strconv"
	"time"

	"agegate/internal/backoffice/account"
	"agegate/internal/backoffice/mail"
	"agegate/internal/rules/tenant"

	"golang.org/x/crypto/acme"
)

// DatabaseURLName is the variable that may hold the database's password.
const DatabaseURLName = "AGEGATE_DATABASE_URL"

// MigrationURLName is the variable that names the server behind a pooler.
const MigrationURLName = "AGEGATE_MIGRATION_URL"

// SecretKeyName is the variable that every command which uses secrets requires.
const SecretKeyName = "AGEGATE_SECRET_KEY"

// NewSecretKeyName is the variable that holds the new key during a change of the secret key.
const NewSecretKeyName = "AGEGATE_NEW_SECRET_KEY" //nolint:gosec // a name, no secret

// LameDuckName is the variable whose default is different in a terminal, where no other replica takes over.
const LameDuckName = "AGEGATE_LAME_DUCK"

// The variables of links, which are checked after all variables are read.
const (
	privacyURLName = "AGEGATE_PRIVACY_URL"
	helpURLName    = "AGEGATE_HELP_URL"
	smtpURLName    = "AGEGATE_SMTP_URL"
	mailFromName   = "AGEGATE_MAIL_FROM"
	termsURLName   = "AGEGATE_TERMS_URL"
	imprintURLName = "AGEGATE_IMPRINT_URL"
)

// The variables of single sign-on, which are checked after all variables are read.
const (
	ssoIssuerName       = "AGEGATE_OIDC_ISSUER"
	ssoClientIDName     = "AGEGATE_OIDC_CLIENT_ID"
	ssoClientSecretName = "AGEGATE_OIDC_CLIENT_SECRET" //nolint:gosec // a name, no secret
	ssoNameName         = "AGEGATE_OIDC_NAME"
	ssoGroupsClaimName  = "AGEGATE_OIDC_GROUPS_CLAIM"
	ssoRolesName        = "AGEGATE_OIDC_ROLES"
)

// dashboardURLName is checked again when the dashboard is served, because it has a default that another variable sets.
const dashboardURLName = "AGEGATE_DASHBOARD_URL"

// roleName is checked again once the database is known.
const roleName = "AGEGATE_ROLE"

// maxOperatorName is the maximum length of the operator's name, in characters.
const maxOperatorName = 100

// Variables are all settings, in the order of the documentation.
var Variables = []Variable{
	{Name: roleName, Default: RoleAll, Help: "parts that this process runs: api (API, dashboard, webhooks, " +
		"housekeeping), pages (the hosted page), or all",
		Own: true, set: oneOf(func(c *Config) *string { return &c.Role }, "api, pages or all")},
	{Name: listenName, Default: ":8080", Help: "address the gateway listens on; :443 where it serves https itself",
		Own: true, set: func(c *Config, v string) error { return setAddress(&c.Listen, v) }},
	{Name: DatabaseURLName, Default: "sqlite:./data/agegate.db",
		Help: "sqlite:PATH or postgres://…; put a password in the variable only",
		Own:  true, set: setDatabaseURL},
	{Name: MigrationURLName, Help: "postgres://… of the server itself, where the database URL leads to a pooler",
		Secret: true,
		set:    setMigrationURL},
	{Name: baseURLName, Help: "public address of the API (default: http on the listen address)",
		set: func(c *Config, v string) error { return setOrigin(&c.BaseURL, v) }},
	{Name: "AGEGATE_VERIFY_URL", Help: "public address of the hosted page (default: the base URL)",
		set: func(c *Config, v string) error { return setOrigin(&c.VerifyURL, v) }},
	{Name: "AGEGATE_DASHBOARD", Default: "on", Help: "on, or off: no dashboard and no operator's pages",
		set: setDashboard},
	{Name: dashboardURLName, Help: "public address of the dashboard (default: the base URL); https, or http on localhost",
		set: setDashboardURL},
	{Name: "AGEGATE_DASHBOARD_LISTEN", Help: "address of a listener for the dashboard and the operator's pages alone; " +
		"empty: they are served with the rest",
		Own: true, set: func(c *Config, v string) error { return setAddress(&c.DashboardListen, v) }},
	{Name: tlsName, Help: "acme: serve https with certificates ordered from a directory, whose terms you accept by it; " +
		"empty: none",
		set: setTLS},
	{Name: "AGEGATE_ACME_DIRECTORY", Default: acme.LetsEncryptURL, Help: "ACME directory that gives certificates",
		set: setDirectory},
	{Name: "AGEGATE_ACME_EMAIL", Help: "where that directory may send notices", set: setACMEEmail},
	{Name: tlsCertName, Help: "file with a certificate and its chain, to serve https with it; read again when it changes",
		Own: true, set: func(c *Config, v string) error { c.TLS.CertFile = v; return nil }},
	{Name: tlsKeyName, Help: "file with that certificate's key",
		Own: true, set: func(c *Config, v string) error { c.TLS.KeyFile = v; return nil }},
	{Name: "AGEGATE_HTTP_LISTEN", Default: ":80", Help: "address that leads browsers to https and answers the " +
		"directory, where the gateway serves https itself",
		Own: true, set: func(c *Config, v string) error { return setAddress(&c.TLS.HTTPListen, v) }},
	{Name: "AGEGATE_TRUSTED_PROXIES", Help: "CIDRs of the reverse proxies whose X-Forwarded-For names the client, " +
		"comma-separated; log-ins are then limited by network too",
		set: setTrustedProxies},
	{Name: SecretKeyName, Help: "32 bytes in base64; seals signing secrets at rest", Secret: true,
		set: func(c *Config, v string) error { return setSecretKey(&c.SecretKey, v) }},
	{Name: NewSecretKeyName, Help: "32 bytes in base64; the key that replaces the secret key, during the change",
		Secret: true,
		set:    func(c *Config, v string) error { return setSecretKey(&c.NewSecretKey, v) }},
	{Name: "AGEGATE_MODELS_DIR", Default: "models", Help: "directory of the model files and their manifest",
		Own: true, set: func(c *Config, v string) error { c.ModelsDir = v; return nil }},
	{Name: "AGEGATE_SESSION_TTL", Default: "30m", Help: "time from creation to expiry",
		set: func(c *Config, v string) error { return setDuration(&c.SessionTTL, v, time.Second, 24*time.Hour) }},
	{Name: "AGEGATE_RETENTION", Help: "days for which finished sessions are kept, such as 90d; empty: until somebody " +
		"deletes them",
		set: func(c *Config, v string) error { return setDays(&c.Retention, v) }},
	{Name: "AGEGATE_TEST_DAILY_CAP", Default: "200", Help: "test sessions per tenant and UTC day; -1 for no cap",
		set: func(c *Config, v string) error { return setLimit(&c.TestDailyCap, v) }},
	{Name: "AGEGATE_FREE_CHECKS_PER_MONTH", Default: "500",
		Help: "free live checks per tenant and UTC month; -1 for no limit",
		set:  func(c *Config, v string) error { return setLimit(&c.FreeChecksPerMonth, v) }},
	{Name: "AGEGATE_AGE_MARGIN", Default: strconv.Itoa(tenant.DefaultMargin),
		Help: "years added to the target age before a face passes", set: setAgeMargin},
	{Name: "AGEGATE_AGE_MARGIN_MIN", Help: "years below which no tenant sets a margin of its own; " +
		"AGEGATE_AGE_MARGIN where it is not set", set: setAgeMarginMin},
	{Name: "AGEGATE_REDIRECT_TOKEN_TTL", Default: "10m", Help: "life of a redirect token",
		set: func(c *Config, v string) error { return setDuration(&c.RedirectTokenTTL, v, time.Second, 24*time.Hour) }},
	{Name: "AGEGATE_WEBHOOK_RETRY_LIVE", Default: "5s,5m,30m,2h,5h,10h,14h,20h,24h",
		Help: "waits between the attempts of a live webhook; the first is made at once",
		set:  func(c *Config, v string) error { return setDurations(&c.WebhookRetryLive, v) }},
	{Name: "AGEGATE_WEBHOOK_RETRY_TEST", Default: "5s,30s,5m", Help: "the same for test webhooks",
		set: func(c *Config, v string) error { return setDurations(&c.WebhookRetryTest, v) }},
	{Name: "AGEGATE_WEBHOOK_ALLOW_NETS", Help: "CIDRs of private networks webhooks may reach, comma-separated",
		set: func(c *Config, v string) error { return setNets(&c.WebhookAllowNets, v) }},
	{Name: "AGEGATE_NAT64_PREFIXES", Help: "NAT64 prefixes of the network besides 64:ff9b::/96, comma-separated",
		set: setNAT64Prefixes},
	{Name: "AGEGATE_ALLOW_INSECURE_CALLBACKS", Default: "false", Help: "accept http callback URLs (development)",
		set: func(c *Config, v string) (err error) { c.AllowInsecureCallbacks, err = parseBool(v); return err }},
	{Name: "AGEGATE_DOCUMENT_WAYS", Default: "wallet,photo",
		Help: "ways of the document check in the order offered, comma-separated: wallet, photo; none turns all off",
		set:  setDocumentWays},
	{Name: "AGEGATE_OPERATOR_NAME", Help: "who runs the gateway, shown to shoppers on the hosted page",
		set: setOperatorName},
	{Name: privacyURLName, Help: "privacy notice that the hosted page links to",
		set: func(c *Config, v string) error { c.OperatorLinks.PrivacyURL = v; return nil }},
	{Name: helpURLName, Help: "help page that the hosted page links to",
		set: func(c *Config, v string) error { c.OperatorLinks.HelpURL = v; return nil }},
	{Name: termsURLName, Help: "terms that the hosted page links to",
		set: func(c *Config, v string) error { c.OperatorLinks.TermsURL = v; return nil }},
	{Name: imprintURLName, Help: "the operator's imprint, that the hosted page and the documentation link to",
		set: func(c *Config, v string) error { c.ImprintURL = v; return nil }},
	{Name: securityContactName, Help: "where security flaws are reported, in /.well-known/security.txt: https://… or " +
		"mailto:…; empty: no such file",
		set: setSecurityContact},
	{Name: securityUntilName, Help: "day until which that contact is good, such as 2027-06-30",
		set: setSecurityUntil},
	{Name: smtpURLName, Help: "mail server for invitations, recovery links and alerts: smtp:// (with STARTTLS) or " +
		"smtps://, user:password@host:port; empty: no mail is sent", Secret: true,
		set: setSMTP},
	{Name: mailFromName, Help: "sender of mails, such as agegate <no-reply@example.com>",
		set: func(c *Config, v string) error {
			c.MailFrom = v
			return mail.CheckFrom(v)
		}},
	{Name: ssoIssuerName, Help: "issuer of the OpenID Connect provider by which staff log in, such as " +
		"https://login.example.com; empty: none",
		set: func(c *Config, v string) error { c.SSO.Issuer = v; return nil }},
	{Name: ssoClientIDName, Help: "client ID of the gateway at that provider",
		set: func(c *Config, v string) error { c.SSO.ClientID = v; return nil }},
	{Name: ssoClientSecretName, Help: "client secret of the gateway at that provider", Secret: true,
		set: func(c *Config, v string) error { c.SSO.Secret = v; return nil }},
	{Name: ssoNameName, Default: "single sign-on",
		Help: "name of that provider on the log-in page's button: Log in with …",
		set:  func(c *Config, v string) error { c.SSO.Name = v; return nil }},
	{Name: ssoGroupsClaimName, Default: account.DefaultGroupsClaim,
		Help: "claim of the ID token that holds the user's groups",
		set:  func(c *Config, v string) error { c.SSO.GroupsClaim = v; return nil }},
	{Name: ssoRolesName, Help: "what groups may do, separated by semicolons: GROUP=operator, or GROUP=ROLE@TENANT with " +
		"a tenant's ID",
		set: setSSORoles},
	{Name: "AGEGATE_OIDC_REQUIRED", Default: "false", Help: "true: only operators may log in without that provider",
		set: func(c *Config, v string) (err error) { c.SSO.Required, err = parseBool(v); return err }},
	{Name: "AGEGATE_ESTIMATOR", Default: EstimatorONNX, Help: "onnx, or off: no live checks",
		set: oneOf(func(c *Config) *string { return &c.Estimator }, "onnx or off")},
	{Name: "AGEGATE_INFERENCE_WORKERS", Default: "0",
		Help: "frames estimated at the same time; 0 for the number of cores that it may use",
		Own:  true, set: setWorkers},
	{Name: LameDuckName, Default: "10s",
		Help: "how long requests are served after SIGTERM while /readyz answers 503, so that load balancers notice; 0s in " +
			"a terminal and with SQLite",
		Own: true, set: func(c *Config, v string) error { return setDuration(&c.LameDuck, v, 0, 10*time.Minute) }},
	{Name: "AGEGATE_DRAIN", Default: "20s",
		Help: "how long running camera checks may go on after that; meanwhile no new one begins",
		set:  func(c *Config, v string) error { return setDuration(&c.Drain, v, 0, 10*time.Minute) }},
	{Name: "AGEGATE_METRICS_LISTEN", Help: "address of the metrics listener; empty for none",
		Own: true, set: func(c *Config, v string) error { return setAddress(&c.MetricsListen, v) }},
	{Name: "AGEGATE_LOG_FORMAT", Default: LogText, Help: "text, or json: one object for each line",
		Own: true, set: oneOf(func(c *Config) *string { return &c.LogFormat }, "text or json")},
	{Name: "AGEGATE_LOG_LEVEL", Default: "info", Help: "debug, info, warn or error",
		Own: true, set: setLogLevel},
}
