package door

import (
	"net/http"
	"time"
)

// pass says that a browser passed a check, and when. It names nobody.
type pass struct {
	Demand          // that it meets
	At        int64 `json:"a"`           // in Unix seconds
	Unchecked bool  `json:"u,omitempty"` // given without a check, during an outage
}

// visit is a browser's open session and the page that its visitor wanted.
type visit struct {
	Demand          // for which the session was begun
	Session string  `json:"s"`
	URL     string  `json:"u"`           // of the hosted page
	To      string  `json:"t"`           // on the site
	Begun   []int64 `json:"b,omitempty"` // when the browser began sessions, in Unix seconds
}

// outagePass is how long a pass without a check lasts.
const outagePass = 10 * time.Minute

const (
	passCookie  = "door"
	visitCookie = "door-visit"
	visitLife   = 24 * time.Hour // a document check may stay open as long
	maxCookie   = 4000           // browsers keep 4,096 bytes with name and attributes
)

// pass returns the browser's pass, if it is valid.
func (d *Door) pass(r *http.Request) (p pass, ok bool) {
	for _, c := range r.CookiesNamed(d.cookieName(passCookie)) {
		if d.seal.open("pass", c.Value, &p) == nil && d.now().Before(d.passEnd(p)) {
			return p, true
		}
	}
	return pass{}, false
}

func (d *Door) passEnd(p pass) time.Time {
	keep := d.cfg.Keep
	if p.Unchecked {
		keep = outagePass
	}
	return time.Unix(p.At, 0).Add(keep)
}

func (d *Door) givePass(w http.ResponseWriter, p pass) {
	d.setCookie(w, passCookie, d.seal.seal("pass", p), d.passEnd(p).Sub(d.now()))
}

func (d *Door) visit(r *http.Request) (v visit) {
	for _, c := range r.CookiesNamed(d.cookieName(visitCookie)) {
		if d.seal.open("visit", c.Value, &v) == nil {
			return v
		}
	}
	return visit{}
}

func (d *Door) setVisit(w http.ResponseWriter, v visit) {
	sealed := d.seal.seal("visit", v)
	if len(sealed) > maxCookie { // JSON may need six bytes for a character
		v.To = "/"
		sealed = d.seal.seal("visit", v)
	}
	d.setCookie(w, visitCookie, sealed, visitLife)
}

// cookieName has the prefix that keeps other hosts from setting the cookie.
func (d *Door) cookieName(name string) string {
	if d.cfg.URL.Scheme == "https" {
		return "__Host-" + name
	}
	return name
}

func (d *Door) setCookie(w http.ResponseWriter, name, value string, life time.Duration) {
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // secure wherever the site is
		Name: d.cookieName(name), Value: value, Path: "/", MaxAge: int(life.Seconds()),
		Secure: d.cfg.URL.Scheme == "https", HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}
