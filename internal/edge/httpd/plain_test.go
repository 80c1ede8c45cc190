package httpd_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"agegate"
	"agegate/internal/edge/contract"
	"agegate/internal/gatewaytest"
)

// TestRefusalsBelowTheAPI: the description of the contract's default response
// names the errors that the HTTP server writes itself, and its schema has the
// error for a body that ends early.
func TestRefusalsBelowTheAPI(t *testing.T) {
	doc, err := contract.Read(agegate.OpenAPI)
	if err != nil {
		t.Fatal(err)
	}
	other := doc.Components.Responses["OtherError"].Value
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			if response := op.Responses.Default(); response == nil || response.Ref != "#/components/responses/OtherError" {
				t.Errorf("%s %s has another default response", method, path)
			}
		}
	}
	badRequest, err := json.Marshal(other.Content["application/json"].Examples["badRequest"].Value.Value)
	if err != nil {
		t.Fatal(err)
	}
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	key := g.Shop(t, "", nil).Test.APIKey
	const create = "POST /api/v1/sessions/create HTTP/1.1\r\nHost: x\r\n"
	for name, tt := range map[string]struct{ request, plain string }{
		"no HTTP":         {"cAnArY\r\n\r\n", "400 Bad Request"},
		"a broken header": {create + "cAnArY\r\n\r\n", "400 Bad Request"},
		"no host":         {"GET /api/v1/sessions/x/status HTTP/1.1\r\n\r\n", "400 Bad Request"},
		"headers over 16 KiB": {create + "X: " + strings.Repeat("x", 64<<10) + "\r\n\r\n",
			"431 Request Header Fields Too Large"},
		"a body that ends early": {create + "X-API-Key: " + key +
			"\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\ncAnArY\r\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			res, body := answerTo(t, g.URL, tt.request)
			kind, want := "text/plain", tt.plain
			if tt.plain == "" {
				kind, want = "application/json", string(badRequest)
			} else if !strings.Contains(*other.Description, "`"+tt.plain+"`") {
				t.Errorf("the contract does not name %q", tt.plain)
			}
			if got := res.Header.Get("Content-Type"); !strings.HasPrefix(body, want) || !strings.HasPrefix(got, kind) {
				t.Errorf("answered with %s %s, want %s %s", got, body, kind, want)
			}
			if res.Header.Get("X-Request-ID") == "" {
				t.Error("there is no X-Request-ID")
			}
		})
	}
}

// answerTo sends bytes to a server and returns its answer.
func answerTo(t *testing.T, url, request string) (*http.Response, string) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	go func() { _, _ = io.WriteString(conn, request) }() // the server may close before all is written
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(body)
}

// TestBodiesAreReadBeforeTheAnswer: while a client still sends its body, the
// answer does not come on a connection that is then closed.
func TestBodiesAreReadBeforeTheAnswer(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	for name, path := range map[string]string{"the API": "/api/v1/sessions/create",
		"the dashboard": "/dashboard/x/team/%0D%0A/remove", "nothing": "/nothing"} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", strings.TrimPrefix(g.URL, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_, _ = io.WriteString(conn, "POST "+path+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 72\r\n\r\n")
			_ = conn.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
			if n, err := conn.Read(make([]byte, 1)); n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("%d bytes came before the body was sent: %v", n, err)
			}
			_, _ = io.WriteString(conn, strings.Repeat("x", 72))
			_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if _, err := io.ReadAll(res.Body); err != nil || res.StatusCode < 400 {
				t.Errorf("status %d, %v", res.StatusCode, err)
			}
		})
	}
}

// TestRefusalsReachSlowClients: a client that keeps sending and reads late gets
// the whole refusal.
func TestRefusalsReachSlowClients(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	conn, err := net.Dial("tcp", strings.TrimPrefix(g.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\nno header\r\n\r\n"+strings.Repeat("x", 200<<10))
	time.Sleep(700 * time.Millisecond) // longer than net/http waits before it closes
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := io.ReadAll(res.Body); err != nil || res.StatusCode != 400 {
		t.Errorf("status %d, %v", res.StatusCode, err)
	}
}

// TestLargeBodiesGetAnAnswer: a client that still sends a body too large to be read
// gets the whole refusal and an end of the connection that is no reset, whether or
// not it wants the connection closed, as proxies do by default.
func TestLargeBodiesGetAnAnswer(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	shop := g.Shop(t, "", nil)
	url := g.Create(t, shop.Test.APIKey, 18).VerificationURL
	link := url[strings.Index(url, "/v/"):]
	length, chunked := "Content-Length: 10485760\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\nA00000\r\n"
	for _, path := range []string{
		"/api/v1/sessions/create", link, link + "/wallet/browser", "/dashboard/login", "/nothing",
	} {
		for _, framing := range []string{length, "Connection: close\r\n" + length, "Connection: close\r\n" + chunked} {
			conn, err := net.Dial("tcp", strings.TrimPrefix(g.URL, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(time.Minute))
			_, _ = io.WriteString(conn, "POST "+path+" HTTP/1.1\r\nHost: x\r\nOrigin: "+g.URL+"\r\n"+
				"Content-Type: application/x-www-form-urlencoded\r\n"+framing+strings.Repeat("x", 512<<10))
			answer, err := io.ReadAll(conn)
			if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 4") {
				t.Errorf("POST %s with %.30q: %.40q, %v", path, framing, answer, err)
			}
		}
	}
}
