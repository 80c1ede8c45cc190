package certify

import (
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// browser keeps a buyer's cookies.
type browser struct {
	*cookiejar.Jar
	unsent sync.Map // by name: what unsent says of the cookie
}

func newBrowser() *browser {
	return &browser{Jar: must(cookiejar.New(nil))}
}

// SetCookies implements http.CookieJar.
func (b *browser) SetCookies(u *url.URL, cookies []*http.Cookie) {
	for _, c := range cookies {
		b.unsent.Store(c.Name, unsent(c))
	}
	b.Jar.SetCookies(u, cookies)
}

// crossing is a browser that comes from a page of another site.
type crossing struct{ *browser }

// Cookies implements http.CookieJar.
func (c crossing) Cookies(u *url.URL) []*http.Cookie {
	return slices.DeleteFunc(c.browser.Cookies(u), func(one *http.Cookie) bool {
		gone, ok := c.unsent.Load(one.Name)
		return ok && gone == true
	})
}

// shortest is how long a cookie must live that outlasts a check.
const shortest = 5 * time.Minute

// unsent reports whether a browser that comes from another site, after the minutes of a
// check, does not send a cookie: it is strict, or has expired, or was never kept.
func unsent(c *http.Cookie) bool {
	host := strings.HasPrefix(c.Name, "__Host-")
	return c.SameSite == http.SameSiteStrictMode ||
		c.MaxAge > 0 && c.MaxAge < int(shortest.Seconds()) ||
		c.MaxAge == 0 && !c.Expires.IsZero() && time.Until(c.Expires) < shortest ||
		!c.Secure && (c.SameSite == http.SameSiteNoneMode || c.Partitioned || host ||
			strings.HasPrefix(c.Name, "__Secure-")) ||
		host && (c.Path != "/" || c.Domain != "") || len(c.Name)+len(c.Value) > 4096
}

// reloads is what a page has that opens its address again, from its own site.
var reloads = regexp.MustCompile(`(?i)http-equiv=["']?refresh|\blocation\.(reload|replace|assign|href)`)

// comeBack begins an order and opens its good redirect as a browser does that comes from the gateway's
// page, after a HEAD of it or a prefetch.
func (t *trial) comeBack(after string) {
	o := t.order()
	address := t.goodURL(o)
	for _, purpose := range []string{after, "visit"} {
		from, method := o.in(o.browser), http.MethodGet
		from.crosses = true
		from.header = http.Header{"Sec-Fetch-Site": {"cross-site"}, "Sec-Fetch-Mode": {"navigate"},
			"Sec-Fetch-Dest": {"document"}, "Upgrade-Insecure-Requests": {"1"}, "Accept": {"text/html,*/*;q=0.8"}}
		switch purpose {
		case http.MethodHead:
			method = http.MethodHead
		case "prefetch":
			from.header.Set("Sec-Purpose", purpose)
		}
		v := t.open(from, method, address, nil, true)
		t.arrived(v, purpose)
		if purpose == "visit" && reloads.Match(v.body) {
			t.visit(o, "reloaded", address)
		}
	}
}
