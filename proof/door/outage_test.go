package door

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

// TestOutage: while the gateway is down, the door is closed for visitors without a
// pass and open for those with one; the owner may open it for all.
func TestOutage(t *testing.T) {
	t.Parallel()
	s := startSite(t)
	v := s.visitor(t)
	s.pass(t, v, "/")
	coming := s.visitor(t)
	back := s.force(t, coming, coming.begin("/"), "verified")
	s.Stop()
	http.DefaultClient.CloseIdleConnections()
	if res := v.get("/"); res.status != http.StatusOK {
		t.Errorf("with a pass, the site is answered %d", res.status)
	}
	press := func(d http.Handler) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodPost, "/_door/begin", strings.NewReader("to=/x"))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		d.ServeHTTP(w, r)
		return w
	}
	if w := press(s.door); w.Code != http.StatusServiceUnavailable || len(w.Result().Cookies()) != 0 ||
		!strings.Contains(w.Body.String(), "The age check is unavailable") {
		t.Errorf("without a pass: %d %s", w.Code, w.Body)
	}
	if res := coming.get(back); res.status != http.StatusServiceUnavailable || coming.cookies()["door"] != "" {
		t.Errorf("a return is answered %d", res.status)
	}
	open := s.newDoor(t, "DOOR_OUTAGE=allow", "DOOR_UPSTREAM="+upstream(t))
	w := press(open)
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "You may go on without a check") ||
		len(w.Result().Cookies()) != 1 {
		t.Fatalf("DOOR_OUTAGE=allow: %d %s", w.Code, w.Body)
	}
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.AddCookie(w.Result().Cookies()[0])
	again := httptest.NewRecorder()
	if open.ServeHTTP(again, r); again.Code != http.StatusOK || again.Header().Get("Age-Over") != "0" {
		t.Errorf("the site is answered %d, age %q", again.Code, again.Header().Get("Age-Over"))
	}
}

// TestRefusedIsNoOutage: a key that the gateway refuses opens the door for nobody.
func TestRefusedIsNoOutage(t *testing.T) {
	t.Parallel()
	s := startSite(t, "DOOR_OUTAGE=allow", "AGEGATE_API_KEY=svc_test_0123456789ABCDEFGHIJKLMNOPQRSTUV2nuRgb")
	v := s.visitor(t)
	res := v.do(http.MethodPost, "/_door/begin", url.Values{})
	if res.status != http.StatusServiceUnavailable || v.cookies()["door"] != "" {
		t.Errorf("the button is answered %d", res.status)
	}
}

// TestNobodyMakesAnOutage: a visitor who hangs up while the gateway works, and still
// reads the answer, gets no pass without a check.
func TestNobodyMakesAnOutage(t *testing.T) {
	t.Parallel()
	s := startSite(t, "DOOR_OUTAGE=allow")
	for range 5 {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(time.Minute))
		if _, err := io.WriteString(conn, "POST /_door/begin HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if answer, _ := io.ReadAll(conn); strings.Contains(string(answer), "Set-Cookie: door=") {
			t.Fatalf("the visitor is let in:\n%s", answer)
		}
	}
}
