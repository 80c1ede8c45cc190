package door

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"golang.org/x/oauth2"
)

// TestPasses: a pass opens one site, for one age and mode, under the door's keys,
// until it ends.
func TestPasses(t *testing.T) {
	t.Parallel()
	s := startSite(t)
	v := s.visitor(t)
	s.pass(t, v, "/")
	cookie := v.cookies()["door"]
	back := upstream(t)
	admitted := func(settings ...string) bool {
		d := s.newDoor(t, append([]string{"DOOR_UPSTREAM=" + back}, settings...)...)
		req := httptest.NewRequest(http.MethodGet, "/", nil)
		req.AddCookie(&http.Cookie{Name: "door", Value: cookie})
		req.AddCookie(&http.Cookie{Name: "__Host-door", Value: cookie})
		w := httptest.NewRecorder()
		d.ServeHTTP(w, req)
		return w.Code == http.StatusOK
	}
	for what, tt := range map[string]struct {
		settings []string
		want     bool
	}{
		"the same":        {nil, true},
		"rotated keys":    {[]string{"DOOR_KEYS=" + key(2) + "," + key(1)}, true},
		"other keys":      {[]string{"DOOR_KEYS=" + key(2)}, false},
		"another age":     {[]string{"DOOR_AGE=21"}, false},
		"another site":    {[]string{"DOOR_URL=http://other.example"}, false},
		"the same on TLS": {[]string{"DOOR_URL=" + strings.Replace(s.url, "http:", "https:", 1)}, false},
		"live": {[]string{"AGEGATE_API_KEY=" + s.shop.Live.APIKey,
			"AGEGATE_REDIRECT_SECRET=" + s.shop.Live.RedirectSecret}, false},
		"a shorter time":   {[]string{"DOOR_KEEP=1m"}, true},
		"keys by mistake":  {[]string{"DOOR_KEYS="}, false},
		"the last is ours": {[]string{"DOOR_KEYS=" + key(3) + " " + key(2) + " " + key(1)}, true},
	} {
		if got := admitted(tt.settings...); got != tt.want {
			t.Errorf("%s: admitted %v", what, got)
		}
	}
	s.clock.Advance(24*time.Hour - time.Minute)
	if res := v.get("/"); res.status != http.StatusOK {
		t.Errorf("a minute before its end, a pass is answered %d", res.status)
	}
	s.clock.Advance(2 * time.Minute)
	if admitted() {
		t.Error("a pass is admitted after its end")
	}
	s.clock.Advance(-24*time.Hour - time.Minute)
	for _, changed := range []string{"", cookie[:len(cookie)-1], "A" + cookie[1:], cookie + "A",
		v.cookies()["door-visit"]} {
		thief := s.visitor(t)
		thief.setCookie("door", changed)
		if res := thief.get("/"); res.status != http.StatusForbidden && changed != cookie {
			t.Errorf("the pass %q is answered %d", changed, res.status)
		}
	}
}

// TestSignInMoved: a sign-in that was proved at a door of another age, site or mode
// counts for nothing, even if it has the same keys and clients.
func TestSignInMoved(t *testing.T) {
	t.Parallel()
	settings := signInSettings(t, clients, signingKey(t))
	s := startSite(t, settings...)
	for what, other := range map[string][]string{
		"another age": {"DOOR_AGE=13"},
		"live": {"AGEGATE_API_KEY=" + s.shop.Live.APIKey,
			"AGEGATE_REDIRECT_SECRET=" + s.shop.Live.RedirectSecret},
		"another site": {"DOOR_URL=http://other.example"},
	} {
		target := httptest.NewServer(s.newDoor(t, append(append([]string{}, settings...), other...)...))
		c, v := s.relying(t, "wiki", "a secret"), s.visitor(t)
		code := s.signIn(t, v, c.ask())
		c.Endpoint.TokenURL = target.URL + "/_door/oauth/token"
		if token, err := c.Exchange(t.Context(), code, oauth2.VerifierOption(c.verifier)); err == nil {
			t.Errorf("%s: a code of another door gives %v", what, token.Extra("id_token"))
		}
		target.Close()
	}
}

// TestLongTargets: whatever page a visitor wanted, browsers keep the cookie that
// remembers it, which is at most 4,096 bytes long with its name and attributes.
func TestLongTargets(t *testing.T) {
	t.Parallel()
	s := startSite(t, "DOOR_LIMIT_BROWSER=50")
	v := s.visitor(t)
	var passed bool
	for _, filling := range []string{"a", "&", "%26", "é", "\u2028", `"`, "<"} {
		for _, n := range []int{10, 500, 1000, 1990} {
			to := "/?" + strings.Repeat(filling, n/len(filling))
			res := v.do(http.MethodPost, "/_door/begin", url.Values{"to": {to}})
			for _, cookie := range res.header.Values("Set-Cookie") {
				if len(cookie) > 4096 {
					t.Errorf("%d bytes of %q make a cookie of %d bytes", n, filling, len(cookie))
				}
			}
			passed = passed || n == 1990 && len(res.header.Values("Set-Cookie")) == 1
		}
	}
	if !passed {
		t.Error("no cookie was set")
	}
}

// TestWhatAVisitorHolds: with a pass, no page of the door asks again or begins a session,
// whatever address of it is opened once more.
func TestWhatAVisitorHolds(t *testing.T) {
	t.Parallel()
	s := startSite(t)
	v := s.visitor(t)
	back := s.force(t, v, v.begin("/first?a=1"), "verified")
	if res := v.get(back); res.location != s.url+"/first?a=1" {
		t.Fatalf("the return leads to %q", res.location)
	}
	u, err := url.Parse(back)
	if err != nil {
		t.Fatal(err)
	}
	to := u.Query().Get("to")
	if strings.Contains(back, "first") {
		t.Errorf("the gateway learns the visitor's page: %s", back)
	}
	before := s.Count(t, "sessions")
	for address, want := range map[string]string{
		back: "/first?a=1", "/_door/return?to=" + to: "/first?a=1", "/_door/return": "/", "/_door/cancel": "/",
		"/_door/cancel?to=" + to: "/first?a=1", "/_door/return?session=x&token=9.A": "/", "/_door/return?to=forged": "/",
	} {
		if res := v.get(address); res.status != http.StatusSeeOther || res.location != s.url+want {
			t.Errorf("%s is answered %d to %q, want %s", address, res.status, res.location, want)
		}
	}
	again := v.do(http.MethodPost, "/_door/begin", url.Values{"to": {"/second"}})
	if again.status != http.StatusOK || again.header.Get("Refresh") != "0; url="+s.url+"/second" {
		t.Errorf("the button of another tab is answered %d to %q", again.status, again.header.Get("Refresh"))
	}
	if n := s.Count(t, "sessions"); n != before {
		t.Errorf("%d further sessions", n-before)
	}
}
