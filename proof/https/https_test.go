// Package https lets the gateway order certificates from an ACME directory and
// serve with them.
package https

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"agegate/internal/gatewaytest"
	"agegate/internal/store/pgtest"
	"agegate/proof/https/directory"
	"agegate/proof/table"
)

const host = "age.example.test"

// world is a test's own directory, and what stands at port 80 of every host.
type world struct {
	*directory.Directory
	web  atomic.Pointer[http.Handler]
	fail atomic.Int32 // if not 0, the directory answers an order with this status
	seen atomic.Int64 // requests at the directory
}

func TestMain(m *testing.M) { os.Exit(run(m)) }

// run makes this process trust the directories, which all have one certificate, before
// anything else reads the roots. The tests wait more than they compute, so all run
// side by side.
func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "agegate-https-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	first, err := directory.Start(dir, 1, nil)
	if err != nil {
		log.Fatal(err)
	}
	first.Close()
	if err := os.Setenv("SSL_CERT_FILE", first.Trust); err != nil {
		log.Fatal(err)
	}
	flag.Parse()
	table.SideBySide(16)
	return m.Run()
}

// newWorld starts a directory. Tests call it before t.Parallel: the ports that it finds
// free are then taken by nobody else.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{}
	front := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		(*w.web.Load()).ServeHTTP(rw, r)
	}))
	nothing := http.NotFoundHandler()
	w.web.Store(&nothing)
	var err error
	w.Directory, err = directory.Start(t.TempDir(), front.Listener.Addr().(*net.TCPAddr).Port, w.around)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	t.Cleanup(front.CloseClientConnections)
	return w
}

// around counts the requests, and lets orders fail.
func (w *world) around(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.seen.Add(1)
		status := int(w.fail.Load())
		if status == 0 || !strings.Contains(r.URL.Path, "order") {
			next.ServeHTTP(rw, r)
			return
		}
		rw.Header().Set("Retry-After", "7200")
		rw.Header().Set("Content-Type", "application/problem+json")
		rw.WriteHeader(status)
		fmt.Fprint(rw, `{"type":"urn:ietf:params:acme:error:rateLimited","detail":"<canary>"}`)
	})
}

var settings = []string{
	"AGEGATE_TLS=acme", "AGEGATE_HTTP_LISTEN=127.0.0.1:0", "AGEGATE_BASE_URL=https://" + host,
	"AGEGATE_VERIFY_URL=https://" + host, "AGEGATE_DASHBOARD_URL=https://" + host, "AGEGATE_METRICS_LISTEN=127.0.0.1:0",
}

// start runs a gateway that orders from the directory.
func (w *world) start(t *testing.T, db string, more ...string) *gatewaytest.Gateway {
	t.Helper()
	all := append(append([]string{}, settings...), "AGEGATE_ACME_DIRECTORY="+w.URL)
	return gatewaytest.Start(t, db, append(all, more...)...)
}

// listener returns the address at which a gateway serves something.
func listener(t *testing.T, g *gatewaytest.Gateway, what string) string {
	t.Helper()
	return await(t, "the listener of "+what, func() string {
		if m := regexp.MustCompile(`msg="serving` + what + `" address=(\S+)`).FindStringSubmatch(g.Log.String()); m != nil {
			return m[1]
		}
		return ""
	})
}

func await[T comparable](t *testing.T, what string, look func() T) T {
	t.Helper()
	var none T
	for limit := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if found := look(); found != none {
			return found
		}
		if time.Now().After(limit) {
			t.Fatalf("%s: not within two minutes", what)
		}
	}
}

// behind leads what arrives at port 80 to gateways in turn.
func (w *world) behind(t *testing.T, gateways ...*gatewaytest.Gateway) {
	t.Helper()
	var proxies []http.Handler
	for _, g := range gateways {
		to := listener(t, g, " redirects to https")
		proxies = append(proxies, &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: to})
			r.Out.Host = r.In.Host
		}})
	}
	var turn atomic.Int64
	handler := http.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proxies[int(turn.Add(1))%len(proxies)].ServeHTTP(w, r)
	}))
	w.web.Store(&handler)
}

// client connects to a gateway by the host's name, and trusts the directory alone.
func (w *world) client(g *gatewaytest.Gateway) *http.Client {
	return &http.Client{Transport: &http.Transport{
		ForceAttemptHTTP2: true, DisableKeepAlives: true,
		TLSClientConfig: &tls.Config{RootCAs: w.Roots, MinVersion: tls.VersionTLS12},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, g.App.Addr())
		},
	}}
}

// served waits until a gateway serves https.
func (w *world) served(t *testing.T, g *gatewaytest.Gateway) *http.Response {
	t.Helper()
	return await(t, "https", func() *http.Response {
		res, err := w.client(g).Get("https://" + host + "/healthz")
		if err != nil {
			return nil
		}
		_ = res.Body.Close()
		return res
	})
}

// TestReplicas: two replicas have one certificate, whose challenge either answers;
// both serve it over HTTP/2, also after a restart, without another order.
func TestReplicas(t *testing.T) {
	w := newWorld(t)
	t.Parallel()
	db := pgtest.URL(t)
	key := "AGEGATE_SECRET_KEY=AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
	a := w.start(t, db, key)
	b := w.start(t, db, key)
	w.behind(t, a, b)
	first := w.served(t, a)
	second := w.served(t, b)
	if first.Proto != "HTTP/2.0" || first.TLS.Version != tls.VersionTLS13 {
		t.Errorf("%s by TLS %x", first.Proto, first.TLS.Version)
	}
	if !first.TLS.PeerCertificates[0].Equal(second.TLS.PeerCertificates[0]) {
		t.Error("the replicas have different certificates")
	}
	a.Stop()
	a = w.start(t, db, key)
	w.behind(t, a, b)
	if third := w.served(t, a); !first.TLS.PeerCertificates[0].Equal(third.TLS.PeerCertificates[0]) {
		t.Error("another certificate after a restart")
	}
	if n := w.Issued(); n != 1 {
		t.Errorf("%d certificates were ordered", n)
	}
	want := fmt.Sprintf(`agegate_tls_certificate_end_timestamp_seconds{host=%q} %v`, host,
		float64(first.TLS.PeerCertificates[0].NotAfter.Unix()))
	if text := get(t, "http://"+listener(t, a, " metrics")+"/metrics", ""); !strings.Contains(text, want) {
		t.Errorf("no %s in the metrics", want)
	}
	// A third of its life before its end it is ordered again.
	a.Clock.Advance(61 * 24 * time.Hour)
	await(t, "renewal", func() bool { return w.Issued() == 2 })
	await(t, "the renewed certificate on the other replica", func() bool {
		return !w.served(t, b).TLS.PeerCertificates[0].Equal(first.TLS.PeerCertificates[0])
	})
}

// TestLostKey: with another secret key, the gateway makes a new account and orders new
// certificates.
func TestLostKey(t *testing.T) {
	w := newWorld(t)
	t.Parallel()
	db := gatewaytest.SQLite(t)
	g := w.start(t, db, "AGEGATE_SECRET_KEY=AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
	w.behind(t, g)
	first := w.served(t, g)
	g.Stop()
	g = w.start(t, db, "AGEGATE_SECRET_KEY=BBECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
	w.behind(t, g)
	if w.served(t, g).TLS.PeerCertificates[0].Equal(first.TLS.PeerCertificates[0]) || w.Issued() != 2 {
		t.Errorf("%d certificates were ordered", w.Issued())
	}
	if log := g.Log.String(); !strings.Contains(log, "a certificate cannot be used") {
		t.Error("the log does not say why")
	}
}

// TestStrangersCauseNothing: neither names in handshakes nor paths on port 80 make
// the gateway order or say anything.
func TestStrangersCauseNothing(t *testing.T) {
	w := newWorld(t)
	t.Parallel()
	g := w.start(t, gatewaytest.SQLite(t))
	w.behind(t, g)
	w.served(t, g)
	orders, requests := w.Issued(), w.seen.Load()
	for i := range 500 {
		for _, name := range []string{fmt.Sprintf("n%d.example.test", i), fmt.Sprintf("n%d.%s", i, host), "", "127.0.0.1"} {
			for _, protocol := range []string{"http/1.1", "acme-tls/1"} {
				c, err := tls.Dial("tcp", g.App.Addr(), &tls.Config{
					ServerName: name, InsecureSkipVerify: true, NextProtos: []string{protocol}})
				if err == nil {
					_ = c.Close()
					t.Fatalf("a handshake for %q succeeds", name)
				}
			}
		}
	}
	plain := listener(t, g, " redirects to https")
	for i := range 200 {
		text := get(t, fmt.Sprintf("http://%s/.well-known/acme-challenge/%d", plain, i), host)
		if !strings.HasPrefix(text, "404 ") {
			t.Fatalf("an unknown challenge is answered %s", text)
		}
	}
	if w.Issued() != orders || w.seen.Load() != requests {
		t.Errorf("%d orders and %d requests at the directory", w.Issued()-orders, w.seen.Load()-requests)
	}
	w.served(t, g)
}

// TestDirectoryFails: an order that fails is tried again later, not at once, and
// the log says why in words of the gateway's own.
func TestDirectoryFails(t *testing.T) {
	worlds := []*world{newWorld(t), newWorld(t), newWorld(t)}
	t.Parallel()
	for name, row := range map[string]struct {
		status int32
		url    string
		reason string
		wait   time.Duration
	}{
		"rate limited": {status: http.StatusTooManyRequests, reason: "the directory's limit of orders is reached",
			wait: 2 * time.Hour},
		"down": {url: "https://127.0.0.1:1/dir", wait: time.Minute,
			reason: "the directory does not answer, or the gateway does not trust its certificate"},
		"nothing at port 80": {wait: time.Minute, reason: "another server than this gateway answers on port 80 of the host"},
	} {
		w := worlds[0]
		worlds = worlds[1:]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w.fail.Store(row.status)
			more := []string{}
			if row.url != "" {
				more = append(more, "AGEGATE_ACME_DIRECTORY="+row.url)
			}
			g := w.start(t, gatewaytest.SQLite(t), more...)
			want := fmt.Sprintf(`reason=%q next_in=%s`, row.reason, row.wait)
			await(t, "the failure in the log", func() bool { return strings.Contains(g.Log.String(), want) })
			if strings.Contains(g.Log.String(), "canary") {
				t.Error("the log has words of the directory")
			}
			requests := w.seen.Load()
			g.Clock.Advance(row.wait - 40*time.Second)
			time.Sleep(20 * time.Second) // the gateway looks every 15
			if w.seen.Load() != requests {
				t.Error("it was tried again too early")
			}
			if _, err := w.client(g).Get("https://" + host + "/healthz"); err == nil {
				t.Error("it serves https without a certificate")
			}
			// Afterwards it succeeds.
			w.fail.Store(0)
			if row.url == "" {
				w.behind(t, g)
				g.Clock.Advance(40 * time.Second)
				w.served(t, g)
			}
		})
	}
}

// TestPlain: only the hosts of the configured addresses are led to https, and only
// to themselves.
func TestPlain(t *testing.T) {
	w := newWorld(t)
	t.Parallel()
	g := w.start(t, gatewaytest.SQLite(t))
	w.behind(t, g)
	w.served(t, g)
	plain := listener(t, g, " redirects to https")
	for _, row := range []struct{ request, host, want string }{
		{"GET /v/x?a=1&b=%20 HTTP/1.1", host, "301 https://" + host + "/v/x?a=1&b=%20"},
		{"HEAD / HTTP/1.1", "AGE.example.test:80", "301 https://" + host + "/"},
		{"GET //evil.example/x HTTP/1.1", host, "301 https://" + host + "//evil.example/x"},
		{"GET /%2f%0d%0aSet-Cookie:x HTTP/1.1", host, "301 https://" + host + "/%2f%0d%0aSet-Cookie:x"},
		{"GET x:.evil.example HTTP/1.1", host, "301 https://" + host},
		{"GET http://evil.example/ HTTP/1.1", host, "421"},
		{"GET / HTTP/1.1", "evil.example", "421"},
		{"GET / HTTP/1.1", host + ".evil.example", "421"},
		{"GET / HTTP/1.1", "127.0.0.1", "421"},
		{"GET /.well-known/acme-challenge/x HTTP/1.1", "evil.example", "421"},
		{"GET /.well-known/acme-challenge/ HTTP/1.1", host, "404"},
		{"POST /v/x HTTP/1.1", host, "403"},
		{"GET /api/v1/sessions/x/status HTTP/1.1", host, "403"},
	} {
		got, err := raw(plain, row.request+"\r\nHost: "+row.host+"\r\nConnection: close\r\n\r\n")
		if err != nil || got != row.want {
			t.Errorf("%s at %s: %s, %v, want %s", row.request, row.host, got, err, row.want)
		}
	}
}

// TestEndsInOrder: a gateway ends at once though its order hangs.
func TestEndsInOrder(t *testing.T) {
	w := newWorld(t)
	t.Parallel()
	hang, asked := make(chan struct{}), make(chan struct{})
	defer close(hang)
	var once atomic.Bool
	handler := http.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if once.CompareAndSwap(false, true) {
			close(asked)
		}
		<-hang
	}))
	w.web.Store(&handler)
	g := w.start(t, gatewaytest.SQLite(t))
	select {
	case <-asked:
	case <-time.After(2 * time.Minute):
		t.Fatal("no order")
	}
	began := time.Now()
	g.Stop()
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it took %s to end", took)
	}
}

// raw sends a request and returns the status with the Location.
func raw(address, request string) (string, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, request); err != nil {
		return "", err
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(fmt.Sprint(res.StatusCode, " ", res.Header.Get("Location"))), nil
}

// get returns the status and the body of an answer.
func get(t *testing.T, url, host string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = host
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(res.Body)
	if err := errors.Join(err, res.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(res.StatusCode, " ", string(body))
}
