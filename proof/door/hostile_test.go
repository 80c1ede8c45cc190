package door

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// TestGate: a visitor who passes reaches the page that he asked for. The door tells
// a visitor who does not pass that he did not.
func TestGate(t *testing.T) {
	t.Parallel()
	s := startSite(t, "DOOR_FREE=/about, OPTIONS /api", "DOOR_EXIT=https://elsewhere.example/")
	v := s.visitor(t)
	if free := v.get("/about/us"); free.status != http.StatusOK || free.header.Get("Age-Over") != "0" {
		t.Errorf("a free page is answered %d, age %q", free.status, free.header.Get("Age-Over"))
	}
	if free := v.do(http.MethodOptions, "/api/x", nil); free.status != http.StatusOK {
		t.Errorf("a free method is answered %d", free.status)
	}
	page := s.pass(t, v, "/thread?id=7&page=2")
	if page.status != http.StatusOK || !strings.Contains(page.body, "the site at /thread") ||
		page.header.Get("Age-Over") != "18" {
		t.Errorf("the page is answered %d %s", page.status, page.body)
	}

	other := s.visitor(t)
	hosted := other.begin("/thread")
	if back := s.force(t, other, hosted, "fallback"); back != "" {
		t.Errorf("the fallback leads to %s", back)
	}
	failed := other.get("/_door/cancel", "Accept-Language: de")
	for _, part := range []string{"Wir konnten Ihr Alter nicht bestätigen", `name="to" value="/thread"`,
		"https://elsewhere.example/", `lang="de"`} {
		if !strings.Contains(failed.body, part) {
			t.Errorf("the page for those who did not pass lacks %q:\n%s", part, failed.body)
		}
	}
	if again := other.begin("/thread"); again == hosted {
		t.Error("a session that has ended is used again")
	}
	if strings.Contains(s.log.String(), "token=") {
		t.Error("the log has a token")
	}
}

// TestReturns: only the browser that began a session gets its pass, with the
// token of this session, and once the gateway says PASSED.
func TestReturns(t *testing.T) {
	t.Parallel()
	s := startSite(t)
	denied := func(t *testing.T, v *visitor, back string) {
		t.Helper()
		if res := v.get(back); res.status != http.StatusForbidden || v.cookies()["door"] != "" {
			t.Errorf("the return is answered %d to %q", res.status, res.location)
		}
	}
	t.Run("forged", func(t *testing.T) {
		v := s.visitor(t)
		hosted := v.begin("/")
		forged := url.Values{"session": {"3f2b8c1e-9d4a-4f6b-8a57-0c1d2e3f4a5b"}, "status": {"VERIFIED"},
			"is_adult": {"true"}, "token": {"9999999999.AAAA"}}
		denied(t, v, "/_door/return?"+forged.Encode())
		denied(t, v, "/_door/return")
		back := s.force(t, v, hosted, "verified")
		for _, change := range [][2]string{{"token=1", "token=9"}, {"is_adult=true", "is_adult=false"},
			{"VERIFIED", "verified"},
			{"token=", "token=9999999999.AAAA&token="}, {"session=", "x="}} {
			denied(t, v, strings.Replace(back, change[0], change[1], 1))
		}
	})
	t.Run("not passed", func(t *testing.T) {
		v := s.visitor(t)
		s.force(t, v, v.begin("/"), "spoof")
		denied(t, v, "/_door/return?session=x")
	})
	t.Run("another browser's", func(t *testing.T) {
		v, thief := s.visitor(t), s.visitor(t)
		back := s.force(t, v, v.begin("/"), "verified")
		denied(t, thief, back)
	})
	t.Run("another session's token", func(t *testing.T) {
		v, thief := s.visitor(t), s.visitor(t)
		back := s.force(t, v, v.begin("/"), "verified")
		s.force(t, thief, thief.begin("/"), "verified")
		denied(t, thief, back)
	})
	t.Run("replayed", func(t *testing.T) {
		v, thief := s.visitor(t), s.visitor(t)
		hosted := v.begin("/page")
		visit := v.cookies()["door-visit"]
		back := s.force(t, v, hosted, "verified")
		first := v.get(back)
		v.setCookie("door-visit", visit)
		second := v.get(back)
		denied(t, thief, back)
		if first.status != http.StatusSeeOther || second.status != http.StatusSeeOther {
			t.Fatalf("answers %d and %d", first.status, second.status)
		}
		if a, b := maxAge(t, first), maxAge(t, second); b > a {
			t.Errorf("a replay lengthens the pass from %d to %d seconds", a, b)
		}
	})
	t.Run("expired", func(t *testing.T) {
		v := s.visitor(t)
		hosted := v.begin("/")
		s.Clock.Advance(-11 * time.Minute) // the door's clock is ahead
		defer s.Clock.Advance(11 * time.Minute)
		denied(t, v, s.force(t, v, hosted, "verified"))
		if !strings.Contains(s.log.String(), "the clock is wrong") {
			t.Error("the log does not say why")
		}
	})
}

func maxAge(t *testing.T, a answer) (age int) {
	t.Helper()
	for _, line := range a.header.Values("Set-Cookie") {
		if _, rest, found := strings.Cut(line, "Max-Age="); found && strings.HasPrefix(line, "door=") {
			_, _ = fmt.Sscan(strings.SplitN(rest, ";", 2)[0], &age)
		}
	}
	return age
}

// TestOpenRedirects: whatever a visitor is made to ask for, he comes back to the
// site.
func TestOpenRedirects(t *testing.T) {
	t.Parallel()
	s := startSite(t, "DOOR_LIMIT_BROWSER=50")
	v := s.visitor(t)
	for _, to := range []string{
		"//evil.example", "///evil.example", "////evil.example", `/\evil.example`, `\/evil.example`, `\\evil.example`,
		"https://evil.example", "HTTPS://evil.example", "http:evil.example", "https:/evil.example", "https:///evil.example",
		"javascript:alert(1)", "data:text/html,x", "/\t/evil.example", "/\n/evil.example", "\t//evil.example",
		" //evil.example", "/ /evil.example", "@evil.example", ".evil.example", ":80@evil.example", "/%0d%0aX: 1",
		"/\r\nLocation: https://evil.example", "//evil.example/%2f..", "/%5cevil.example", "/%2f/evil.example",
		"/.evil.example",
		"/;@evil.example", "?//evil.example", "#//evil.example", "evil.example", "//evil%E3%80%82example", "/_door/cancel",
		"/" + strings.Repeat("a", 5000),
	} {
		hosted := v.press("/_door/begin", to)
		back := v.get(s.force(t, v, hosted, "verified"))
		u, err := url.Parse(back.location)
		if err != nil || back.status != http.StatusSeeOther || "http://"+u.Host != s.url || u.User != nil ||
			strings.HasPrefix(u.EscapedPath(), "//") || strings.HasPrefix(u.Path, "/_door") {
			t.Errorf("%q leads to %q (%d)", to, back.location, back.status)
		}
		v.setCookie("door", "")
	}
}

// TestPathsAndMethods: nothing that a server may read in another way gets past.
func TestPathsAndMethods(t *testing.T) {
	t.Parallel()
	s := startSite(t, "DOOR_FREE=/free")
	address := strings.TrimPrefix(s.url, "http://")
	for _, target := range []string{
		"/", "/secret", "/free/../secret", "/free/%2e%2e/secret", "/free/%2E./secret", "/free/..%2fsecret",
		"/free/..%5csecret",
		`/free\..\secret`, "//free/secret", "/free//../secret", "/free/..;/secret", "/free/%252e%252e/secret", "/freedom",
		"/FREE/x", "/free%2fsecret", "/free/./x", "/free/%00", "/free;/x", s.url + "/free", "/free%", "/secret?/free",
		"/?x=/free/",
	} {
		if status := rawStatus(t, address, target); status != http.StatusForbidden && status != http.StatusBadRequest {
			t.Errorf("%s is answered %d", target, status)
		}
	}
	v := s.visitor(t)
	for _, method := range []string{"HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "QUERY", "get"} {
		if res := v.do(method, "/secret", nil); res.status != http.StatusForbidden || strings.Contains(res.body, "the site") {
			t.Errorf("%s is answered %d", method, res.status)
		}
	}
	if res := v.get("/secret", "Range: bytes=0-3"); res.status != http.StatusForbidden {
		t.Errorf("a range is answered %d", res.status)
	}
	_, res, err := websocket.Dial(t.Context(), s.url+"/socket", nil)
	if err == nil || res.StatusCode != http.StatusForbidden {
		t.Errorf("a WebSocket is opened: %v", err)
	}
	s.pass(t, v, "/secret")
	for _, method := range []string{"GET", "HEAD", "POST"} {
		if res := v.do(method, "/secret", nil); res.status != http.StatusOK {
			t.Errorf("with a pass, %s is answered %d", method, res.status)
		}
	}
	if res := v.get("/secret", "Range: bytes=0-2"); res.status != http.StatusPartialContent || res.body != "the" {
		t.Errorf("with a pass, a range is answered %d %q", res.status, res.body)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, s.url+"/socket", &websocket.DialOptions{HTTPClient: v.Client})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow()
	if err := conn.Write(ctx, websocket.MessageText, []byte("hello")); err != nil {
		t.Fatal(err)
	}
	if _, text, err := conn.Read(ctx); err != nil || string(text) != "hello" {
		t.Errorf("the socket answers %q, %v", text, err)
	}
	for _, header := range []string{"X-Age-Over: 18", "x-age-over: 99", "X-Forwarded-Uri: /free",
		"X-Original-URL: /free"} {
		if res := s.visitor(t).get("/secret", header); res.status != http.StatusForbidden {
			t.Errorf("%s: %d", header, res.status)
		}
	}
}

// TestNobodySpendsChecks: only the button creates a session, for a browser of the
// site, within limits; an open one is used again.
func TestNobodySpendsChecks(t *testing.T) {
	t.Parallel()
	s := startSite(t, "DOOR_LIMIT_BROWSER=2", "DOOR_LIMIT_NETWORK=3")
	v := s.visitor(t)
	if res := v.get("/", "Sec-Purpose: prefetch"); res.status != http.StatusForbidden {
		t.Errorf("a prefetch is answered %d", res.status)
	}
	browser := "User-Agent: Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 Chrome/140.0 Mobile Safari/537.36 Mastodon/2.9"
	if res := v.get("/", browser); res.status != http.StatusForbidden || !strings.Contains(res.body, "<form") {
		t.Errorf("a person's browser in an app for Mastodon is answered %d %s", res.status, res.body)
	}
	for _, agent := range []string{"Googlebot/2.1", "facebookexternalhit/1.1", "Slackbot-LinkExpanding 1.0",
		"WhatsApp/2.2",
		"Mastodon/4.3 (http.rb/5.2)", "Twitterbot/1.0", "curl/8.5", "", "Mozilla/5.0 (X11; Linux x86_64)"} {
		sign := "Accept-Language: "
		if agent == "Googlebot/2.1" {
			sign = "From: googlebot(at)googlebot.com"
		}
		res := v.get("/", "User-Agent: "+agent, sign)
		if res.status != http.StatusForbidden || res.location != "" || !strings.Contains(res.body, "Robots are not let in") {
			t.Errorf("%q is answered %d to %q: %s", agent, res.status, res.location, res.body)
		}
	}
	if res := v.get("/api", "Accept: application/json"); res.status != http.StatusForbidden ||
		strings.Contains(res.body, "<form") {
		t.Errorf("a script is answered %d %s", res.status, res.body)
	}
	for _, header := range []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-site"} {
		if res := v.do(http.MethodPost, "/_door/begin", url.Values{"to": {"/"}}, header); res.status != http.StatusForbidden {
			t.Errorf("a button on another site is answered %d", res.status)
		}
	}
	if res := v.get("/_door/begin"); res.status != http.StatusMethodNotAllowed {
		t.Errorf("GET of the button is answered %d", res.status)
	}
	if n := s.Count(t, "sessions"); n != 0 {
		t.Fatalf("%d sessions without the button", n)
	}
	first := v.begin("/")
	if v.begin("/other") != first || s.Count(t, "sessions") != 1 {
		t.Error("the open session is not used again")
	}
	s.force(t, v, first, "fallback")
	s.force(t, v, v.begin("/"), "fallback")
	if res := v.do(http.MethodPost, "/_door/begin", url.Values{"to": {"/"}}); res.status != http.StatusTooManyRequests {
		t.Errorf("the third session of a browser is answered %d", res.status)
	}
	s.visitor(t).begin("/")
	if res := s.visitor(t).do(http.MethodPost, "/_door/begin", url.Values{}); res.status != http.StatusTooManyRequests ||
		res.header.Get("Retry-After") == "" {
		t.Errorf("the fourth session of a network is answered %d", res.status)
	}
}

// TestCrowd: 10,000 visits hold no unit; of 1,000 visitors, a hundred at once, each
// gets a session of their own. With more at once, a slow machine would answer the last
// ones after the door's patience with the gateway.
func TestCrowd(t *testing.T) {
	t.Parallel()
	s := startSite(t, "DOOR_LIMIT=1000")
	live := s.newDoor(t, "DOOR_UPSTREAM="+s.url, "AGEGATE_API_KEY="+s.shop.Live.APIKey,
		"AGEGATE_REDIRECT_SECRET="+s.shop.Live.RedirectSecret)
	for range 10_000 {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("User-Agent", "Mozilla/5.0")
		r.Header.Set("Accept", "text/html")
		if live.ServeHTTP(w, r); w.Code != http.StatusForbidden {
			t.Fatalf("a visit is answered %d", w.Code)
		}
	}
	if n := s.Count(t, "sessions"); n != 0 {
		t.Fatalf("%d sessions", n)
	}
	var all sync.WaitGroup
	var hosted sync.Map
	slots := make(chan struct{}, 100)
	for i := range 1000 { // networks
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			w := httptest.NewRecorder()
			r := httptest.NewRequest(http.MethodPost, "/_door/begin", strings.NewReader("to=/"))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.RemoteAddr = fmt.Sprintf("10.1.%d.%d:1", i/250, i%250)
			s.door.ServeHTTP(w, r)
			hosted.Store(w.Header().Get("Refresh"), w.Code == http.StatusOK)
		})
	}
	all.Wait()
	n := 0
	hosted.Range(func(address, ok any) bool {
		if ok == true && strings.Contains(address.(string), "/v/") {
			n++
		}
		return true
	})
	if n != 1000 {
		t.Errorf("%d different sessions", n)
	}
	if res := s.visitor(t).do(http.MethodPost, "/_door/begin", url.Values{}); res.status != http.StatusTooManyRequests {
		t.Errorf("one more than DOOR_LIMIT is answered %d", res.status)
	}
}
