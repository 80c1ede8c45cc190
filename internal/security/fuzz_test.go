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

	"agegate/internal/apitest"
	"agegate/internal/tenant"
)

// routes are the patterns under attack, by how often each is drawn. The test
// fails when one was never reached.
var routes = []string{
	"/api/v1/sessions/create", "/api/v1/sessions/create", "/api/v1/sessions/create", "/api/v1/sessions/create",
	"/api/v1/sessions/:session_id/status", "/api/v1/sessions/:session_id/status",
	"/api/v1/sessions/:session_id/detected-age", "/api/v1/sessions/:session_id/detected-age",
	"/v/:token", "/v/:token", "/v/:token/camera", "/v/:token/document", "/v/:token/start", "/v/:token/consent",
	"/v/:token/stream", "/v/:token/stream", "/v/:token/handover", "/v/:token/handover/state",
	"/h/:handover", "/h/:handover/start", "/h/:handover/stream",
	"/static/*", "/docs", "/docs/init.js", "/openapi.yaml", "/openapi.json", "/healthz", "/readyz",
	"none",
}

// fuzzer draws requests for one gateway, whose sessions, keys and cookies it
// knows: half of what it sends is what an honest client would send.
type fuzzer struct {
	rng           *rand.Rand
	keys          []string // live, test, revoked and of a disabled tenant
	ids           []string
	links, phones []string // tokens
	cookies       []string // Cookie lines of browsers that own sessions

}

var phoneAddress = regexp.MustCompile(`/h/([A-Za-z0-9_-]{43})`)

// prepare makes sessions in several states with their browsers.
func prepare(t *testing.T, g *apitest.Gateway) *fuzzer {
	t.Helper()
	f := &fuzzer{}
	shop, off := g.Shop(t, "", consenting), g.Shop(t, "", nil)
	if err := g.App.Tenants.SetDisabled(t.Context(), off.Tenant.ID, true); err != nil {
		t.Fatal(err)
	}
	plain := g.Shop(t, "", nil)
	f.keys = []string{shop.Test.APIKey, shop.Live.APIKey, plain.Test.APIKey, plain.Live.APIKey, off.Live.APIKey}
	for i := range 40 {
		of := []tenant.Credentials{shop, plain}[i%2]
		key := []string{of.Test.APIKey, of.Live.APIKey}[i/2%2]
		s := g.Create(t, key, 18)
		link := g.Path(s.VerificationURL)
		f.ids, f.links = append(f.ids, s.SessionID), append(f.links, link[strings.LastIndex(link, "/")+1:])
		if i%3 == 0 {
			continue // nobody has come yet
		}
		browser := apitest.Browser()
		post(t, browser, link+"/start")
		if i%4 == 1 {
			post(t, browser, link+"/handover")
			if found := phoneAddress.FindStringSubmatch(get(t, browser, link+"/handover")); found != nil {
				f.phones = append(f.phones, found[1])
			}
		}
		var pairs []string
		for _, c := range browser.Jar.Cookies(mustURL(t, link)) {
			pairs = append(pairs, c.Name+"="+c.Value)
		}
		f.cookies = append(f.cookies, "Cookie: "+strings.Join(pairs, "; "))
	}
	if len(f.phones) == 0 || len(f.cookies) == 0 {
		t.Fatal("no handover or no cookie was prepared")
	}
	return f
}

func TestFuzzedRequests(t *testing.T) {
	onEach(t, "Fuzzed requests", func(t *testing.T, g *apitest.Gateway, r *row) {
		known := prepare(t, g)
		r.count = sized(50_000, 1_500)
		const workers = 8
		var mu sync.Mutex
		var failed, echoed, unanswered []string
		statuses := map[int]int{}
		var wg sync.WaitGroup
		for worker := range workers {
			own := *known
			own.rng = rand.New(rand.NewPCG(1, uint64(worker)))
			client := newWire(t, g.URL)
			wg.Go(func() {
				for range r.count / workers {
					sent := own.request()
					got, err := client.do(sent)
					mu.Lock()
					statuses[got.status]++
					switch what := fmt.Sprintf("%d %s", got.status, sent); {
					case err != nil:
						unanswered = append(unanswered, err.Error()+" "+what)
					case got.status >= 500:
						failed = append(failed, what)
					case repeats(got.status, got.raw):
						echoed = append(echoed, what+"\n"+got.raw[:min(600, len(got.raw))])
					}
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		log := g.Log.String()
		t.Log(statuses)
		r.none("answers of 5xx", failed)
		r.none("canaries in a header or body", echoed)
		r.none("requests without an answer", unanswered)
		r.none("lines of the log with a canary", linesWith(log, canary, memberCanary))
		r.none("errors in the log", linesWith(log, "level=ERROR"))
		r.none("routes not reached", unreached(log))
	})
}

func unreached(log string) (missing []string) {
	for _, route := range slices.Compact(slices.Sorted(slices.Values(routes))) {
		if !strings.Contains(log, "route="+route+" ") {
			missing = append(missing, route)
		}
	}
	return missing
}

func linesWith(log string, words ...string) (found []string) {
	for line := range strings.Lines(log) {
		if slices.ContainsFunc(words, func(s string) bool { return strings.Contains(strings.ToLower(line), strings.ToLower(s)) }) {
			found = append(found, line)
		}
	}
	return found
}

// request draws a request: a route, then for each field an honest value or a
// hostile one.
func (f *fuzzer) request() request {
	route := pick(f.rng, routes)
	r := request{method: f.method(route), target: f.target(route), header: f.headers(route)}
	if r.method != http.MethodGet && r.method != http.MethodHead || f.rng.IntN(20) == 0 {
		r.body, r.chunked = f.body(), f.rng.IntN(5) == 0
	}
	return r
}

func (f *fuzzer) often() bool { return f.rng.IntN(4) > 0 }

func (f *fuzzer) method(route string) string {
	posts := strings.HasSuffix(route, "/create") || strings.HasSuffix(route, "/start") || strings.HasSuffix(route, "/consent") ||
		route == "/v/:token/document" && f.rng.IntN(2) == 0 || route == "/v/:token/handover" && f.rng.IntN(2) == 0
	switch {
	case f.rng.IntN(8) == 0:
		return pick(f.rng, []string{"PUT", "PATCH", "DELETE", "OPTIONS", "HEAD", "TRACE", "get", strings.ToUpper(canary), "POST", "GET"})
	case posts:
		return http.MethodPost
	default:
		return http.MethodGet
	}
}

func (f *fuzzer) target(route string) string {
	value := func(honest []string) string {
		if f.often() {
			return pick(f.rng, honest)
		}
		return escaped(f.rng, hostile(f.rng))
	}
	target := strings.NewReplacer(":session_id", value(f.ids), ":token", value(f.links), ":handover", value(f.phones),
		"*", value([]string{"x/page.css", "x/camera.js", "x/icon.svg"})).Replace(route)
	if route == "none" {
		target = pick(f.rng, []string{"/", "/api/", "/api/v1/", "/v/", "/h/", "/docs/", "/static/", "//", "/.git/"}) + escaped(f.rng, hostile(f.rng))
	}
	switch f.rng.IntN(6) {
	case 0:
		target += "?" + escaped(f.rng, hostile(f.rng)) + "=" + escaped(f.rng, hostile(f.rng))
	case 1:
		target += "?" + pick(f.rng, []string{"force", "lang", "assisted"}) + "=" + escaped(f.rng, hostile(f.rng))
	case 2:
		target += "?" + pick(f.rng, []string{"force=verified", "force=spoof", "force=fallback", "lang=ar", "assisted=1"}) + "&x=" + escaped(f.rng, hostile(f.rng))
	}
	return target
}

var headerNames = []string{
	"Accept", "Accept-Language", "Accept-Encoding", "Authorization", "Cookie", "Content-Type", "Idempotency-Key", "Origin", "Referer",
	"User-Agent", "X-API-Key", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-IP", "X-Request-Id", "Forwarded",
	"If-None-Match", "If-Modified-Since", "Range", "Sec-Fetch-Site", "Sec-WebSocket-Key", "Sec-WebSocket-Version", "Sec-WebSocket-Protocol",
	"Sec-WebSocket-Extensions", "Upgrade", "Connection", "Expect", "Via", "X-HTTP-Method-Override", "X-" + canary,
}

func (f *fuzzer) headers(route string) []string {
	host := "127.0.0.1"
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
		lines = append(lines, "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==")
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
		return pick(f.rng, []string{"share=yes", "choice=accept", "choice=decline", `{"target_age":18}`, `{"target_age":18`, "[", `"`, "null"})
	case 3:
		return "--" + canary + "\r\nContent-Disposition: form-data; name=\"" + canary + "\"\r\n\r\n" + canary + "\r\n--" + canary + "--\r\n"
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
