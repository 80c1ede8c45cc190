package app_test

import (
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"agegate/internal/gatewaytest"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// TestTraces: a collector gets the spans of requests, of the database and of webhooks; a request of a trusted proxy
// continues the proxy's trace, and nothing that is sent is a secret or a link.
func TestTraces(t *testing.T) {
	collector := newCollector(t)
	g := gatewaytest.Start(t, gatewaytest.SQLite(t), "OTEL_EXPORTER_OTLP_ENDPOINT="+collector.URL+"/otlp",
		"OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20canary", "AGEGATE_TRUSTED_PROXIES=127.0.0.0/8")
	receiver := gatewaytest.NewReceiver(t)
	shop := g.Shop(t, receiver.URL, nil)
	made := g.Create(t, shop.Test.APIKey, 18)
	g.Force(t, gatewaytest.Browser(), made, "verified")
	receiver.Wait(t, 1)
	const traceID = "4bf92f3577b34da6a3ce929d0e0e4736"
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
		g.URL+"/api/v1/sessions/"+made.SessionID+"/status", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-API-Key", shop.Test.APIKey)
	req.Header.Set("traceparent", "00-"+traceID+"-00f067aa0ba902b7-01")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	for _, path := range []string{"/v/canary", "/api/v1/sessions/canary/status?canary=canary", "/canary"} {
		hostile, err := http.NewRequestWithContext(t.Context(), "CANARY", g.URL+path, strings.NewReader("canary"))
		if err != nil {
			t.Fatal(err)
		}
		for _, header := range []string{"User-Agent", "X-API-Key", "X-Request-ID", "traceparent", "tracestate", "baggage"} {
			hostile.Header.Set(header, "canary")
		}
		if res, err := http.DefaultClient.Do(hostile); err == nil {
			_ = res.Body.Close()
		}
	}
	g.Stop() // sends what waits

	const status = "GET /api/v1/sessions/:session_id/status"
	for _, name := range []string{"POST /api/v1/sessions/create", "GET /v/:token", status, "webhook attempt"} {
		if collector.named(name) == nil {
			t.Errorf("there is no span %q among %v", name, collector.names())
		}
	}
	if collector.named("GET /healthz") != nil {
		t.Error("probes have spans")
	}
	asked := collector.named(status)
	if asked == nil || hex.EncodeToString(asked.TraceId) != traceID {
		t.Fatalf("the proxy's trace is not continued: %v", asked)
	}
	if !slices.ContainsFunc(collector.spans, func(s *tracepb.Span) bool {
		return s.Name == "database Standings" && string(s.ParentSpanId) == string(asked.SpanId)
	}) {
		t.Errorf("the database has no span below the request's: %v", collector.names())
	}
	collector.namesWork(t)
	if about := fmt.Sprint(asked.Attributes); !strings.Contains(about, made.SessionID) ||
		!strings.Contains(about, shop.Tenant.ID.String()) {
		t.Errorf("the span does not name session and tenant: %s", about)
	}
	if log := g.Log.String(); !strings.Contains(log, "trace_id="+traceID) || strings.Contains(log, "canary") ||
		strings.Contains(log, collector.URL) {
		t.Error("the log has no trace_id, or the collector's address or token")
	}
	_, link, _ := strings.Cut(made.VerificationURL, "/v/")
	sent := fmt.Sprint(collector.spans, collector.resources)
	for _, secret := range []string{link, shop.Test.APIKey, shop.Test.WebhookSecret, receiver.URL, "127.0.0.1", "canary",
		"CANARY"} {
		if strings.Contains(sent, secret) {
			t.Errorf("the spans hold a secret, a link or an address")
		}
	}
	if !strings.Contains(sent, `"agegate"`) || collector.refused > 0 {
		t.Errorf("the service has no name, or %d uploads were wrong: %v", collector.refused, collector.resources)
	}
}

// TestTracesLost: a collector that fails changes nothing but the log, which does not have its address.
func TestTracesLost(t *testing.T) {
	failing := httptest.NewServer(http.NotFoundHandler())
	defer failing.Close()
	for _, at := range []string{failing.URL + "/canary", "http://127.0.0.1:1/canary"} {
		g := gatewaytest.Start(t, gatewaytest.SQLite(t), "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="+at)
		g.Create(t, g.Shop(t, "", nil).Test.APIKey, 18)
		g.Stop()
		if log := g.Log.String(); !strings.Contains(log, "traces were lost") || strings.Contains(log, "canary") {
			t.Errorf("the log:\n%s", log)
		}
	}
}

// TestEndsInTime: neither a collector nor a receiver of webhooks that accepts connections
// and never answers keeps a process for longer than ten seconds.
func TestEndsInTime(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	at := "http://" + silent.Addr().String()
	g := gatewaytest.Start(t, gatewaytest.SQLite(t), "OTEL_EXPORTER_OTLP_ENDPOINT="+at, "OTEL_BSP_SCHEDULE_DELAY=50",
		"AGEGATE_LAME_DUCK=0s", "AGEGATE_DRAIN=0s")
	g.Force(t, gatewaytest.Browser(), g.Create(t, g.Shop(t, at, nil).Test.APIKey, 18), "verified")
	time.Sleep(500 * time.Millisecond) // so that an upload and an attempt run
	asked := time.Now()
	g.Stop()
	if took := time.Since(asked); took > 10*time.Second {
		t.Errorf("it ended after %s", took)
	}
	if log := g.Log.String(); !strings.Contains(log, "the last traces were lost") {
		t.Errorf("the log:\n%s", log)
	}
}

// namesWork checks that spans of the database say for what they are, and that the attempt
// of a webhook is linked to the trace of the session's end.
func (c *otlpCollector) namesWork(t *testing.T) {
	t.Helper()
	for _, s := range c.spans {
		if name, ok := strings.CutPrefix(s.Name, "database"); ok && (s.Kind != tracepb.Span_SPAN_KIND_CLIENT ||
			!operation.MatchString(name) || !strings.Contains(fmt.Sprint(s.Attributes), "db.operation.name")) {
			t.Errorf("a span of the database does not say what it does: %v", s)
		}
	}
	attempt, decided := c.named("webhook attempt"), c.named("database Resolve")
	if attempt.Kind != tracepb.Span_SPAN_KIND_CLIENT || len(attempt.Links) != 1 || decided == nil ||
		string(attempt.Links[0].TraceId) != string(decided.TraceId) {
		t.Errorf("the attempt is no call that is linked to the session's trace: %v, %v", attempt, c.names())
	}
}

// operation is what a database's span is named after: a function.
var operation = regexp.MustCompile(`^ [A-Za-z]{4,}$`)

// otlpCollector receives spans as a collector does.
type otlpCollector struct {
	*httptest.Server
	mu        sync.Mutex
	spans     []*tracepb.Span
	resources []string
	refused   int
}

func newCollector(t *testing.T) *otlpCollector {
	t.Helper()
	c := &otlpCollector{}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

// ServeHTTP implements http.Handler.
func (c *otlpCollector) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var sent tracepb.TracesData
	body, err := io.ReadAll(req.Body)
	if err != nil || proto.Unmarshal(body, &sent) != nil || req.URL.Path != "/otlp/v1/traces" ||
		req.Header.Get("Authorization") != "Bearer canary" || req.Header.Get("Content-Type") != "application/x-protobuf" {
		c.refused++
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	for _, of := range sent.ResourceSpans {
		c.resources = append(c.resources, fmt.Sprint(of.Resource))
		for _, scope := range of.ScopeSpans {
			c.spans = append(c.spans, scope.Spans...)
		}
	}
}

func (c *otlpCollector) named(name string) *tracepb.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.IndexFunc(c.spans, func(s *tracepb.Span) bool { return s.Name == name }); i >= 0 {
		return c.spans[i]
	}
	return nil
}

func (c *otlpCollector) names() (names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		names = append(names, s.Name)
	}
	return names
}
