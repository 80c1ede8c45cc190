package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

// shortTimeout is the timeout of attempts in tests with a receiver that does not
// answer.
const shortTimeout = 300 * time.Millisecond

func post(t testing.TB, c *Client, url string) Answer {
	t.Helper()
	return c.Post(t.Context(), url, sign(t, time.Now(), vectorBody, vectorKey()), []byte(vectorBody))
}

func TestClientSendsTheDelivery(t *testing.T) {
	var got *http.Request
	var body []byte
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		w.WriteHeader(http.StatusNoContent)
	}))
	defer receiver.Close()
	answer := post(t, NewClient(loopback, nil), receiver.URL+"/hook?shop=1")
	if answer.Class != ClassDelivered || answer.StatusCode != 204 || answer.Latency <= 0 {
		t.Fatalf("answer %+v", answer)
	}
	if got.Method != http.MethodPost || got.RequestURI != "/hook?shop=1" || string(body) != vectorBody ||
		got.Header.Get("Content-Type") != "application/json" {
		t.Fatalf("%s %s %v\n%s", got.Method, got.RequestURI, got.Header, body)
	}
	library, err := standardwebhooks.NewWebhookRaw(vectorKey())
	if err == nil {
		err = library.Verify(body, got.Header)
	}
	if err != nil {
		t.Fatalf("what arrived does not verify: %v", err)
	}
}

func TestClientAnswers(t *testing.T) {
	hang := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	for name, tc := range map[string]struct {
		handler http.HandlerFunc
		class   Class
		status  int
		after   time.Duration
		excerpt string
	}{
		"200": {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "thanks") }, ClassDelivered, 200, 0,
			"thanks"},
		"500": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "oh", 500) }, ClassStatus, 500, 0, "oh\n"},
		"410": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(410) }, ClassStatus, 410, 0, ""},
		"429": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "90")
			w.WriteHeader(429)
		}, ClassStatus, 429, 90 * time.Second, ""},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/followed" {
				t.Error("the redirect was followed")
			}
			w.Header().Set("Location", "/followed")
			w.WriteHeader(307)
		}, ClassRedirect, 307, 0, ""},
		"redirect to nowhere": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(302) }, ClassRedirect, 302, 0,
			""},
		"redirect to no URL": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "://%zz")
			w.WriteHeader(302)
		}, ClassRedirect, 302, 0, ""},
		"switches protocols": {func(w http.ResponseWriter, r *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n")
			_, _ = io.Copy(io.Discard, conn) // sends nothing more until the client disconnects
		}, ClassStatus, 101, 0, ""},
		"hangs":  {hang, ClassTimeout, 0, 0, ""},
		"resets": {func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) }, ClassConnect, 0, 0, ""},
		"endless body": {func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := w.Write(bytes.Repeat([]byte("x"), 4096)); err != nil {
					return
				}
			}
		}, ClassDelivered, 200, 0, strings.Repeat("x", 1024)},
		"slow body": {func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, "so far")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, ClassDelivered, 200, 0, "so far"},
		"huge header": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Huge", strings.Repeat("x", 64<<10))
		}, ClassConnect, 0, 0, ""},
		"compressed": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			io.WriteString(w, "\x1f\x8b not really")
		}, ClassDelivered, 200, 0, "\x1f\x8b not really"},
	} {
		t.Run(name, func(t *testing.T) {
			receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body) // the server sees a client leave only after its body
				tc.handler(w, r)
			}))
			defer receiver.Close()
			timeout := AttemptTimeout
			if tc.class == ClassTimeout {
				timeout = shortTimeout
			}
			answer := post(t, newClient(newDialer(loopback, nil), timeout), receiver.URL)
			if answer.Class != tc.class || answer.StatusCode != tc.status || answer.RetryAfter != tc.after ||
				string(answer.Excerpt) != tc.excerpt {
				t.Fatalf("class %s, status %d, retry after %s, excerpt %.40q", answer.Class, answer.StatusCode, answer.RetryAfter,
					answer.Excerpt)
			}
		})
	}
}

// The same rules apply to HTTP/2: each attempt opens a connection, so each is
// checked.
func TestClientOverHTTP2(t *testing.T) {
	var connections atomic.Int32
	receiver := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			t.Errorf("sent by %s", r.Proto)
		}
		_, _ = io.Copy(io.Discard, r.Body)
		switch r.URL.Path {
		case "/hang":
			<-r.Context().Done()
		case "/huge":
			w.Header().Set("X-Huge", strings.Repeat("x", 64<<10))
		case "/endless":
			for r.Context().Err() == nil {
				_, _ = w.Write(bytes.Repeat([]byte("x"), 4096))
			}
		}
	}))
	receiver.EnableHTTP2 = true
	receiver.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	receiver.StartTLS()
	defer receiver.Close()
	client := func(timeout time.Duration) *Client {
		c := newClient(newDialer(loopback, nil), timeout)
		roots := x509.NewCertPool()
		roots.AddCert(receiver.Certificate())
		c.transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: roots}
		return c
	}
	patient := client(AttemptTimeout)
	for path, want := range map[string]Class{"/": ClassDelivered, "/again": ClassDelivered, "/huge": ClassConnect,
		"/endless": ClassDelivered} {
		if answer := post(t, patient, receiver.URL+path); answer.Class != want || len(answer.Excerpt) > excerptBytes {
			t.Errorf("%s: class %s, %d bytes of answer", path, answer.Class, len(answer.Excerpt))
		}
	}
	if n := connections.Load(); n != 4 {
		t.Errorf("%d connections for 4 attempts", n)
	}
	if answer := post(t, client(shortTimeout), receiver.URL+"/hang"); answer.Class != ClassTimeout {
		t.Errorf("hanging: class %s", answer.Class)
	}
}

// A proxy would connect where the guard forbids.
func TestClientUsesNoProxy(t *testing.T) {
	if NewClient(nil, nil).transport.(*http.Transport).Proxy != nil {
		t.Error("a proxy may come from the environment")
	}
}

func TestClientTransportFailures(t *testing.T) {
	untrusted := httptest.NewTLSServer(http.NotFoundHandler())
	defer untrusted.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()

	dialer := newDialer(loopback, nil)
	dialer.Resolver = resolver(t, func(string, bool) []netip.Addr { return nil })
	client := newClient(dialer, AttemptTimeout)
	for url, want := range map[string]Class{
		untrusted.URL: ClassTLS,
		strings.Replace(plain.URL, "http:", "https:", 1): ClassTLS,
		"http://127.0.0.1:1/":                            ClassConnect,
		"http://no-such-name.test/":                      ClassDNS,
		"http://10.0.0.1/":                               ClassBlocked,
		"gopher://127.0.0.1/":                            ClassConnect,
		"://":                                            ClassConnect,
	} {
		if answer := post(t, client, url); answer.Class != want || answer.StatusCode != 0 {
			t.Errorf("%s: class %s, want %s", url, answer.Class, want)
		}
	}
}

func TestClientCancelled(t *testing.T) {
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	defer receiver.Close()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if answer := NewClient(loopback, nil).Post(ctx, receiver.URL, http.Header{}, nil); answer.Class != ClassTimeout {
		t.Fatalf("class %s", answer.Class)
	}
}

func TestClientGets(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/list":
			io.WriteString(w, r.Header.Get("Accept"))
		case "/moved":
			http.Redirect(w, r, "/list", http.StatusFound)
		case "/long":
			io.WriteString(w, "123456789")
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer server.Close()
	for _, tt := range []struct {
		client *Client
		path   string
		want   string // empty: an error
	}{
		{NewClient(loopback, nil), "/list", "text/x"},
		{NewClient(loopback, nil), "/moved", ""},
		{NewClient(loopback, nil), "/long", ""},
		{NewClient(loopback, nil), "/missing", ""},
		{NewClient(nil, nil), "/list", ""}, // not a public address
	} {
		got, err := tt.client.Get(t.Context(), server.URL+tt.path, "text/x", 8)
		if (err == nil) != (tt.want != "") || string(got) != tt.want && err == nil {
			t.Errorf("%s: %q, %v", tt.path, got, err)
		}
	}
}
