package security

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"agegate/internal/gatewaytest"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/tenant"
	"agegate/proof/table"

	"github.com/labstack/echo/v4"
)

// fuzzer draws requests for one gateway, whose sessions, keys and cookies it
// knows. Half of its requests are like those of an honest client.
type fuzzer struct {
	rng        *rand.Rand
	turn       int                 // index of the next route of the pages
	plain      int                 // how many requests are left that reach their pages for certain
	api, pages []*echo.Route       // all routes that the gateway serves, and a page that it does not have
	keys       []string            // live, test, revoked, and of a disabled tenant
	parameters map[string][]string // honest values of a route's parameters, by name
	cookies    []string            // Cookie lines of browsers that own sessions
}

var phoneAddress = regexp.MustCompile(`/h/([A-Za-z0-9_-]{43})`)

// prepare creates sessions in several states with their browsers.
func prepare(t *testing.T, g *gatewaytest.Gateway) *fuzzer {
	t.Helper()
	f := &fuzzer{parameters: map[string][]string{
		"*": {"x/page.css", "x/camera.js", "x/icon.svg"}, ":file": {"1f5f5b-x.css", "x.png"},
	}}
	served := slices.SortedFunc(slices.Values(g.App.Routes()), func(a, b *echo.Route) int {
		return strings.Compare(a.Path+a.Method, b.Path+b.Method)
	})
	for _, route := range append(served, &echo.Route{Method: http.MethodGet, Path: none}) {
		if strings.HasPrefix(route.Path, "/api/") {
			f.api = append(f.api, route)
		} else {
			f.pages = append(f.pages, route)
		}
	}
	param := func(name, value string) { f.parameters[name] = append(f.parameters[name], value) }
	shop, off := g.Shop(t, "", consenting), g.Shop(t, "", nil)
	if err := g.App.Tenants.SetDisabled(t.Context(), audit.System("test"), off.Tenant.ID, true, ""); err != nil {
		t.Fatal(err)
	}
	plain := g.Shop(t, "", nil)
	param(":tenant", shop.Tenant.ID.String())
	param(":mode", "test")
	param(":mode", "live")
	f.keys = []string{shop.Test.APIKey, shop.Live.APIKey, plain.Test.APIKey, plain.Live.APIKey, off.Live.APIKey}
	for i := range 40 {
		of := []tenant.Credentials{shop, plain}[i%2]
		key := []string{of.Test.APIKey, of.Live.APIKey}[i/2%2]
		s := g.Create(t, key, 18)
		link := g.Path(s.VerificationURL)
		param(":session_id", s.SessionID)
		param(":token", link[strings.LastIndex(link, "/")+1:])
		if i%3 == 0 {
			continue // nobody has opened it yet
		}
		browser := gatewaytest.Browser()
		post(t, browser, link+"/start")
		if i%4 == 1 {
			post(t, browser, link+"/handover")
			if found := phoneAddress.FindStringSubmatch(get(t, browser, link+"/handover")); found != nil {
				param(":handover", found[1])
			}
		}
		var pairs []string
		for _, c := range browser.Jar.Cookies(mustURL(t, link)) {
			pairs = append(pairs, c.Name+"="+c.Value)
		}
		f.cookies = append(f.cookies, "Cookie: "+strings.Join(pairs, "; "))
	}
	if len(f.parameters[":handover"]) == 0 || len(f.cookies) == 0 {
		t.Fatal("no handover or no cookie was prepared")
	}
	return f
}

func TestFuzzedRequests(t *testing.T) {
	table.Beside(t)
	onEach(t, "Fuzzed requests", func(t *testing.T, g *gatewaytest.Gateway, r *table.Row) {
		known := prepare(t, g)
		count := table.Sized(50_000, 9_000)
		r.Didf("%d requests over %d routes", count, len(g.App.Routes()))
		const workers = 8
		var mu sync.Mutex
		var failed, busy, echoed, unanswered []string
		statuses := map[int]int{}
		var wg sync.WaitGroup
		for worker := range workers {
			own := *known
			own.rng = rand.New(rand.NewPCG(1, uint64(worker)))
			own.turn, own.plain = worker*len(own.pages)/workers, len(own.pages)/workers+1
			client := newWire(t, g.URL)
			wg.Go(func() {
				for range count / workers {
					sent := own.request()
					got, err := client.do(sent)
					mu.Lock()
					statuses[got.status]++
					what := fmt.Sprintf("%d %s", got.status, sent)
					if repeats(got.status, got.raw) {
						echoed = append(echoed, what+"\n"+got.raw[:min(600, len(got.raw))])
					}
					switch {
					case err != nil:
						unanswered = append(unanswered, err.Error()+" "+what)
					case got.status == http.StatusServiceUnavailable:
						busy = append(busy, what)
					case got.status >= 500:
						failed = append(failed, what)
					}
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		log := g.Log.String()
		t.Log(statuses)
		r.None("answers of 5xx but 503", failed)
		r.TimelyNone("answers of 503", busy)
		r.None("canaries in a header or body", echoed)
		r.None("requests without an answer", unanswered)
		r.None("lines of the log with a canary", linesWith(log, canary, memberCanary))
		errors := linesWith(log, "level=ERROR")
		r.None("errors in the log but of want of time", slices.DeleteFunc(errors, outOfTime.MatchString))
		r.None("routes not reached", known.unreached(log))
	})
}

// outOfTime matches errors of a gateway whose database did not answer in time.
var outOfTime = regexp.MustCompile(`status=503|deadline exceeded`)

func (f *fuzzer) unreached(log string) (missing []string) {
	for _, route := range slices.Concat(f.api, f.pages) {
		if line := fmt.Sprintf("method=%s route=%s ", route.Method, route.Path); !strings.Contains(log, line) {
			missing = append(missing, line)
		}
	}
	return missing
}

func linesWith(log string, words ...string) (found []string) {
	for line := range strings.Lines(log) {
		if slices.ContainsFunc(words, func(s string) bool {
			return strings.Contains(strings.ToLower(line),
				strings.ToLower(s))
		}) {
			found = append(found, line)
		}
	}
	return found
}

// request draws a request: for each field an honest or a hostile value. It takes
// the routes of the pages in turn, first with honest hosts, methods and parameters, so that
// none is left out, and draws the few routes of the API as often as all pages together.
func (f *fuzzer) request() request {
	f.turn, f.plain = f.turn+1, f.plain-1
	route := f.pages[f.turn%len(f.pages)]
	if f.plain < 0 && f.rng.IntN(2) == 0 {
		route = pick(f.rng, f.api)
	}
	r := request{method: route.Method, target: f.target(route.Path), header: f.headers(route.Path)}
	if f.plain < 0 && f.rng.IntN(8) == 0 {
		r.method = pick(f.rng, []string{"PUT", "PATCH", "DELETE", "OPTIONS", "HEAD", "TRACE", "get", strings.ToUpper(canary),
			"POST", "GET"})
	}
	if r.method != http.MethodGet && r.method != http.MethodHead || f.rng.IntN(20) == 0 {
		r.body, r.chunked = f.body(), f.rng.IntN(5) == 0
	}
	if slices.ContainsFunc(r.header, func(line string) bool { return strings.HasPrefix(line, "Expect:") }) {
		// Like a client that waits for an answer before it sends the body (RFC
		// 9110, 10.1.1). net/http refuses an expectation that it cannot meet and
		// closes at once; a body that is already on its way then resets the
		// connection, and the answer is lost.
		r.body, r.chunked = "", false
	}
	return r
}

func (f *fuzzer) often() bool { return f.plain >= 0 || f.rng.IntN(4) > 0 }

// none is the route in the log for a path that is not served.
const none = "none"

var parameter = regexp.MustCompile(`:\w+|\*`)

func (f *fuzzer) target(path string) string {
	target := parameter.ReplaceAllStringFunc(path, func(name string) string {
		if honest := f.parameters[name]; len(honest) > 0 && f.often() {
			return pick(f.rng, honest)
		}
		return escaped(f.rng, hostile(f.rng))
	})
	if path == none {
		target = pick(f.rng, []string{"/", "/api/", "/api/v1/", "/v/", "/h/", "/docs/", "/static/", "//", "/.git/"}) +
			escaped(f.rng, hostile(f.rng))
	}
	switch f.rng.IntN(6) {
	case 0:
		target += "?" + escaped(f.rng, hostile(f.rng)) + "=" + escaped(f.rng, hostile(f.rng))
	case 1:
		target += "?" + pick(f.rng, []string{"force", "lang", "assisted"}) + "=" + escaped(f.rng, hostile(f.rng))
	case 2:
		target += "?" + pick(f.rng, []string{"force=verified", "force=spoof", "force=fallback", "lang=ar", "assisted=1"}) +
			"&x=" + escaped(f.rng, hostile(f.rng))
	}
	return target
}

var headerNames = []string{
	"Accept", "Accept-Language", "Accept-Encoding", "Authorization", "Cookie", "Content-Type", "Idempotency-Key", "Origin",
	"Referer",
	"User-Agent", "X-API-Key", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-IP", "X-Request-Id",
	"Forwarded",
	"If-None-Match", "If-Modified-Since", "Range", "Sec-Fetch-Site", "Sec-WebSocket-Key", "Sec-WebSocket-Version",
	"Sec-WebSocket-Protocol",
	"Sec-WebSocket-Extensions", "Upgrade", "Connection", "Expect", "Via", "X-HTTP-Method-Override", "X-" + canary,
}

func (f *fuzzer) headers(route string) []string {
	host := "localhost:8080" // the dashboard answers only to its own host name
	if !f.often() {
		host = canary + ".example"
	}
	lines := []string{"Host: " + host}
	if strings.HasPrefix(route, "/api/") {
		key := pick(f.rng, f.keys)
		if f.rng.IntN(6) == 0 {
			key = visible(hostile(f.rng))
		}
		lines = append(lines, "X-API-Key: "+key)
		if f.often() {
			lines = append(lines, "Content-Type: application/json")
		}
	} else if f.often() {
		lines = append(lines, pick(f.rng, f.cookies), "Content-Type: application/x-www-form-urlencoded")
	}
	if strings.HasSuffix(route, "/stream") {
		lines = append(lines, "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
			"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==")
	}
	for range f.rng.IntN(5) {
		lines = append(lines, pick(f.rng, headerNames)+": "+visible(hostile(f.rng)))
	}
	return lines
}

func (f *fuzzer) body() string {
	switch f.rng.IntN(8) {
	case 0:
		return hostile(f.rng)
	case 1:
		return "share=" + escaped(f.rng, hostile(f.rng)) + "&choice=" + escaped(f.rng, hostile(f.rng))
	case 2:
		return pick(f.rng, []string{"share=yes", "choice=accept", "choice=decline", `{"target_age":18}`, `{"target_age":18`,
			"[", `"`, "null"})
	case 3:
		return "--" + canary + "\r\nContent-Disposition: form-data; name=\"" + canary + "\"\r\n\r\n" + canary + "\r\n--" +
			canary + "--\r\n"
	}
	object := map[string]any{"target_age": f.value(), "success_url": f.value(), "cancel_url": f.value()}
	for _, name := range []string{"target_age", "success_url", "cancel_url"} {
		if f.rng.IntN(3) > 0 {
			delete(object, name)
		}
	}
	if f.often() {
		object["target_age"] = 13 + f.rng.IntN(90)
	} else {
		object[strings.ReplaceAll(hostile(f.rng), canary, memberCanary)[:10]+memberCanary] = f.value()
	}
	data, err := json.Marshal(object)
	if err != nil {
		panic(err) // strings, numbers and lists always encode
	}
	return string(data)
}

func (f *fuzzer) value() any {
	switch f.rng.IntN(6) {
	case 0:
		return pick(f.rng, []any{18.5, -1, 1e300, true, nil, []any{hostile(f.rng)}, map[string]any{canary: canary}})
	case 1:
		return "https://shop.example/" + escaped(f.rng, hostile(f.rng))
	default:
		return hostile(f.rng)
	}
}
