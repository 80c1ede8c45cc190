package config

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"agegate/internal/backoffice/mail"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
	"agegate/internal/rules/webhook"
)

func setSMTP(c *Config, v string) error {
	server, err := mail.ParseServer(v)
	c.SMTP = &server
	return err
}

// oneOf returns a setter that accepts the values that must names, such as "text or json".
func oneOf(dst func(*Config) *string, must string) func(*Config, string) error {
	return func(c *Config, v string) error {
		if !slices.Contains(strings.Fields(strings.NewReplacer(",", "", " or ", " ").Replace(must)), v) {
			return errors.New("must be " + must)
		}
		*dst(c) = v
		return nil
	}
}

func setAddress(dst *string, v string) error {
	if _, port, err := net.SplitHostPort(v); err != nil || port == "" {
		return errors.New("must be host:port or :port")
	}
	*dst = v
	return nil
}

func setDatabaseURL(c *Config, v string) error {
	if err := checkDatabaseURL(v); err != nil {
		return err
	}
	path, isSQLite := strings.CutPrefix(v, "sqlite:")
	if isSQLite && path != "" || strings.HasPrefix(v, "postgres://") || strings.HasPrefix(v, "postgresql://") {
		c.DatabaseURL = v
		return nil
	}
	return errors.New("must be sqlite:PATH or postgres://…")
}

// hidesPassword reports whether a database URL seems to have an unescaped / ? or # in its password. The host would end
// there, and the rest of the password would be shown like a path.
func hidesPassword(databaseURL string) bool {
	u, err := url.Parse(databaseURL)
	if err != nil || !strings.HasPrefix(u.Scheme, "postgres") || u.User != nil {
		return false
	}
	return strings.Contains(u.Path+u.Fragment, "@") || u.Path == "" && strings.Contains(u.RawQuery, "@")
}

func setMigrationURL(c *Config, v string) error {
	if err := checkDatabaseURL(v); err != nil {
		return err
	}
	if !strings.HasPrefix(v, "postgres://") && !strings.HasPrefix(v, "postgresql://") {
		return errors.New("must be postgres://…")
	}
	c.MigrationURL = v
	return nil
}

// otherParameters are parameters of other programs' PostgreSQL URLs, which the server
// would refuse as settings that it lacks, and what to do about them.
var otherParameters = map[string]string{
	"pgbouncer": "leave it out: agegate works with PgBouncer as docs/availability.md says",
	"schema":    "use search_path", "currentSchema": "use search_path",
	"keepalives": "leave it out", "keepalives_idle": "leave it out", "keepalives_interval": "leave it out",
	"keepalives_count": "leave it out", "gssencmode": "leave it out",
	"connection_limit": "leave it out", "pool_timeout": "leave it out", "pool_max_conns": "leave it out",
	"pool_min_conns": "leave it out", "socket_timeout": "leave it out",
}

// checkDatabaseURL returns what is wrong with a URL that can be told without its scheme.
func checkDatabaseURL(databaseURL string) error {
	if hidesPassword(databaseURL) {
		return errors.New("must have the special characters of its password percent-encoded, such as / as %2F")
	}
	if strings.ContainsFunc(databaseURL, unicode.IsControl) {
		return errors.New("must not contain a line break or another control character")
	}
	u, err := url.Parse(databaseURL)
	if err != nil || !strings.HasPrefix(u.Scheme, "postgres") {
		return nil //nolint:nilerr // others check the address
	}
	for _, name := range slices.Sorted(maps.Keys(u.Query())) {
		if advice := otherParameters[name]; advice != "" {
			return fmt.Errorf("has the parameter %s, which PostgreSQL does not know: %s", name, advice)
		}
	}
	return nil
}

// HasPassword reports whether a database URL contains a password, or might, because it cannot be parsed.
func HasPassword(databaseURL string) bool {
	if !strings.HasPrefix(databaseURL, "postgres") {
		return false
	}
	u, err := url.Parse(databaseURL)
	if err != nil || hidesPassword(databaseURL) {
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
	if !Private(c.DashboardURL) {
		return errors.New("must be an https address, or http on localhost")
	}
	return nil
}

func setOperatorName(c *Config, v string) error {
	if strings.TrimSpace(v) == "" || !utf8.ValidString(v) || utf8.RuneCountInString(v) > maxOperatorName ||
		strings.ContainsFunc(v, tenant.IsHidden) {
		return fmt.Errorf("must be a name of at most %d visible characters", maxOperatorName)
	}
	c.OperatorName = v
	return nil
}

func setSecretKey(dst *[]byte, v string) error {
	key, err := base64.StdEncoding.DecodeString(v)
	if err != nil || len(key) != 32 {
		return errors.New("must be 32 bytes in base64")
	}
	*dst = key
	return nil
}

func setDuration(dst *time.Duration, v string, shortest, longest time.Duration) error {
	d, err := time.ParseDuration(v)
	if err != nil || d < shortest || d > longest {
		return fmt.Errorf("must be a duration from %s to %s, such as 30m", shortest, longest)
	}
	*dst = d
	return nil
}

func setDays(dst *time.Duration, v string) error {
	const maxDays = 3650
	number, isDays := strings.CutSuffix(v, "d")
	n, err := strconv.Atoi(number)
	if err != nil || !isDays || n < 1 || n > maxDays {
		return fmt.Errorf("must be days from 1d to %dd, such as 90d", maxDays)
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

func parseMargin(v string) (float64, error) {
	years, ok := tenant.ParseMargin(v)
	if !ok {
		return 0, errors.New("must be a number of years from 0 to 50: a margin below 0 would pass people younger than the " +
			"target age")
	}
	return years, nil
}

func setAgeMargin(c *Config, v string) (err error) {
	c.Margin.Usual, err = parseMargin(v)
	c.Margin.Least = c.Margin.Usual
	return err
}

// setAgeMarginMin runs after setAgeMargin.
func setAgeMarginMin(c *Config, v string) (err error) {
	if c.Margin.Least, err = parseMargin(v); err == nil && c.Margin.Least > c.Margin.Usual {
		return errors.New("must not be above AGEGATE_AGE_MARGIN")
	}
	return err
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

func setNAT64Prefixes(c *Config, v string) error {
	if err := setNets(&c.NAT64Prefixes, v); err != nil {
		return err
	}
	for _, prefix := range c.NAT64Prefixes {
		if err := webhook.CheckNAT64(prefix); err != nil {
			return err
		}
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

// cores is how many cores the process had when it started. A container may have fewer
// than the machine. App raises GOMAXPROCS later.
var cores = runtime.GOMAXPROCS(0)

func setWorkers(c *Config, v string) error {
	n, err := strconv.Atoi(v)
	if err != nil || n < 0 || n > 1024 {
		return errors.New("must be a whole number from 0 to 1024")
	}
	c.InferenceWorkers = cmp.Or(n, cores)
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
