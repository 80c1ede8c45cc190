package desk

import (
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
)

// movedCookie marks a browser that was just redirected to the dashboard's address.
const movedCookie = "agegate-moved"

// movedFor is how long the mark lasts. A browser that comes back within this time was
// probably redirected in a circle, by a proxy that replaces the host.
const movedFor = 5 * time.Second

// errHost answers a browser that was redirected to the dashboard's host and still
// arrives under another one: 421, see RFC 9110, section 15.5.20.
var errHost = echo.NewHTTPError(http.StatusMisdirectedRequest)

// plainHost returns a host and port in lower case, without the scheme's default port.
func plainHost(scheme, hostPort string) string {
	hostPort = strings.ToLower(hostPort)
	host, port, err := net.SplitHostPort(hostPort)
	if err == nil && port == map[string]string{"https": "443", "http": "80"}[scheme] {
		if strings.Contains(host, ":") {
			return "[" + host + "]"
		}
		return host
	}
	return hostPort
}

// checkHost redirects a request for a page under another host to the dashboard's own address, and refuses all
// other requests under another host. Passkeys and cookies belong to one host, and no other site may show the
// dashboard under its name. checkHost reports whether it has answered.
func (d *Desk) checkHost(r *Request) (answered bool, err error) {
	req := r.Request()
	scheme, _, _ := strings.Cut(d.cfg.URL, ":")
	if plainHost(scheme, req.Host) == d.host {
		return false, nil
	}
	switch {
	case r.Route.Method != http.MethodGet:
		return true, echo.ErrForbidden
	case r.CookieValue(movedCookie) != "":
		return true, errHost
	}
	path := d.cfg.Home // an address that may contain anything is not repeated
	if r.wellFormed() {
		path = d.Onward(req.URL.Path)
	}
	r.PutCookie(movedCookie, "1", movedFor)
	return true, r.Redirect(http.StatusFound, d.cfg.URL+path)
}
