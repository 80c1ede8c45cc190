package door

import (
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	testKey    = "svc_test_0123456789ABCDEFGHIJKLMNOPQRSTUV2nuRgb"
	testSecret = "rdsec_test_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
)

// settings returns a configuration that works, with some variables changed.
func settings(changed map[string]string) func(string) string {
	return func(name string) string {
		if value, ok := changed[name]; ok {
			return value
		}
		return map[string]string{"DOOR_URL": "https://forum.example", "AGEGATE_URL": "https://age.example",
			"AGEGATE_API_KEY": testKey, "AGEGATE_REDIRECT_SECRET": testSecret}[name]
	}
}

func newTestDoor(t testing.TB, changed map[string]string) *Door {
	t.Helper()
	cfg, err := Load(settings(changed))
	if err != nil {
		t.Fatal(err)
	}
	d, err := New(cfg, slog.New(slog.DiscardHandler), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestLoad: all errors come at once, by the variable's name and without its value.
func TestLoad(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte(`[{"client_id":"wiki"}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, values := range map[string][]string{
		"DOOR_URL": {"", "forum.example", "https://forum.example/path", "https://u:p@forum.example",
			"ftp://x"},
		"AGEGATE_URL":             {"", "age.example"},
		"AGEGATE_API_KEY":         {"", "secret-value"},
		"AGEGATE_REDIRECT_SECRET": {"", "secret-value", strings.Replace(testSecret, "test", "live", 1)},
		"DOOR_UPSTREAM":           {"localhost:80", "http://localhost/x"},
		"DOOR_AGE":                {"12", "100", "x"},
		"DOOR_KEEP":               {"1s", "24"},
		"DOOR_OUTAGE":             {"open"},
		"DOOR_NEED": {"adult", "GET", "/adult/*", "/adult*", "/adult/.*", "/#adult", "PSOT /forum", "HEAD /forum", ",", "?page", "/a//b",
			"/a/../b", "/a%2fb", "/a.", "/x?", "/x?a[]=1", "/ok, /adult/*", "/users [application/json]"},
		"DOOR_FREE":              {"/u [text/html]", "/u [*/*]", "/u [application/xhtml+xml]", "/u []", "/u [Cookie]", "/u [Signature", "?a [Signature]", "/a b", "get /x", "/x?%zz", ","},
		"DOOR_LIMIT":             {"0", "-1"},
		"DOOR_LIMIT_BROWSER":     {"51"}, // the cookie counts them
		"DOOR_EXIT":              {"javascript:alert(1)", "/out"},
		"DOOR_RULES":             {"/nowhere/at/all"},
		"DOOR_REGION_FILE":       {"/nowhere/at/all"},
		"DOOR_KEYS":              {"c2VjcmV0LXZhbHVl"},
		"DOOR_KEYS_FILE":         {"/nowhere/at/all"},
		"DOOR_CLIENTS_FILE":      {"/nowhere/at/all", file},
		"DOOR_SIGNING_KEYS_FILE": {"/nowhere/at/all", file},
	} {
		for _, value := range values {
			_, err := Load(settings(map[string]string{name: value}))
			if err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s=%q: %v", name, value, err)
			}
			if err != nil && strings.Contains(err.Error(), "secret-value") {
				t.Errorf("%s: the error has the value", name)
			}
		}
	}
	_, err := Load(settings(map[string]string{"DOOR_AGE": "x", "DOOR_KEEP": "x"}))
	if err == nil || !strings.Contains(err.Error(), "DOOR_AGE") || !strings.Contains(err.Error(), "DOOR_KEEP") {
		t.Errorf("not all errors: %v", err)
	}
}

// TestLoadTrims: what files and secrets leave around a value changes nothing, and a value
// of it alone is refused once, by name.
func TestLoadTrims(t *testing.T) {
	t.Parallel()
	values := map[string]string{"DOOR_URL": "https://forum.example", "DOOR_NAME": "Forum",
		"DOOR_EXIT": "https://out.example", "DOOR_UPSTREAM": "http://localhost:80", "DOOR_AGE": "21", "DOOR_KEEP": "48h",
		"DOOR_OUTAGE": "allow", "DOOR_NEED": "/adult", "DOOR_FREE": "/help", "DOOR_LIMIT": "9", "DOOR_LIMIT_NETWORK": "8",
		"DOOR_LIMIT_BROWSER": "7", "DOOR_TRUSTED_PROXIES": "10.0.0.0/8", "DOOR_KEYS": base64.StdEncoding.EncodeToString(make([]byte, 32)), "DOOR_REDIS": "redis://r:1",
		"DOOR_LISTEN": ":1", "DOOR_METRICS_LISTEN": ":2", "AGEGATE_URL": "https://age.example", "AGEGATE_API_KEY": testKey,
		"AGEGATE_REDIRECT_SECRET": testSecret}
	want, err := Load(settings(values))
	if err != nil {
		t.Fatal(err)
	}
	around := map[string]string{}
	for name, value := range values {
		around[name] = "\ufeff \t" + value + "\u200b\r\n"
	}
	if got, err := Load(settings(around)); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("with white space: %+v, %v; want %+v", got, err, want)
	}
	for _, name := range append(slices.Collect(maps.Keys(values)), "DOOR_KEYS_FILE", "DOOR_CLIENTS_FILE",
		"DOOR_SIGNING_KEYS_FILE") {
		_, err := Load(settings(map[string]string{name: " \n"}))
		if err == nil || strings.Count(err.Error(), name+" must not be white space alone") != 1 {
			t.Errorf("%s of white space alone: %v", name, err)
		}
	}
}

// TestRulesThatGateNothing: one that another setting makes void is refused.
func TestRulesThatGateNothing(t *testing.T) {
	t.Parallel()
	for rules, void := range map[[2]string]bool{{"/adult", "/adult"}: true, {"/adult/x", "/adult"}: true,
		{"POST /forum", "POST /"}: true, {"/f?id=1", ""}: false, {"/f?id", "/f?id=1"}: false, {"/shop", "/shop/page"}: false,
		{"/", "/page"}: false, {"/", "/"}: false, {"/api", "GET /api"}: false} {
		_, err := Load(settings(map[string]string{"DOOR_NEED": "/other, " + rules[0], "DOOR_FREE": rules[1]}))
		if (err != nil) != void || void && !strings.Contains(err.Error(), "DOOR_NEED rule 2") {
			t.Errorf("%s with %q free: %v", rules[0], rules[1], err)
		}
	}
}

// TestStrangeVariables: a misspelt variable is refused with the nearest name.
func TestStrangeVariables(t *testing.T) {
	t.Parallel()
	for variable, part := range map[string]string{"DOOR_NEEDS=/adult": "nearest is DOOR_NEED",
		"DOOR_OUTGAE=allow": "nearest is DOOR_OUTAGE", "DOOR_PORT=tcp://10.0.0.1:80": "enableServiceLinks",
		"DOOR_METRICS_SERVICE_HOST=10.0.0.1": "enableServiceLinks"} {
		name, _, _ := strings.Cut(variable, "=")
		_, err := Load(settings(nil), "PATH=/bin", "DOOR_AGE=18", variable)
		if err == nil || !strings.Contains(err.Error(), name+" ") || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %v", variable, err)
		}
	}
	if _, err := Load(settings(nil), "DOOR_CLIENTS_FILE=", "DOOR_KEYS_FILE="); err != nil {
		t.Error(err)
	}
}

func TestRules(t *testing.T) {
	t.Parallel()
	d := newTestDoor(t, map[string]string{
		"DOOR_NEED": "/adult, POST /forum, /caf%C3%A9, /my%20shop, /viewforum.php?f=12, /tag?name=Adult, /topic?t=1234567890",
		"DOOR_FREE": "/, /adult/help, OPTIONS /, /viewforum.php?f&start, /tag?name, /topic?t, ?utm_source, /list?sort=new"})
	for request, want := range map[string]bool{
		"GET /": false, "GET /adult": true, "GET /adult/x": true, "GET /ADULT/x": true, "HEAD /adult": true,
		"GET /adults": false, "GET /adult/help": false, "GET /adult/help/x": false, "GET /adult/HELP": true,
		"GET /forum/1": false, "POST /forum/1": true, "OPTIONS /adult": false, "GET /x/../adult": true,
		"GET /x%2F..%2Fadult": true, "GET //adult": true, "GET ": true,
		// An encoded path is its decoded form.
		"GET /caf%C3%A9": true, "GET /caf%C3%A9/x": true, "GET /café": true, "GET /cafe": false,
		"GET /my%20shop/1": true, "GET /my%20shops": false,
		// A parameter that no rule names may lead anywhere.
		"GET /?pagename=shop": true, "GET /x?next=/": true, "GET /x?": false, "GET /adult/help?p=1": true,
		"GET /x?utm_source=mail": false, "GET /?utm_source=a&utm_source=b": false, "GET /adult?utm_source=mail": true,
		"GET /list?sort=new": false, "GET /list?sort=old": true, "GET /x?a[]=1": true, "GET /x?%zz": true,
		"GET /x?utm_source=1;p=2": true,
		// A rule may name a query, in whatever spelling a server takes for it.
		"GET /viewforum.php?f=12": true, "GET /viewforum.php?f=13": false, "GET /viewforum.php": false,
		"GET /viewforum.php?f=13&start=25": false, "GET /viewforum.php?start=25&f=12": true,
		"GET /viewforum.php?f=012": true, "GET /viewforum.php?f=12x": true, "GET /viewforum.php?f=%31%32": true,
		"GET /viewforum.php?f=+12": true, "GET /viewforum.php?f=12.0": true, "GET /viewforum.php?f=13&f=12": true,
		"GET /viewforum.php?f[]=12": true, "GET /viewforum.php?F=12": true, "GET /viewforum.php/x?f=12": true,
		"GET /viewforum.php?f=18446744073709551628": true,
		"GET /topic?t=1234567891":                   false, "GET /topic?t=01234567890": true, "GET /topic?t=-1": true,
		// A body may name what the query does not.
		"POST /viewforum.php": true, "POST /viewforum.php?f=13": true, "POST /adult/help": true, "PUT /list": false, "GET /viewforum.php?f=13&t=7": true,
		"GET /tag?name=adult": true, "GET /tag?name=%EF%BD%81dult": true, "GET /tag?name=news": false,
	} {
		method, target, _ := strings.Cut(request, " ")
		if got := d.cfg.needsPass(method, target, nil); got != want {
			t.Errorf("%s: needs a pass: %v", request, got)
		}
	}
	front := newTestDoor(t, map[string]string{"DOOR_FREE": "/, GET /"})
	for target, want := range map[string]bool{"/": false, "/x": true, "/?p=1": true, "/index.php": true} {
		if got := front.cfg.needsPass(http.MethodGet, target, nil); got != want {
			t.Errorf("with the front page free, %s needs a pass: %v", target, got)
		}
	}
	want := []string{
		"DOOR_NEED, rule 1: GET /adult: needs a pass. GET /adult/page: needs a pass. GET /adult?any=1: needs a pass.",
		"DOOR_FREE, rule 1: GET /: free. GET /page: free. GET /?any=1: needs a pass.",
		"DOOR_FREE, rule 5: GET /tag: free. GET /tag?name=1: free. GET /tag?name=1&any=1: needs a pass.",
	}
	lines := d.cfg.Effect()
	for _, line := range want {
		if !slices.Contains(lines, line) {
			t.Errorf("lacks %q:\n%s", line, strings.Join(lines, "\n"))
		}
	}
}

// TestForms: what a form sends is bounded, and none of it is kept in a file.
func TestForms(t *testing.T) {
	t.Parallel()
	d := newTestDoor(t, map[string]string{"AGEGATE_URL": "http://127.0.0.1:1"})
	for name, row := range map[string]struct {
		kind, body string
		status     int
	}{
		"multipart": {"multipart/form-data; boundary=x", "--x\r\n", http.StatusUnsupportedMediaType},
		"large":     {"application/x-www-form-urlencoded", "to=" + strings.Repeat("a", maxBody), http.StatusBadRequest},
		"a form":    {"application/x-www-form-urlencoded", "to=%2Fx", http.StatusServiceUnavailable},
	} {
		r := httptest.NewRequest(http.MethodPost, Prefix+"begin", strings.NewReader(row.body))
		r.Header.Set("Content-Type", row.kind)
		w := httptest.NewRecorder()
		if d.ServeHTTP(w, r); w.Code != row.status {
			t.Errorf("%s is answered %d, want %d", name, w.Code, row.status)
		}
	}
}

// TestPages: every language has every text; a page asks nothing of anybody else.
func TestPages(t *testing.T) {
	t.Parallel()
	d := newTestDoor(t, map[string]string{"DOOR_NAME": `<Forum> "&"`, "DOOR_EXIT": "https://elsewhere.example/"})
	if len(d.pages.tags) != 15 {
		t.Errorf("languages: %v", d.pages.tags)
	}
	for _, tag := range d.pages.tags {
		for key := range d.pages.texts["en"] {
			if d.pages.texts[tag][key] == "" {
				t.Errorf("%s has no %q", tag, key)
			}
		}
		for _, page := range []string{"check", "onward", "failed", "expired", "busy", "unavailable", "unchecked"} {
			w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil)
			r.Header.Set("Accept-Language", tag)
			d.pages.show(w, r, http.StatusOK, view{Page: page, To: `/"><script>`})
			body := w.Body.String()
			if w.Header().Get("Content-Language") != tag || strings.Contains(body, "<script>") ||
				strings.Contains(body, "<Forum>") || strings.Contains(body, "{") && !strings.Contains(body, pageCSS) {
				t.Errorf("%s, %s:\n%s", tag, page, body)
			}
			for _, part := range []string{`src=`, `<link`, `url(`} {
				if strings.Contains(body, part) {
					t.Errorf("%s, %s: the page has %s", tag, page, part)
				}
			}
			policy := w.Header().Get("Content-Security-Policy")
			if !strings.Contains(body, "<style>"+pageCSS+"</style>") ||
				!strings.HasPrefix(policy, "default-src 'none'; style-src 'sha256-") {
				t.Errorf("%s, %s: policy %s", tag, page, policy)
			}
		}
	}
}

// TestSlowGateway: a visitor does not wait for ever, and is not let in.
func TestSlowGateway(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	gateway := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer gateway.Close()
	defer close(release)
	d := newTestDoor(t, map[string]string{"AGEGATE_URL": gateway.URL})
	d.patience = 50 * time.Millisecond
	w := httptest.NewRecorder()
	d.ServeHTTP(w, httptest.NewRequest(http.MethodPost, Prefix+"begin", nil))
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" || len(w.Result().Cookies()) != 0 {
		t.Errorf("%d, cookies %v", w.Code, w.Result().Cookies())
	}
}

func TestNetworks(t *testing.T) {
	t.Parallel()
	d := newTestDoor(t, map[string]string{"DOOR_TRUSTED_PROXIES": "127.0.0.0/8 ::1/128, 10.0.0.2/32"})
	for _, tt := range []struct{ remote, forwarded, want string }{
		{"203.0.113.9:1", "", "[203.0.113.9/32]"},
		{"203.0.113.9:1", "198.51.100.1", "[203.0.113.9/32]"}, // no proxy of ours
		{"10.0.0.3:1", "198.51.100.1", "[10.0.0.3/32]"},
		{"127.0.0.1:1", "192.0.2.1, 198.51.100.1", "[198.51.100.1/32]"},
		{"127.0.0.1:1", "192.0.2.1, 198.51.100.1, 10.0.0.2", "[198.51.100.1/32]"},
		{"127.0.0.1:1", "192.0.2.1, 10.0.0.3", "[10.0.0.3/32]"},
		{"10.0.0.2:1", "2001:db8:1:203:4::5", "[2001:db8:1:203::/64 2001:db8:1:200::/56 2001:db8:1::/48]"},
		{"[::1]:1", "::ffff:198.51.100.1", "[198.51.100.1/32]"},
		{"127.0.0.1:1", "unknown", "[127.0.0.1/32]"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = tt.remote
		if tt.forwarded != "" {
			r.Header.Set("X-Forwarded-For", tt.forwarded)
		}
		if got := fmt.Sprint(d.cfg.networksOf(r)); got != tt.want {
			t.Errorf("%s for %q is of %s, want %s", tt.remote, tt.forwarded, got, tt.want)
		}
	}
}

// TestOneOwnerOfManyNetworks: who makes up addresses in a /48 takes four times a network's
// share, and who owns many networks leaves a fifth to those who come later.
func TestOneOwnerOfManyNetworks(t *testing.T) {
	t.Parallel()
	cfg := newTestDoor(t, map[string]string{"DOOR_LIMIT": "1000", "DOOR_LIMIT_NETWORK": "100"}).cfg
	limiter, now := &localLimiter{}, time.Now()
	takes := func(format string, many, times int) (taken int) {
		for i := range many {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.RemoteAddr = fmt.Sprintf(format, i)
			for range times {
				if limiter.take(t.Context(), cfg.Limits, cfg.networksOf(r), now) {
					taken++
				}
			}
		}
		return taken
	}
	if n := takes("[2001:db8:1:%x00::1]:1", 12, 100); n != 400 {
		t.Errorf("a /48 takes %d", n)
	}
	if n := takes("198.51.100.%d:1", 12, 100); n != 4*100+8 { // eight come to the fifth that is kept
		t.Errorf("twelve further networks take %d", n)
	}
	if n := takes("203.0.113.%d:1", 50, 2); n != 50 {
		t.Errorf("%d of 50 who come later get one session each", n)
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	d := newTestDoor(t, nil)
	d.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, Prefix+"auth", nil))
	w := httptest.NewRecorder()
	d.Metrics().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if !strings.Contains(w.Body.String(), `door_requests_total{outcome="robot"} 1`) {
		t.Error(w.Body)
	}
}

// BenchmarkPass compares the door's word about a visitor with a pass with a bare
// answer, both over HTTP.
func BenchmarkPass(b *testing.B) {
	d := newTestDoor(b, map[string]string{"DOOR_URL": "http://forum.example", "DOOR_RULES": table(b, "GB check 18\nFR block"),
		"DOOR_REGION_HEADER": "CF-IPCountry"})
	w := httptest.NewRecorder()
	d.givePass(w, pass{Demand: Demand{Age: 18}, At: time.Now().Unix()})
	bare := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	for name, handler := range map[string]http.Handler{"door": d, "bare": bare} {
		b.Run(name, func(b *testing.B) {
			server := httptest.NewServer(handler)
			defer server.Close()
			var times []time.Duration
			for b.Loop() {
				req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, server.URL+Prefix+"auth", nil)
				if err != nil {
					b.Fatal(err)
				}
				req.Header.Set("X-Forwarded-Uri", "/page")
				req.Header.Set("CF-IPCountry", "GB")
				req.AddCookie(w.Result().Cookies()[0])
				began := time.Now()
				res, err := http.DefaultClient.Do(req)
				if err != nil || res.StatusCode != http.StatusOK {
					b.Fatal(res, err)
				}
				_, _ = io.Copy(io.Discard, res.Body)
				_ = res.Body.Close()
				times = append(times, time.Since(began))
			}
			slices.Sort(times)
			b.ReportMetric(float64(times[len(times)*99/100].Microseconds()), "p99-µs")
		})
	}
}
