package door

import (
	"cmp"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Config says which site the door guards, and how. Load reads it from variables,
// whose names are given here.
type Config struct {
	URL      *url.URL       // DOOR_URL: the site's origin, such as https://forum.example
	Name     string         // DOOR_NAME: the site's name on the door's pages; its host by default
	Exit     string         // DOOR_EXIT: where a visitor without a pass may go; an absolute URL, or empty
	Privacy  string         // DOOR_PRIVACY: the site's privacy notice, likewise
	Colour   string         // DOOR_COLOUR: of the button, such as #1f5f5b; empty: the gateway's own
	Logo     []byte         // the file DOOR_LOGO: a PNG, JPEG or WebP picture; may be empty
	Upstream *url.URL       // DOOR_UPSTREAM: the site behind the door, where no proxy asks the door; may be nil
	Age      int            // DOOR_AGE: the target age, 18 by default
	Keep     time.Duration  // DOOR_KEEP: how long a pass lasts, 24h by default
	Allow    bool           // DOOR_OUTAGE=allow: visitors go on without a check while the gateway is down
	Need     []Rule         // DOOR_NEED: what needs a pass, "/" by default
	Free     []Rule         // DOOR_FREE: what needs none, although it is in Need; "/" is the front page alone
	Limits   Limits         // DOOR_LIMIT, DOOR_LIMIT_NETWORK, DOOR_LIMIT_BROWSER: sessions in half an hour
	Proxies  []netip.Prefix // DOOR_TRUSTED_PROXIES: whose X-Forwarded-For names the visitor; this machine by default

	GatewayURL string   // AGEGATE_URL
	APIKey     string   // AGEGATE_API_KEY, of live or test mode
	Secrets    []string // AGEGATE_REDIRECT_SECRET: one, or two while it is being replaced

	// DOOR_DOCUMENT_API_KEY and DOOR_DOCUMENT_REDIRECT_SECRET, of a tenant that takes
	// documents only; empty without a rule that asks for one.
	DocumentKey     string
	DocumentSecrets []string
	Regions         *Regions // DOOR_RULES with DOOR_REGION_HEADER or DOOR_REGION_FILE; nil: Age everywhere

	Keys        [][]byte          // DOOR_KEYS or the file DOOR_KEYS_FILE: 32 bytes each; the first seals, all open
	Clients     []Client          // the file DOOR_CLIENTS_FILE: who may ask to "sign in with age"
	SigningKeys []*rsa.PrivateKey // the file DOOR_SIGNING_KEYS_FILE: the first signs, all are published
	Redis       string            // DOOR_REDIS: what several doors share, such as redis://host:6379

	Listen        string // DOOR_LISTEN: where the program door listens, localhost:8090 by default
	MetricsListen string // DOOR_METRICS_LISTEN: where it serves its metrics; empty: nowhere
}

// Live reports whether the sessions are live.
func (c *Config) Live() bool { return strings.HasPrefix(c.APIKey, "svc_live_") }

// reader collects all errors of a configuration.
type reader struct {
	given func(string) string
	asked []string // names of the door's variables
	blank []string // names of values that are white space alone
	errs  []error
}

func (r *reader) failf(name, format string, args ...any) {
	r.errs = append(r.errs, fmt.Errorf(name+" "+format, args...))
}

// trimmed returns the value of a variable without white space and invisible characters
// around it, which files and secrets of Kubernetes leave there. A value of them alone is an
// error.
func (r *reader) trimmed(name string) string {
	raw := r.given(name)
	r.asked = append(r.asked, name)
	value := strings.TrimFunc(raw, func(c rune) bool { return unicode.IsSpace(c) || !unicode.IsGraphic(c) })
	if raw != "" && value == "" && !slices.Contains(r.blank, name) {
		r.blank = append(r.blank, name)
		r.failf(name, "must not be white space alone")
	}
	return value
}

// Load reads the configuration with a function such as os.Getenv. Values are trimmed, and
// an empty one counts as unset. environ are all variables, as of os.Environ: one that
// begins with DOOR_ and is none of the door's is an error. The error names every variable
// that is wrong, and no value.
func Load(lookup func(string) string, environ ...string) (*Config, error) {
	r := &reader{given: lookup}
	lookup = r.trimmed
	c := &Config{
		URL: r.origin("DOOR_URL", true), Upstream: r.origin("DOOR_UPSTREAM", false),
		Name: lookup("DOOR_NAME"), Exit: r.link("DOOR_EXIT"), Privacy: r.link("DOOR_PRIVACY"),
		Colour: strings.ToLower(lookup("DOOR_COLOUR")), Logo: r.file("DOOR_LOGO"), Redis: lookup("DOOR_REDIS"),
		Age: r.number("DOOR_AGE", 18, 13, 99), Keep: r.duration("DOOR_KEEP", 24*time.Hour),
		Need: r.rules("DOOR_NEED", "/"), Free: r.rules("DOOR_FREE", ""),
		Limits: Limits{All: r.number("DOOR_LIMIT", 1000, 1, 1e9), Network: r.number("DOOR_LIMIT_NETWORK", 100, 1, 1e8),
			Browser: r.number("DOOR_LIMIT_BROWSER", 5, 1, 50)},
		APIKey: lookup("AGEGATE_API_KEY"), Secrets: list(lookup("AGEGATE_REDIRECT_SECRET")),
		Listen: cmp.Or(lookup("DOOR_LISTEN"), "localhost:8090"), MetricsListen: lookup("DOOR_METRICS_LISTEN"),
		Proxies: r.networks("DOOR_TRUSTED_PROXIES", "127.0.0.0/8,::1/128"),
		Regions: r.regions(), DocumentKey: lookup("DOOR_DOCUMENT_API_KEY"),
		DocumentSecrets: list(lookup("DOOR_DOCUMENT_REDIRECT_SECRET")),
		Keys:            r.keys(), Clients: r.clients("DOOR_CLIENTS_FILE"),
		SigningKeys: r.signingKeys("DOOR_SIGNING_KEYS_FILE"),
	}
	if gateway := r.origin("AGEGATE_URL", true); gateway != nil {
		c.GatewayURL = gateway.String()
	}
	if c.Name == "" && c.URL != nil {
		c.Name = c.URL.Host
	}
	r.checkClothes(c)
	switch lookup("DOOR_OUTAGE") {
	case "", "block":
	case "allow":
		c.Allow = true
	default:
		r.failf("DOOR_OUTAGE", "must be block or allow")
	}
	mode := r.credentials("AGEGATE_", "", c.APIKey, c.Secrets)
	if c.Regions != nil && c.Regions.rows[unknown].Document {
		r.credentials("DOOR_DOCUMENT_", mode, c.DocumentKey, c.DocumentSecrets)
	}
	if len(c.Clients) > 0 && len(c.SigningKeys) == 0 {
		r.failf("DOOR_SIGNING_KEYS_FILE", "is needed with DOOR_CLIENTS_FILE: make one with openssl genrsa 2048")
	}
	if len(r.errs) == 0 {
		r.checkRules(c)
	}
	r.strange(environ)
	return c, errors.Join(r.errs...)
}

var (
	colourShape = regexp.MustCompile(`^#[0-9a-f]{6}$`)
	picture     = regexp.MustCompile(`^image/(png|jpeg|webp)$`)
	keyShape    = regexp.MustCompile(`^svc_(test|live)_[0-9A-Za-z]+$`)
	secretShape = regexp.MustCompile(`^rdsec_(test|live)_[A-Za-z0-9+/]{43}=$`)
)

// credentials checks a key and its secrets, which must all be of the same mode, and
// returns the mode. An empty one is any.
func (r *reader) credentials(prefix, mode, apiKey string, secrets []string) string {
	key := keyShape.FindStringSubmatch(apiKey)
	if key == nil || mode != "" && key[1] != mode {
		r.failf(prefix+"API_KEY", "must be svc_test_… or svc_live_…, all keys of the same mode")
	} else {
		mode = key[1]
	}
	if len(secrets) == 0 {
		r.failf(prefix+"REDIRECT_SECRET", "is needed")
	}
	for _, s := range secrets {
		if secret := secretShape.FindStringSubmatch(s); secret == nil || mode != "" && secret[1] != mode {
			r.failf(prefix+"REDIRECT_SECRET", "must be rdsec_… and 32 bytes in base64, of the same mode as AGEGATE_API_KEY")
		}
	}
	return mode
}

// list splits a value at commas and white space.
func list(value string) []string {
	return strings.FieldsFunc(value, func(c rune) bool { return c == ',' || unicode.IsSpace(c) })
}

func (r *reader) origin(name string, needed bool) *url.URL {
	value := r.trimmed(name)
	if value == "" && !needed {
		return nil
	}
	u, err := url.Parse(strings.TrimSuffix(value, "/"))
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil ||
		u.Path+u.RawQuery != "" {
		r.failf(name, "must be an http or https address without a path, such as https://example.com")
		return nil
	}
	u.Host = strings.ToLower(u.Host)
	return u
}

// maxLogo is the most that the gateway takes too.
const maxLogo = 256 << 10

func (r *reader) checkClothes(c *Config) {
	if c.Colour != "" && !colourShape.MatchString(c.Colour) {
		r.failf("DOOR_COLOUR", "must be six hex digits, such as #1f5f5b")
	}
	if c.Logo != nil && (len(c.Logo) > maxLogo || !picture.MatchString(http.DetectContentType(c.Logo))) {
		r.failf("DOOR_LOGO", "must be a PNG, JPEG or WebP picture of at most 256 KiB")
	}
}

func (r *reader) link(name string) string {
	value := r.trimmed(name)
	if value != "" && !strings.HasPrefix(value, "https://") && !strings.HasPrefix(value, "http://") {
		r.failf(name, "must be an absolute http or https URL")
	}
	return value
}

func (r *reader) number(name string, otherwise, least, most int) int {
	value := r.trimmed(name)
	if value == "" {
		return otherwise
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < least || n > most {
		r.failf(name, "must be a number from %d to %d", least, most)
	}
	return n
}

func (r *reader) duration(name string, otherwise time.Duration) time.Duration {
	value := r.trimmed(name)
	if value == "" {
		return otherwise
	}
	d, err := time.ParseDuration(value)
	if err != nil || d < time.Minute {
		r.failf(name, "must be a duration of at least a minute, such as 24h")
	}
	return d
}

// rules reads the rules of a variable, with commas between them.
func (r *reader) rules(name, otherwise string) (rules []Rule) {
	value := cmp.Or(r.trimmed(name), otherwise)
	for entry := range strings.SplitSeq(value, ",") {
		if entry = strings.TrimSpace(entry); entry == "" {
			continue
		}
		rule, err := parseRule(entry)
		if err != nil {
			r.failf(name, "rule %d: it %w", len(rules)+1, err)
		}
		rules = append(rules, rule)
	}
	if value != "" && len(rules) == 0 {
		r.failf(name, `must be paths with commas between them, such as "/help, OPTIONS /api"`)
	}
	return rules
}

// checkRules refuses what gates nothing. In DOOR_FREE "/" is the front page alone.
func (r *reader) checkRules(c *Config) {
	for i := range c.Free {
		rule := &c.Free[i]
		rule.Alone = rule.Path == "/" && (rule.Method == "" || rule.Method == http.MethodGet)
	}
	for i, need := range c.Need {
		switch {
		case need.Path == "":
			r.failf("DOOR_NEED", "rule %d: it lacks a path that begins with /", i+1)
		case need.Signed || len(need.Types) > 0:
			r.failf("DOOR_NEED", "rule %d: brackets are for DOOR_FREE", i+1)
		case len(need.Query) == 0 && slices.ContainsFunc(c.Free, func(f Rule) bool {
			return f.Path != "" && !f.Alone && !f.Signed && len(f.Types) == 0 && f.Method == need.Method &&
				f.covers(need.Method, need.Path)
		}):
			r.failf("DOOR_NEED", "rule %d: DOOR_FREE frees what it names", i+1)
		}
	}
}

// strange returns the variables of the door's kind that it does not have, with the
// nearest that it has.
func (r *reader) strange(environ []string) {
	for _, variable := range environ {
		name, _, _ := strings.Cut(variable, "=")
		if !strings.HasPrefix(name, "DOOR_") || slices.Contains(r.asked, name) {
			continue
		}
		if service.MatchString(name) {
			r.failf(name, "is Kubernetes's, for a Service named door: set enableServiceLinks: false")
			continue
		}
		nearest := slices.MinFunc(r.asked, func(a, b string) int { return distance(name, a) - distance(name, b) })
		r.failf(name, "is no variable of the door: the nearest is %s", nearest)
	}
}

var service = regexp.MustCompile(`^DOOR_(.*_)?(SERVICE_(HOST|PORT)|PORT(_|$))`)

// distance returns how many characters must be added, removed or replaced (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := before
			if a[i] != b[j] {
				replaced++
			}
			before, row[j+1] = row[j+1], min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

func (r *reader) networks(name, otherwise string) (networks []netip.Prefix) {
	for _, text := range list(cmp.Or(r.trimmed(name), otherwise)) {
		network, err := netip.ParsePrefix(text)
		if err != nil || network.Bits() == 0 {
			r.failf(name, "must be networks such as 10.0.0.4/32, and not everybody's")
			return nil
		}
		networks = append(networks, network)
	}
	return networks
}

// file returns the content of the file that a variable names, or nil.
func (r *reader) file(name string) []byte {
	if r.trimmed(name) == "" {
		return nil
	}
	data, err := os.ReadFile(r.trimmed(name))
	if err != nil {
		r.failf(name, "names a file that cannot be read")
	}
	return data
}

func (r *reader) keys() (keys [][]byte) {
	for _, text := range append(list(r.trimmed("DOOR_KEYS")), list(string(r.file("DOOR_KEYS_FILE")))...) {
		key, err := base64.StdEncoding.DecodeString(text)
		if err != nil || len(key) != 32 {
			r.failf("DOOR_KEYS", "or the file DOOR_KEYS_FILE must have keys of 32 bytes in base64: openssl rand -base64 32")
			return nil
		}
		keys = append(keys, key)
	}
	return keys
}

func (r *reader) clients(name string) (clients []Client) {
	data := r.file(name)
	if data == nil {
		return nil
	}
	if err := json.Unmarshal(data, &clients); err != nil {
		r.failf(name, "must be a list in JSON")
	}
	for _, c := range clients {
		if c.ID == "" || len(c.Redirects) == 0 {
			r.failf(name, "has a client without client_id or redirect_uris")
		}
	}
	return clients
}

func (r *reader) signingKeys(name string) (keys []*rsa.PrivateKey) {
	data := r.file(name)
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		if err != nil {
			key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
		}
		private, ok := key.(*rsa.PrivateKey)
		if err != nil || !ok || private.N.BitLen() < 2048 {
			r.failf(name, "must have RSA keys of at least 2048 bits in PEM")
			return nil
		}
		keys = append(keys, private)
	}
	if data != nil && len(keys) == 0 {
		r.failf(name, "has no key in PEM")
	}
	return keys
}
