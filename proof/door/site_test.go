// Package door guards sites with the door, before the real gateway, and attacks
// it.
package door

import (
	"encoding/base64"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	agedoor "github.com/agegate/agegate/sdk/door"

	"agegate/internal/gatewaytest"
	"agegate/internal/rules/tenant"
)

// site is a site behind the door.
type site struct {
	*gatewaytest.Gateway
	shop tenant.Credentials
	url  string
	door *agedoor.Door
	log  *gatewaytest.Log

	clock gatewaytest.Clock // the door's, but for tokens
}

// startSite runs a gateway, a site and a door as its proxy. settings are further
// NAME=VALUE variables of the door.
func startSite(t *testing.T, settings ...string) *site {
	t.Helper()
	front := httptest.NewUnstartedServer(nil)
	s := siteAt(t, "http://"+front.Listener.Addr().String(),
		append([]string{"DOOR_UPSTREAM=" + upstream(t)}, settings...)...)
	front.Config.Handler = s
	front.Start()
	t.Cleanup(front.Close)
	return s
}

// ServeHTTP asks the site's door of the moment.
func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.door.ServeHTTP(w, r) }

// siteAt runs a gateway and makes a door of the site at an address.
func siteAt(t *testing.T, address string, settings ...string) *site {
	t.Helper()
	g := gatewaytest.Start(t, gatewaytest.SQLite(t), "AGEGATE_TEST_DAILY_CAP=100000")
	shop := g.Shop(t, "", func(s *tenant.Tenant) { s.SuccessURL, s.CancelURL = address+"/", address+"/" })
	s := &site{Gateway: g, shop: shop, url: address, log: &gatewaytest.Log{}}
	s.door = s.newDoor(t, settings...)
	return s
}

// newDoor makes a door of this site.
func (s *site) newDoor(t *testing.T, settings ...string) *agedoor.Door {
	t.Helper()
	d, err := agedoor.New(s.config(t, settings...), slog.New(slog.NewTextHandler(s.log, nil)), s.clock.Now)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func (s *site) config(t *testing.T, settings ...string) *agedoor.Config {
	t.Helper()
	cfg, err := agedoor.Load(environment(s.variables(settings...)))
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// variables are those of the site's door, the later before the earlier.
func (s *site) variables(settings ...string) []string {
	return append([]string{
		"AGEGATE_URL=" + s.URL, "AGEGATE_API_KEY=" + s.shop.Test.APIKey, "DOOR_URL=" + s.url, "DOOR_NAME=Forum",
		"AGEGATE_REDIRECT_SECRET=" + s.shop.Test.RedirectSecret, "DOOR_KEYS=" + key(1), "DOOR_LIMIT_NETWORK=100000",
	}, settings...)
}

func environment(settings []string) func(string) string {
	values := map[string]string{}
	for _, setting := range settings {
		name, value, _ := strings.Cut(setting, "=")
		values[name] = value
	}
	return func(name string) string { return values[name] }
}

// key returns one of the door's keys.
func key(n byte) string {
	return base64.StdEncoding.EncodeToString(append(make([]byte, 31), n))
}

// ageNames are the headers that PHP and CGI take for the door's; misread are those by
// which some servers read another path or method.
var (
	ageNames = regexp.MustCompile(`(?i)^x[^a-z]age[^a-z]over$`)
	misread  = regexp.MustCompile(`(?i)^x[^a-z](original|rewrite|http|method).*(url|method|override)$`)
)

// upstream is a site that knows nothing about ages. It shows the door's header and
// what it may take for that, and whether it could read another request.
func upstream(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") == "websocket" {
			conn, err := websocket.Accept(w, r, nil)
			if err != nil {
				return
			}
			kind, text, _ := conn.Read(r.Context())
			_ = conn.Write(r.Context(), kind, text)
			_ = conn.Close(websocket.StatusNormalClosure, "")
			return
		}
		var ages []string
		for name, values := range r.Header {
			if ageNames.MatchString(name) {
				ages = append(ages, values...)
			}
			if misread.MatchString(name) {
				w.Header().Set("Misread", name)
			}
		}
		w.Header().Set("Age-Over", strings.Join(ages, ","))
		http.ServeContent(w, r, "page.txt", time.Unix(1, 0), strings.NewReader("the site at "+r.URL.Path+"\n"))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// visitor is a browser.
type visitor struct {
	*http.Client
	t    *testing.T
	site string
}

func (s *site) visitor(t *testing.T) *visitor { return &visitor{gatewaytest.Browser(), t, s.url} }

// answer is what a visitor gets.
type answer struct {
	status   int
	header   http.Header
	body     string
	location string
}

// do sends a request as a browser does, with further headers as NAME: VALUE.
func (v *visitor) do(method, target string, form url.Values, headers ...string) answer {
	v.t.Helper()
	address := target
	if !strings.HasPrefix(target, "http") {
		address = v.site + target
	}
	req, err := http.NewRequestWithContext(v.t.Context(), method, address, strings.NewReader(form.Encode()))
	if err != nil {
		v.t.Fatal(err)
	}
	req.Header.Set("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0")
	req.Header.Set("Accept", "text/html,application/xhtml+xml")
	req.Header.Set("Accept-Language", "en")
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	res, err := v.Do(req)
	if err != nil {
		v.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	return answer{res.StatusCode, res.Header, string(body), res.Header.Get("Location")}
}

func (v *visitor) get(target string, headers ...string) answer {
	v.t.Helper()
	return v.do(http.MethodGet, target, nil, headers...)
}

var (
	wanted = regexp.MustCompile(`name="to" value="([^"]*)"`)
	action = regexp.MustCompile(`<form method="post" action="([^"]*)"`)
)

// begin visits a page, presses the button and returns the address of the hosted
// page.
func (v *visitor) begin(target string) string {
	v.t.Helper()
	page := v.get(target)
	to, form := wanted.FindStringSubmatch(page.body), action.FindStringSubmatch(page.body)
	if page.status != http.StatusForbidden || to == nil || form == nil {
		v.t.Fatalf("%s is answered %d %s", target, page.status, page.body)
	}
	return v.press(form[1], strings.NewReplacer("&amp;", "&", "&#43;", "+").Replace(to[1]))
}

func (v *visitor) press(form, to string) string {
	v.t.Helper()
	res := v.do(http.MethodPost, form, url.Values{"to": {to}})
	_, hosted, found := strings.Cut(res.header.Get("Refresh"), "0; url=")
	if res.status != http.StatusOK || !found {
		v.t.Fatalf("the button is answered %d %s", res.status, res.body)
	}
	hosted, _, _ = strings.Cut(hosted, "?asked")
	return hosted
}

// force ends a session of the hosted page and returns where the page leads.
func (s *site) force(t *testing.T, v *visitor, hosted, outcome string) string {
	t.Helper()
	res, _ := s.Force(t, v.Client, gatewaytest.Created{VerificationURL: hosted}, outcome)
	return res.Header.Get("Location")
}

// pass takes a visitor from a page to the gateway and back to the page.
func (s *site) pass(t *testing.T, v *visitor, target string) answer {
	t.Helper()
	back := v.get(s.force(t, v, v.begin(target), "verified"))
	if back.status != http.StatusSeeOther || back.location != s.url+target {
		t.Fatalf("the return is answered %d to %q: %s", back.status, back.location, back.body)
	}
	return v.get(back.location)
}

// cookies returns the visitor's cookies by name.
func (v *visitor) cookies() map[string]string {
	u, err := url.Parse(v.site)
	if err != nil {
		v.t.Fatal(err)
	}
	found := map[string]string{}
	for _, c := range v.Jar.Cookies(u) {
		found[c.Name] = c.Value
	}
	return found
}

// setCookie puts a cookie into the visitor's browser.
func (v *visitor) setCookie(name, value string) {
	u, err := url.Parse(v.site)
	if err != nil {
		v.t.Fatal(err)
	}
	v.Jar.SetCookies(u, []*http.Cookie{{Name: name, Value: value, Path: "/"}})
}
