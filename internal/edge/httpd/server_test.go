package httpd_test

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"agegate/internal/edge/httpd"
	"agegate/internal/edge/httpd/httpdtest"
)

// serve runs a server on a loopback address until the test ends.
func serve(t *testing.T, handler http.Handler) *httpd.Server {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return serveOn(t, listener, handler)
}

// serveHTTP2 is serve with TLS and HTTP/2. It also returns a client that trusts the server.
func serveHTTP2(t *testing.T, handler http.Handler) (*httpd.Server, *http.Client) {
	t.Helper()
	source := httptest.NewUnstartedServer(nil) // for its certificate and client
	source.EnableHTTP2 = true
	source.StartTLS()
	t.Cleanup(source.Close)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", source.TLS)
	if err != nil {
		t.Fatal(err)
	}
	return serveOn(t, listener, handler), source.Client()
}

func serveOn(t *testing.T, listener net.Listener, handler http.Handler) *httpd.Server {
	t.Helper()
	server := httpd.NewServer(handler, listener)
	served := make(chan error, 1)
	go func() { served <- server.Serve() }()
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return server
}

// When a client sends its next request on a kept-open connection, it cannot know
// that a shutdown has begun.
func TestShutdownAnswersKeptConnections(t *testing.T) {
	server := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }))
	server.SetDrain(time.Minute) // long enough for any delay of the next request
	conn, err := net.Dial("tcp", server.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(2 * time.Minute))
	answers := bufio.NewReader(conn)
	ask := func() *http.Response {
		t.Helper()
		if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		res, err := http.ReadResponse(answers, nil)
		if err != nil {
			t.Fatalf("no answer: %v", err)
		}
		defer res.Body.Close()
		if _, err := io.ReadAll(res.Body); err != nil {
			t.Fatal(err)
		}
		return res
	}
	if res := ask(); res.Close {
		t.Error("the connection is not kept")
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Shutdown(t.Context()) }()
	limit := time.Now().Add(time.Minute)
	for { // wait until new connections are refused
		if time.Now().After(limit) {
			t.Fatal("new connections are still taken")
		}
		other, err := net.Dial("tcp", server.Addr())
		if err != nil {
			break
		}
		other.Close()
	}
	if res := ask(); res.StatusCode != http.StatusOK || !res.Close {
		t.Errorf("during the shutdown: status %d, last answer %t", res.StatusCode, res.Close)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// An HTTP/2 connection takes no further request once Part was called, and none is lost.
func TestPartEndsHTTP2Connections(t *testing.T) {
	t.Parallel()
	server, client := serveHTTP2(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	ask := func() (reused bool) {
		t.Helper()
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
			GotConn: func(got httptrace.GotConnInfo) { reused = got.Reused },
		})
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+server.Addr(), nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.ProtoMajor != 2 {
			t.Fatalf("the protocol is %s", res.Proto)
		}
		return reused
	}
	if ask(); !ask() {
		t.Fatal("the connection is not kept")
	}
	server.Part()
	for limit := time.Now().Add(time.Minute); ask(); {
		if time.Now().After(limit) {
			t.Fatal("the connection is kept")
		}
	}
	client.CloseIdleConnections()
	if err := server.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// A client that resets each request at once has no more of them worked on than the
// limit, and fewer at a time than it asks for.
func TestResetRequestsEndTheConnection(t *testing.T) {
	t.Parallel()
	var worked, at, most atomic.Int32
	server, _ := serveHTTP2(t, http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		worked.Add(1)
		for now := at.Add(1); now > most.Load(); {
			most.Store(now)
		}
		<-req.Context().Done()
		at.Add(-1)
	}))
	// net/http itself ends a connection with many requests that it has not begun.
	_, streams := httpdtest.Reset(t, server.Addr(), server.Addr(), "/", 500, func(sent int) {
		for limit := time.Now().Add(time.Second); worked.Load() == int32(sent) && time.Now().Before(limit); {
			time.Sleep(time.Millisecond)
		}
	})
	if streams != 32 || most.Load() > 32 || worked.Load() > 150 {
		t.Errorf("%d streams are allowed; %d requests at a time, %d in all", streams, most.Load(), worked.Load())
	}
}

// A client that sends no further request does not delay the shutdown.
func TestShutdownClosesIdleConnections(t *testing.T) {
	server := serve(t, http.NotFoundHandler())
	server.SetDrain(time.Millisecond)
	conn, err := net.Dial("tcp", server.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(2 * time.Minute))
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	answers := bufio.NewReader(conn)
	res, err := http.ReadResponse(answers, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(res.Body); err != nil || res.Close {
		t.Fatalf("the connection is not kept: %v", err)
	}
	if err := server.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := answers.ReadByte(); err != io.EOF {
		t.Errorf("the connection is open: %v", err)
	}
}

// A database that does not answer must not keep clients waiting for the sum of
// all deadlines of a request's transactions.
func TestRequestsHaveADeadline(t *testing.T) {
	const limit = 6 * time.Second
	e, _ := newEdge(t, &stub{}, func(cfg *httpd.Config) {
		cfg.Authenticate = func(c echo.Context) error {
			if by, ok := c.Request().Context().Deadline(); !ok || time.Until(by) > limit {
				t.Errorf("authentication: deadline %v, %t", by, ok)
			}
			return nil
		}
		cfg.Mounts = append(cfg.Mounts, func(e *echo.Echo) {
			e.GET("/page", func(c echo.Context) error {
				if by, ok := c.Request().Context().Deadline(); !ok || time.Until(by) > limit {
					t.Errorf("page: deadline %v, %t", by, ok)
				}
				return nil
			})
		})
	})
	for _, req := range []*http.Request{row{body: `{"target_age":18}`}.request(),
		httptest.NewRequest(http.MethodGet, "/page", nil)} {
		e.ServeHTTP(httptest.NewRecorder(), req)
	}
}

// slowListener delays the error of Accept after it was closed, to simulate the
// moment before the server notices.
type slowListener struct {
	net.Listener
	let chan struct{}
}

func (l slowListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.let
	}
	return conn, err
}

// A server may be closed before it notices that its listener is closed.
func TestShutdownClosesListenerOnce(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	slow := slowListener{listener, make(chan struct{})}
	server := httpd.NewServer(http.NotFoundHandler(), slow)
	served := make(chan error, 1)
	go func() { served <- server.Serve() }()
	conn, err := net.Dial("tcp", server.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(2 * time.Minute))
	if _, err := io.WriteString(conn, "GET / HTTP/1.0\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(conn); err != nil { // the server has served a request, and has no open connection now
		t.Fatal(err)
	}
	time.AfterFunc(100*time.Millisecond, func() { close(slow.let) })
	if err := server.Shutdown(t.Context()); err != nil {
		t.Errorf("shutdown: %v", err)
	}
	if err := <-served; err != nil {
		t.Errorf("serve: %v", err)
	}
	if err := server.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

// TestSlowDatabaseIsNotTheClientsFault: a valid body in a packet of its own is read,
// although the gateway took longer to authenticate than a client may take to send.
func TestSlowDatabaseIsNotTheClientsFault(t *testing.T) {
	t.Parallel()
	const patience = 300 * time.Millisecond
	began := make(chan struct{})
	e, _ := newEdge(t, &stub{}, func(cfg *httpd.Config) {
		cfg.Authenticate = func(echo.Context) error {
			close(began)
			time.Sleep(2 * patience)
			return nil
		}
	})
	server := httptest.NewUnstartedServer(e)
	server.Config.ReadTimeout = patience
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const body = `{"target_age":18}`
	_, _ = io.WriteString(conn, "POST /api/v1/sessions/create HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer svc_test_x\r\n"+
		"Content-Type: application/json\r\nContent-Length: "+strconv.Itoa(len(body))+"\r\n\r\n")
	server.Start() // the head is there before its time begins
	defer server.Close()
	<-began
	_, _ = io.WriteString(conn, body)
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode >= 400 {
		t.Errorf("status %d", res.StatusCode)
	}
}
