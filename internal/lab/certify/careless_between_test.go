package certify_test

import (
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Mistakes of shops that let in or do what is between the steps of a pass, or that know no browser.
const (
	strictCookie    = "gives its cookie SameSite=Strict"
	shortCookie     = "gives its cookie one minute"
	hostCookie      = "gives its cookie the prefix of a host, but not Secure"
	noCrossing      = "refuses a browser that comes from another site"
	prefetchUsesUp  = "uses the token up on a prefetch"
	pendingEnds     = "ends an order on a lookup that says PENDING"
	cancelForgets   = "forgets the release at the Cancel URL"
	cancelCounts    = "lets a pass count again after the Cancel URL"
	strangerEnds    = "ends the order of an unsigned redirect in any browser"
	forgeryEnds     = "ends the orders when a forged delivery comes"
	bareForgets     = "forgets the release when the Success URL has no result"
	postReleases    = "believes a form at the Success URL"
	rawOrder        = "keeps releases under the order's number as it is written"
	formOrder       = "takes the order's number from a form first"
	lastOrder       = "takes the last of several order numbers"
	latestOfBrowser = "releases the latest order of the browser on any pass of it"
	oncePerBrowser  = "keeps releases under the browser"
	flagCookie      = "keeps the release in a cookie"
	rawCookie       = "keeps releases under the cookie as it is written"
	failedForgets   = "forgets the release on a lookup that fails"
	orderForgets    = "forgets the releases of a browser that orders again"
	lastReleased    = "remembers the last release only"
	fallbackEnds    = "believes a refusal without a token"
	lookupRaces     = "locks each way of release apart"
	jsonReleases    = "believes JSON at the Success URL"
)

// What a right shop may do.
const (
	reloading    = "gives its cookie SameSite=Strict, and lets a page reload without it"
	clearsCookie = "takes its cookie away at the Cancel URL, and shows an order to its own browser only"
)

// answerFirst answers what only a browser with the shop's cookie sees, and reports whether that was all.
func (s *carelessShop) answerFirst(w http.ResponseWriter, r *http.Request) bool {
	_, err := r.Cookie(orderCookie)
	switch {
	case s.mistake == reloading && r.URL.Path == "/thanks" && err != nil:
		_, _ = io.WriteString(w, `<meta http-equiv="refresh" content="0">`)
	case s.mistake == clearsCookie && r.URL.Path == "/cancelled":
		http.SetCookie(w, &http.Cookie{Name: orderCookie, Path: "/", MaxAge: -1})
	case s.mistake == clearsCookie && strings.HasSuffix(r.URL.Path, "/released") && err != nil:
		http.NotFound(w, r)
	default:
		return false
	}
	return true
}

// cookie returns a cookie of the shop.
func (s *carelessShop) cookie(name, value string) *http.Cookie {
	c := &http.Cookie{Name: name, Value: value, Path: "/"}
	switch s.mistake {
	case "redirect.browser", strictCookie, reloading:
		c.SameSite = http.SameSiteStrictMode
	case shortCookie:
		c.MaxAge = 60
	case hostCookie:
		c.Name = strings.Replace(name, orderCookie, "__Host-"+orderCookie, 1)
	}
	return c
}

// holds reports whether the shop does not release an order because of something else.
func (s *carelessShop) holds(o *carelessOrder, way string) bool {
	if s.makes("redirect.next-order", oncePerBrowser) {
		for _, other := range s.orders {
			if other != o && other.browser == o.browser && other.released > 0 {
				return true
			}
		}
	}
	if s.mistake == pendingEnds && way == "polling" || s.mistake == forgeryEnds && way == "webhook" {
		return false
	}
	return o.ended
}

// meddle does what a step that is no pass must not do, and reports whether that was all.
func (s *carelessShop) meddle(r *http.Request) bool {
	if c, err := r.Cookie("__Host-" + orderCookie); err == nil {
		r.AddCookie(&http.Cookie{Name: orderCookie, Value: c.Value})
	}
	own, _ := r.Cookie(orderCookie)
	if own != nil && s.mistake == rawCookie {
		s.countRaw(own.Value, r.URL)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	o := &carelessOrder{}
	if own != nil && s.orders[own.Value] != nil {
		o = s.orders[own.Value]
	}
	switch r.URL.Path {
	case "/buy":
		for _, other := range s.orders {
			if c, err := r.Cookie(browserCookie); err == nil && other.browser == c.Value && s.mistake == orderForgets {
				other.released = 0
			}
		}
	case "/cancelled":
		s.meddleCancelled(o)
	case "/thanks":
		return own != nil && s.meddleThanks(r, o, own.Value)
	}
	session := strings.TrimPrefix(r.URL.Path, "/orders/")
	lower := strings.ToLower(session)
	if o := s.orders[session]; o != nil && s.makes("webhook.between", pendingEnds, failedForgets, lookupRaces) {
		s.meddleLookup(o, s.call(http.MethodGet, "/api/v1/sessions/"+session+"/status", "")["status"])
	} else if o := s.orders[lower]; o != nil && session != lower && s.mistake == "polling.between" {
		o.released++ // under another name
	}
	return false
}

// countRaw releases the order of a cookie, once for each way to write it.
func (s *carelessShop) countRaw(raw string, at *url.URL) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := strings.ToLower(raw)
	if o := s.orders[id]; at.Path == "/thanks" && o != nil && s.isPass(at.Query(), id) && id != raw && s.raw[raw] == 0 {
		s.raw[raw]++
		o.released++
	}
}

func (s *carelessShop) meddleLookup(o *carelessOrder, status string) {
	switch {
	case s.makes("webhook.between", pendingEnds) && status == "PENDING":
		o.ended = true
	case s.mistake == failedForgets && status == "":
		o.released = 0
	case s.mistake == lookupRaces && status == "PASSED" && o.released == 0 && !o.by["lookup"]:
		o.by["lookup"] = true // one lookup at a time
		s.mu.Unlock()
		time.Sleep(50 * time.Millisecond)
		s.mu.Lock()
		o.released++
	}
}

// meddleForged does what a delivery must not do that does not verify.
func (s *carelessShop) meddleForged() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.orders {
		o.ended = o.ended || s.mistake == forgeryEnds
	}
}

func (s *carelessShop) meddleCancelled(o *carelessOrder) {
	switch {
	case s.makes("redirect.between", cancelForgets):
		o.released = 0
	case s.mistake == cancelCounts && o.released > 0:
		s.pending[o.browser] = 1 // the next pass counts
	}
}

// meddleThanks does what the Success URL must not do on what is no pass of its order.
func (s *carelessShop) meddleThanks(r *http.Request, o *carelessOrder, own string) bool {
	q := r.URL.Query()
	named := s.orders[cmp.Or(r.PostFormValue("session"), q.Get("session"))]
	switch passed := s.isPass(q, q.Get("session")); {
	case s.mistake == noCrossing:
		return r.Header.Get("Sec-Fetch-Site") == "cross-site"
	case s.mistake == prefetchUsesUp && r.Header.Get("Sec-Purpose") != "",
		s.mistake == fallbackEnds && q.Get("status") == "ROUTED_TO_FALLBACK":
		o.ended = true
	case s.mistake == strangerEnds && !passed && named != nil:
		named.ended = true
	case s.mistake == bareForgets && q.Get("token") == "" && named == nil:
		o.released = 0
	case s.mistake == postReleases && r.PostFormValue("status") == "VERIFIED":
		o.released = 1
	case s.mistake == jsonReleases && r.Header.Get("Content-Type") == "application/json":
		var said map[string]string
		if json.NewDecoder(r.Body).Decode(&said) == nil && said["status"] == "VERIFIED" {
			o.released = 1
		}
	case s.mistake == "redirect.mixed" && passed && named != nil:
		named.released = 1
	case s.mistake == latestOfBrowser && passed && named != nil && named.browser == o.browser:
		o.released = 1 // the browser's cookie names its latest order
	default:
		return s.isPass(q, own) && s.count(r, o)
	}
	return false
}

// count does what a pass of a browser's order must not do.
func (s *carelessShop) count(r *http.Request, o *carelessOrder) bool {
	q := r.URL.Query()
	raw, numbers := q.Get("order"), q["order"]
	_, err := r.Cookie("done")
	bare := strings.TrimLeft(strings.TrimSpace(raw), "0")
	switch {
	case s.mistake == cancelCounts && s.pending[o.browser] > 0:
		s.pending[o.browser] = 0
		o.released++
	case s.mistake == flagCookie && o.by["redirect"] && err != nil:
		o.released++
	case s.mistake == lastReleased:
		if s.status != o.browser && !o.by["webhook"] && !o.by["polling"] {
			o.released++
		}
		s.status = o.browser
		return true
	case s.mistake == rawOrder && bare == strings.TrimLeft(o.number, "0"):
		if s.raw[raw] == 0 && !o.by["webhook"] && !o.by["polling"] {
			o.released++
		}
		s.raw[raw]++
		return true
	case s.mistake == formOrder && raw == o.number,
		s.makes(formOrder, lastOrder) && slices.Contains(numbers, o.number):
		number := r.FormValue("order")
		if s.mistake == lastOrder {
			number = numbers[len(numbers)-1]
		}
		for _, one := range s.orders {
			if one.number == number && one.released == 0 {
				one.released = 1
			}
		}
		return true
	}
	return false
}
