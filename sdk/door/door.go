// Package door keeps visitors without a confirmed age out of a site that has no
// code for it. A reverse proxy asks the door about each request, or the door is
// the proxy. It knows the public API of an agegate gateway and nothing else of it.
package door

import (
	"bytes"
	"cmp"
	"fmt"
	"log/slog"
	"mime"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	agegate "github.com/agegate/agegate/sdk/go"
	"github.com/redis/go-redis/v9"
)

// Prefix begins the paths of the site that belong to the door.
const Prefix = "/_door/"

// ageHeader tells the site the age that a visitor's pass confirms, or 0. The door
// sets it on every request, so that no visitor can.
const ageHeader = "X-Age-Over"

// Door guards a site. It is safe for concurrent use.
type Door struct {
	cfg     *Config
	any     account // where any way is taken
	papers  account // where a document is needed; without a key, no rule asks for one
	seal    sealer
	shared  *redis.Client // what several doors share; nil for one door
	limiter limiter
	pages   *pages
	metrics *metrics
	log     *slog.Logger
	now     func() time.Time
	unnamed sync.Once // a proxy that is not trusted was logged
	// patience is how long a visitor waits for the gateway.
	patience time.Duration
	own      http.Handler // the paths below Prefix
	site     http.Handler // nil where a proxy asks
}

// account is a tenant of the site at the gateway.
type account struct {
	*agegate.Client          // nil without a key
	prefix          string   // of its variables
	secrets         []string // of redirects
}

func newAccount(gateway, prefix, key string, secrets []string) (a account, err error) {
	if key != "" {
		a.Client, err = agegate.New(gateway, key)
	}
	a.prefix, a.secrets = prefix, secrets
	return a, err
}

// account returns the tenant that checks what is asked.
func (d *Door) account(want Demand) account {
	if want.Document {
		return d.papers
	}
	return d.any
}

// New returns a door. now is its clock.
func New(cfg *Config, log *slog.Logger, now func() time.Time) (*Door, error) {
	keys := cfg.Keys
	if len(keys) == 0 {
		log.Warn("without DOOR_KEYS, passes end when the door is restarted, and other doors do not take them")
		keys = [][]byte{randomKey()}
	}
	if !cfg.Live() {
		log.Warn("AGEGATE_API_KEY is a test key: visitors can force a pass")
	}
	d := &Door{cfg: cfg, log: log, now: now, metrics: newMetrics(), patience: 8 * time.Second}
	var err error
	if d.any, err = newAccount(cfg.GatewayURL, "AGEGATE_", cfg.APIKey, cfg.Secrets); err != nil {
		return nil, err
	}
	if d.papers, err = newAccount(cfg.GatewayURL, "DOOR_DOCUMENT_", cfg.DocumentKey, cfg.DocumentSecrets); err != nil {
		return nil, err
	}
	// Nothing that is sealed counts at a door of another site, age or mode.
	if d.seal, err = newSealer(keys, fmt.Sprintf("%s %d %t", cfg.URL, cfg.Age, cfg.Live())); err != nil {
		return nil, err
	}
	if d.pages, err = newPages(cfg); err != nil {
		return nil, err
	}
	if d.shared, err = newRedis(cfg.Redis); err != nil {
		return nil, err
	}
	d.limiter = &localLimiter{}
	if d.shared != nil {
		d.limiter = &sharedLimiter{client: d.shared, site: cfg.URL.String(), log: log}
	}
	mux := http.NewServeMux()
	mux.HandleFunc(Prefix+"auth", d.auth)
	mux.HandleFunc(Prefix+"page", d.deny)
	mux.HandleFunc("GET "+Prefix+"ask", d.ask)
	if cfg.Logo != nil {
		mux.HandleFunc("GET "+Prefix+"logo", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", "max-age=3600")
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(cfg.Logo))
		})
	}
	sameOrigin := http.NewCrossOriginProtection()
	if err := sameOrigin.AddTrustedOrigin(cfg.URL.String()); err != nil { // a proxy may change Host
		return nil, err
	}
	mux.Handle("POST "+Prefix+"begin", formOnly(sameOrigin.Handler(http.HandlerFunc(d.begin))))
	mux.HandleFunc("GET "+Prefix+"return", d.back)
	mux.HandleFunc("GET "+Prefix+"cancel", d.cancelled)
	if len(cfg.Clients) > 0 {
		if err := d.addSignIn(mux); err != nil {
			return nil, err
		}
	}
	if d.own = mux; cfg.Upstream != nil {
		d.site = &httputil.ReverseProxy{Rewrite: d.rewrite}
	}
	return d, nil
}

// ServeHTTP answers what is below Prefix. With Config.Upstream it passes anything
// else on to the site, or refuses it.
func (d *Door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasPrefix(r.URL.Path, Prefix):
		d.own.ServeHTTP(w, r)
	case d.site == nil:
		http.NotFound(w, r)
	case d.admit(r, r.Method, r.RequestURI):
		// How long an upload or a download may take is the site's to say, but strangers'.
		var end time.Time
		if _, ok := d.pass(r); !ok {
			end = time.Now().Add(strangersTime)
		}
		answer := http.NewResponseController(w)
		_, _ = answer.SetReadDeadline(end), answer.SetWriteDeadline(end)
		d.site.ServeHTTP(w, r)
	default:
		d.refuse(w, r, r.RequestURI)
	}
}

// strangersTime is how long a request without a pass may take.
const strangersTime = 5 * time.Minute

// maxBody is the most that the body of a form may have.
const maxBody = 64 << 10

// formOnly refuses bodies that are large, or that the library would keep in files.
func formOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		switch {
		case strings.HasPrefix(kind, "multipart/"):
			http.Error(w, "Send the form as application/x-www-form-urlencoded.", http.StatusUnsupportedMediaType)
		case r.ParseForm() != nil:
			http.Error(w, "The form is too large, too slow, or cannot be read.", http.StatusBadRequest)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// rewrite sends a request to the site as the visitor made it.
func (d *Door) rewrite(p *httputil.ProxyRequest) {
	p.SetURL(d.cfg.Upstream)
	p.Out.URL.RawQuery = p.In.URL.RawQuery // the library left out what it could not parse
	p.Out.Host = p.In.Host
	p.SetXForwarded()
	p.Out.Header.Set("X-Forwarded-For", d.cfg.visitorOf(p.In).String())
	p.Out.Header.Set("X-Forwarded-Proto", d.cfg.URL.Scheme)
	p.Out.Header.Set(ageHeader, d.confirmed(p.In))
}

// auth answers a proxy that names the visitor's request in X-Forwarded-Method and
// X-Forwarded-Uri. It answers 200, or 403 with the page for the visitor.
func (d *Door) auth(w http.ResponseWriter, r *http.Request) {
	target := r.Header.Get("X-Forwarded-Uri")
	if !d.admit(r, r.Header.Get("X-Forwarded-Method"), target) {
		d.refuse(w, r, target)
		return
	}
	w.Header().Set(ageHeader, d.confirmed(r))
	w.WriteHeader(http.StatusOK)
}

// deny answers proxies such as nginx, which throw away the page of auth and ask for it
// here after a 403 from auth or from the site itself.
func (d *Door) deny(w http.ResponseWriter, r *http.Request) {
	if target := r.Header.Get("X-Forwarded-Uri"); !d.admit(r, r.Header.Get("X-Forwarded-Method"), target) {
		d.refuse(w, r, target)
		return
	}
	http.Error(w, "403 Forbidden", http.StatusForbidden)
}

// admit reports whether a visitor may make a request.
func (d *Door) admit(r *http.Request, method, target string) bool {
	if has(r.Header, otherAge) {
		return false
	}
	if !d.cfg.needsPass(method, target, r.Header) {
		d.metrics.requests.WithLabelValues("free").Inc()
		return true
	}
	want := d.cfg.demandOf(r)
	if want == (Demand{}) {
		d.metrics.requests.WithLabelValues("free").Inc()
		return true
	}
	if p, ok := d.pass(r); ok && p.meets(want) {
		d.metrics.requests.WithLabelValues("pass").Inc()
		return true
	}
	return false
}

// demand returns what is asked of a visitor for a target. A visitor who signs in to a
// client needs at least DOOR_AGE in every region.
func (d *Door) demand(r *http.Request, target string) Demand {
	want := d.cfg.demandOf(r)
	if u, err := url.ParseRequestURI(target); err == nil && u.Path == signInPath {
		want.Age = max(want.Age, d.cfg.Age)
	}
	return want
}

// confirmed returns the age that the visitor's pass confirms, if it does for where the
// visitor is, or "0".
func (d *Door) confirmed(r *http.Request) string {
	if p, ok := d.pass(r); ok && !p.Unchecked && p.meets(d.cfg.demandOf(r)) {
		return strconv.Itoa(p.Age)
	}
	return "0"
}

// robot reports whether no person reads the answer. Every browser names languages, and
// robots that say who they are do it by From or a signature; a name in User-Agent is no sign.
func robot(r *http.Request) bool {
	return r.Header.Get("Accept-Language") == "" || r.Header.Get("From") != "" || r.Header.Get("Signature-Agent") != ""
}

// refuse answers a visitor without a pass. A navigation gets the page with the button;
// robots and other requests get a short text. It redirects nobody and creates nothing.
func (d *Door) refuse(w http.ResponseWriter, r *http.Request, target string) {
	want := d.demand(r, target)
	want.Age = cmp.Or(want.Age, d.cfg.Age) // where only the request is refused
	switch {
	case want.Blocked:
		d.metrics.requests.WithLabelValues("blocked").Inc()
		d.pages.show(w, r, http.StatusForbidden, view{Page: "blocked"})
	case robot(r):
		d.metrics.requests.WithLabelValues("robot").Inc()
		w.Header().Set("X-Robots-Tag", "noindex")
		words(w, "This page is for people of %d or over, who confirm their age in a browser. Robots are not let in.", want)
	case !strings.Contains(r.Header.Get("Accept"), "text/html"):
		d.metrics.requests.WithLabelValues("refused").Inc()
		words(w, "This needs a confirmed age of %d or over. Open the site in a browser to confirm it.", want)
	default:
		d.metrics.requests.WithLabelValues("refused").Inc()
		d.pages.show(w, r, http.StatusForbidden, view{Page: "check", To: localTarget(target), Age: want.Age})
	}
}

func words(w http.ResponseWriter, format string, want Demand) {
	w.Header().Set("Cache-Control", "no-store")
	http.Error(w, fmt.Sprintf(format, want.Age), http.StatusForbidden)
}

// maxTarget keeps the cookie that remembers the target within browsers' 4 KB.
const maxTarget = 2000

// localTarget returns a target on the site that a visitor may be sent back to, or
// "/". Destinations are always made of the site's origin and this.
func localTarget(target string) string {
	u, err := url.ParseRequestURI(target)
	if err != nil || len(target) > maxTarget || !strings.HasPrefix(target, "/") ||
		strings.ContainsAny(target, "\\\r\n\t") ||
		strings.HasPrefix(target, "//") || strings.HasPrefix(u.Path, Prefix) && u.Path != signInPath {
		return "/"
	}
	return target
}

// targetField is the parameter of the return that holds the page that a tab wanted,
// sealed: the gateway does not learn what a visitor looks at.
const targetField = "to"

// maxAddress is the most that the gateway takes of an address, less the parameters of a
// redirect.
const maxAddress = 1800

// address returns the absolute address of a page of the door, with a target of the tab
// unless it is too long then.
func (d *Door) address(page, target string) string {
	bare := d.cfg.URL.String() + Prefix + page
	whole := bare + "?" + url.Values{targetField: {d.seal.seal("target", target)}}.Encode()
	if len(whole) > maxAddress {
		return bare
	}
	return whole
}

// destination returns the absolute address of a target on the site.
func (d *Door) destination(target string) string { return d.cfg.URL.String() + localTarget(target) }
