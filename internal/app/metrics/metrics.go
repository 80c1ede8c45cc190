// Package metrics provides the gateway's Prometheus metrics. There is none for
// expiry, because sessions expire without an event.
package metrics

import (
	"cmp"
	"context"
	"database/sql"
	"net/http"
	"runtime"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"agegate/internal/rules/fault"
	"agegate/internal/store"
)

// scrapeTime bounds the queries of one scrape.
const scrapeTime = 2 * time.Second

// Metrics are the gateway's counters. They are safe for concurrent use.
type Metrics struct {
	registry  *prometheus.Registry
	requests  *prometheus.HistogramVec
	sessions  *prometheus.CounterVec
	documents *prometheus.CounterVec
	attempts  *prometheus.CounterVec
	checks    *prometheus.CounterVec
	inference prometheus.Histogram
}

// New returns metrics with the process's own collectors registered. For the given session statuses, events of a
// document check (way and outcome), webhook classes and ends of a camera check, the counters begin at zero, in both
// modes. Otherwise Prometheus would miss the first increase, because it sees none in the first sample of a series.
func New(statuses []string, documents [][2]string, classes, ends []string) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "agegate_http_request_duration_seconds",
			Help:    "Time to answer a request, by method, route pattern and status.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5},
		}, []string{"method", "route", "status"}),
		sessions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "agegate_sessions_total",
			Help: "Sessions that entered a status, by status and mode.",
		}, []string{"status", "mode"}),
		documents: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "agegate_document_checks_total",
			Help: "What happened in document checks, by way (none where there is none), outcome and mode. Documents refused " +
				"are counted one by one.",
		}, []string{"way", "outcome", "mode"}),
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "agegate_webhook_attempts_total",
			Help: "Webhook attempts, by result class and mode.",
		}, []string{"class", "mode"}),
		checks: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "agegate_checks_total",
			Help: "Camera checks of live sessions, by how they ended.",
		}, []string{"ended"}),
		inference: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "agegate_frame_duration_seconds",
			Help:    "Time to process one camera frame, including the wait for a worker.",
			Buckets: []float64{.005, .01, .02, .03, .05, .1, .15, .25, .5, 1},
		}),
	}
	m.registry.MustRegister(m.requests, m.sessions, m.documents, m.attempts, m.checks, m.inference,
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "agegate_panics_total", Help: "Panics that were recovered. Each is in the log, with its stack.",
		}, func() float64 { return float64(fault.Panics()) }),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	for _, ended := range ends {
		m.checks.WithLabelValues(ended)
	}
	for _, livemode := range []bool{false, true} {
		for _, status := range statuses {
			m.sessions.WithLabelValues(status, mode(livemode))
		}
		for _, event := range documents {
			m.documents.WithLabelValues(wayLabel(event[0]), event[1], mode(livemode))
		}
		for _, class := range classes {
			m.attempts.WithLabelValues(class, mode(livemode))
		}
	}
	return m
}

// Request counts an answered request. method and route must come from closed sets, never from the client.
func (m *Metrics) Request(method, route string, status int, took time.Duration) {
	m.requests.WithLabelValues(method, route, strconv.Itoa(status)).Observe(took.Seconds())
}

// Session counts a session that entered a status.
func (m *Metrics) Session(status string, livemode bool) {
	m.sessions.WithLabelValues(status, mode(livemode)).Inc()
}

// Document counts an outcome in a document check; the way may be empty.
func (m *Metrics) Document(way, outcome string, livemode bool) {
	m.documents.WithLabelValues(wayLabel(way), outcome, mode(livemode)).Inc()
}

func wayLabel(way string) string { return cmp.Or(way, "none") }

// WebhookAttempt counts a webhook attempt.
func (m *Metrics) WebhookAttempt(class string, livemode bool) {
	m.attempts.WithLabelValues(class, mode(livemode)).Inc()
}

// Check counts a camera check of a live session by how it ended.
func (m *Metrics) Check(ended string) { m.checks.WithLabelValues(ended).Inc() }

// Frame records the time that a camera frame took.
func (m *Metrics) Frame(took time.Duration) { m.inference.Observe(took.Seconds()) }

// Handler serves the metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry})
}

func mode(livemode bool) string {
	if livemode {
		return "live"
	}
	return "test"
}

// report passes the value of a gauge to the scrape that reads it.
type report func(gauge *prometheus.Desc, value float64, labels ...string)

// scraped collects gauges whose values are read for each scrape.
type scraped struct {
	gauges []*prometheus.Desc
	read   func(context.Context, report)
}

// Describe implements prometheus.Collector.
func (s *scraped) Describe(out chan<- *prometheus.Desc) {
	for _, gauge := range s.gauges {
		out <- gauge
	}
}

// Collect implements prometheus.Collector.
func (s *scraped) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTime)
	defer cancel()
	s.read(ctx, func(gauge *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(gauge, prometheus.GaugeValue, value, labels...)
	})
}

// watch publishes gauges that read reports. The scrape omits those that it does not report.
func (m *Metrics) watch(read func(context.Context, report), gauges ...*prometheus.Desc) {
	m.registry.MustRegister(&scraped{gauges, read})
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

// WatchQueue publishes the state of the webhook outbox: how many deliveries are pending and how long the oldest due one
// has been due. If reading it fails, the scrape omits these metrics.
func (m *Metrics) WatchQueue(read func(context.Context) (pending int64, oldestDue time.Duration, err error)) {
	depth := describe("agegate_webhook_queue_depth", "Webhook deliveries that are pending.")
	oldest := describe("agegate_webhook_oldest_due_seconds", "How long the oldest due webhook delivery has waited.")
	m.watch(func(ctx context.Context, tell report) {
		if pending, due, err := read(ctx); err == nil {
			tell(depth, float64(pending))
			tell(oldest, due.Seconds())
		}
	}, depth, oldest)
}

// Trust is the state of what wallets' checks depend on.
type Trust struct {
	Ending  map[string]int // of each kind, how many end soon or have ended
	Failing int            // published lists whose last update failed
}

// WatchTrust publishes the state of what wallets' checks depend on. If reading it
// fails, the scrape omits these metrics.
func (m *Metrics) WatchTrust(read func(context.Context) (Trust, error)) {
	ending := describe("agegate_trust_ending",
		"Published lists (list), their pinned certificates (signer), issuers' certificates (issuer), own certificates "+
			"(verifier) and registration certificates (registration) that end within 14 days or have ended.", "of")
	failing := describe("agegate_trust_lists_failing", "Published lists of issuers whose last update failed.")
	m.watch(func(ctx context.Context, tell report) {
		trust, err := read(ctx)
		if err != nil {
			return
		}
		for of, n := range trust.Ending {
			tell(ending, float64(n), of)
		}
		tell(failing, float64(trust.Failing))
	}, ending, failing)
}

// WatchStanding publishes how well the database is protected. The scrape omits what is not known, or could not be read.
func (m *Metrics) WatchStanding(read func(context.Context) (store.Standing, error)) {
	failing := describe("agegate_database_archive_failing",
		"1 if the last attempt of PostgreSQL to archive its log failed, otherwise 0.")
	standbys := describe("agegate_database_standbys", "Standbys that follow the database's server.")
	lag := describe("agegate_database_replication_lag_bytes", "How much of the log the slowest standby has not replayed.")
	backup := describe("agegate_database_last_backup_timestamp_seconds",
		"When the last known backup of the database ended; 0: none is known.")
	m.watch(func(ctx context.Context, tell report) {
		s, err := read(ctx)
		if err != nil {
			return
		}
		tell(backup, float64(max(cmp.Or(s.LastBackup, &time.Time{}).Unix(), 0)))
		if !s.Server {
			return
		}
		if s.ArchiveFailing {
			tell(failing, 1)
		} else {
			tell(failing, 0)
		}
		if s.Visible {
			tell(standbys, float64(s.Standbys))
			tell(lag, float64(s.LagBytes))
		}
	}, failing, standbys, lag, backup)
}

// WatchCertificates publishes, by host, the expiry of the certificates with which the
// process itself serves https. A host without a certificate has 0.
func (m *Metrics) WatchCertificates(ends func() map[string]time.Time) {
	end := describe("agegate_tls_certificate_end_timestamp_seconds",
		"When the certificate for a host ends; 0: there is none.", "host")
	m.watch(func(_ context.Context, tell report) {
		for host, at := range ends() {
			tell(end, float64(max(at.Unix(), 0)), host)
		}
	}, end)
}

// WatchDatabase publishes the state of the connection pool.
func (m *Metrics) WatchDatabase(stats func() sql.DBStats) {
	m.gauge("agegate_database_connections_in_use", "Database connections in use.",
		func() float64 { return float64(stats().InUse) })
	m.gauge("agegate_database_connections_open", "Database connections open.",
		func() float64 { return float64(stats().OpenConnections) })
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "agegate_database_wait_seconds_total",
		Help: "Time that requests have waited for a database connection, summed.",
	}, func() float64 { return stats().WaitDuration.Seconds() }))
}

// WatchInference publishes the state of the inference workers.
func (m *Metrics) WatchInference(busy, size func() int) {
	m.gauge("agegate_inference_workers_busy", "Inference workers that are busy.",
		func() float64 { return float64(busy()) })
	m.gauge("agegate_inference_workers", "Inference workers in total.", func() float64 { return float64(size()) })
}

// WatchCamera publishes the state of the camera checks: how many are in front of
// the camera, how many wait in line, and how many can be in front of it.
func (m *Metrics) WatchCamera(load func() (checks, line, places int)) {
	m.gauge("agegate_camera_checks", "Age checks in front of the camera.",
		func() float64 { n, _, _ := load(); return float64(n) })
	m.gauge("agegate_camera_line", "Age checks that wait in line.",
		func() float64 { _, n, _ := load(); return float64(n) })
	m.gauge("agegate_camera_places", "Age checks that this process can serve at a usable rate.",
		func() float64 { _, _, n := load(); return float64(n) })
	m.gauge("agegate_camera_demand", "Age checks in front of the camera and in line, as a share of the places.",
		func() float64 {
			checks, line, places := load()
			return float64(checks+line) / float64(places)
		})
}

// Build publishes the versions of the program and of Go.
func (m *Metrics) Build(version string) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "agegate_build_info", Help: "Always 1, with the versions of the program and of Go.",
		ConstLabels: prometheus.Labels{"version": version, "go": runtime.Version()},
	}, func() float64 { return 1 }))
}

func (m *Metrics) gauge(name, help string, value func() float64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
}
